"""``reduce`` and ``accumulate`` of ufuncs: the reductions and running operations under another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.arithmetic import eq_p, log_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._ops.reduce import cumulative
from funcgrad._ops.reduce.reduce import reduce_max
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy._base.axes import Axis, normalize_axes, normalize_axis
from funcgrad.numpy._base.convert import operands_for
from funcgrad.numpy._base.dispatch import ufunc_methods
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._reduce import reductions
from funcgrad.numpy._reduce.cumulative import cumprod, cumsum
from funcgrad.numpy._reduce.reductions import as_array, sum_
from funcgrad.numpy._reduce.statistics import inexact


def _reduce(ufunc: np.ufunc, function: Callable[..., Any], *, takes_dtype: bool) -> None:
    """Register the function as ``ufunc.reduce``, with the first axis as the default."""

    @takes_out
    def reduce(
        array: ArrayLike,
        axis: Axis = 0,
        dtype: DTypeLike = None,
        out: Array = None,
        keepdims: bool = False,
        **options: Any,
    ) -> Any:
        array = as_array(array)
        axis = axis if array.shape else None
        kept = (dtype, None, keepdims) if takes_dtype else (None, keepdims)
        return function(array, axis, *kept, **{name: value for name, value in options.items() if value is not None})

    reduce.__name__ = f"{ufunc.__name__}.reduce"
    ufunc_methods[ufunc, "reduce"] = reduce


def _accumulate(ufunc: np.ufunc, function: Callable[..., Any]) -> None:
    @takes_out
    def accumulate(array: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Array = None) -> Any:
        return function(array, axis, dtype)

    accumulate.__name__ = f"{ufunc.__name__}.accumulate"
    ufunc_methods[ufunc, "accumulate"] = accumulate


def _running_extremum(primitive: Any) -> Callable[..., Any]:
    def function(array: ArrayLike, axis: int, dtype: DTypeLike) -> Any:
        array = as_array(array) if dtype is None else inexact(array, dtype)
        return bind(primitive, (array,), {"axis": normalize_axis(axis, len(array.shape)), "reverse": False})

    return function


@takes_out
def _log_sum_exp(a: ArrayLike, axis: Axis, dtype: DTypeLike = None, out: Array = None, keepdims: bool = False) -> Any:
    """Return the logarithm of the sum of exponentials, relative to the greatest element, so that none overflows."""
    a = inexact(a, dtype) if dtype is not None else operands_for(np.logaddexp, (as_array(a),) * 2)[0]
    axes = normalize_axes(axis, len(a.shape))
    if any(a.shape[i] == 0 for i in axes):
        return sum_(a, axes, keepdims=keepdims) - np.inf
    greatest = reduce_max(a, axes, True)
    # If all elements are -inf, or one is inf, the difference would be NaN.
    infinite = bind(eq_p, (greatest - greatest, 0), NO_PARAMS)
    shift = select(infinite, greatest, 0)
    total = sum_(bind(exp_p, (a - shift,), NO_PARAMS), axes, keepdims=keepdims)
    return bind(log_p, (total,), NO_PARAMS) + (shift if keepdims else sum_(shift, axes))


_reduce(np.add, sum_, takes_dtype=True)
_reduce(np.multiply, reductions.prod, takes_dtype=True)
_reduce(np.maximum, reductions.max_, takes_dtype=False)
_reduce(np.minimum, reductions.min_, takes_dtype=False)
_reduce(np.logical_and, reductions.all_, takes_dtype=False)
_reduce(np.logical_or, reductions.any_, takes_dtype=False)
_reduce(np.logaddexp, _log_sum_exp, takes_dtype=True)
_accumulate(np.add, cumsum)
_accumulate(np.multiply, cumprod)
_accumulate(np.maximum, _running_extremum(cumulative.cummax_p))
_accumulate(np.minimum, _running_extremum(cumulative.cummin_p))
