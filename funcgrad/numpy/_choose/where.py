"""Choices between values: where, select, piecewise, clip, nan_to_num."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy._core import umath

from funcgrad._core.aval import aval_of, is_inexact, is_integer, result_dtype
from funcgrad._core.bind import NO_PARAMS, Tracer, bind
from funcgrad._core.lazy import LazyModule, is_since
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.place import settled
from funcgrad._ops.elementwise import arithmetic, logic
from funcgrad._ops.elementwise.cast import cast, complex_p, imag_p, real_p
from funcgrad._ops.elementwise.select import select_p
from funcgrad._ops.index.write import WHOLE, write
from funcgrad._ops.layout.copy import copy as copy_op
from funcgrad._types import Array, ArrayLike, DTypeLike, Tensor
from funcgrad.numpy._base.concrete import no_number
from funcgrad.numpy._base.convert import as_value, dtype_of, promote, promote_weakly, strong
from funcgrad.numpy._base.dispatch import implements, refuse_option
from funcgrad.numpy._base.foreign import is_number_dtype
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._choose.masks import nonzero_of
from funcgrad.numpy._math.elementwise import not_equal

ml_dtypes = LazyModule("ml_dtypes")

_CLIP: Any = vars(umath)["clip"]
_MISSING: Any = getattr(np, "_NoValue", None)


def truth(condition: ArrayLike) -> Array:
    """Return a condition as an array of bool."""
    condition = as_value(condition)
    if issubclass(type(condition), np.ndarray) and not is_number_dtype(condition.dtype):
        # The truth of text and objects is Python's: None != 0, but None is false.
        return condition.astype(bool)
    return strong(condition) if dtype_of(condition).kind == "b" else not_equal(condition, 0)


@implements(np.where)
def where(condition: ArrayLike, x: ArrayLike = _MISSING, y: ArrayLike = _MISSING, /) -> Array:
    """Return ``numpy.where``. With a condition alone it returns indices, and the condition has to be known."""
    if x is _MISSING and y is _MISSING:
        return nonzero_of(as_value(condition), "numpy.where of one argument")
    if x is _MISSING or y is _MISSING:
        raise ValueError("either both or neither of x and y should be given")
    return no_number(_chosen(condition, x, y))


def _chosen(condition: ArrayLike, x: ArrayLike, y: ArrayLike) -> Array:
    x, y = _wrapped(as_value(x), as_value(y))
    return bind(select_p, (truth(condition), *promote_weakly(x, y)), NO_PARAMS)


def _wrapped(x: ArrayLike, y: ArrayLike) -> tuple:
    """Prepare the operands of ``where``.

    A Python int that the other's integer dtype cannot hold is cast, as by NumPy; NumPy 2.5 refuses it.
    """
    if type(x) is int and type(y) is not int:
        return _wrapped(y, x)[::-1]
    if type(y) is int and type(x) is not int and is_integer(dtype_of(x)):
        bounds = np.iinfo(dtype_of(x))
        if not bounds.min <= y <= bounds.max:
            if is_since("numpy", "2.5.0"):
                raise OverflowError(
                    f"where: Python integer {y} out of bounds for {dtype_of(x)}. Convert the array with astype."
                )
            return x, np.asarray(y).astype(dtype_of(x))[()]
    return x, y


@implements(np.select)
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: ArrayLike = 0) -> Any:
    """Return ``numpy.select``: each element is the choice of the first condition that holds."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    for i, condition in enumerate(condlist):
        if dtype_of(as_value(condition)).kind != "b":
            raise TypeError(
                f"select: invalid entry {i} in condlist, {aval_of(strong(condition))}; needed an array of bool. "
                "Compare it with a number, as in x != 0."
            )
    values = [as_value(choice) for choice in (*choicelist, default)]
    dtype = result_dtype(*values)
    # Python's numbers are weak in the choice of the dtype. After that they are arrays, and -1 is the greatest unsigned
    # one.
    *choices, result = [cast(strong(value), dtype) for value in values]
    for condition, choice in zip(condlist[::-1], choices[::-1], strict=True):
        result = _chosen(condition, choice, result)
    return no_number(result)


@implements(np.clip)
@takes_out
def clip(
    a: ArrayLike,
    a_min: ArrayLike = _MISSING,
    a_max: ArrayLike = _MISSING,
    out: Array = None,
    *,
    min: ArrayLike = _MISSING,  # noqa: A002  (NumPy's name)
    max: ArrayLike = _MISSING,  # noqa: A002  (NumPy's name)
    **options: Any,
) -> Array:
    """Return ``numpy.clip``. A value equal to a bound shares its derivative with the bound, as in ``numpy.minimum``."""
    if unknown := options.keys() - {"dtype", "casting", "order", "subok"}:
        refuse_option("clip", next(iter(unknown)), "Leave it out, and choose with np.where.")
    low = _given(min if a_min is _MISSING else a_min)
    high = _given(max if a_max is _MISSING else a_max)
    return _bounded(logic.clip_p, a, low, high, **options)


@implements(_CLIP)
def _clip_of_plain(a: ArrayLike, low: ArrayLike, high: ArrayLike, /) -> Any:
    """Return ``plain_array.clip(low, high)`` with a traced bound, for which NumPy calls its ufunc."""
    return clip(a, low, high)


def clamp(x: ArrayLike, low: ArrayLike, high: ArrayLike) -> Array:
    """Return PyTorch's ``clamp``: a value equal to a bound gets the whole derivative."""
    return _bounded(logic.clamp_p, x, _given(low), _given(high))


def _bounded(primitive: Primitive, a: ArrayLike, low: ArrayLike, high: ArrayLike, **options: Any) -> Array:
    # NumPy calls the array's own method, so a Python number that is clipped is not weak.
    x = strong(a)
    if is_integer(x.dtype):
        # A Python number beyond the dtype's range is no bound.
        low = None if type(low) is int and low <= np.iinfo(x.dtype).min else low
        high = None if type(high) is int and high >= np.iinfo(x.dtype).max else high
    bounds = [bound for bound in (low, high) if bound is not None]
    dtype = _clipped_dtype(result_dtype(x, *bounds), **options)
    x, *bounds = (cast(value, dtype) for value in (x, *bounds))
    if not bounds:
        return copy_op(x)
    if len(bounds) == 1 and (primitive is logic.clip_p or dtype.kind not in "fc"):
        return bind(arithmetic.min_p if low is None else arithmetic.max_p, (x, *bounds), NO_PARAMS)
    low = dtype.type(-np.inf) if low is None else bounds[0]
    high = dtype.type(np.inf) if high is None else bounds[-1]
    return bind(primitive, (x, low, high), NO_PARAMS)


def clip_method(
    self: Array,
    min: ArrayLike = None,  # noqa: A002  (NumPy's name)
    max: ArrayLike = None,  # noqa: A002  (NumPy's name)
    out: Array = None,
    **options: Any,
) -> Any:
    """``ndarray.clip``, with the options of NumPy's ufunc."""
    return clip(self, min, max, out, **options)


def _clipped_dtype(
    wide: np.dtype, dtype: DTypeLike = None, casting: Any = "same_kind", order: Any = None, subok: Any = None
) -> np.dtype:
    """Return the dtype in which values are clipped: that of ``dtype=``, if ``casting=`` allows it."""
    del order, subok
    asked = wide if dtype is None else np.dtype(dtype)
    if not np.can_cast(wide, asked, casting):
        raise TypeError(
            f"numpy.clip: Cannot cast {wide} to {asked} with casting rule {casting!r}. Pass casting='unsafe'."
        )
    return asked


def _given(bound: ArrayLike) -> Any:
    return None if bound is None or bound is _MISSING else as_value(bound)


@implements(np.nan_to_num)
def nan_to_num(
    x: ArrayLike, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Tensor:
    """Return ``numpy.nan_to_num``. The replacement of a NaN or an infinity is a constant."""
    x = as_value(x)
    if not copy and isinstance(x, Tracer) and x.shape:
        write(x, nan_to_num(settled(x), True, nan, posinf, neginf), WHOLE, (), "numpy.nan_to_num")
        return x
    (x,) = promote(x)
    if x.dtype.kind == "c":
        return complex_p(*(nan_to_num(part(x), copy, nan, posinf, neginf) for part in (real_p, imag_p)))
    if not is_inexact(x.dtype):
        return copy_op(x)
    info = (ml_dtypes if x.dtype.kind == "V" else np).finfo(x.dtype)
    highest = float(info.max) if posinf is None else posinf
    lowest = float(info.min) if neginf is None else neginf
    # The replacements do not widen the result, because NumPy copies them in.
    nan, highest, lowest = [cast(v, x.dtype) if hasattr(v, "dtype") else v for v in (nan, highest, lowest)]
    y = _chosen(arithmetic.eq_p(x, np.inf), highest, _chosen(arithmetic.eq_p(x, -np.inf), lowest, x))
    return _chosen(logic.isnan_p(x), nan, y)
