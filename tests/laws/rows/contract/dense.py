"""Rows for ``funcgrad._ops.contract.dense``."""

from funcgrad._ops.contract.dense import affine_p, inner_p
from tests.laws.rows._row import Row

ROWS = [
    Row(affine_p, ((3, 4), (2, 4), (2,)), complex=True),
    Row(affine_p, ((0, 4), (2, 4), (2,)), name="empty"),
    Row(affine_p, ((3, 0), (2, 0), (2,)), name="nothing to contract"),
    Row(inner_p, ((3, 4), (3, 4)), {"scale": -0.5}, complex=True),
    Row(inner_p, ((), ()), {"scale": 2}, name="scalars"),
    Row(inner_p, ((0, 3), (0, 3)), {"scale": 1.0}, name="empty"),
]
