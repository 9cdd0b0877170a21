"""Rows for ``funcgrad._ops.reduce.standardize``."""

from funcgrad._ops.reduce.standardize import standardize_p
from tests.laws.rows._row import Row


def over(*axes: int) -> dict:
    return {"axes": axes, "eps": 0.25}


ROWS = [
    Row(standardize_p, ((3, 4),), over(1)),
    Row(standardize_p, ((3, 4), (1, 4), (1, 4)), over(1), name="layer"),
    Row(standardize_p, ((3, 2, 4), (1, 2, 1), (1, 2, 1)), over(0, 2), name="batch"),
    Row(standardize_p, ((5, 2), (1, 2)), over(0), name="weight"),
    Row(standardize_p, ((2, 2, 2, 3), (1, 2, 2, 1), (1, 2, 2, 1)), over(2, 3), name="group"),
    Row(standardize_p, ((2, 3, 2), (1, 3, 2)), over(1, 2), name="two-axes"),
    Row(standardize_p, ((3, 2), (3, 2), (1, 1)), over(0, 1), name="all"),
    Row(standardize_p, ((0, 3), (1, 3), (1, 3)), over(1), name="empty"),
]
