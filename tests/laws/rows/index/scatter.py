"""Rows for ``funcgrad._ops.index.scatter``."""

import numpy as np

from funcgrad._core.primitive import Primitive
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.scatter import scatter_add_p, scatter_set_p
from tests.laws.rows._row import Row

ROWS_TWICE = np.array([2, 0, -1, 2])
COLUMN = np.array([[1], [-2]])


def _rows(primitive: Primitive) -> list[Row]:
    return [
        Row(primitive, ((4, 3), (3,)), {"index": Index((2,))}, complex=True, name="row"),
        Row(primitive, ((4, 3), (2, 3)), {"index": Index((slice(1, None, 2), slice(None, None, -1)))}, name="strided"),
        Row(
            primitive,
            ((4, 3), (4, 1, 1)),
            {"index": Index((slice(None, None, -1), None, slice(1, 2)))},
            name="new-axis",
        ),
        Row(primitive, ((), ()), {"index": Index(())}, name="scalar"),
        Row(primitive, ((4, 3), (0, 3)), {"index": Index((slice(2, 2),))}, name="empty"),
        Row(primitive, ((3, 4), (4, 4), ROWS_TWICE), {"index": Index((SLOT,))}, complex=True, name="rows-twice"),
        Row(
            primitive,
            ((4, 5, 4), (2, 4, 2), ROWS_TWICE, COLUMN),
            {"index": Index((SLOT, slice(1, 5, 2), SLOT))},
            name="both",
        ),
        Row(
            primitive,
            ((2, 3, 4), (1, 2, 1), COLUMN),
            {"index": Index((slice(1, None), 1, SLOT))},
            name="integer-and-array",
        ),
        Row(
            primitive,
            ((3, 4), (3, 2), np.array([2, 0])),
            {"index": Index((slice(None), SLOT), unique=True)},
            name="unique",
        ),
    ]


ROWS = [
    *_rows(scatter_add_p),
    *[row for row in _rows(scatter_set_p) if row.name != "both"],
    Row(scatter_set_p, ((4, 3), 0), {"index": Index((2,))}, name="zeroed"),
]
