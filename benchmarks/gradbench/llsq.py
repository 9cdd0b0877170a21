"""`llsq`: half the squared distance of a polynomial from the sign function, at n points, and its gradient."""

from typing import Any

import numpy as np

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task


def objective(x: Any, t: Any) -> Any:
    """Return sum((sign(t) - x[0] - x[1] t - x[2] t**2 - ...)**2) / 2."""
    powers = np.cumprod(np.where(np.arange(len(x)) == 0, 1.0, t[:, None]), axis=1)  # [i, j]: t[i]**j
    return 0.5 * np.sum((np.sign(t) - powers @ x) ** 2)


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation. The points are made in the timed call."""
    compiled = {"primal": compiler(objective), "gradient": compiler(fg.grad(objective))}
    return {name: Task(_at_points(function), _read) for name, function in compiled.items()}


def _at_points(function: Any) -> Any:
    return lambda x, n: function(x, -1.0 + 2.0 * np.arange(n) / (n - 1))


def _read(given: dict[str, Any]) -> tuple[np.ndarray, int]:
    return np.array(given["x"], np.float64), given["n"]
