"""Rows for ``funcgrad._ops.index.gather``."""

import numpy as np

from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.plan import SLOT, Index
from tests.laws.rows._row import Row

ROWS_TWICE = np.array([2, 0, -1, 2])
COLUMN = np.array([[1], [-2]])


def _indices(*entries: tuple) -> dict:
    return {"indices": tuple(Index(entry) for entry in entries)}


ROWS = [
    Row(index_p, ((4, 3),), {"index": Index((2,))}, complex=True, name="row"),
    Row(index_p, ((4, 3),), {"index": Index((-1, 2))}, name="element"),
    Row(index_p, ((5, 4),), {"index": Index((slice(1, None, 2), slice(None, None, -1)))}, name="strided"),
    Row(index_p, ((5, 4),), {"index": Index((slice(-1, 0, -3), None, Ellipsis))}, name="new-axis"),
    Row(index_p, ((5,),), {"index": Index((slice(4, 1),))}, name="empty-slice"),
    Row(index_p, ((),), {"index": Index((None, Ellipsis))}, name="scalar"),
    Row(index_p, ((0, 3),), {"index": Index((slice(None), 1))}, name="empty"),
    Row(index_p, ((3, 4), ROWS_TWICE), {"index": Index((SLOT,))}, complex=True, name="rows-twice"),
    Row(index_p, ((3, 70), ROWS_TWICE), {"index": Index((SLOT,))}, name="wide-rows-twice"),
    Row(index_p, ((3, 4), ROWS_TWICE, COLUMN), {"index": Index((SLOT, SLOT))}, name="both-axes"),
    Row(index_p, ((3, 5, 3), ROWS_TWICE, COLUMN), {"index": Index((SLOT, slice(1, 4), SLOT))}, name="around-a-slice"),
    Row(index_p, ((2, 3, 4), COLUMN), {"index": Index((slice(None, None, -1), 1, SLOT))}, name="beside-an-integer"),
    Row(index_p, ((3, 4), np.array([2, 0])), {"index": Index((slice(None), SLOT), unique=True)}, name="unique"),
    Row(index_p, ((3, 4), np.zeros(0, int)), {"index": Index((SLOT,))}, name="no-rows"),
    Row(index_p, ((3, 4), np.array(1)), {"index": Index((slice(None), SLOT))}, name="array-of-no-axes"),
    Row(scatter_p, ((3,), (3,)), {"shape": (4, 3), **_indices((2,), (0,))}, complex=True, name="rows"),
    Row(scatter_p, ((4,), (4,)), {"shape": (5,), **_indices((slice(1, None),), (slice(None, -1),))}, name="overlap"),
    Row(scatter_p, ((2, 3), (5,), ()), {"shape": (5, 3), **_indices((slice(None, None, 3),), (..., 1), (2, 2))}),
    Row(scatter_p, ((4, 3), ROWS_TWICE, (3,)), {"shape": (3, 3), **_indices((SLOT,), (-1,))}, name="arrays"),
    Row(scatter_p, ((0, 2),), {"shape": (3, 2), **_indices((slice(0, 0),))}, name="empty"),
    Row(scatter_p, ((1,),), {"shape": (), **_indices((None,))}, name="scalar"),
]
