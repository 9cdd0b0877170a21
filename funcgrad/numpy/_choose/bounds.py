"""Reads at positions out of bounds: JAX's modes ``clip`` and ``fill``."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index, expand_ellipsis, is_adjacent, resolve
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import ArrayLike
from funcgrad.numpy._math.elementwise import maximum, minimum
from funcgrad.numpy._math.logic import logical_or


def default_fill(dtype: np.dtype) -> Any:
    """Return the value that JAX fills in.

    NaN, the least signed integer, the greatest unsigned integer, or true.
    """
    if is_inexact(dtype):
        return np.nan
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).min if dtype.kind == "i" else np.iinfo(dtype).max


def within(array: ArrayLike, length: int) -> tuple[Any, Any]:
    """Return the nearest positions within an axis, and whether each was outside. Negative ones count from the end."""
    outside = logical_or(array < -length, array >= length)
    counted = select(array < 0, array + length, array) if array.dtype.kind == "i" else array
    return minimum(maximum(counted, 0), max(length - 1, 0)), outside


def read(x: ArrayLike, index: Index, arrays: tuple, mode: str, fill_value: ArrayLike) -> Any:
    """Return ``x[index]``, where positions out of bounds give the nearest element (``clip``) or a value (``fill``)."""
    index, arrays = _with_arrays(index, x.shape, arrays)
    if not arrays:
        return index_p(x, index=index)
    plan = resolve(index, x.shape, tuple([a.shape for a in arrays]))
    pairs = [within(a, plan.base[axis]) for a, axis in zip(arrays, plan.array_axes, strict=True)]
    if mode == "fill" and 0 in x.shape and 0 not in plan.shape:
        # There is no element to read.
        return broadcast_to(_filling(x, fill_value), plan.shape)
    y = index_p(x, *[a for a, _ in pairs], index=index)
    if mode == "clip":
        return y
    outside = pairs[0][1]
    for _, each in pairs[1:]:
        outside = logical_or(outside, each)
    entries = expand_ellipsis(index.entries, len(x.shape))
    before = entries[: entries.index(SLOT)] if is_adjacent(index.entries) else ()
    first = sum(entry is None or isinstance(entry, slice) for entry in before)
    after = len(plan.shape) - first - len(plan.batch)
    outside = reshape(broadcast_to(outside, plan.batch), (*plan.batch, *[1] * after))
    return select(outside, _filling(x, fill_value), y)


def _with_arrays(index: Index, shape: tuple[int, ...], arrays: tuple) -> tuple[Index, tuple]:
    """Return the same index with an index array for each integer that is out of bounds."""
    entries = list(expand_ellipsis(index.entries, len(shape)))
    found = iter(arrays)
    given: list[Any] = []
    axis = 0
    for i, entry in enumerate(entries):
        if entry is SLOT:
            given.append(next(found))
        elif type(entry) is int and not -shape[axis] <= entry < shape[axis]:
            entries[i] = SLOT
            given.append(np.asarray(entry))
        axis += entry is not None
    return (index, arrays) if len(given) == len(arrays) else (Index(tuple(entries), index.unique), tuple(given))


def _filling(x: ArrayLike, fill_value: ArrayLike) -> Any:
    return cast(np.asarray(default_fill(x.dtype)) if fill_value is None else fill_value, x.dtype)
