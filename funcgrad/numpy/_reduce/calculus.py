"""Differences, slopes, integrals and interpolation of sampled functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact, result_dtype, type_text
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.arithmetic import abs_p, eq_p, gt_p, max_p, min_p, ne_p
from funcgrad._ops.elementwise.cast import cast, imag_p, make_complex, real_p
from funcgrad._ops.elementwise.logic import isnan_p, logical_and_p, logical_or_p
from funcgrad._ops.elementwise.rounding import remainder_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.reduce.sort import argsort, gather_along_axis, searchsorted
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.axes import given_axes, normalize_axis
from funcgrad.numpy._base.convert import as_value, promote, promote_weakly
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._reduce.cumulative import cumsum, flat
from funcgrad.numpy._reduce.reductions import as_array, sum_
from funcgrad.numpy._reduce.statistics import inexact


@implements(np.diff)
@in_numpys_mode
def diff(a: ArrayLike, n: int = 1, axis: int = -1, prepend: ArrayLike = None, append: ArrayLike = None) -> Array:
    """``numpy.diff``."""
    if n < 0:
        raise ValueError(f"diff: the order is {n}; needed a non-negative one.")
    a = as_array(a)
    if n == 0:
        return a
    if not a.shape:
        raise ValueError("diff: the array has no axis; needed at least one.")
    axis = normalize_axis(axis, len(a.shape))
    ends = [None if end is None else _end(end, a.shape, axis) for end in (prepend, append)]
    parts = [x for x in (ends[0], a, ends[1]) if x is not None]
    a = concatenate(list(promote(*parts)), axis) if len(parts) > 1 else a
    for _ in range(n):
        later, earlier = (
            slice_axis(a, axis, 1, max(a.shape[axis], 1)),
            slice_axis(a, axis, 0, max(a.shape[axis] - 1, 0)),
        )
        a = bind(ne_p, (later, earlier), NO_PARAMS) if a.dtype.kind == "b" else later - earlier
    return a


def _end(x: ArrayLike, shape: tuple[int, ...], axis: int) -> Any:
    """Return the values to put before or after. A scalar stands for one row."""
    x = as_array(x)
    if x.shape:
        return x
    row = (*shape[:axis], 1, *shape[axis + 1 :])
    return reshape(x, (1,) * len(shape)) + np.zeros(row, x.dtype)


@implements(np.ediff1d)
@in_numpys_mode
def ediff1d(ary: ArrayLike, to_end: ArrayLike = None, to_begin: ArrayLike = None) -> Any:
    """``numpy.ediff1d``."""
    steps = diff(flat(as_array(ary)))
    before, after = ([] if x is None else [_end_step(x, steps.dtype)] for x in (to_begin, to_end))
    return concatenate([*before, steps, *after], 0) if before or after else steps


def _end_step(x: ArrayLike, dtype: np.dtype) -> Any:
    """Return the values to put before or after differences, in their dtype; refuse others, as NumPy does."""
    x = flat(as_array(x))
    if not np.can_cast(x.dtype, dtype, "same_kind"):
        raise TypeError(
            f"ediff1d: to_begin or to_end is of dtype {x.dtype}, the array of dtype {dtype}, which cannot hold it. "
            "Convert one of them with astype."
        )
    return cast(x, dtype)


@implements(np.trapezoid)
@in_numpys_mode
def trapezoid(y: ArrayLike, x: ArrayLike = None, dx: ArrayLike = 1.0, axis: int = -1) -> Any:
    """``numpy.trapezoid``."""
    y = as_array(y)
    axis = normalize_axis(axis, len(y.shape))
    n = y.shape[axis]
    widths = dx if x is None else _widths(as_array(x), len(y.shape), axis)
    both = slice_axis(y, axis, 1, max(n, 1)) + slice_axis(y, axis, 0, max(n - 1, 0))
    return sum_(widths * both / 2.0, axis)


def _widths(x: ArrayLike, ndim: int, axis: int) -> Any:
    """Return the distances between the points along the axis of the values."""
    if len(x.shape) != 1:
        return diff(x, axis=axis)
    steps = diff(x)
    return reshape(steps, tuple([steps.shape[0] if i == axis else 1 for i in range(ndim)]))


@implements(np.gradient)
@in_numpys_mode
def gradient(f: ArrayLike, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """``numpy.gradient``."""
    f = as_array(f)
    if any(as_array(x).dtype.kind == "b" for x in (f, *varargs)):
        raise TypeError(f"gradient: booleans have no differences; the values are {aval_of(f)}. Use astype(float).")
    f = inexact(f)
    axes = given_axes(axis, len(f.shape))
    if len(varargs) not in (0, 1, len(axes)):
        raise TypeError(
            f"gradient: {len(varargs)} spacings were given; needed none, one, or one for each of {len(axes)} axes."
        )
    if len(varargs) == 1 and len(axes) > 1 and np.ndim(varargs[0]):
        raise TypeError(
            f"gradient: invalid number of arguments: one array of places was given for {len(axes)} axes; needed one "
            "for each axis, or a number."
        )
    if edge_order not in (1, 2):
        raise ValueError(f"gradient: edge_order is {edge_order}; needed 1 or 2.")
    spacings = varargs if len(varargs) == len(axes) else (varargs or (1.0,)) * len(axes)
    slopes = [_in_dtype_of(f, _slope(f, spacing, i, edge_order)) for spacing, i in zip(spacings, axes, strict=True)]
    return slopes[0] if len(axes) == 1 else tuple(slopes)


def _in_dtype_of(f: ArrayLike, slope: ArrayLike) -> Any:
    """Return the slope in the dtype of the values, even if the spacings have a wider one, as NumPy does."""
    if slope.dtype.kind == "c" and f.dtype.kind != "c":
        raise TypeError(
            f"gradient: a spacing is complex and the values are {aval_of(f)}: the imaginary part of the slope would be "
            "lost. Make the values complex."
        )
    return cast(slope, f.dtype)


def _slope(f: ArrayLike, spacing: ArrayLike, axis: int, edge_order: int) -> Any:
    n = f.shape[axis]
    if n <= edge_order:
        raise ValueError(f"gradient: axis {axis} has length {n}; needed at least {edge_order + 1} for this edge_order.")
    values = [slice_axis(f, axis, i, i + 1) for i in range(edge_order + 1)]
    mirrored = [slice_axis(f, axis, n - 1 - i, n - i) for i in range(edge_order + 1)]
    spacing = as_value(spacing)
    if not getattr(spacing, "shape", ()):
        inner = (slice_axis(f, axis, 2, n) - slice_axis(f, axis, 0, n - 2)) / (2.0 * spacing)
        first, last = _slope_ahead(values, [spacing] * 2), _slope_behind(mirrored, [spacing] * 2)
    else:
        # Points of an unsigned dtype would have differences modulo a power of two.
        steps = _widths(inexact(spacing), len(f.shape), axis)
        widths = [slice_axis(steps, axis, i, i + 1) for i in range(n - 1)[:2]]
        mirrored_widths = [slice_axis(steps, axis, n - 2 - i, n - 1 - i) for i in range(n - 1)[:2]]
        inner = _uneven_slope(f, steps, axis)
        first, last = _slope_ahead(values, widths), _slope_behind(mirrored, mirrored_widths)
    return concatenate(list(promote(first, inner, last)), axis)


def _uneven_slope(f: ArrayLike, steps: ArrayLike, axis: int) -> Any:
    """Return the slope of second order between unevenly spaced points."""
    n = f.shape[axis]
    before, after = slice_axis(steps, axis, 0, n - 2), slice_axis(steps, axis, 1, n - 1)
    return (
        -after / (before * (before + after)) * slice_axis(f, axis, 0, n - 2)
        + (after - before) / (before * after) * slice_axis(f, axis, 1, n - 1)
        + before / (after * (before + after)) * slice_axis(f, axis, 2, n)
    )


def _slope_ahead(values: list[Any], widths: list[Any]) -> Any:
    """Return the one-sided slope at the first point, from as many points as there are values."""
    if len(values) == 2:
        return (values[1] - values[0]) / widths[0]
    f0, f1, f2 = values
    h1, h2 = widths
    return -(2.0 * h1 + h2) / (h1 * (h1 + h2)) * f0 + (h1 + h2) / (h1 * h2) * f1 - h1 / (h2 * (h1 + h2)) * f2


def _slope_behind(values: list[Any], widths: list[Any]) -> Any:
    """Return the one-sided slope at the last point. Values and widths start there; the sum has NumPy's order."""
    if len(values) == 2:
        return (values[0] - values[1]) / widths[0]
    f0, f1, f2 = values
    h1, h2 = widths
    return h1 / (h2 * (h1 + h2)) * f2 - (h1 + h2) / (h1 * h2) * f1 + (2.0 * h1 + h2) / (h1 * (h1 + h2)) * f0


@implements(np.interp)
@in_numpys_mode
def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike = None,
    right: ArrayLike = None,
    period: float | None = None,
) -> Any:
    """Return ``numpy.interp``, differentiable by ``x``, ``xp`` and ``fp``."""
    x, xp = promote(inexact(x), inexact(xp), np.float64(0))[:2]
    if "c" in (x.dtype.kind, xp.dtype.kind):
        raise TypeError(
            f"interp: x is {type_text(x.shape, x.dtype)} and xp {type_text(xp.shape, xp.dtype)}; needed real numbers, "
            "which have an order. Interpolate fp, which may be complex, at real points."
        )
    fp = cast(as_array(fp), result_dtype(as_array(fp), np.float64(0)))
    if len(xp.shape) != 1 or xp.shape != fp.shape or not xp.shape[0]:
        raise ValueError(f"interp: xp has shape {xp.shape} and fp {fp.shape}; needed vectors of one length, not empty.")
    if period is not None:
        x, xp, fp = _unrolled(x, xp, fp, abs(period))
        left = right = None
    if fp.dtype.kind == "c":
        return _interp_complex(x, xp, fp, left, right)
    n = xp.shape[0]
    place = searchsorted(xp, x, "right")
    if n == 1:
        y = broadcast_to(fp, x.shape) if x.shape else fp[0]
    else:
        after = bind(min_p, (bind(max_p, (place, 1), NO_PARAMS), n - 1), NO_PARAMS)
        x0, x1, y0, y1 = (_picked(v, i) for v in (xp, fp) for i in (after - 1, after))
        with np.errstate(all="ignore"):
            # NumPy's function is no ufunc, so it does not warn.
            y = _between(x, x0, x1, y0, y1)
    y = select(place == 0, _picked_edge(fp, 0) if left is None else cast(as_value(left), fp.dtype), y)
    beyond = bind(gt_p, (x, _picked_edge(xp, n - 1)), NO_PARAMS)
    return select(beyond, _picked_edge(fp, n - 1) if right is None else cast(as_value(right), fp.dtype), y)


def _interp_complex(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, left: ArrayLike, right: ArrayLike) -> Any:
    """Interpolate real and imaginary parts separately. At NaN the imaginary part is 0."""
    ends = [None if end is None else cast(as_value(end), fp.dtype) for end in (left, right)]
    real, imag = (
        interp(x, xp, part(fp), *[None if end is None else part(end) for end in ends]) for part in (real_p, imag_p)
    )
    return make_complex(real, select(isnan_p(x), 0.0, imag))


def _between(x: ArrayLike, x0: ArrayLike, x1: ArrayLike, y0: ArrayLike, y1: ArrayLike) -> Any:
    """Return the value on the line through two points, from the first; from the other if that is NaN, as in NumPy.

    At the points themselves the value is theirs, and the slope is still that of the line.
    """
    slope = (y1 - y0) / (x1 - x0)
    at_start, at_end = eq_p(x, x0), eq_p(x, x1)
    missed = isnan_p(slope * (x - x0) + y0)
    from_end = logical_or_p(at_end, logical_and_p(missed, ne_p(x, x0)))
    start = select(from_end, y1, y0)
    y = slope * (x - select(from_end, x1, x0)) + start
    level = logical_and_p(eq_p(y0, y1), eq_p(x, x))
    known = logical_or_p(logical_or_p(at_start, at_end), level)
    return select(logical_and_p(isnan_p(y), known), start, y)


def _unrolled(x: ArrayLike, xp: ArrayLike, fp: ArrayLike, period: float) -> tuple[Any, Any, Any]:
    """Return one period of sorted points, with a neighbour from the period before and one from the period after."""
    x, xp = (bind(remainder_p, (v, period), NO_PARAMS) for v in (x, xp))
    order = argsort(xp, 0)
    xp, fp = _picked(xp, order), _picked(fp, order)
    n = xp.shape[0]
    first, last = slice_axis(xp, 0, 0, 1), slice_axis(xp, 0, n - 1, n)
    xp = concatenate([last - period, xp, first + period], 0)
    return x, xp, concatenate([slice_axis(fp, 0, n - 1, n), fp, slice_axis(fp, 0, 0, 1)], 0)


def _picked(x: ArrayLike, places: ArrayLike) -> Any:
    """Return the elements of a vector at the given positions, in the shape of the positions."""
    shape = getattr(places, "shape", ())
    return reshape(gather_along_axis(x, reshape(places, (math.prod(shape),)), 0), shape)


def _picked_edge(x: ArrayLike, i: int) -> Any:
    return reshape(slice_axis(x, 0, i, i + 1), ())


@beside_numpys(np.unwrap)
def unwrap(p: ArrayLike, discont: ArrayLike = None, axis: int = -1, *, period: ArrayLike = 2 * math.pi) -> Any:
    """Return ``numpy.unwrap``: adds multiples of the period. Their number has derivative zero."""
    p = as_array(p)
    axis = normalize_axis(axis, len(p.shape))
    steps = diff(p, axis=axis)
    dtype = result_dtype(steps, period)
    whole = not is_inexact(dtype)
    high, ambiguous = (period // 2, period % 2 == 0) if whole else (period / 2, True)
    wrapped = bind(remainder_p, promote_weakly(steps + high, period), NO_PARAMS) - high
    if ambiguous:
        wrapped = select((wrapped == -high) & (steps > 0), high, wrapped)
    jump = bind(abs_p, (steps,), NO_PARAMS) >= (period / 2 if discont is None else discont)
    corrections = select(jump, wrapped - steps, 0)
    n = p.shape[axis]
    first, rest = slice_axis(p, axis, 0, min(n, 1)), slice_axis(p, axis, min(n, 1), n)
    return concatenate([cast(first, dtype), cast(rest + cumsum(corrections, axis), dtype)], axis)
