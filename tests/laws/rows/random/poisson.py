"""Rows for ``funcgrad._ops.random.poisson``."""

import numpy as np

from funcgrad._ops.random.poisson import poisson_p
from tests.laws.rows._row import Row

KEY = np.array([7, 42], np.uint32)
KEYS = np.arange(6, dtype=np.uint32).reshape(3, 2)
RATES = np.array([[0.5, 30.0], [9.5, 0.0], [100.0, 2.0]], np.float32)
COUNTS = {"dtype": np.dtype(np.int64)}

ROWS = [
    Row(poisson_p, (KEY, RATES), COUNTS, differentiable=False),
    Row(poisson_p, (KEYS, RATES), {"dtype": np.dtype(np.int32)}, differentiable=False, name="batch"),
    Row(poisson_p, (KEYS, RATES[:, :0]), COUNTS, differentiable=False, name="empty"),
    Row(poisson_p, (KEY, np.float32(3)), COUNTS, differentiable=False, name="scalar"),
]
