"""Sorting, searching, and order statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.logic import isnan_p
from funcgrad._ops.layout.shape import flip
from funcgrad._ops.reduce import sort as ops
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.concrete import known_value
from funcgrad.numpy._base.convert import promote
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._reduce.cumulative import along, flat
from funcgrad.numpy._reduce.reductions import as_array


@implements(np.sort)
def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> Any:
    """``numpy.sort``; ``descending`` is an argument of NumPy 2.5."""
    a, axis = _along(a, axis)
    _check_kind(a, kind, order, stable)
    return ops.gather_along_axis(a, _falling(a, axis), axis) if descending else ops.sort(a, axis)


@implements(np.argsort)
def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool | None = None,
) -> Array:
    """Return ``numpy.argsort``, always stable. The result carries no derivative."""
    a = as_array(a)
    _check_kind(a, kind, order, stable)
    a, axis = along(a, axis)
    return _falling(a, axis) if descending else ops.argsort(a, axis)


def _falling(a: ArrayLike, axis: int) -> Any:
    """Return the positions that sort an array from large to small: stable, and with NaN at the end."""
    axes = (axis,)
    positions = a.shape[axis] - 1 - flip(ops.argsort(flip(a, axes), axis), axes)
    if a.dtype.kind not in "fcV":
        return positions
    unknown = bind(isnan_p, (ops.gather_along_axis(a, positions, axis),), NO_PARAMS)
    return ops.gather_along_axis(positions, ops.argsort(unknown, axis), axis)


@implements(np.partition)
def partition(a: ArrayLike, kth: ArrayLike, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """Return ``numpy.partition``, by sorting, which is a partition at every position."""
    _check_places("partition", *_along(a, axis), kth, kind)
    return sort(a, axis, order=order)


@implements(np.argpartition)
def argpartition(a: ArrayLike, kth: ArrayLike, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """Return ``numpy.argpartition``, by sorting, which is a partition at every position."""
    _check_places("argpartition", *_along(a, axis), kth, kind)
    return argsort(a, axis, order=order)


def _check_kind(a: ArrayLike, kind: Any, order: Any, stable: bool | None) -> None:
    """Let NumPy refuse options that it does not accept. They change no result here."""
    if kind is not None or order is not None or stable is not None:
        np.sort(np.empty(0, a.dtype), kind=kind, order=order, stable=stable)


def _check_places(name: str, a: ArrayLike, axis: int, kth: ArrayLike, kind: Any) -> None:
    """Raise NumPy's errors for known positions that are not on the axis."""
    known = known_value(as_array(kth))
    length = a.shape[axis]
    np.partition(np.empty(1), 0, kind=kind or "introselect")
    if known is None:
        return
    if known.dtype.kind not in "iu":
        error = ValueError if known.dtype.kind == "b" else TypeError
        raise error(f"{name}: kth is of dtype {known.dtype}; partition index must be integer. Convert it with int().")
    outside = known[(known < -length) | (known >= length)]
    if outside.size and math.prod(a.shape):
        raise ValueError(
            f"{name}: kth(={outside.flat[0]}) out of bounds ({length}); needed {-length} to {length - 1}. "
            "Name a place on the axis."
        )


def _along(a: ArrayLike, axis: int | None) -> tuple[Any, int]:
    a = as_array(a)
    return (flat(a), 0) if axis is None else (a, normalize_axis(axis, len(a.shape)))


@implements(np.searchsorted)
def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left", sorter: ArrayLike = None) -> Array:
    """``numpy.searchsorted``; the result carries no derivative."""
    a, v = promote(as_array(a), as_array(v))
    if sorter is not None:
        sorter = as_array(sorter)
        if sorter.dtype.kind not in "iu":
            raise TypeError(f"searchsorted: sorter must only contain integers, and is {aval_of(sorter)}. Use argsort.")
        if sorter.shape != a.shape:
            raise ValueError(
                f"searchsorted: sorter.size must equal a.size: they are {aval_of(sorter)} and {aval_of(a)}. Use "
                "np.argsort(a)."
            )
        known = known_value(sorter)
        if known is not None and known.size and not -a.shape[0] <= known.min() <= known.max() < a.shape[0]:
            raise ValueError("searchsorted: Sorter index out of range. Use np.argsort(a).")
        a = ops.gather_along_axis(a, sorter, 0)
    return ops.searchsorted(a, v, side)


@beside_numpys(np.lexsort)
def lexsort(keys: ArrayLike, axis: int = -1) -> Any:
    """Return ``numpy.lexsort``: by the last key, and among equals by the one before.

    The result carries no derivative.
    """
    rows = [as_array(key) for key in keys]
    axis = normalize_axis(axis, len(rows[0].shape))
    order = ops.argsort(rows[0], axis)
    for key in rows[1:]:
        order = ops.gather_along_axis(order, ops.argsort(ops.gather_along_axis(key, order, axis), axis), axis)
    return order


@beside_numpys(np.sort_complex)
def sort_complex(a: ArrayLike) -> Any:
    """Return ``numpy.sort_complex``: complex128, or complex64 for complex64 and small integers."""
    y = sort(a)
    if y.dtype.kind == "c":
        return y
    return cast(y, np.dtype(np.complex64 if y.dtype.char in "bhBH" else np.complex128))
