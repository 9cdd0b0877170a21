"""Rows for ``funcgrad._ops.reduce.softmax``."""

from funcgrad._ops.reduce.softmax import log_softmax_p
from tests.laws.rows._row import Row

ROWS = [
    Row(log_softmax_p, ((3, 4),), {"axes": (1,)}),
    Row(log_softmax_p, ((3, 4, 2),), {"axes": (1,)}, name="middle"),
    Row(log_softmax_p, ((3, 2),), {"axes": (0, 1)}, name="all"),
    Row(log_softmax_p, ((0, 3),), {"axes": (1,)}, name="empty"),
]
