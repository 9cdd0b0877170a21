"""Rounding, division with remainder, and the parts of floating-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.numbers import PYTHON_NUMBERS
from funcgrad._ops.elementwise import logic, rounding
from funcgrad._ops.elementwise.cast import cast, complex_p, imag_p, real_p
from funcgrad._ops.elementwise.select import select
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.numpy._base.convert import as_value, dtype_of, operands_for
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._math.elementwise import binary, unary

floor = unary(np.floor, rounding.floor_p)
ceil = unary(np.ceil, rounding.ceil_p)
trunc = unary(np.trunc, rounding.trunc_p)
rint = unary(np.rint, rounding.rint_p)
floor_divide = binary(np.floor_divide, rounding.floor_divide_p)
remainder = mod = binary(np.remainder, rounding.remainder_p)
fmod = binary(np.fmod, rounding.fmod_p)
signbit = unary(np.signbit, rounding.signbit_p)
copysign = binary(np.copysign, rounding.copysign_p)
nextafter = binary(np.nextafter, rounding.nextafter_p)
spacing = unary(np.spacing, rounding.spacing_p)
_ldexp = binary(np.ldexp, rounding.ldexp_p)


@implements(np.ldexp)
def ldexp(x: ArrayLike, exponent: ArrayLike, /) -> Any:
    """Return ``numpy.ldexp``.

    The operands differ in kind, so a Python number takes its dtype from NumPy's resolution.
    """
    x, exponent = as_value(x), as_value(exponent)
    if type(x) not in PYTHON_NUMBERS and type(exponent) not in PYTHON_NUMBERS:
        return _ldexp(x, exponent)
    dtype = np.ldexp(*[np.ones(1, v.dtype) if hasattr(v, "dtype") else v for v in (x, exponent)]).dtype
    if type(exponent) in PYTHON_NUMBERS:
        # All exponents beyond 32 bits give the same result. The floats of ml_dtypes have no loop for wider integers.
        exponent = np.intc(min(max(exponent, -(2**31)), 2**31 - 1))
    return bind(rounding.ldexp_p, (cast(x, dtype), exponent), NO_PARAMS)


@implements(np.round, np.around)
@takes_out
def round_(a: ArrayLike, decimals: int = 0, out: Array = None) -> Tensor:
    """Return ``numpy.round``: half to even, without derivative."""
    x = as_value(a)
    if dtype_of(x).kind == "b":
        x = cast(x, np.dtype(np.float16))
    if dtype_of(x).kind == "c":
        real, imag = (bind(rounding.round_p, (part(x),), {"decimals": int(decimals)}) for part in (real_p, imag_p))
        return complex_p(real, imag)
    return bind(rounding.round_p, (x,), {"decimals": int(decimals)})


around = round_


@implements(np.fix)
@takes_out
def fix(x: ArrayLike, out: Array = None) -> Any:
    """Return ``numpy.fix``: rounding towards zero."""
    return trunc(x)


@implements(np.modf)
@in_numpys_mode
def modf(x: ArrayLike, /) -> tuple[Any, Any]:
    """Return ``numpy.modf``: the fractional and the integral part. The fraction carries the derivative."""
    (x,) = operands_for(np.modf, (x,))
    whole = bind(rounding.trunc_p, (x,), NO_PARAMS)
    infinite = logic.isinf_p(x)
    above, below = select(infinite, 0, x - whole), select(infinite, 0, whole - x)
    # The fraction has the sign of the number, even if it is 0.
    return select(rounding.signbit_p(x), -below, above), whole


@implements(np.frexp)
def frexp(x: ArrayLike, /) -> tuple[Any, Any]:
    """Return ``numpy.frexp``: mantissa and exponent. The mantissa carries the derivative."""
    (x,) = operands_for(np.frexp, (x,))
    exponent = bind(rounding.exponent_p, (x,), NO_PARAMS)
    return bind(rounding.ldexp_p, (x, -exponent), NO_PARAMS), exponent
