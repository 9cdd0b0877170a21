"""Gradient descent for `particle` and `saddle` (GradBench's cpp/gradbench/gd.hpp), and gradients of two modes."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import funcgrad as fg

# Numbers and pairs of numbers: a call of a compiled NumPy program costs less than one of XLA's.
compiled = partial(fg.jit, engine="numpy")


def forward_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return the gradient of f by its first argument, a number or a vector, one direction after the other."""

    def gradient(x: Any, *others: Any) -> Any:
        directions = np.reshape(np.eye(np.size(x)), (-1, *np.shape(x)))
        slopes = [fg.jvp(lambda x: f(x, *others), (x,), (direction,))[1] for direction in directions]
        return np.reshape(np.stack(slopes), np.shape(x))

    return gradient


# A letter of a function's name tells the mode of one of the two nested derivatives.
GRADIENTS: dict[str, Callable[..., Callable[..., Any]]] = {"f": forward_gradient, "r": fg.grad}
MODES = ("ff", "fr", "rf", "rr")


def argmin(f: Callable[[Any], Any], gradient: Callable[[Any], Any], start: Any) -> Any:
    """Return where f is smallest; the step doubles after ten descents and halves after an ascent."""
    x, eta, descents = start, 1e-5, 0
    value, slope = f(x), gradient(x)
    while length(slope) > 1e-5:
        if descents == 10:
            eta, descents = 2 * eta, 0
            continue
        there = x - eta * slope
        if length(x - there) <= 1e-5:
            break
        lower = f(there)
        if lower < value:
            x, value, slope = there, lower, gradient(there)
            descents += 1
        else:
            eta, descents = eta / 2, 0
    return x


def length(x: Any) -> Any:
    """Return the Euclidean length of x, a number or a vector."""
    return np.sqrt(np.sum(x * x))
