"""Rows for ``funcgrad._ops.program.callback``."""

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._ops.program.callback import callback_p
from tests.laws.rows._row import Row


def params(shape: tuple[int, ...]) -> dict[str, Any]:
    return {"function": lambda x: [np.sin(x)], "avals": (Aval(shape, np.dtype(float)),), "name": "box"}


REFUSED = "a derivative through a black box is an error; tests/_transforms/custom/test_callback.py holds it"

ROWS = [
    Row(callback_p, ((2, 3),), params((2, 3)), elsewhere=REFUSED),
    Row(callback_p, ((),), params(()), elsewhere=REFUSED, name="scalar"),
]
