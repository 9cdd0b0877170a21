"""Rows for ``funcgrad._ops.linalg.solve``."""

from funcgrad._ops.linalg.solve import solve_p
from tests.laws.rows._row import Row
from tests.laws.rows.linalg.triangular import steep

ROWS = [
    Row(solve_p, ((3, 3), (3, 2)), sample=steep, complex=True),
    Row(solve_p, ((2, 3, 3), (2, 3, 1)), sample=steep, complex=True, name="stacked"),
    Row(solve_p, ((1, 1), (1, 2)), sample=steep, name="one"),
    Row(solve_p, ((0, 0), (0, 2)), name="empty"),
    Row(solve_p, ((2, 2), (2, 0)), sample=steep, name="no-right-side"),
]
