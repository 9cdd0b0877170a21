"""Check the data of interpolators: increasing abscissae, values along an axis, and the intervals of queries."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import as_value, known_value, normalize_axis


def doubles(x: ArrayLike) -> Array:
    """Return an array in double precision, as SciPy's splines have it."""
    x = fnp.asarray(as_value(x))
    return fnp.astype(x, np.dtype(complex if x.dtype.kind == "c" else float))


def abscissae(name: str, x: ArrayLike) -> Array:
    """Return a vector of real numbers, and check that it increases if its numbers are known."""
    x = fnp.asarray(as_value(x))
    if x.dtype.kind == "c":
        raise ValueError(f"scipy.interpolate.{name}: x must contain real values, and is {aval_of(x)}. Take x.real.")
    x = doubles(x)
    if len(x.shape) != 1:
        raise ValueError(
            f"scipy.interpolate.{name}: x must be 1-dimensional, and is {aval_of(x)}. Use fg.vmap for several."
        )
    known = known_value(x)
    if known is not None and not (np.diff(known) > 0).all():
        raise ValueError(
            f"scipy.interpolate.{name}: x must be strictly increasing sequence of finite values, and some element is "
            "no greater than the one before. Sort x and the values, and leave out repeated points."
        )
    return x


def data(name: str, x: ArrayLike, y: ArrayLike, axis: int) -> tuple[Any, Any, int]:
    """Return the abscissae, and the values with their axis in front; there must be at least two."""
    x, y = abscissae(name, x), doubles(y)
    if not y.shape:
        raise ValueError(f"scipy.interpolate.{name}: y is a number; needed a value for each x. Give an array.")
    axis = normalize_axis(axis, len(y.shape))
    if x.shape[0] < 2:
        raise ValueError(
            f"scipy.interpolate.{name}: x must contain at least 2 elements, and has {x.shape[0]}. Give more points."
        )
    if x.shape[0] != y.shape[axis]:
        raise ValueError(
            f"scipy.interpolate.{name}: the length of y along axis={axis} doesn't match the length of x: they are "
            f"{y.shape[axis]} and {x.shape[0]}. Transpose y, or pass another axis."
        )
    for what, values in (("x", x), ("y", y)):
        known = known_value(values)
        if known is not None and not np.isfinite(known).all():
            raise ValueError(
                f"scipy.interpolate.{name}: {what} must contain only finite values. Leave out what is infinite or NaN."
            )
    return x, fnp.moveaxis(y, axis, 0), axis


def column(x: ArrayLike, like: ArrayLike) -> Array:
    """Reshape a vector to broadcast with values that have further axes."""
    return fnp.reshape(x, (*x.shape, *(1,) * (len(like.shape) - 1)))


def between(x: ArrayLike, at: ArrayLike, first: int, last: int) -> Array:
    """Return the interval of each query; queries outside get the ``first`` or the ``last`` interval."""
    return fnp.clip(fnp.subtract(fnp.searchsorted(x, at, side="right"), 1), first, last)


def only_inside(y: ArrayLike, at: ArrayLike, low: ArrayLike, high: ArrayLike) -> Array:
    """Replace values beyond the ends by NaN, so that derivatives there are NaN too."""
    inside = fnp.logical_and(fnp.greater_equal(at, low), fnp.less_equal(at, high))
    factor = fnp.where(inside, 1.0, np.nan)
    return fnp.multiply(y, fnp.reshape(factor, (*at.shape, *(1,) * (len(y.shape) - len(at.shape)))))


def along(y: ArrayLike, queries: int, axis: int) -> Array:
    """Move the axes of the queries, which come first, to the position of the axis of the values."""
    if not axis or not queries:
        return y
    return fnp.moveaxis(y, tuple(range(queries)), tuple(range(axis, axis + queries)))
