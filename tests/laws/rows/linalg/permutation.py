"""Rows for ``funcgrad._ops.linalg.permutation``."""

import numpy as np

from funcgrad._ops.linalg.permutation import permuted_p
from tests.laws.rows._row import Row

ORDERS = np.array([[2, 0, 1], [1, 0, 2]], np.int32)

ROWS = [
    Row(permuted_p, ((3, 4), ORDERS[0]), {"back": False}, complex=True),
    Row(permuted_p, ((3, 4), ORDERS[0]), {"back": True}, complex=True, name="back"),
    Row(permuted_p, ((2, 3, 3), ORDERS), {"back": False}, name="stacked"),
    Row(permuted_p, ((2, 3, 3), ORDERS), {"back": True}, name="stacked-back"),
    Row(permuted_p, ((3, 0), ORDERS[0]), {"back": True}, name="empty"),
]
