"""Rows for ``funcgrad._ops.elementwise.winner``."""

from funcgrad._ops.elementwise.winner import first_max_p
from tests.laws.rows._row import Row

ROWS = [
    Row(first_max_p, ((2, 3), (2, 3)), sample="distinct"),
    Row(first_max_p, ((2, 1), (3,)), sample="distinct", name="broadcast"),
    Row(first_max_p, ((), ()), name="scalar"),
    Row(first_max_p, ((0, 3), (0, 3)), name="empty"),
]
