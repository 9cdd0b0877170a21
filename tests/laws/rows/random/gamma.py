"""Rows for ``funcgrad._ops.random.gamma``."""

import numpy as np

from funcgrad._ops.random.gamma import gamma_p, gamma_slope_p
from tests.laws.rows._row import Row

KEY = np.array([7, 42], np.uint32)
KEYS = np.arange(6, dtype=np.uint32).reshape(3, 2)
SLOPE = "differences show how what was drawn changes, not the quantile: tests/random/test_gamma.py"
NONE = "a first derivative alone; its values are held by tests/random/test_gamma.py"

ROWS = [
    Row(gamma_p, (KEY, (2, 3)), {"log_space": False}, sample="positive", elsewhere=SLOPE),
    Row(gamma_p, (KEYS, (3, 2)), {"log_space": True}, sample="positive", elsewhere=SLOPE, name="logarithms"),
    Row(gamma_p, (KEY, ()), {"log_space": False}, sample="positive", elsewhere=SLOPE, name="scalar"),
    Row(gamma_p, (KEYS, (3, 0)), {"log_space": False}, sample="positive", elsewhere=SLOPE, name="empty"),
    Row(gamma_slope_p, ((3, 4), (4,)), sample="positive", elsewhere=NONE),
    Row(gamma_slope_p, ((), ()), sample="positive", elsewhere=NONE, name="scalar"),
]
