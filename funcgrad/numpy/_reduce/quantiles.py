"""Medians, quantiles and percentiles, of all elements or of those that are not NaN."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact, is_integral
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.numbers import is_weak
from funcgrad._core.tracebacks import caller_level
from funcgrad._ops.elementwise.arithmetic import eq_p, max_p, min_p, ne_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.rounding import ceil_p, floor_p, rint_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index, slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.index.plan import SLOT
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum, reduced_shape
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._ops.reduce import sort as ops
from funcgrad._ops.reduce.cumulative import cumsum
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.axes import Axis, normalize_axes
from funcgrad.numpy._base.concrete import known_value
from funcgrad.numpy._base.convert import as_value, strong
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.out import takes_broadcast_out, takes_out
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._reduce.cumulative import flat
from funcgrad.numpy._reduce.nan_reductions import nanmean
from funcgrad.numpy._reduce.statistics import inexact, mean, weights_like


@implements(np.median)
@in_numpys_mode
@takes_out
def median(
    a: ArrayLike, axis: Axis = None, out: Array = None, overwrite_input: bool = False, keepdims: bool = False
) -> Any:
    """``numpy.median``."""
    del overwrite_input
    a = inexact(a)
    if not math.prod(a.shape):
        return mean(a, axis, keepdims=keepdims)
    x, shape = _sorted_last(a, axis, keepdims)
    n, last = x.shape[-1], len(x.shape) - 1
    middle = mean(slice_axis(x, last, (n - 1) // 2, n // 2 + 1), last, keepdims=True)
    return _shaped(_nan_where_any(middle, x), shape)


def _sorted_last(a: ArrayLike, axis: Axis, keepdims: bool) -> tuple[Any, tuple[int, ...]]:
    """Return the array sorted over ``axis``, which becomes the last axis, and the shape of a reduction over it."""
    x, shape = _moved_last(a, axis, keepdims)
    return ops.sort(x, len(x.shape) - 1), shape


def _moved_last(a: ArrayLike, axis: Axis, keepdims: bool) -> tuple[Any, tuple[int, ...]]:
    """Return the array with ``axis`` last, and the shape of a reduction over it."""
    axes = normalize_axes(axis, len(a.shape))
    shape = reduced_shape(a.shape, axes, keepdims)
    order = (*(i for i in range(len(a.shape)) if i not in axes), *axes)
    size = math.prod([a.shape[i] for i in axes])
    if not size:
        raise IndexError(
            f"a quantile of an array of shape {a.shape} over axes {axes}: it has no elements there. "
            "Leave out what is empty before."
        )
    moved = transpose(a, order) if order != tuple(range(len(order))) else a
    return reshape(moved, (*reduced_shape(a.shape, axes, False), size)), shape


def _nan_where_any(y: ArrayLike, x: ArrayLike) -> Any:
    """Return a constant NaN where a sorted ``x`` contains NaN, which is last."""
    if not is_inexact(x.dtype):
        return y
    axis, n = len(x.shape) - 1, x.shape[-1]
    last = slice_axis(x, axis, n - 1, n)
    # One part of a complex number may be NaN alone. NumPy's median is then the last of the sorted numbers.
    return select(bind(ne_p, (last, last), NO_PARAMS), last if y.dtype.kind == "c" else np.nan, y)


# The position of the quantile among n sorted elements is q * n + alpha + q * (1 - alpha - beta) - 1 (Hyndman and Fan,
# 1996).
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


# Methods that choose one of the elements.
_ROUNDED = {"lower": floor_p, "higher": ceil_p, "nearest": rint_p}
# Methods that choose the first element, or a neighbour, at which the share of elements that are not greater reaches q.
_STEPS = ("inverted_cdf", "closest_observation")
_ELEMENTS = frozenset({*_ROUNDED, *_STEPS})
_METHODS = (*_STEPS, "averaged_inverted_cdf", *_CONTINUOUS, *_ROUNDED, "midpoint")


def _virtual_place(q: ArrayLike, n: ArrayLike, method: str) -> Array:
    """Return a position between 0 and n - 1, or beyond, where the first or the last element counts."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        return n * q + (alpha + q * (1 - alpha - beta)) - 1
    if method in ("inverted_cdf", "averaged_inverted_cdf"):
        place = n * q - 1
        return bind(ceil_p, (place,), NO_PARAMS) if method == "inverted_cdf" else place
    if method == "closest_observation":
        place = n * q - 1.5
        below = bind(floor_p, (place,), NO_PARAMS)
        return select((place == below) & (below % 2 == 1), below, below + 1)
    place = q * (n - 1)
    if method in _ROUNDED:
        return bind(_ROUNDED[method], (place,), NO_PARAMS)
    if method == "midpoint":
        return (bind(floor_p, (place,), NO_PARAMS) + bind(ceil_p, (place,), NO_PARAMS)) * 0.5
    if method != "linear":
        raise ValueError(f"quantile: {method!r} is not a valid method. Use one of: linear, {', '.join(_METHODS)}.")
    return place


@implements(np.quantile)
@in_numpys_mode
@takes_broadcast_out
def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Array = None,
    overwrite_input: bool = False,
    method: str = "linear",
    *,
    keepdims: bool = False,
    weights: ArrayLike = None,
) -> Array:
    """Return ``numpy.quantile``. With weights it is a step function, and has no derivative by them."""
    del overwrite_input
    return _quantile(a, q, 1, axis, method=method, weights=weights, keepdims=keepdims)


def _quantile(
    a: ArrayLike, q: ArrayLike, whole: float, axis: Axis, *, method: str, weights: ArrayLike, keepdims: bool
) -> Array:
    """Return the quantiles by fractions of ``whole``, which is 100 for percentiles."""
    a = strong(a)
    q, dtype = _fractions(q, a.dtype, method, whole)
    if weights is not None:
        return _weighted("quantile", a, q, weights, method, axis=axis, keepdims=keepdims)
    x, shape = _sorted_last(_computed(a, dtype), axis, keepdims)
    y = _interpolated(lambda place: _element(x, place), x.shape[-1], flat(q), method, dtype)
    return _first(_nan_where_any(y, x), (*q.shape, *shape))


def _computed(a: ArrayLike, dtype: np.dtype | None) -> Array:
    """Return the elements for interpolation: integers as floats, because their differences may overflow."""
    if dtype is not None and a.dtype.kind == "b":
        raise TypeError(
            f"quantile: the array is {aval_of(a)}; needed numbers, since there is nothing between False and True. Cast "
            "it with astype(float), or pass method='nearest'."
        )
    return a if dtype is None or is_inexact(a.dtype) else cast(a, dtype)


def _shaped(y: ArrayLike, shape: tuple[int, ...]) -> Any:
    """Return a result with its axes; without any it is a number, and no view."""
    return reshape(y, shape) if shape else index(y, (0,) * len(y.shape))


def _first(y: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return the last axis, which has the fractions, before the others."""
    last = len(y.shape) - 1
    return _shaped(transpose(y, (last, *range(last))), shape)


def _fractions(q: ArrayLike, dtype: np.dtype, method: str, whole: float) -> tuple[Any, np.dtype | None]:
    """Return the fractions as floats, and the dtype of the result; ``None`` if it is that of the elements.

    A Python number does not widen the dtype of the elements, but an array of fractions does.
    """
    if dtype.kind == "c":
        raise TypeError(f"quantile: the array is of dtype {dtype}; a must be an array of real numbers. Take its .real.")
    q = as_value(q)
    weak = is_weak(q)
    q = strong(q)
    among = method in _ELEMENTS or (whole == 1 and method == "linear" and is_integral(q.dtype))
    q = inexact(q) if whole == 1 else inexact(q) / whole
    known = known_value(q)
    if known is not None and not (np.all(known >= 0) and np.all(known <= 1)):
        raise ValueError("quantile: q has values outside [0, 1]; needed fractions (percentile takes 0 to 100).")
    if among:
        return q, None
    if weak:
        return q, dtype if is_inexact(dtype) else q.dtype
    return q, np.result_type(dtype, q.dtype)


def _interpolated(
    element: Callable[[Any], Any], n: ArrayLike, q: ArrayLike, method: str, dtype: np.dtype | None
) -> Array:
    """Interpolate between the elements of ``n`` sorted ones, at each fraction ``q``."""
    place = _virtual_place(q, n, method)
    below = bind(floor_p, (place,), NO_PARAMS)
    a = element(below)
    if dtype is None:
        return a
    b, t = element(below + 1), place - below
    if method == "averaged_inverted_cdf":
        t = 1 - 0.5 * cast(t == 0, t.dtype)
    step, t = b - a, cast(t, dtype)
    # Interpolation starts from the nearer end, as in NumPy: t = 1 gives b exactly.
    return select(t >= 0.5, b - step * (1 - t), a + step * t)


def _element(x: ArrayLike, place: ArrayLike) -> Array:
    """Return the element of the last axis at each position, a whole number; beyond an end, the first or last one."""
    place = bind(max_p, (cast(place, ops.INDEX_DTYPE), 0), NO_PARAMS)
    return index(x, (Ellipsis, SLOT), (bind(min_p, (place, x.shape[-1] - 1), NO_PARAMS),))


def _weighted(
    name: str, a: ArrayLike, q: ArrayLike, weights: ArrayLike, method: str, *, axis: Axis, keepdims: bool
) -> Any:
    """Return the first element at which the share of the weights of elements that are not greater reaches ``q``."""
    if method != "inverted_cdf":
        raise ValueError(
            f"{name}: Only method 'inverted_cdf' supports weights. Got: {method}. Pass method='inverted_cdf', or leave "
            "the weights out."
        )
    x, shape = _moved_last(a, axis, keepdims)
    w, _ = _moved_last(_quantile_weights(name, a, weights, axis), axis, False)
    last = len(x.shape) - 1
    places = ops.argsort(x, last)
    x, w = (ops.gather_along_axis(each, places, last) for each in (x, w))
    w = cast(w, np.dtype(float))
    n: Any = x.shape[-1]
    skips = name == "nanquantile" and is_inexact(x.dtype)
    if skips:
        n = _count(x)
        w = select(bind(eq_p, (x, x), NO_PARAMS), w, 0)
    share = cumsum(w, last)
    total = slice_axis(share, last, x.shape[-1] - 1, x.shape[-1])
    known = known_value(total)
    if known is not None and not skips and not np.all(np.isfinite(known) & (known != 0)):
        raise ValueError(f"{name}: Weights included NaN, inf or were all zero. Leave such elements out.")
    share = cast(share / total, q.dtype)
    # An element with weight 0 is never the first one.
    share = select(share == 0, -1, share)
    fractions = flat(q)
    below = reshape(share, (*x.shape[:-1], 1, x.shape[-1])) < reshape(fractions, (fractions.shape[0], 1))
    place = reduce_sum(cast(below, ops.INDEX_DTYPE), (last + 1,))
    y = _element_of_rows(x, place, n)
    return _first(_nan_where_none(y, n) if skips else _nan_where_any(y, x), (*q.shape, *shape))


def _quantile_weights(name: str, a: ArrayLike, weights: ArrayLike, axis: Axis) -> Any:
    """Return the weights in the shape of the array. Negative ones are refused."""
    w = strong(weights)
    known = known_value(w)
    if known is not None and np.any(known < 0):
        raise ValueError(f"{name}: Weights must be non-negative. Clip them, or leave such elements out.")
    return weights_like(name, a, w, axis)


@implements(np.percentile)
@in_numpys_mode
@takes_broadcast_out
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Array = None,
    overwrite_input: bool = False,
    method: str = "linear",
    *,
    keepdims: bool = False,
    weights: ArrayLike = None,
) -> Array:
    """``numpy.percentile``."""
    del overwrite_input
    return _quantile(a, q, 100, axis, method=method, weights=weights, keepdims=keepdims)


@beside_numpys(np.nanmedian)
@takes_out
def nanmedian(
    a: ArrayLike, axis: Axis = None, out: Array = None, overwrite_input: bool = False, keepdims: bool = False
) -> Array:
    """``numpy.nanmedian``; NaN where there is nothing else."""
    del overwrite_input
    a = inexact(a)
    if not math.prod(a.shape):
        return nanmean(a, axis, keepdims=bool(keepdims))
    x, shape = _sorted_last(a, axis, bool(keepdims))
    n = _count(x)
    low, high = (n - 1) // 2, n // 2
    pair = concatenate([_element_of_rows(x, place, n) for place in (low, high)], len(x.shape) - 1)
    # A single element must not be averaged with itself, because the sum may overflow.
    middle = select(low == high, slice_axis(pair, len(x.shape) - 1, 0, 1), mean(pair, -1, keepdims=True))
    return _shaped(_nan_where_none(middle, n), shape)


def _count(x: ArrayLike) -> Array:
    """Return how many elements of the last axis are numbers; the axis stays."""
    present = bind(eq_p, (x, x), NO_PARAMS)
    n = reduce_sum(cast(present, ops.INDEX_DTYPE), (len(x.shape) - 1,), True)
    known = known_value(n)
    if known is not None and not np.all(known):
        warnings.warn("All-NaN slice encountered", RuntimeWarning, stacklevel=caller_level())
    return n


def _nan_where_none(y: ArrayLike, n: ArrayLike) -> Array:
    return select(n == 0, np.nan, y)


def _element_of_rows(x: ArrayLike, place: ArrayLike, n: ArrayLike) -> Array:
    """Return the elements of the last axis at the positions of each row, whose first ``n`` elements count."""
    place = bind(min_p, (cast(place, ops.INDEX_DTYPE), n - 1), NO_PARAMS)
    place = bind(max_p, (place, 0), NO_PARAMS)
    whole = broadcast_to(place, (*x.shape[:-1], place.shape[-1]))
    return ops.gather_along_axis(x, whole, len(x.shape) - 1)


@beside_numpys(np.nanquantile)
@takes_broadcast_out
def nanquantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Array = None,
    overwrite_input: bool = False,
    method: str = "linear",
    *,
    keepdims: bool = False,
    weights: ArrayLike = None,
) -> Array:
    """``numpy.nanquantile``; NaN where there is nothing else."""
    del overwrite_input
    return _nanquantile(a, q, 1, axis, method=method, weights=weights, keepdims=bool(keepdims))


def _nanquantile(
    a: ArrayLike, q: ArrayLike, whole: float, axis: Axis, *, method: str, weights: ArrayLike, keepdims: bool
) -> Array:
    """Return the quantiles of the elements that are not NaN, by fractions of ``whole`` (100 for percentiles)."""
    a = strong(a)
    if not math.prod(a.shape):
        return nanmean(a, axis, keepdims=keepdims)
    q, dtype = _fractions(q, a.dtype, method, whole)
    if weights is not None:
        return _weighted("nanquantile", a, q, weights, method, axis=axis, keepdims=keepdims)
    x, shape = _sorted_last(_computed(a, dtype), axis, keepdims)
    n = _count(x)
    y = _interpolated(lambda place: _element_of_rows(x, place, n), cast(n, q.dtype), flat(q), method, dtype)
    return _first(_nan_where_none(y, n) if is_inexact(x.dtype) else y, (*q.shape, *shape))


@beside_numpys(np.nanpercentile)
@takes_broadcast_out
def nanpercentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: Array = None,
    overwrite_input: bool = False,
    method: str = "linear",
    *,
    keepdims: bool = False,
    weights: ArrayLike = None,
) -> Array:
    """``numpy.nanpercentile``; NaN where there is nothing else."""
    del overwrite_input
    return _nanquantile(a, q, 100, axis, method=method, weights=weights, keepdims=bool(keepdims))
