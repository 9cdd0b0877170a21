"""Rows for ``funcgrad._ops.linalg_determinant``."""

from funcgrad._ops.linalg_determinant import det_p, slogdet_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg_triangular import steep

ROWS = [
    row
    for primitive in (slogdet_p, det_p)
    for row in (
        Row(primitive, ((3, 3),), sample=steep, complex=True),
        Row(primitive, ((2, 4, 4),), sample=steep, name="stacked"),
        Row(primitive, ((2, 2),), complex=True, name="with-exchanges"),
        Row(primitive, ((1, 1),), sample="above_one", complex=True, name="one"),
        Row(primitive, ((2, 0, 0),), name="empty"),
    )
]
