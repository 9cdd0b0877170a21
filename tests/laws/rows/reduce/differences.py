"""Rows for ``funcgrad._ops.reduce.differences``."""

from funcgrad._ops.reduce.differences import projected_p, pulled_p, squares_p
from tests.laws.rows._row import Row

ROWS = [
    Row(squares_p, ((3, 2), (4, 2))),
    Row(squares_p, ((2, 3, 1), (2, 2, 1)), name="stack"),
    Row(pulled_p, ((3, 4), (3, 2), (4, 2))),
    Row(projected_p, ((3, 2), (3, 2), (4, 2))),
]
