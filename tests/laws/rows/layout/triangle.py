"""Rows for ``funcgrad._ops.layout.triangle``."""

from funcgrad._ops.layout.triangle import triangle_p
from tests.laws.rows._row import Row

ROWS = [
    Row(triangle_p, ((3, 3),), {"k": 0, "lower": True}, complex=True),
    Row(triangle_p, ((2, 3, 4),), {"k": 0, "lower": False}, name="upper-stacked"),
    Row(triangle_p, ((4, 3),), {"k": -2, "lower": True}, name="below"),
    Row(triangle_p, ((4, 3),), {"k": 1, "lower": False}, name="above"),
    Row(triangle_p, ((2, 2),), {"k": 5, "lower": False}, name="nothing"),
    Row(triangle_p, ((0, 2),), {"k": 0, "lower": True}, name="empty"),
]
