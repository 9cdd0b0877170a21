"""Reductions that leave NaN out. The elements left out have derivative zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.arithmetic import eq_p, root_of_squares_p
from funcgrad._ops.elementwise.select import select
from funcgrad._types import Array, ArrayLike, AxesLike, DTypeLike
from funcgrad.numpy._base.axes import Axis, normalize_axes
from funcgrad.numpy._base.concrete import known_value
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._reduce import reductions, statistics
from funcgrad.numpy._reduce.cumulative import cumprod, cumsum
from funcgrad.numpy._reduce.reductions import as_array
from funcgrad.numpy._reduce.statistics import inexact


def _present(a: ArrayLike) -> Any:
    """Return which elements are numbers: only NaN differs from itself."""
    return bind(eq_p, (a, a), NO_PARAMS)


def _filled(name: str, plain: Callable[..., Any], fill: int) -> Callable[..., Any]:
    """Return a reduction with a number in place of NaN."""

    @takes_out
    def function(
        a: ArrayLike, axis: AxesLike = None, dtype: DTypeLike = None, out: Array = None, **options: Any
    ) -> Any:
        a = as_array(a)
        return plain(select(_present(a), a, fill) if a.dtype.kind in "fc" else a, axis, dtype, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``."
    return implements(getattr(np, name))(function)


nansum = _filled("nansum", reductions.sum_, 0)
nanprod = _filled("nanprod", reductions.prod, 1)
nancumsum = _filled("nancumsum", cumsum, 0)
nancumprod = _filled("nancumprod", cumprod, 1)


def _extremum(name: str, plain: Callable[..., Any], fill: float) -> Callable[..., Any]:
    @takes_out
    def function(a: ArrayLike, axis: Axis = None, out: Array = None, keepdims: bool = False, **options: Any) -> Any:
        a = as_array(a)
        if a.dtype.kind not in "fc":
            return plain(a, axis, None, keepdims, **options)
        present = _present(a)
        y = plain(select(present, a, fill), axis, None, keepdims, **options)
        # For complex NaN, NumPy returns the parts of the first element.
        nothing = plain(a, axis, None, keepdims, **options) if a.dtype.kind == "c" else np.nan
        return select(reductions.any_(present, axis, None, keepdims), y, nothing)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``; NaN where there is nothing else."
    return implements(getattr(np, name))(function)


nanmax = _extremum("nanmax", reductions.max_, -np.inf)
nanmin = _extremum("nanmin", reductions.min_, np.inf)


def _place(name: str, plain: Callable[..., Any], fill: float) -> Callable[..., Any]:
    @takes_out
    def function(a: ArrayLike, axis: int | None = None, out: Array = None, *, keepdims: bool = False) -> Any:
        a = as_array(a)
        if a.dtype.kind not in "fc":
            return plain(a, axis, keepdims=keepdims)
        present = _present(a)
        found = reductions.any_(present, axis, keepdims=keepdims)
        known = known_value(found)
        if known is not None and not np.all(known):
            raise ValueError(f"numpy.{name}: All-NaN slice encountered in {aval_of(a)}. Leave such rows out.")
        place = plain(select(present, a, fill), axis, keepdims=keepdims)
        return place if known is not None else select(found, place, -1)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return ``numpy.{name}``; the result carries no derivative. A compiled program cannot refuse a row of NaN "
        "alone: its place is -1, as JAX's."
    )
    return implements(getattr(np, name))(function)


nanargmax = _place("nanargmax", reductions.argmax, -np.inf)
nanargmin = _place("nanargmin", reductions.argmin, np.inf)


@implements(np.nanmean)
@in_numpys_mode
@takes_out
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: Array = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> Any:
    """``numpy.nanmean``."""
    a = inexact(a, dtype)
    return statistics.mean(a, axis, None, None, keepdims, where=_counted(a, where))


def _counted(a: ArrayLike, where: ArrayLike) -> Array:
    present = _present(a)
    return present if where is True else select(present, where, False)


@implements(np.nanvar)
@in_numpys_mode
@takes_out
def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: Array = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    mean: ArrayLike = None,
    correction: float | None = None,
) -> Array:
    """``numpy.nanvar``."""
    if as_array(a).dtype.kind not in "fc":
        return statistics.var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    dtype = statistics.inexact_dtype("nanvar", dtype)
    a = as_array(a)
    counted = _counted(a, where)
    axes = normalize_axes(axis, len(a.shape))
    # NaN is removed before the difference: after it, a zero cotangent times NaN would be NaN again.
    total, count = statistics.squares(select(counted, a, 0), axes, keepdims, counted, mean, dtype)
    left = count - statistics.delta(ddof, correction)
    # NumPy returns NaN if no degree of freedom is left, and `var` divides by zero. The divisor is 1 here to avoid that.
    none = left <= 0
    return select(none, np.nan, total / select(none, 1, left))


@implements(np.nanstd)
@takes_out
def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: Array = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
    mean: ArrayLike = None,
    correction: float | None = None,
) -> Array:
    """``numpy.nanstd``."""
    variance = nanvar(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return bind(root_of_squares_p, (variance,), NO_PARAMS)
