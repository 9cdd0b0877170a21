"""Rows for ``funcgrad._ops.linalg.sylvester``."""

from funcgrad._ops.linalg.sylvester import sylvester_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg.triangular import steep

SCHUR = "JAX has no derivative of Schur's form; tests/scipy/test_linalg_calls.py has those of the equation, to order 2"

ROWS = [
    Row(sylvester_p, ((3, 3), (2, 2), (3, 2)), sample=steep, complex=True, elsewhere=SCHUR),
    Row(sylvester_p, ((2, 2, 2), (2, 2, 2), (2, 2, 2)), sample=steep, name="stacked", elsewhere=SCHUR),
    Row(sylvester_p, ((1, 1), (1, 1), (1, 1)), sample="positive", name="one", elsewhere=SCHUR),
    Row(sylvester_p, ((0, 0), (2, 2), (0, 2)), sample=steep, name="empty", elsewhere=SCHUR),
]
