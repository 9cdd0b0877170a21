"""Rows for ``funcgrad._ops.layout.fill``."""

from funcgrad._ops.layout.fill import full_like_p
from tests.laws.rows._row import Row

ROWS = [
    Row(full_like_p, ((2, 3),), {"value": 2.5}, complex=True, differentiable=False),
    Row(full_like_p, ((),), {"value": 1}, complex=True, differentiable=False, name="scalar"),
    Row(full_like_p, ((0, 3),), {"value": 1}, differentiable=False, name="empty"),
]
