"""Rows for ``funcgrad._ops.linalg.root`` and ``logarithm``."""

from funcgrad._ops.linalg.logarithm import logm_p
from funcgrad._ops.linalg.root import sqrtm_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg.sylvester import SCHUR
from tests.laws.rows.linalg.triangular import steep

ROWS = [
    row
    for primitive in (sqrtm_p, logm_p)
    for row in (
        Row(primitive, ((3, 3),), sample=steep, complex=True, elsewhere=SCHUR),
        Row(primitive, ((2, 2, 2),), sample=steep, name="stacked", elsewhere=SCHUR),
        Row(primitive, ((1, 1),), sample="positive", name="one", elsewhere=SCHUR),
        Row(primitive, ((2, 0, 0),), name="empty", elsewhere=SCHUR),
    )
]
