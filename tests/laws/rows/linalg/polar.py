"""Rows for ``funcgrad._ops.linalg.polar``."""

from funcgrad._ops.linalg.polar import unitary_factor_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg.sylvester import SCHUR
from tests.laws.rows.linalg.triangular import steep

ROWS = [
    Row(unitary_factor_p, ((3, 3),), sample=steep, complex=True, elsewhere=SCHUR),
    Row(unitary_factor_p, ((2, 4, 2),), sample=steep, elsewhere=SCHUR, name="tall-stacked"),
    Row(unitary_factor_p, ((1, 1),), sample="positive", elsewhere=SCHUR, name="one"),
    Row(unitary_factor_p, ((2, 0, 0),), elsewhere=SCHUR, name="empty"),
]
