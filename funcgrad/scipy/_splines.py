"""B-splines on the elements of an array: coefficients, by two recursions for each pole, and weights.

Source: Unser, Aldroubi and Eden, "B-spline signal processing", 1993; the extension beyond the edges follows SciPy's
``ni_splines.c``.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.reduce.recursion import recursion
from funcgrad._types import ArrayLike

# The poles for the orders 2 to 5.
_POLES: dict[int, tuple[float, ...]] = {
    2: (math.sqrt(8) - 3,),
    3: (math.sqrt(3) - 2,),
    4: (
        math.sqrt(664 - math.sqrt(438976)) + math.sqrt(304) - 19,
        math.sqrt(664 + math.sqrt(438976)) - math.sqrt(304) - 19,
    ),
    5: (
        math.sqrt(67.5 - math.sqrt(4436.25)) + math.sqrt(26.25) - 6.5,
        math.sqrt(67.5 + math.sqrt(4436.25)) - math.sqrt(26.25) - 6.5,
    ),
}


def coefficients(x: ArrayLike, order: int, edge: str) -> Any:
    """Return the spline coefficients of an array, along all axes; ``edge`` is 'mirror', 'reflect' or 'wrap'."""
    for axis, n in enumerate(x.shape):
        if n > 1:
            x = fnp.moveaxis(_along_last(fnp.moveaxis(x, axis, -1), order, edge), -1, axis)
    return x


def _along_last(x: ArrayLike, order: int, edge: str) -> Any:
    n = x.shape[-1]
    for z in _POLES[order]:
        x = fnp.multiply(x, (1 - z) * (1 - 1 / z))
        first = fnp.matmul(x, _first_weights(n, z, edge))
        x = _recursion(fnp.concatenate([first[..., None], x[..., 1:]], -1), z)
        last = fnp.matmul(x, _last_weights(n, z, edge))
        back = fnp.concatenate([last[..., None], fnp.multiply(x[..., -2::-1], -z)], -1)
        x = _recursion(back, z)[..., ::-1]
    return x


def _recursion(x: ArrayLike, z: float) -> Any:
    """Compute ``y[n] = x[n] + z y[n - 1]``."""
    b, feedback = np.array([1.0, 0.0], x.dtype), np.array([-z], x.dtype)
    nothing = broadcast_to(x.dtype.type(0), (*x.shape[:-1], 1))
    return recursion(b, feedback, x, nothing)[..., :-1]


def _first_weights(n: int, z: float, edge: str) -> np.ndarray:
    """Return the weights for the start of the forward recursion: the sum over the elements before the first one."""
    powers = z ** np.arange(n, dtype=float)
    if edge == "mirror":
        weights = powers.copy()
        weights[1:-1] += z ** np.arange(2 * n - 3, n - 1, -1, dtype=float)
        return weights / (1 - z ** (2 * n - 2))
    if edge == "wrap":
        return np.concatenate([powers[:1], powers[:0:-1]]) / (1 - z**n)
    # SciPy reads the first element again after it was replaced by the sum. The difference shows in short arrays.
    weights = (powers + z ** np.arange(2 * n - 1, n - 1, -1, dtype=float)) * z / (1 - z ** (2 * n))
    weights[0] += 1
    return weights


def _last_weights(n: int, z: float, edge: str) -> np.ndarray:
    """Return the weights that give the start of the backward recursion."""
    weights = np.zeros(n)
    if edge == "mirror":
        weights[-2:] = z * z / (z * z - 1), z / (z * z - 1)
    elif edge == "wrap":
        weights[-1] = 1
        weights[:-1] += z ** np.arange(1, n)
        weights *= z / (z**n - 1)
    else:
        weights[-1] = z / (z - 1)
    return weights


def shares(place: ArrayLike, order: int) -> tuple[Any, list[Any]]:
    """Return the first of the ``order + 1`` elements that contribute at a coordinate, and the weight of each."""
    shifted = place if order % 2 else fnp.add(place, 0.5)
    below = fnp.floor(shifted)
    t = fnp.subtract(shifted, below)
    weights: list[Any] = [1.0]
    for degree in range(1, order + 1):
        rising = [
            fnp.multiply(fnp.divide(fnp.add(t, degree - j), degree), weights[j - 1]) for j in range(1, degree + 1)
        ]
        falling = [fnp.multiply(fnp.divide(fnp.subtract(j + 1, t), degree), weights[j]) for j in range(degree)]
        inner = [fnp.add(up, down) for up, down in zip(rising[:-1], falling[1:], strict=True)]
        weights = [falling[0], *inner, rising[-1]]
    return fnp.subtract(below, order // 2), weights
