"""Rows for ``funcgrad._ops.reduce.standardize``."""

from funcgrad._ops.reduce.standardize import Norm, standardize_p
from tests.laws.rows._row import Row


def over(shape: tuple[int, ...], *axes: int, weighted: tuple[int, ...] = ()) -> dict:
    return {"norm": Norm(shape, axes, weighted, 0.25)}


ROWS = [
    Row(standardize_p, ((3, 4),), over((3, 4), 1)),
    Row(standardize_p, ((3, 2, 2), (2, 2), (2, 2)), over((3, 4), 1, weighted=(1,)), name="layer"),
    Row(standardize_p, ((3, 2, 2, 2), (2,), (2,)), over((3, 2, 4), 0, 2, weighted=(1,)), name="batch"),
    Row(standardize_p, ((5, 2), (2,)), over((5, 2), 0, weighted=(1,)), name="weight"),
    Row(standardize_p, ((2, 4, 3), (4,), (4,)), over((2, 2, 2, 3), 2, 3, weighted=(1, 2)), name="group"),
    Row(standardize_p, ((2, 3, 2), (3, 2)), over((2, 3, 2), 1, 2, weighted=(1, 2)), name="two-axes"),
    Row(standardize_p, ((2, 9, 2), (9,)), over((2, 9, 2), 0, 2, weighted=(1,)), name="short"),
    Row(standardize_p, ((3, 2), (3, 2), (3, 2)), over((3, 2), 0, 1, weighted=(0, 1)), name="all"),
    Row(standardize_p, ((0, 3), (3,), (3,)), over((0, 3), 1, weighted=(1,)), name="empty"),
]
