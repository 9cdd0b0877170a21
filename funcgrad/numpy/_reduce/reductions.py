"""Reductions: sums, products, extreme values and truth values along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_integer, is_integral
from funcgrad._core.bind import NO_PARAMS, Tracer, bind, bind_one
from funcgrad._ops.elementwise.arithmetic import add_p, max_p, min_p, mul_p, ne_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum, reduce_sum_p, reduced_shape
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.reduce import reduce as ops
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy._base.axes import ALL_AXES, Axis, is_axis_of_scalar, normalize_axis, reduction_axes
from funcgrad.numpy._base.convert import as_value, assigned, dtype_of, strong
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.out import takes_out

INDEX = np.dtype(np.int64)


@implements(np.sum)
@takes_out
def sum_(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: Array = None,
    keepdims: bool = False,
    *,
    initial: ArrayLike = None,
    where: ArrayLike = True,
) -> Array:
    """``numpy.sum``."""
    if dtype is not None or not isinstance(a, Tracer) or a.dtype.kind not in "fc":
        a = summand(a, dtype)
    if where is not True:
        a = masked(a, where, 0)
    axes = ALL_AXES[len(a.shape)] if axis is None else reduction_axes(axis, len(a.shape))
    y = bind_one(reduce_sum_p, a, {"axes": axes, "keepdims": bool(keepdims)})
    return y if initial is None else bind(add_p, (y, _start(initial, y.dtype)), NO_PARAMS)


def summand(x: ArrayLike, dtype: DTypeLike) -> Any:
    """Return ``x`` as an array in NumPy's dtype of sums and products: small integers in the platform's integer."""
    x = as_value(x)
    if dtype is None and is_integral(dtype_of(x)):
        dtype = np.add.reduce(np.empty(0, dtype_of(x))).dtype
    return as_array(cast(x, dtype_of(x) if dtype is None else np.dtype(dtype)))


def as_array(x: ArrayLike) -> Array:
    """Return ``x`` as a value with a shape and a dtype; a Python number becomes an array."""
    x = as_value(x)
    return x if getattr(x, "shape", ()) else strong(x)


def masked(x: ArrayLike, where: ArrayLike, fill: ArrayLike) -> Array:
    """Return ``x`` where a mask that broadcasts to it is true, and ``fill`` elsewhere."""
    return select(truth(where), x, fill)


def _start(initial: ArrayLike, dtype: np.dtype) -> Array:
    """Return the start value of a reduction in the dtype of its result, as in NumPy."""
    initial = initial.item() if issubclass(type(initial), np.generic) and is_integer(dtype) else initial
    aval = aval_of(as_value(initial))
    given = aval.dtype
    if aval.shape:
        raise ValueError(f"initial is {aval}; setting an array element with a sequence. Needed one number.")
    if given.kind == "c" and dtype.kind != "c":
        raise TypeError(
            f"initial is of dtype {given}, the reduction of dtype {dtype}, which cannot hold it. Convert the "
            "array with astype, or pass dtype=."
        )
    return assigned(initial, dtype)


@implements(np.prod)
@takes_out
def prod(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike = None,
    out: Array = None,
    keepdims: bool = False,
    *,
    initial: ArrayLike = None,
    where: ArrayLike = True,
) -> Any:
    """``numpy.prod``."""
    a = summand(a, dtype)
    if where is not True:
        a = masked(a, where, 1)
    y = ops.reduce_prod(a, reduction_axes(axis, len(a.shape)), bool(keepdims))
    return y if initial is None else bind(mul_p, (y, _start(initial, y.dtype)), NO_PARAMS)


def _extremum(name: str, reduce: Callable[..., Any], pair: Any) -> Callable[..., Any]:
    @takes_out
    def function(
        a: ArrayLike,
        axis: Axis = None,
        out: Array = None,
        keepdims: bool = False,
        initial: ArrayLike = None,
        where: ArrayLike = True,
    ) -> Any:
        if not isinstance(a, Tracer):
            a = as_array(a)
        axes = reduction_axes(axis, len(a.shape))
        if initial is None and where is True:
            return reduce(a, axes, bool(keepdims))
        if initial is None:
            raise ValueError(f"{name}: where= needs initial=, the value where nothing is selected. Pass it.")
        initial = _start(initial, a.dtype)
        a = a if where is True else masked(a, where, initial)
        shape = reduced_shape(a.shape, axes, bool(keepdims))
        if 0 in a.shape:
            return broadcast_to(initial, shape)
        return bind(pair, (reduce(a, axes, bool(keepdims)), initial), NO_PARAMS)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``; elements that tie share the derivative."
    return implements(getattr(np, name), getattr(np, f"a{name}"))(function)


max_ = _extremum("max", ops.reduce_max, max_p)
min_ = _extremum("min", ops.reduce_min, min_p)


@implements(np.ptp)
@in_numpys_mode
@takes_out
def ptp(a: ArrayLike, axis: Axis = None, out: Array = None, keepdims: bool = False) -> Array:
    """Return ``numpy.ptp``: the greatest element minus the least."""
    return max_(a, axis, None, keepdims) - min_(a, axis, None, keepdims)


def _place(name: str, find: Callable[..., Any]) -> Callable[..., Any]:
    @takes_out
    def function(a: ArrayLike, axis: int | None = None, out: Array = None, *, keepdims: bool = False) -> Any:
        a = as_array(a)
        if axis is None or is_axis_of_scalar(axis, len(a.shape)):
            shape = (1,) * len(a.shape)
            place = find(reshape(a, (math.prod(a.shape),)), 0)
            return reshape(place, shape) if keepdims else place
        axis = normalize_axis(axis, len(a.shape))
        place = find(a, axis)
        return reshape(place, reduced_shape(a.shape, (axis,), True)) if keepdims else place

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``; the result carries no derivative."
    return implements(getattr(np, name))(function)


argmax = _place("argmax", ops.argmax)
argmin = _place("argmin", ops.argmin)


def _truth(name: str, reduce: Callable[..., Any], neutral: bool) -> Callable[..., Any]:
    @takes_out
    def function(
        a: ArrayLike, axis: Axis = None, out: Array = None, keepdims: bool = False, *, where: ArrayLike = True
    ) -> Any:
        a = truth(a)
        if where is not True:
            a = masked(a, where, neutral)
        return reduce(a, reduction_axes(axis, len(a.shape)), bool(keepdims))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``."
    return implements(getattr(np, name))(function)


def truth(a: ArrayLike) -> Array:
    """Return which elements are not zero."""
    a = as_array(a)
    return a if a.dtype.kind == "b" else bind(ne_p, (a, 0), NO_PARAMS)


all_ = _truth("all", ops.reduce_and, neutral=True)
any_ = _truth("any", ops.reduce_or, neutral=False)


@implements(np.count_nonzero)
def count_nonzero(a: ArrayLike, axis: Axis = None, *, keepdims: bool = False) -> Array:
    """``numpy.count_nonzero``."""
    a = truth(a)
    return reduce_sum(cast(a, INDEX), reduction_axes(axis, len(a.shape)), bool(keepdims))
