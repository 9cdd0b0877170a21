"""Rows for ``funcgrad._ops.elementwise.integer``."""

import numpy as np

from funcgrad._ops.elementwise.integer import bitwise_count_p, gcd_p, lcm_p
from tests.laws.rows._row import Row

_INTEGERS = np.array([[-12, 8, 0], [45, -18, 3]])
_OTHERS = np.array([18, 0, -4])
_SMALL = np.array([3, 200, 0], np.uint8)

ROWS = [
    *[Row(p, (_INTEGERS, _OTHERS), differentiable=False) for p in (gcd_p, lcm_p)],
    *[Row(p, (_SMALL, np.array([6, 80, 0], np.uint8)), differentiable=False, name="uint8") for p in (gcd_p, lcm_p)],
    Row(bitwise_count_p, (_INTEGERS,), differentiable=False),
    Row(bitwise_count_p, (_SMALL,), differentiable=False, name="uint8"),
]
