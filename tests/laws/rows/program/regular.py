"""Rows for ``funcgrad._ops.program.regular``."""

import numpy as np

from funcgrad._ops.program.regular import checked_p
from tests.laws.rows._row import Row


def passes(*known: np.ndarray) -> None:
    """Check nothing."""


ROWS = [
    Row(checked_p, ((2, 3), (), np.ones(()), np.ones(3)), {"check": passes, "backward": False}),
    Row(checked_p, ((2, 3), (), np.ones(()), np.ones(3)), {"check": passes, "backward": True}, name="backward"),
    Row(checked_p, ((), (), np.ones(())), {"check": passes, "backward": False}, name="scalar"),
]
