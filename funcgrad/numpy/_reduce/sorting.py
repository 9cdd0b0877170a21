"""Sorting, searching, and the order statistics that rest on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.arithmetic import max_p, min_p, ne_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.rounding import ceil_p, floor_p, rint_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index, slice_axis
from funcgrad._ops.index.plan import SLOT
from funcgrad._ops.layout.broadcast import reduced_shape
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._ops.reduce import sort as ops
from funcgrad.numpy._base.axes import Axis, normalize_axes, normalize_axis
from funcgrad.numpy._base.convert import as_value, promote, strong
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode, refuse_option
from funcgrad.numpy._base.out import into
from funcgrad.numpy._reduce.cumulative import along, flat
from funcgrad.numpy._reduce.reductions import as_array
from funcgrad.numpy._reduce.statistics import inexact, mean


@implements(np.sort)
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
    """``numpy.sort``."""
    del kind, order, stable
    a, axis = _along(a, axis)
    return ops.sort(a, axis)


@implements(np.argsort)
def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
    """``numpy.argsort``: always stable; the result carries no derivative."""
    del kind, order, stable
    return ops.argsort(*along(as_array(a), axis))


@implements(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """``numpy.partition``: sorts, which is a partition at every place."""
    del kth, kind, order
    return sort(a, axis)


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """``numpy.argpartition``: sorts, which is a partition at every place."""
    del kth, kind, order
    return argsort(a, axis)


def _along(a: Any, axis: int | None) -> tuple[Any, int]:
    a = as_array(a)
    return (flat(a), 0) if axis is None else (a, normalize_axis(axis, len(a.shape)))


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """``numpy.searchsorted``; the result carries no derivative."""
    a, v = promote(as_array(a), as_array(v))
    if sorter is not None:
        a = ops.gather_along_axis(a, as_array(sorter), 0)
    return ops.searchsorted(a, v, side)


@implements(np.median)
@in_numpys_mode
def median(a: Any, axis: Axis = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """``numpy.median``."""
    if out is not None:
        return into(out, median, locals())
    del overwrite_input
    x, shape = _sorted_last(inexact(a), axis, keepdims)
    n, last = x.shape[-1], len(x.shape) - 1
    middle = mean(slice_axis(x, last, (n - 1) // 2, n // 2 + 1), last, keepdims=True)
    return reshape(_nan_where_any(middle, x), shape)


def _sorted_last(a: Any, axis: Axis, keepdims: bool) -> tuple[Any, tuple[int, ...]]:
    """The array sorted over ``axis``, which becomes the last; and the shape of a reduction over it."""
    axes = normalize_axes(axis, len(a.shape))
    shape = reduced_shape(a.shape, axes, keepdims)
    order = (*(i for i in range(len(a.shape)) if i not in axes), *axes)
    size = math.prod([a.shape[i] for i in axes])
    if not size:
        raise ValueError(
            f"a quantile of an array of shape {a.shape} over axes {axes}: it has no elements there. "
            "Leave out what is empty before."
        )
    moved = transpose(a, order) if order != tuple(range(len(order))) else a
    moved = reshape(moved, (*reduced_shape(a.shape, axes, False), size))
    return ops.sort(moved, len(moved.shape) - 1), shape


def _nan_where_any(y: Any, x: Any) -> Any:
    """NaN, a constant, where a sorted ``x`` holds one: it stands last."""
    if not is_inexact(x.dtype):
        return y
    axis, n = len(x.shape) - 1, x.shape[-1]
    last = slice_axis(x, axis, n - 1, n)
    return select(bind(ne_p, (last, last), NO_PARAMS), np.nan, y)


# Where the quantile lies among n sorted elements: q * n + alpha + q * (1 - alpha - beta) - 1 (Hyndman and Fan, 1996).
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


# Where it is one of the elements.
_ROUNDED = {"lower": floor_p, "higher": ceil_p, "nearest": rint_p}


def _virtual_place(q: Any, n: int, method: str) -> Any:
    """Between 0 and n - 1, or beyond: there it is the first or the last element."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    place = q * (n - 1)
    if method in _ROUNDED:
        return bind(_ROUNDED[method], (place,), NO_PARAMS)
    if method == "midpoint":
        return (bind(floor_p, (place,), NO_PARAMS) + bind(ceil_p, (place,), NO_PARAMS)) * 0.5
    if method != "linear":
        refuse_option(
            "quantile", f"method={method!r}", "Use method='linear', 'lower', 'higher', 'midpoint' or 'nearest'."
        )
    return place


@implements(np.quantile)
@in_numpys_mode
def quantile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    *,
    keepdims: bool = False,
    weights: Any = None,
) -> Any:
    """``numpy.quantile``."""
    if out is not None:
        return into(out, quantile, locals())
    del overwrite_input
    if weights is not None:
        refuse_option("quantile", "weights", "Sort with np.argsort and interpolate in np.cumsum of the weights.")
    # Methods that take one of the elements keep its dtype.
    a = strong(a) if method in _ROUNDED else inexact(a)
    q = as_value(q)
    q = np.asarray(q, a.dtype if is_inexact(a.dtype) else float) if isinstance(q, int | float) else inexact(q)
    _check_fractions(q)
    x, shape = _sorted_last(a, axis, keepdims)
    y = _nan_where_any(_interpolated(x, flat(q), method), x)
    last = len(y.shape) - 1
    return reshape(transpose(y, (last, *range(last))), (*q.shape, *shape))


def _check_fractions(q: Any) -> None:
    if isinstance(q, np.ndarray) and not (np.all(q >= 0) and np.all(q <= 1)):
        raise ValueError("quantile: q has values outside [0, 1]; needed fractions (percentile takes 0 to 100).")


def _interpolated(x: Any, q: Any, method: str) -> Any:
    """Between the sorted elements of the last axis, at each of the fractions ``q``."""
    n = x.shape[-1]
    place = _virtual_place(q, n, method)
    below = bind(floor_p, (place,), NO_PARAMS)
    a = _element(x, below)
    if method in _ROUNDED:
        return a
    b, t = _element(x, below + 1), place - below
    step = b - a
    # From the nearer end, as NumPy does: t = 1 gives b exactly.
    return select(t >= 0.5, b - step * (1 - t), a + step * t)


def _element(x: Any, place: Any) -> Any:
    """The element of the last axis at each of the places, which are whole numbers; beyond an end, the one there."""
    place = bind(max_p, (cast(place, ops.INDEX_DTYPE), 0), NO_PARAMS)
    return index(x, (Ellipsis, SLOT), (bind(min_p, (place, x.shape[-1] - 1), NO_PARAMS),))


@implements(np.percentile)
def percentile(
    a: Any,
    q: Any,
    axis: Axis = None,
    out: Any = None,
    overwrite_input: bool = False,
    method: str = "linear",
    *,
    keepdims: bool = False,
    weights: Any = None,
) -> Any:
    """``numpy.percentile``."""
    q = as_value(q)
    q = np.asarray(q, inexact(a).dtype) if isinstance(q, int | float) else inexact(q)
    return quantile(a, q / 100, axis, out, overwrite_input, method, keepdims=keepdims, weights=weights)
