"""Matrices that mix the elements of one axis, and indices that rearrange them: pads, resizing, adaptive means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array

# The weight of an element at a distance, in units of the distance between elements.
Kernel = Callable[[np.ndarray], np.ndarray]


def mixed(x: Array, axis: int, matrix: np.ndarray) -> Array:
    """Multiply the elements along an axis by a matrix ``[out, in]``."""
    return fnp.moveaxis(fnp.tensordot(x, matrix.astype(x.dtype), ((axis,), (1,))), -1, axis)


def cubic(a: float) -> Kernel:
    """Return Keys' kernel of cubic convolution (1981, eq. 4 and 15) with the slope ``a``."""

    def kernel(t: np.ndarray) -> np.ndarray:
        t = np.abs(t)
        near = ((a + 2) * t - (a + 3)) * t * t + 1
        far = ((t - 5) * t + 8) * t * a - 4 * a
        return np.where(t <= 1, near, np.where(t < 2, far, 0.0))

    return kernel


def triangle(t: np.ndarray) -> np.ndarray:
    """Return the kernel of linear interpolation."""
    return np.maximum(1 - np.abs(t), 0.0)


def lanczos(t: np.ndarray) -> np.ndarray:
    """Return Lanczos' kernel with three lobes."""
    return np.where(np.abs(t) < 3, np.sinc(t) * np.sinc(t / 3), 0.0)


def interpolating(
    length: int, places: np.ndarray, kernel: Callable[[np.ndarray], np.ndarray], reach: int
) -> np.ndarray:
    """Return the matrix that interpolates at places; elements outside are those at the ends."""
    first = np.floor(places).astype(int)
    matrix = np.zeros((len(places), length))
    for step in range(1 - reach, reach + 1):
        weights = kernel(places - (first + step))
        np.add.at(matrix, (np.arange(len(places)), np.clip(first + step, 0, length - 1)), weights)
    return matrix


def smoothing(length: int, count: int, scale: float, kernel: Kernel, reach: int) -> np.ndarray:
    """Return the matrix of a kernel that is as wide as the step between the results, for images that get smaller."""
    support, squeeze = (reach * scale, 1 / scale) if scale >= 1 else (float(reach), 1.0)
    centers = scale * (np.arange(count) + 0.5)
    first = np.maximum((centers - support + 0.5).astype(int), 0)[:, None]
    last = np.minimum((centers + support + 0.5).astype(int), length)[:, None]
    elements = np.arange(length)[None, :]
    weights = kernel((elements - centers[:, None] + 0.5) * squeeze)
    weights = np.where((elements >= first) & (elements < last), weights, 0.0)
    return weights / weights.sum(axis=1, keepdims=True)
