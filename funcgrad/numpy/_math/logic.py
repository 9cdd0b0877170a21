"""Tests of values, logical and bitwise operations, and comparisons of whole arrays. They carry no derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise import logic
from funcgrad._ops.elementwise.cast import cast, imag_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.numpy._base.convert import as_value, dtype_of, promote, strong
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._math.elementwise import absolute, binary, equal, less_equal, named, not_equal, subtract, unary

isnan = unary(np.isnan, logic.isnan_p)
isinf = unary(np.isinf, logic.isinf_p)
isfinite = unary(np.isfinite, logic.isfinite_p)
bitwise_and = binary(np.bitwise_and, logic.bitwise_and_p)
bitwise_or = binary(np.bitwise_or, logic.bitwise_or_p)
bitwise_xor = binary(np.bitwise_xor, logic.bitwise_xor_p)
bitwise_not = bitwise_invert = invert = unary(np.invert, logic.bitwise_not_p)
left_shift = bitwise_left_shift = binary(np.left_shift, logic.left_shift_p)
right_shift = bitwise_right_shift = binary(np.right_shift, logic.right_shift_p)
fmax = binary(np.fmax, logic.fmax_p)
fmin = binary(np.fmin, logic.fmin_p)
heaviside = binary(np.heaviside, logic.heaviside_p)


def _logical(ufunc: np.ufunc, primitive: Primitive) -> Callable[..., Any]:
    """Return our function for a ufunc of truth values. Operands may have different dtypes."""

    def function(*xs: ArrayLike) -> Any:
        return bind(primitive, tuple([strong(x) for x in xs]), NO_PARAMS)

    return named(function, ufunc)


logical_and = _logical(np.logical_and, logic.logical_and_p)
logical_or = _logical(np.logical_or, logic.logical_or_p)
logical_xor = _logical(np.logical_xor, logic.logical_xor_p)
logical_not = _logical(np.logical_not, logic.logical_not_p)


def _ordered(name: str, x: ArrayLike) -> Tensor:
    x = as_value(x)
    if dtype_of(x).kind == "c":
        raise TypeError(
            f"numpy.{name}: the operand is {dtype_of(x).name}, and complex infinities have no sign; needed real "
            "numbers. Ask for the real and the imaginary part."
        )
    return x


@implements(np.isposinf)
@takes_out
def isposinf(x: ArrayLike, out: Array = None) -> Tensor:
    """``numpy.isposinf``."""
    return equal(_ordered("isposinf", x), np.inf)


@implements(np.isneginf)
@takes_out
def isneginf(x: ArrayLike, out: Array = None) -> Tensor:
    """``numpy.isneginf``."""
    return equal(_ordered("isneginf", x), -np.inf)


@implements(np.iscomplexobj)
def iscomplexobj(x: ArrayLike) -> bool:
    """Return ``numpy.iscomplexobj``: whether the dtype is complex."""
    return dtype_of(as_value(x)).kind == "c"


@implements(np.isrealobj)
def isrealobj(x: ArrayLike) -> bool:
    """Return ``numpy.isrealobj``: whether the dtype is not complex."""
    return not iscomplexobj(x)


@implements(np.iscomplex)
def iscomplex(x: ArrayLike) -> Tensor:
    """Return ``numpy.iscomplex``: true where the imaginary part is not zero."""
    x = as_value(x)
    return not_equal(imag_p(x) if iscomplexobj(x) else zeros_like(x), 0)


@implements(np.isreal)
def isreal(x: ArrayLike) -> Tensor:
    """Return ``numpy.isreal``: true where the imaginary part is zero."""
    return logical_not(iscomplex(x))


@implements(np.isclose)
@in_numpys_mode
def isclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """``numpy.isclose``."""
    a, b = as_value(a), as_value(b)
    # The tolerance is computed in the precision of the second operand.
    b = cast(b, np.result_type(b.dtype, 1.0)) if hasattr(b, "dtype") else b * 1.0
    # Infinities of one sign have no difference: they are equal. Other values are not close to infinity.
    finite = isfinite(b)
    center = select(finite, b, 0) if hasattr(b, "dtype") else b if finite else 0.0
    near = logical_and(less_equal(absolute(subtract(a, center)), atol + rtol * abs(center)), finite)
    result = logical_or(near, equal(a, b))
    return logical_or(result, logical_and(isnan(a), isnan(b))) if equal_nan else result


def _all(truths: ArrayLike) -> Tensor:
    wrong = reduce_sum(cast(logical_not(truths), np.dtype(np.int64)), tuple(range(len(truths.shape))))
    return equal(wrong, 0)


@implements(np.allclose)
def allclose(a: ArrayLike, b: ArrayLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """``numpy.allclose``; a truth value without derivative."""
    return _all(isclose(a, b, rtol, atol, equal_nan))


@implements(np.array_equal)
def array_equal(a1: ArrayLike, a2: ArrayLike, equal_nan: bool = False) -> Tensor:
    """``numpy.array_equal``: one shape, and equal elements."""
    a, b = promote(as_value(a1), as_value(a2))
    if a.shape != b.shape:
        return False
    same = equal(a, b)
    return _all(logical_or(same, logical_and(isnan(a), isnan(b))) if equal_nan else same)


@implements(np.array_equiv)
def array_equiv(a1: ArrayLike, a2: ArrayLike) -> Any:
    """``numpy.array_equiv``: equal elements, after broadcasting."""
    a, b = promote(as_value(a1), as_value(a2))
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return _all(equal(a, b))
