"""Rows for ``funcgrad._ops.program.checkpoint``."""

from typing import Any

import numpy as np

from funcgrad._ops.program.checkpoint import barrier_p, checkpoint_p
from tests.laws.rows._row import Row
from tests.laws.rows.program.call import staged


def block(*shapes: tuple[int, ...]) -> dict[str, Any]:
    return {"graph": staged(lambda x, y: [np.sin(x) * y, np.sum(y * y)], *shapes)["graph"]}


DOUBLE = ("float64",)

ROWS = [
    Row(checkpoint_p, ((2, 3), (3,)), block((2, 3), (3,)), dtypes=DOUBLE),
    Row(checkpoint_p, ((), ()), block((), ()), dtypes=DOUBLE, name="scalar"),
    Row(checkpoint_p, ((0, 3), (3,)), block((0, 3), (3,)), dtypes=DOUBLE, name="empty"),
    Row(barrier_p, ((2, 3), ()), {}),
]
