"""`ode`: an ODE integrated by s steps of Runge and Kutta's method, and the gradient of its last component."""

from typing import Any

import numpy as np

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task


def integrate(x: Any, s: int) -> Any:
    """Return y(2), where y'[0] = x[0], y'[i] = x[i] y[i - 1], and y(0) = 0."""

    def slope(y: Any) -> Any:
        return x * np.concatenate([np.ones(1), y[:-1]])

    h = 2.0 / s
    y = np.zeros(len(x))
    for _ in range(s):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    gradient = fg.grad(lambda x, s: integrate(x, s)[-1])
    return {
        "primal": Task(compiler(integrate, static_argnames=("s",)), _read),
        "gradient": Task(compiler(lambda x, s: gradient(x, s), static_argnames=("s",)), _read),
    }


def _read(given: dict[str, Any]) -> tuple[np.ndarray, int]:
    return np.array(given["x"], np.float64), given["s"]
