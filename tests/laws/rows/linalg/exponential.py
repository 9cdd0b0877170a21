"""Rows for ``funcgrad._ops.linalg.exponential``."""

from funcgrad._ops.linalg.exponential import expm_p
from tests.laws.rows._row import Row

ROWS = [
    Row(expm_p, ((3, 3),), complex=True),
    Row(expm_p, ((2, 2, 2),), name="stacked"),
    Row(expm_p, ((1, 1),), complex=True, name="one"),
    Row(expm_p, ((2, 0, 0),), name="empty"),
]
