"""Rows for ``funcgrad._ops.reduce.resampling``."""

from funcgrad._ops.reduce.resampling import resampled_p
from tests.laws.rows._row import Row

ROWS = [
    Row(resampled_p, ((5,), (6,)), {"up": 3, "down": 2}, complex=True),
    Row(resampled_p, ((4,), (2, 3)), {"up": 2, "down": 3}, name="shared"),
    Row(resampled_p, ((2, 2), (2, 2, 4)), {"up": 4, "down": 2}, name="stack"),
    Row(resampled_p, ((3,), (0, 4)), {"up": 1, "down": 2}, name="empty-stack"),
]
