"""Padding, and insertion and deletion along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.contract.dot import NO_BATCH, dot_general
from funcgrad._ops.elementwise.arithmetic import ne_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.rounding import floor_p, rint_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index_p, slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.index.join import pad as pad_op
from funcgrad._ops.index.plan import FULL, SLOT, Index
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.copy import copy, fresh
from funcgrad._ops.reduce.reduce import reduce_max, reduce_min
from funcgrad._ops.reduce.sort import sort
from funcgrad._types import Array, ArrayLike, IndexLike
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.concrete import concrete_value, no_number
from funcgrad.numpy._base.convert import as_value, assigned, promote
from funcgrad.numpy._base.dispatch import implements, refuse_option
from funcgrad.numpy._base.foreign import is_object_array
from funcgrad.numpy._layout.shape import as_array, broadcast_to, moveaxis, ravel

# Modes that repeat elements. NumPy itself pads the positions.
_CHOOSING = ("edge", "reflect", "symmetric", "wrap")
_OPTIONS = {
    "constant": {"constant_values"},
    "linear_ramp": {"end_values"},
    "reflect": {"reflect_type"},
    "symmetric": {"reflect_type"},
    **{mode: {"stat_length"} for mode in ("maximum", "mean", "median", "minimum")},
    **{mode: set() for mode in ("edge", "empty", "wrap")},
}


@implements(np.pad)
def pad(array: ArrayLike, pad_width: ArrayLike, mode: Any = "constant", **kwargs: Any) -> Array:
    """Return ``numpy.pad``, in all modes except a function, which would write into the array."""
    array = as_array(array)
    widths = _widths(pad_width, len(array.shape))
    if not array.shape and isinstance(mode, str) and mode in _OPTIONS:
        return no_number(copy(array))
    if callable(mode):
        refuse_option("pad", "mode, a function,", f"The modes there are: {', '.join(sorted(_OPTIONS))}.")
    if mode not in _OPTIONS:
        raise ValueError(f"pad: mode {mode!r} is not supported. The modes there are: {', '.join(sorted(_OPTIONS))}.")
    _check_options(mode, kwargs, _OPTIONS[mode])
    if mode in {"constant", "empty"}:
        return _pad_constant(array, widths, kwargs.get("constant_values", 0))
    padded = array
    for axis, pair in enumerate(widths):
        if any(pair):
            if not array.shape[axis]:
                raise ValueError(
                    f"pad: can't extend empty axis {axis} using modes other than 'constant' or 'empty'. Use one."
                )
            padded = _pad_axis(padded, axis, pair, mode, kwargs)
    return fresh(padded, array)


def _pad_axis(x: ArrayLike, axis: int, pair: tuple[int, int], mode: str, options: dict[str, Any]) -> Array:
    """Pad an axis that is not empty, in a mode other than with constants."""
    n = x.shape[axis]
    if mode in _CHOOSING and (options.get("reflect_type", "even") == "even" or n == 1):
        return index_p(x, np.pad(np.arange(n), pair, mode), index=Index((*(FULL,) * axis, SLOT)))
    if mode in _CHOOSING:
        return _reflected_oddly(x, axis, pair, mode)
    made = _ramps if mode == "linear_ramp" else _statistics
    sides = made(x, axis, pair, mode, options)
    parts = [side for side, width in zip(sides, pair, strict=True) if width]
    return concatenate([*parts[: bool(pair[0])], x, *parts[bool(pair[0]) :]], axis)


def _reflected_oddly(x: ArrayLike, axis: int, pair: tuple[int, int], mode: Any) -> Any:
    """Return twice the edge minus the reflection.

    It is linear in the elements, by the matrix that NumPy makes of ones.
    """
    n = x.shape[axis]
    factors = np.pad(np.eye(n), (pair, (0, 0)), mode, reflect_type="odd")
    dtype = x.dtype if is_inexact(x.dtype) else np.dtype(np.int64)
    sides = []
    for rows in (factors[: pair[0]], factors[pair[0] + n :]):
        y = dot_general(rows.astype(dtype), cast(x, dtype), ((1,), (axis,)), NO_BATCH)
        sides.append(cast(moveaxis(y, 0, axis), x.dtype))
    return concatenate([sides[0], x, sides[1]], axis)


def _pairs(values: ArrayLike, ndim: int) -> Any:
    """Return a value for each side of each axis."""
    return broadcast_to(values, (ndim, 2))


def _ramps(x: ArrayLike, axis: int, pair: tuple[int, int], mode: str, options: dict[str, Any]) -> list[Any]:
    """Return ramps from the end values to the edges, without the edges."""
    del mode
    n, ends = x.shape[axis], _pairs(options.get("end_values", 0), len(x.shape))
    sides = []
    for side, width in enumerate(pair):
        edge = slice_axis(x, axis, *((0, 1) if side == 0 else (n - 1, n)))
        places = np.arange(width) if side == 0 else np.arange(width)[::-1]
        shape = (-1,) + (1,) * (len(x.shape) - axis - 1)
        if is_inexact(x.dtype):
            end, steps = cast(ends[axis, side], x.dtype), places.astype(x.dtype).reshape(shape)
            sides.append(steps * ((edge - end) / max(width, 1)) + end)
        else:
            edge, end = cast(edge, np.dtype(float)), cast(ends[axis, side], np.dtype(float))
            ramp = places.reshape(shape) * ((edge - end) / max(width, 1)) + end
            sides.append(cast(bind(floor_p, (ramp,), NO_PARAMS), x.dtype))
    return sides


def _statistics(x: ArrayLike, axis: int, pair: tuple[int, int], mode: str, options: dict[str, Any]) -> list[Any]:
    """Return a statistic of the elements next to each side."""
    n = x.shape[axis]
    given = options.get("stat_length")
    given = np.broadcast_to(n if given is None else given, (len(x.shape), 2))[axis]
    sides = []
    for side, (length, width) in enumerate(zip(given.tolist(), pair, strict=True)):
        count = min(length, n)
        if count < 1:
            raise ValueError(
                f"pad: stat_length is {length}, and stat_length of 0 yields no value for padding. Give at least 1."
            )
        part = slice_axis(x, axis, *((0, count) if side == 0 else (n - count, n)))
        y = _STATISTICS[mode](part, axis, count)
        shape = tuple([width if i == axis else length for i, length in enumerate(y.shape)])
        sides.append(broadcast_to(y, shape))
    return sides


def _mean(x: ArrayLike, axis: int, count: int) -> Any:
    floats = x if is_inexact(x.dtype) else cast(x, np.dtype(float))
    wide = cast(floats, np.dtype(np.float32)) if floats.dtype.itemsize < 4 else floats
    return _as_padded(reduce_sum(wide, (axis,), True) / count, x.dtype)


def _median(x: ArrayLike, axis: int, count: int) -> Any:
    floats = x if is_inexact(x.dtype) else cast(x, np.dtype(float))
    middle = slice_axis(sort(floats, axis), axis, (count - 1) // 2, count // 2 + 1)
    y = _mean(middle, axis, middle.shape[axis])
    # NaN is last.
    last = slice_axis(sort(floats, axis), axis, count - 1, count)
    return _as_padded(select(bind(ne_p, (last, last), NO_PARAMS), np.nan, y), x.dtype)


def _as_padded(y: ArrayLike, dtype: np.dtype) -> Any:
    """Round a statistic of integers to an integer."""
    return cast(y if is_inexact(dtype) else bind(rint_p, (y,), NO_PARAMS), dtype)


_STATISTICS: dict[str, Any] = {
    "maximum": lambda x, axis, count: reduce_max(x, (axis,), True),
    "minimum": lambda x, axis, count: reduce_min(x, (axis,), True),
    "mean": _mean,
    "median": _median,
}


def _check_options(mode: str, given: dict[str, Any], known: set[str]) -> None:
    if set(given) - known:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {set(given) - known}")


def _widths(pad_width: ArrayLike, ndim: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = tuple(np.broadcast_to(width, 2).tolist())
    else:
        pairs = np.broadcast_to(pad_width, (ndim, 2)).tolist()
    if any(n < 0 for pair in pairs for n in pair):
        raise ValueError("index can't contain negative values")
    return tuple([(int(low), int(high)) for low, high in pairs])


def _pad_constant(x: ArrayLike, widths: tuple[tuple[int, int], ...], values: ArrayLike) -> Array:
    y = fresh(pad_op(x, widths), x)
    if issubclass(type(values), int | float) and values == 0:
        return y
    # NumPy inserts them as Python's numbers, for every dtype.
    values = values.tolist() if issubclass(type(values), np.ndarray | np.generic) else values
    pairs = broadcast_to(assigned(values, y.dtype), (len(widths), 2))
    for axis, (low, high) in enumerate(widths):
        length = y.shape[axis]
        for side, start, stop in ((0, 0, low), (1, length - high, length)):
            if start < stop:
                inside = np.zeros(length, bool)
                inside[start:stop] = True
                mask = inside.reshape((-1,) + (1,) * (len(widths) - axis - 1))
                y = select(mask, pairs[axis, side], y)
    return y


@implements(np.delete)
def delete(arr: ArrayLike, obj: IndexLike, axis: int | None = None) -> Any:
    """``numpy.delete``."""
    arr, axis = _along(arr, axis)
    if not isinstance(obj, slice):
        obj = _plain_places(obj, "numpy.delete")
    kept = np.delete(np.arange(arr.shape[axis]), obj)
    return index_p(arr, kept, index=Index((*(FULL,) * axis, SLOT), unique=True))


@implements(np.insert)
def insert(arr: ArrayLike, obj: IndexLike, values: ArrayLike, axis: int | None = None) -> Any:
    """``numpy.insert``."""
    # An array of objects holds every number.
    roomy = is_object_array(arr)
    arr, axis = _along(arr, axis)
    values = as_array(values) if roomy else assigned(values, arr.dtype)
    ndim, length = len(arr.shape), arr.shape[axis]
    # The positions must be plain: NumPy's own `insert` below would call this function again for a traced array of them.
    places = np.arange(*obj.indices(length)) if isinstance(obj, slice) else _plain_places(obj, "numpy.insert")
    if len(values.shape) < ndim:
        values = broadcast_to(values, (1,) * (ndim - len(values.shape)) + values.shape)
    if places.ndim == 0:
        values = moveaxis(values, 0, axis)
    count = values.shape[axis] if places.size == 1 else places.size
    values = broadcast_to(values, (*arr.shape[:axis], count, *arr.shape[axis + 1 :]))
    order = np.insert(np.arange(length), obj if isinstance(obj, slice) else places, length + np.arange(count))
    whole = concatenate(list(promote(arr, values)), axis)
    return index_p(whole, order, index=Index((*(FULL,) * axis, SLOT), unique=True))


def _plain_places(obj: IndexLike, asked: str) -> np.ndarray:
    """Return the indices, or the mask, as a plain array. An empty list counts as integers."""
    places = np.asarray(concrete_value(as_value(obj), asked))
    return places.astype(int) if isinstance(obj, list | tuple) and not places.size else places


def _along(arr: ArrayLike, axis: int | None) -> tuple[Any, int]:
    if axis is None:
        return ravel(arr), 0
    arr = as_array(arr)
    return arr, normalize_axis(axis, len(arr.shape))
