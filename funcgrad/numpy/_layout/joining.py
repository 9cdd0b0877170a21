"""Functions that join arrays and cut them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._core.numbers import is_weak
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index import join as ops
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import FULL, Index
from funcgrad._ops.layout.copy import copy
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.convert import as_value, dtype_of, promote, promote_weakly
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._base.out import takes_joined_out
from funcgrad.numpy._layout.shape import as_array, atleast_1d, atleast_2d, atleast_3d, broadcast_to, ravel, swapaxes

Sections = int | Sequence[int]


def _common(arrays: ArrayLike, dtype: DTypeLike, casting: str) -> list[Any]:
    """Return the elements of a sequence (or the rows of an array) as arrays of one dtype, in the machine's byte order.

    Raises:
        TypeError: `casting` forbids a conversion to this dtype.
        ValueError: there is no array, or `casting` is no rule of NumPy's.
    """
    values = [as_array(x) for x in arrays]
    if not values:
        raise ValueError("need at least one array to concatenate")
    if dtype is None and casting == "same_kind":
        first = values[0].dtype
        return values if all(x.dtype is first for x in values) else list(promote(*values))
    dtype = np.result_type(*map(dtype_of, values)) if dtype is None else np.dtype(dtype)
    rule: Any = casting
    for source in map(dtype_of, values):
        if not np.can_cast(source, dtype, rule):
            raise TypeError(f"Cannot cast array data from {source!r} to {dtype!r} according to the rule {casting!r}")
    return [cast(x, dtype.newbyteorder("=")) for x in values]


def _in_order(y: ArrayLike, dtype: DTypeLike) -> Array:
    """Return a joined array in the byte order of the requested dtype."""
    return y if dtype is None else cast(y, np.dtype(dtype))


def _flat(arrays: ArrayLike) -> list[Any]:
    """Return arrays as vectors. A Python number among them has their dtype."""
    values = [as_value(x) for x in arrays]
    weak = [is_weak(x) for x in values]
    if any(weak) and not all(weak):
        values = list(promote_weakly(*values))
    return [ravel(x) for x in values]


@implements(np.concatenate)
@takes_joined_out
def concatenate(
    arrays: ArrayLike,
    /,
    axis: int | None = 0,
    out: Array = None,
    *,
    dtype: DTypeLike = None,
    casting: str = "same_kind",
) -> Array:
    """``numpy.concatenate``."""
    if axis is None:
        arrays, axis = _flat(arrays), 0
    values = _common(arrays, dtype, casting)
    shape = values[0].shape
    if not shape:
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    axis = normalize_axis(axis, len(shape))
    for i, x in enumerate(values):
        other = x.shape
        if len(other) != len(shape) or other[:axis] + other[axis + 1 :] != shape[:axis] + shape[axis + 1 :]:
            texts = type_text(shape, dtype_of(x)), type_text(other, dtype_of(x))
            raise ValueError(
                f"concatenate: array 0 is {texts[0]} and array {i} is {texts[1]}; needed equal lengths along all axes "
                f"but {axis}. Reshape them, or concatenate along another axis."
            )
    return _in_order(ops.concatenate(values, axis) if len(values) > 1 else copy(values[0]), dtype)


concat = concatenate


@implements(np.stack)
@takes_joined_out
def stack(
    arrays: ArrayLike, axis: int = 0, out: Array = None, *, dtype: DTypeLike = None, casting: str = "same_kind"
) -> Array:
    """``numpy.stack``."""
    values = _common(arrays, dtype, casting)
    shape = values[0].shape
    if any(x.shape != shape for x in values):
        raise ValueError("all input arrays must have the same shape")
    y = ops.stack(values, normalize_axis(axis, len(shape) + 1))
    return _in_order(y if len(values) > 1 else copy(y), dtype)


def _each(function: Callable[[Any], Any], arrays: ArrayLike) -> list[Any]:
    return [function(x) for x in arrays]


@implements(np.vstack)
def vstack(tup: ArrayLike, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Any:
    """``numpy.vstack``."""
    return concatenate(_each(atleast_2d, tup), 0, dtype=dtype, casting=casting)


@implements(np.hstack)
def hstack(tup: ArrayLike, *, dtype: DTypeLike = None, casting: str = "same_kind") -> Any:
    """``numpy.hstack``."""
    arrays = _each(atleast_1d, tup)
    return concatenate(arrays, 0 if arrays and len(arrays[0].shape) == 1 else 1, dtype=dtype, casting=casting)


@implements(np.dstack)
def dstack(tup: ArrayLike) -> Any:
    """``numpy.dstack``."""
    return concatenate(_each(atleast_3d, tup), 2)


@implements(np.column_stack)
def column_stack(tup: ArrayLike) -> Array:
    """``numpy.column_stack``: vectors become columns."""
    arrays = [as_array(x) for x in tup]
    return concatenate([x if len(x.shape) > 1 else swapaxes(atleast_2d(x), 0, 1) for x in arrays], 1)


@implements(np.block)
def block(arrays: ArrayLike) -> Any:
    """``numpy.block``: nested lists of blocks; the innermost are joined along the last axis."""
    depth = _depth(arrays)
    ndim = max(depth, _greatest_ndim(arrays))
    return _joined(arrays, ndim, ndim - depth)


def _depth(arrays: ArrayLike) -> int:
    if not isinstance(arrays, list):
        return 0
    if not arrays:
        raise ValueError("List at arrays cannot be empty")
    depths = {_depth(x) for x in arrays}
    if len(depths) > 1:
        raise ValueError("List depths are mismatched. First element was at another depth than a later one.")
    return 1 + depths.pop()


def _greatest_ndim(arrays: ArrayLike) -> int:
    return max(map(_greatest_ndim, arrays)) if isinstance(arrays, list) else len(as_array(arrays).shape)


def _joined(arrays: ArrayLike, ndim: int, axis: int) -> Any:
    if not isinstance(arrays, list):
        x = as_array(arrays)
        return copy(broadcast_to(x, (1,) * (ndim - len(x.shape)) + x.shape))
    return concatenate([_joined(x, ndim, axis + 1) for x in arrays], axis)


@implements(np.split)
def split(ary: ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[Any]:
    """``numpy.split``."""
    ary = as_array(ary)
    axis = normalize_axis(axis, len(ary.shape))
    if np.ndim(indices_or_sections) == 0 and ary.shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


@implements(np.array_split)
def array_split(ary: ArrayLike, indices_or_sections: Sections, axis: int = 0) -> list[Any]:
    """``numpy.array_split``."""
    ary = as_array(ary)
    axis = normalize_axis(axis, len(ary.shape))
    length = ary.shape[axis]
    sections: Any = indices_or_sections
    if np.ndim(sections) == 0:
        count = int(sections)
        if count <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extra = divmod(length, count)
        ends = [each * i + min(i, extra) for i in range(1, count)]
    else:
        ends = [int(i) for i in sections]
    starts = [0, *ends]
    return [
        index_p(ary, index=Index((*(FULL,) * axis, slice(*pair)))) for pair in zip(starts, [*ends, length], strict=True)
    ]


@implements(np.vsplit)
def vsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Any]:
    """``numpy.vsplit``."""
    return split(_with_axes("vsplit", ary, 2), indices_or_sections, 0)


@implements(np.hsplit)
def hsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Any]:
    """``numpy.hsplit``."""
    ary = _with_axes("hsplit", ary, 1)
    return split(ary, indices_or_sections, 1 if len(ary.shape) > 1 else 0)


@implements(np.dsplit)
def dsplit(ary: ArrayLike, indices_or_sections: Sections) -> list[Any]:
    """``numpy.dsplit``."""
    return split(_with_axes("dsplit", ary, 3), indices_or_sections, 2)


def _with_axes(name: str, ary: ArrayLike, needed: int) -> Any:
    ary = as_array(ary)
    if len(ary.shape) < needed:
        raise ValueError(f"{name} only works on arrays of {needed} or more dimensions")
    return ary


def unstack(x: ArrayLike, /, *, axis: int = 0) -> tuple[Any, ...]:
    """``numpy.unstack``: the parts along an axis, as a tuple."""
    x = as_array(x)
    if not x.shape:
        raise ValueError("Input array must be at least 1-d.")
    axis = normalize_axis(axis, len(x.shape))
    return tuple([index_p(x, index=Index((*(FULL,) * axis, i))) for i in range(x.shape[axis])])


if hasattr(np, "unstack"):
    # NumPy has it from 2.1 on.
    implements(np.unstack)(unstack)


@implements(np.append)
def append(arr: ArrayLike, values: ArrayLike, axis: int | None = None) -> Any:
    """``numpy.append``."""
    if axis is None:
        return concatenate([ravel(arr), ravel(values)], 0)
    return concatenate([arr, values], axis)
