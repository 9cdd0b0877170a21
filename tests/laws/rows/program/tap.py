"""Rows for ``funcgrad._ops.program.tap``."""

from funcgrad._ops.program.tap import VALUE, tap_p
from tests.laws.rows._row import Row

ROWS = [Row(tap_p, ((2, 3),), {"name": "x", "part": VALUE}, complex=True)]
