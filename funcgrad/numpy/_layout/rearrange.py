"""Functions that turn, shift and repeat elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.trace.place import in_own_memory
from funcgrad._ops.index.gather import index, index_p, slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.index.plan import FULL, SLOT, Index
from funcgrad._ops.layout import shape as ops
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.copy import copy, fresh
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.concrete import concrete_value, no_number
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._layout.shape import Axes, as_array, normalize_tuple, ravel, transpose


@implements(np.flip)
def flip(m: ArrayLike, axis: Axes | None = None) -> Array:
    """``numpy.flip``."""
    m = as_array(m)
    ndim = len(m.shape)
    if not ndim and axis is None:
        # NumPy indexes with no slices here, which makes a number of a 0-d array.
        return index(m, ())
    return ops.flip(m, tuple(range(ndim)) if axis is None else normalize_tuple(axis, ndim))


@implements(np.flipud)
def flipud(m: ArrayLike) -> Any:
    """``numpy.flipud``."""
    return flip(_with_axes(m, 1), 0)


@implements(np.fliplr)
def fliplr(m: ArrayLike) -> Tensor:
    """``numpy.fliplr``."""
    return flip(_with_axes(m, 2), 1)


def _with_axes(m: ArrayLike, needed: int) -> Tensor:
    m = as_array(m)
    if len(m.shape) < needed:
        raise ValueError(f"Input must be >= {needed}-d.")
    return m


@implements(np.rot90)
def rot90(m: ArrayLike, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    """``numpy.rot90``."""
    m = as_array(m)
    ndim = len(m.shape)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    first, second = normalize_tuple(axes, ndim, "axes")
    k %= 4
    if k == 0:
        return m
    if k == 2:
        return flip(m, (first, second))
    order = list(range(ndim))
    order[first], order[second] = order[second], order[first]
    return transpose(flip(m, second), order) if k == 1 else flip(transpose(m, order), second)


@implements(np.roll)
def roll(a: ArrayLike, shift: Axes, axis: Axes | None = None) -> Any:
    """``numpy.roll``."""
    a = as_array(a)
    if axis is None:
        return ops.reshape(roll(ravel(a), sum(np.ravel(shift).tolist()), 0), a.shape)
    shifts, axes = np.broadcast_arrays(shift, axis)
    rolled = a
    for amount, i in zip(shifts.ravel().tolist(), axes.ravel().tolist(), strict=True):
        rolled = _rolled(rolled, amount, normalize_axis(i, len(a.shape)))
    return fresh(rolled, a)


def _rolled(a: ArrayLike, amount: int, axis: int) -> Any:
    length = a.shape[axis]
    cut = (length - amount) % length if length else 0
    if cut == 0:
        return a
    return concatenate([slice_axis(a, axis, cut, length), slice_axis(a, axis, 0, cut)], axis)


@implements(np.tile)
def tile(A: ArrayLike, reps: Axes) -> Tensor:  # noqa: N803  (NumPy's name)
    """``numpy.tile``."""
    a = as_array(A)
    counts = tuple(int(n) for n in np.ravel(np.asarray(reps)))
    ndim = max(len(a.shape), len(counts))
    counts = (1,) * (ndim - len(counts)) + counts
    lengths = (1,) * (ndim - len(a.shape)) + a.shape
    paired = tuple(n for length in lengths for n in (1, length))
    repeated = tuple(n for pair in zip(counts, lengths, strict=True) for n in pair)
    whole = tuple(count * length for count, length in zip(counts, lengths, strict=True))
    tiled = in_own_memory(ops.reshape(broadcast_to(ops.reshape(a, paired), repeated), whole))
    # With one copy it would be a view.
    return no_number(copy(tiled)) if repeated == paired else tiled


@implements(np.repeat)
def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None) -> Array:
    """Return ``numpy.repeat``. The numbers of repeats decide the shape, so they must be known."""
    a = as_array(a)
    if axis is None or not a.shape:
        # As in NumPy, a number has one axis here.
        a, axis = ravel(a), axis or 0
    axis = normalize_axis(axis, len(a.shape))
    counts = np.asarray(concrete_value(as_value(repeats), "numpy.repeat"))
    if counts.size == 1:
        return _repeated(a, int(counts.reshape(())), axis)
    positions = np.repeat(np.arange(a.shape[axis]), counts)
    return index_p(a, positions, index=Index((*(FULL,) * axis, SLOT)))


def _repeated(a: ArrayLike, count: int, axis: int) -> Array:
    if count < 0:
        raise ValueError("repeats may not contain negative values.")
    shape = a.shape
    stretched = broadcast_to(ops.expand_dims(a, (axis + 1,)), (*shape[: axis + 1], count, *shape[axis + 1 :]))
    repeated = in_own_memory(ops.reshape(stretched, (*shape[:axis], shape[axis] * count, *shape[axis + 1 :])))
    return copy(repeated) if count == 1 else repeated
