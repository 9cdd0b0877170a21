"""Rows for ``funcgrad._ops.linalg.determinant`` and ``linalg_cofactors``."""

import numpy as np

from funcgrad._ops.linalg.cofactors import cofactor_curvature_p, cofactors_p, det_p, eliminated_det_p
from funcgrad._ops.linalg.determinant import slogdet_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg.triangular import steep

TOGETHER = "the elimination's derivative is the matrix's: tests/numpy/test_linalg.py has those of det, to order 3"
# A permuted identity: the matrix, its factors, pivots and permutation.
FACTORS = (np.eye(2)[::-1], np.eye(2), np.array([1, 1], np.int32), np.array([1, 0], np.int32))

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
] + [
    Row(cofactor_curvature_p, ((3, 3), (3, 3)), sample=steep, complex=True),
    Row(cofactor_curvature_p, ((2, 4, 4), (2, 4, 4)), sample=steep, name="stacked"),
    Row(cofactor_curvature_p, ((1, 1), (1, 1)), sample="above_one", name="one"),
    Row(cofactors_p, FACTORS, elsewhere=TOGETHER),
    Row(eliminated_det_p, ((3, 3),), sample=steep, elsewhere=TOGETHER),
]
