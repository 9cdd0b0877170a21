"""Rows for ``funcgrad._ops.layout.copy``."""

from funcgrad._ops.layout.copy import copy_p
from tests.laws.rows._row import Row

ROWS = [
    Row(copy_p, ((2, 3),), complex=True),
    Row(copy_p, ((),), name="scalar"),
    Row(copy_p, ((0, 3),), name="empty"),
]
