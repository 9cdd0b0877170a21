"""`particle`: the control that steers a charged particle to the origin; a derivative within a derivative."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gradbench._descent import GRADIENTS, MODES, argmin, compiled
from benchmarks.gradbench._protocol import Compiler, Task

STEP = 0.1


def potential(x: Any, w: Any) -> Any:
    """Return the potential at x of the charges at (10, 10 - w) and (10, 0)."""
    right, up = x[0] - 10.0, x[1]
    return 1.0 / np.sqrt(right**2 + (up - 10.0 + w) ** 2) + 1.0 / np.sqrt(right**2 + up**2)


def missed_by(w: Any, euler: Callable[..., Any]) -> Any:
    """Return the squared distance from the origin at which the particle crosses the x axis.

    Args:
        w: the control.
        euler: one step of Euler's method: from a place, a velocity and w, the next place and the next velocity.
    """
    x, v = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    while True:
        x, v_next = euler(x, v, w)
        if x[1] <= 0:
            return (x[0] - x[1] / v[1] * v[0]) ** 2
        v = v_next


def path(mode: str) -> Callable[[Any], Any]:
    """Return `missed_by` as a function of w alone. The mode is that of the force's derivative: "f" or "r"."""

    @compiled
    def euler(x: Any, v: Any, w: Any) -> tuple[Any, Any]:
        return x + STEP * v, v - STEP * GRADIENTS[mode](potential)(x, w)

    return lambda w: missed_by(w, euler)


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    del compiler
    return {mode: Task(_control(*mode), _read) for mode in MODES}


def _control(outer: str, inner: str) -> Callable[[Any], Any]:
    f = path(inner)
    return lambda w: argmin(f, GRADIENTS[outer](f), w)


def _read(given: dict[str, Any]) -> tuple[np.float64]:
    return (np.float64(given["w"]),)
