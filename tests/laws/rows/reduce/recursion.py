"""Rows for ``funcgrad._ops.reduce.recursion``."""

from funcgrad._ops.reduce.recursion import recursion_p
from tests.laws.rows._row import Row

ROWS = [
    Row(recursion_p, ((3,), (2,), (6,), (2,)), sample="unit", complex=True),
    Row(recursion_p, ((2, 4), (2, 3), (2, 2, 2), (2, 2, 3)), sample="unit", name="stack"),
    Row(recursion_p, ((2,), (1,), (2, 5), (2, 1)), sample="unit", complex=True, name="shared"),
    Row(recursion_p, ((3,), (2,), (0,), (2,)), name="empty"),
]
