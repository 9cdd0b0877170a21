"""`saddle`: a saddle point by gradient descent within gradient descent; a derivative within a derivative."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.gradbench._descent import GRADIENTS, MODES, argmin, compiled
from benchmarks.gradbench._protocol import Compiler, Task, arrays


def height(x: Any, y: Any) -> Any:
    """Return (x[0]**2 + x[1]**2) - (y[0]**2 + y[1]**2)."""
    return np.sum(x * x) - np.sum(y * y)


def depth(y: Any, x: Any) -> Any:
    """Return what is smallest where the height is largest."""
    return -height(x, y)


def saddle(start: Any, outer: Callable[..., Any], inner: Callable[..., Any]) -> Any:
    """Return the x and the y, [4], of min over x of max over y of the height.

    Args:
        start: where each descent begins.
        outer: the transform that makes the gradient by x.
        inner: the transform that makes the gradient by y.
    """
    value, slope = compiled(depth), compiled(inner(depth))

    def highest(x: Any) -> Any:
        """Return the y with the largest height at x."""
        return argmin(lambda y: value(y, x), lambda y: slope(y, x), start)

    def ridge(x: Any) -> Any:
        return height(x, highest(x))

    x = argmin(ridge, outer(ridge), start)
    return np.concatenate([x, highest(x)])


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    del compiler
    return {mode: Task(_of_modes(*mode), arrays("start")) for mode in MODES}


def _of_modes(outer: str, inner: str) -> Callable[[Any], Any]:
    return lambda start: saddle(start, GRADIENTS[outer], GRADIENTS[inner])
