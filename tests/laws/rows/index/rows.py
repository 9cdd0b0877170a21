"""Rows for ``funcgrad._ops.index.rows``."""

import numpy as np

from funcgrad._ops.index.rows import embedding_p
from tests.laws.rows._row import Row

ROWS = [
    Row(embedding_p, ((4, 3), np.array([[1, 1], [0, 3]])), complex=True),
    Row(embedding_p, ((4,), np.array([2, 2])), name="numbers"),
    Row(embedding_p, ((4, 3), np.zeros(0, np.int64)), name="empty"),
]
