"""Rows for ``funcgrad._ops.reduce.sort``."""

import numpy as np

from funcgrad._ops.reduce.sort import argsort_p, gather_along_axis_p, scatter_along_axis_p, searchsorted_p, sort_p
from tests.laws.rows._row import Row

TWICE = np.array([[0, 2, 2, -1], [1, 1, 0, 2]])
ONCE = np.array([[2, 0, 1], [1, 2, 0]])

ROWS = [
    Row(gather_along_axis_p, ((2, 3), TWICE), {"axis": 1, "unique": False}, complex=True),
    Row(gather_along_axis_p, ((3, 3), ONCE), {"axis": 0, "unique": False}, name="first-axis"),
    Row(gather_along_axis_p, ((2, 3), ONCE), {"axis": 1, "unique": True}, name="permutation"),
    Row(gather_along_axis_p, ((4,), np.array([3, 0])), {"axis": 0, "unique": True}, name="vector"),
    Row(gather_along_axis_p, ((2, 0), np.empty((2, 0), int)), {"axis": 1, "unique": True}, name="empty"),
    Row(scatter_along_axis_p, ((2, 4), TWICE), {"axis": 1, "length": 3, "unique": False}, complex=True),
    Row(scatter_along_axis_p, ((2, 3), ONCE), {"axis": 0, "length": 4, "unique": False}, name="first-axis"),
    Row(scatter_along_axis_p, ((2, 3), ONCE), {"axis": 1, "length": 3, "unique": True}, name="permutation"),
    Row(scatter_along_axis_p, ((0,), np.empty(0, int)), {"axis": 0, "length": 2, "unique": True}, name="empty"),
    Row(sort_p, ((4,),), {"axis": 0}, sample="distinct"),
    Row(sort_p, ((2, 3, 4),), {"axis": 1}, sample="distinct", name="middle-axis"),
    Row(sort_p, ((0, 2),), {"axis": 0}, name="empty"),
    Row(argsort_p, ((2, 5),), {"axis": 1}, sample="distinct", differentiable=False),
    Row(argsort_p, (np.array([1.0, np.inf, 0.0, 1.0]),), {"axis": 0}, differentiable=False, name="ties"),
    Row(
        searchsorted_p,
        (np.linspace(-1, 1, 6), np.array([[-2.0, 0.1, 0.5], [0.6, 1.0, 3.0]])),
        {"side": "left"},
        differentiable=False,
    ),
    Row(
        searchsorted_p,
        (np.array([0.0, 1.0, 1.0, np.inf]), np.array([1.0, np.inf, -1.0, 2.0])),
        {"side": "right"},
        differentiable=False,
        name="ties",
    ),
    Row(searchsorted_p, (np.empty(0), np.ones(2)), {"side": "left"}, differentiable=False, name="empty"),
]
