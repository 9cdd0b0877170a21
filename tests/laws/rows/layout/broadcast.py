"""Rows for ``funcgrad._ops.layout.broadcast``."""

import numpy as np

from funcgrad._ops.layout.broadcast import broadcast_to_p, reduce_sum_p
from tests.laws.rows._row import Row

MASK = np.array([[True, False], [False, False]])

ROWS = [
    Row(broadcast_to_p, ((3,),), {"shape": (2, 3)}, complex=True),
    Row(broadcast_to_p, ((2, 1),), {"shape": (4, 2, 3)}, complex=True, name="stretched"),
    Row(broadcast_to_p, ((),), {"shape": (2, 0)}, name="empty"),
    Row(reduce_sum_p, ((2, 3, 4),), {"axes": (0, 2), "keepdims": False}, complex=True),
    Row(reduce_sum_p, ((2, 3),), {"axes": (1,), "keepdims": True}, complex=True, name="keepdims"),
    Row(reduce_sum_p, ((0, 3),), {"axes": (0, 1), "keepdims": False}, name="empty"),
    Row(reduce_sum_p, (MASK,), {"axes": (1,), "keepdims": False}, differentiable=False, name="boolean"),
    Row(reduce_sum_p, ((),), {"axes": (), "keepdims": False}, name="scalar"),
]
