"""Padding, and insertion and deletion along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.index.join import pad as pad_op
from funcgrad._ops.index.plan import FULL, SLOT, Index
from funcgrad._ops.layout.copy import fresh
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.concrete import concrete_value
from funcgrad.numpy._base.convert import as_value, assigned, promote
from funcgrad.numpy._base.dispatch import implements, refuse_option
from funcgrad.numpy._layout.shape import as_array, broadcast_to, moveaxis, ravel

# Modes whose padding is a choice of elements: NumPy itself pads the positions.
_CHOOSING = {"edge": set(), "reflect": {"reflect_type"}, "symmetric": {"reflect_type"}, "wrap": set()}


@implements(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """``numpy.pad`` with the modes constant, empty, edge, reflect, symmetric and wrap."""
    array = as_array(array)
    widths = _widths(pad_width, len(array.shape))
    if mode in {"constant", "empty"}:
        _check_options(mode, kwargs, {"constant_values"} if mode == "constant" else set())
        return _pad_constant(array, widths, kwargs.get("constant_values", 0))
    if mode not in _CHOOSING or kwargs.get("reflect_type", "even") != "even":
        refuse_option(
            "pad", f"mode={mode!r} {kwargs}", f"The modes there are: constant, empty, {', '.join(_CHOOSING)}."
        )
    _check_options(mode, kwargs, _CHOOSING[mode])
    padded = array
    for axis, pair in enumerate(widths):
        if any(pair):
            positions = np.pad(np.arange(array.shape[axis]), pair, mode)
            padded = index_p(padded, positions, index=Index((*(FULL,) * axis, SLOT)))
    return fresh(padded, array)


def _check_options(mode: str, given: dict[str, Any], known: set[str]) -> None:
    if set(given) - known:
        raise ValueError(f"unsupported keyword arguments for mode '{mode}': {set(given) - known}")


def _widths(pad_width: Any, ndim: int) -> tuple[tuple[int, int], ...]:
    if isinstance(pad_width, dict):
        pairs = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[axis] = tuple(np.broadcast_to(width, 2).tolist())
    else:
        pairs = np.broadcast_to(pad_width, (ndim, 2)).tolist()
    if any(n < 0 for pair in pairs for n in pair):
        raise ValueError("index can't contain negative values")
    return tuple([(int(low), int(high)) for low, high in pairs])


def _pad_constant(x: Any, widths: tuple[tuple[int, int], ...], values: Any) -> Any:
    y = fresh(pad_op(x, widths), x)
    if isinstance(values, int | float) and values == 0:
        return y
    # NumPy puts them in as numbers of Python's, whatever they were.
    values = values.tolist() if isinstance(values, np.ndarray | np.generic) else values
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
def delete(arr: Any, obj: Any, axis: int | None = None) -> Any:
    """``numpy.delete``."""
    arr, axis = _along(arr, axis)
    if not isinstance(obj, slice):
        places = concrete_value(as_value(obj), "numpy.delete")
        # Without elements a list is one of places, although as an array it has floats.
        obj = [] if isinstance(obj, list | tuple) and not np.size(places) else places
    kept = np.delete(np.arange(arr.shape[axis]), obj)
    return index_p(arr, kept, index=Index((*(FULL,) * axis, SLOT), unique=True))


@implements(np.insert)
def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Any:
    """``numpy.insert``."""
    arr, axis = _along(arr, axis)
    values = assigned(values, arr.dtype)
    ndim, length = len(arr.shape), arr.shape[axis]
    places = np.arange(*obj.indices(length)) if isinstance(obj, slice) else np.asarray(obj)
    if len(values.shape) < ndim:
        values = broadcast_to(values, (1,) * (ndim - len(values.shape)) + values.shape)
    if places.ndim == 0:
        values = moveaxis(values, 0, axis)
    count = values.shape[axis] if places.size == 1 else places.size
    values = broadcast_to(values, (*arr.shape[:axis], count, *arr.shape[axis + 1 :]))
    order = np.insert(np.arange(length), obj, length + np.arange(count))
    whole = concatenate(list(promote(arr, values)), axis)
    return index_p(whole, order, index=Index((*(FULL,) * axis, SLOT), unique=True))


def _along(arr: Any, axis: int | None) -> tuple[Any, int]:
    if axis is None:
        return ravel(arr), 0
    arr = as_array(arr)
    return arr, normalize_axis(axis, len(arr.shape))
