"""Mean, variance, standard deviation and weighted average."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact, is_integral
from funcgrad._core.bind import NO_PARAMS, Tracer, bind, bind_one
from funcgrad._ops.elementwise.arithmetic import div_p, max_p, power_p, root_of_squares_p
from funcgrad._ops.elementwise.cast import cast, imag_p, real_dtype, real_p
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum, reduce_sum_p
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy._base.axes import ALL_AXES, Axis, given_axes, normalize_axes
from funcgrad.numpy._base.convert import promote
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._reduce.reductions import as_array, masked, sum_, truth

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


@implements(np.mean)
@takes_out
def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: Array = None,
    keepdims: bool = False,
    *,
    where: ArrayLike = True,
) -> Array:
    """``numpy.mean``."""
    if dtype is not None and np.dtype(dtype).kind in "iub":
        # NumPy sums in this dtype, and cuts the quotient.
        total = cast(sum_(a, axis, dtype, keepdims=keepdims, where=where), DOUBLE)
        a = as_array(a)
        axes = normalize_axes(axis, len(a.shape))
        number = math.prod([a.shape[i] for i in axes])
        number = number if where is True else cast(count(a, axes, keepdims, where), DOUBLE)
        return cast(bind(div_p, (total, number), NO_PARAMS), np.dtype(dtype))
    if dtype is not None or not isinstance(a, Tracer) or a.dtype.kind not in "fc":
        a = inexact(a, dtype)
    if a.dtype.char == "e" and dtype is None:
        # The sum of half-precision numbers may overflow, so it is computed in single precision, as in NumPy.
        return cast(mean(cast(a, SINGLE), axis, keepdims=keepdims, where=where), a.dtype)
    axes = ALL_AXES[len(a.shape)] if axis is None else normalize_axes(axis, len(a.shape))
    if where is not True:
        total = _sum(masked(a, where, 0), axes, keepdims)
        return bind(div_p, (total, count(a, axes, keepdims, where)), NO_PARAMS)
    total = _sum(a, axes, keepdims)
    count_of_all = math.prod([a.shape[i] for i in axes])
    if isinstance(total, Tracer):
        return total._owner.apply(div_p, (total, count_of_all), NO_PARAMS)
    return bind(div_p, (total, count_of_all), NO_PARAMS)


def inexact(a: ArrayLike, dtype: DTypeLike = None) -> Any:
    """Return ``a`` as an array in ``dtype``; by default, integers and booleans as float64."""
    a = as_array(a)
    if dtype is None:
        return cast(a, DOUBLE) if is_integral(a.dtype) else a
    return cast(a, np.dtype(dtype))


def _sum(a: ArrayLike, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return the sum for a mean. Half precision is summed in single precision, as in NumPy."""
    if a.dtype.itemsize > 2:
        return bind_one(reduce_sum_p, a, {"axes": axes, "keepdims": bool(keepdims)})
    return cast(reduce_sum(cast(a, SINGLE), axes, bool(keepdims)), a.dtype)


def count(a: ArrayLike, axes: tuple[int, ...], keepdims: bool, where: ArrayLike) -> Any:
    """Return how many elements a mask selects, in the dtype of ``a``."""
    selected = broadcast_to(truth(where), a.shape)
    return cast(reduce_sum(cast(selected, real_dtype(a.dtype)), axes, bool(keepdims)), a.dtype)


@implements(np.var)
@in_numpys_mode
@takes_out
def var(
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
    """Return ``numpy.var``; for complex numbers the mean squared distance."""
    dtype = inexact_dtype("var", dtype)
    a = inexact(a) if dtype is None else as_array(a)
    axes = normalize_axes(axis, len(a.shape))
    total, counted = squares(a, axes, keepdims, where, mean, dtype)
    left = counted - delta(ddof, correction)
    return total / (max(left, 0) if where is True else bind(max_p, (left, 0), NO_PARAMS))


def inexact_dtype(name: str, dtype: DTypeLike) -> np.dtype | None:
    """Return the dtype in which a variance is computed; refuse integers, for which NumPy would cut off fractions."""
    if dtype is None or is_inexact(np.dtype(dtype)):
        return None if dtype is None else np.dtype(dtype)
    raise TypeError(f"{name}: dtype is {np.dtype(dtype)}; needed a float or complex one. Cast the result instead.")


def delta(ddof: float, correction: float | None) -> float:
    """Return the number subtracted from the count, which has two names."""
    if correction is None:
        return ddof
    if issubclass(type(ddof), int | float) and ddof:
        raise ValueError(
            f"ddof={ddof} and correction={correction} cannot be provided simultaneously: both are taken off the number "
            "of elements. Leave one of them out."
        )
    return correction


def squares(
    a: ArrayLike,
    axes: tuple[int, ...],
    keepdims: bool,
    where: ArrayLike,
    center: ArrayLike = None,
    dtype: np.dtype | None = None,
) -> tuple[Any, Any]:
    """Return the sum of squared distances from the mean, or from another centre, and the number of elements.

    With a dtype, the mean and the sum are computed in it, as in NumPy. A complex dtype is that of the sum too.
    """
    distances = squared(a - (mean(a, axes, dtype, keepdims=True, where=where) if center is None else center))
    distances = distances if dtype is None else cast(distances, dtype)
    if where is True:
        return _sum(distances, axes, keepdims), math.prod([a.shape[i] for i in axes])
    return _sum(masked(distances, where, 0), axes, keepdims), count(distances, axes, keepdims, where)


def squared(x: ArrayLike) -> Array:
    """Return the square of the absolute value."""
    if x.dtype.kind == "c":
        return squared(bind(real_p, (x,), NO_PARAMS)) + squared(bind(imag_p, (x,), NO_PARAMS))
    return bind(power_p, (x,), {"exponent": 2})


@implements(np.std)
@takes_out
def std(
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
    """``numpy.std``."""
    variance = var(a, axis, dtype, None, ddof, keepdims, where=where, mean=mean, correction=correction)
    return bind(root_of_squares_p, (variance,), NO_PARAMS)


@implements(np.average)
@in_numpys_mode
def average(
    a: ArrayLike, axis: Axis = None, weights: ArrayLike = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """``numpy.average``."""
    a = as_array(a)
    axes = normalize_axes(axis, len(a.shape))
    if weights is None:
        y = mean(a, axes, keepdims=keepdims)
        total = broadcast_to(np.asarray(math.prod([a.shape[i] for i in axes]), y.dtype), y.shape)
    else:
        a, weights = promote(inexact(a), as_array(weights))
        weights = weights_like("average", a, weights, axis)
        total = reduce_sum(weights, axes, bool(keepdims))
        y = reduce_sum(a * weights, axes, bool(keepdims)) / total
    return (y, total) if returned else y


def weights_like(name: str, a: ArrayLike, weights: ArrayLike, axis: Axis) -> Array:
    """Return the weights in the shape of the array. Weights along the axes alone are repeated along the others."""
    if weights.shape == a.shape:
        return weights
    if axis is None:
        raise TypeError(
            f"{name}: Axis must be specified when shapes of a and weights differ: they are {a.shape} and "
            f"{weights.shape}. Pass axis, or a weight for each element."
        )
    axes = given_axes(axis, len(a.shape))
    if weights.shape != tuple([a.shape[i] for i in axes]):
        raise ValueError(
            f"{name}: Shape of weights must be consistent with shape of a along specified axis: they are "
            f"{weights.shape} and {a.shape}, along {axis}. Give a weight for each element there."
        )
    weights = transpose(weights, tuple(np.argsort(axes).tolist()))
    return broadcast_to(reshape(weights, tuple([n if i in axes else 1 for i, n in enumerate(a.shape)])), a.shape)
