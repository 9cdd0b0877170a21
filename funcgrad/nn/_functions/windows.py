"""Windows given by the indices of their elements: maxima with their positions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.layout.shape import reshape
from funcgrad._transforms.custom.stop_gradient import stop_gradient
from funcgrad._types import Array

# For each output position along an axis the indices of its window's elements, -1 for padding: ``i64[out, window]``.
Along = np.ndarray


def sliding(length: int, kernel: int, stride: int, padding: int, dilation: int, count: int) -> Along:
    """Return the windows of a kernel that slides along an axis."""
    places = np.arange(count)[:, None] * stride - padding + np.arange(kernel)[None, :] * dilation
    return np.where((places >= 0) & (places < length), places, -1)


def between(starts: Array, ends: Array) -> Along:
    """Return windows from each start to each end; shorter ones are filled up with -1."""
    starts, ends = np.asarray(starts), np.asarray(ends)
    places = starts[:, None] + np.arange(max(int((ends - starts).max(initial=0)), 1))[None, :]
    return np.where(places < ends[:, None], places, -1)


def adaptive(length: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the starts and ends of ``count`` windows that divide an axis as evenly as possible."""
    i = np.arange(count)
    return i * length // max(count, 1), -(-(i + 1) * length // max(count, 1))


def _joined(space: tuple[int, ...], alongs: list[Along]) -> np.ndarray:
    """Return the indices into the flat space of the elements of each window: ``i64[outs, window]``."""
    places = np.zeros((1, 1), np.int64)
    for length, along in zip(space, alongs, strict=True):
        (outs, window), (more_outs, more_window) = places.shape, along.shape
        flat = places[:, None, :, None] * length + along[None, :, None, :]
        inside = (places[:, None, :, None] >= 0) & (along[None, :, None, :] >= 0)
        places = np.where(inside, flat, -1).reshape(outs * more_outs, window * more_window)
    return places


def maxima(x: Array, alongs: list[Along]) -> tuple[Any, Any]:
    """Return the maximum of each window of the last axes, and its index in the flat space; the first of equal ones."""
    axes = len(alongs)
    lead, space = x.shape[: len(x.shape) - axes], x.shape[len(x.shape) - axes :]
    outs = tuple([len(along) for along in alongs])
    flat = reshape(x, (*lead, math.prod(space)))
    places = _joined(space, alongs)
    values = fnp.take(stop_gradient(flat), np.maximum(places, 0), axis=-1)
    values = fnp.where(places < 0, -np.inf, values)
    best = fnp.argmax(values, axis=-1, keepdims=True)
    spread = fnp.broadcast_to(places, (*lead, *places.shape))
    chosen = fnp.take_along_axis(spread, best, axis=-1)[..., 0]
    found = fnp.take_along_axis(flat, chosen, axis=-1)
    return reshape(found, (*lead, *outs)), reshape(chosen, (*lead, *outs))
