"""Elementwise rounding, division with remainder, and parts of floating-point numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import is_integer, is_integral
from funcgrad._core.trace.derivative import CONSTANT, Undefined
from funcgrad._ops.elementwise.arithmetic import sign_p
from funcgrad._ops.elementwise.cuts import signbit_xla
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._types import Array, Lax, Value

_ROUND_TO_EVEN = 1  # jax.lax.RoundingMethod.TO_NEAREST_EVEN


def _unless_integer(name: str) -> Any:
    """Return a ``jax.lax`` function of floats that returns integers unchanged, as NumPy does."""
    return lambda lax, x: getattr(lax, name)(x) if not is_integral(x.dtype) else x


def _rint_xla(lax: Lax, x: Array) -> Array:
    method = lax.RoundingMethod(_ROUND_TO_EVEN)
    if x.dtype.kind == "c":
        return lax.complex(lax.round(lax.real(x), method), lax.round(lax.imag(x), method))
    return lax.round(x, method)


def _trunc_xla(lax: Lax, x: Array) -> Array:
    return x if is_integral(x.dtype) else lax.mul(lax.sign(x), lax.floor(lax.abs(x)))


floor_p = elementwise("floor", "x", numpy=np.floor, xla=_unless_integer("floor"), maps=CONSTANT)
ceil_p = elementwise("ceil", "x", numpy=np.ceil, xla=_unless_integer("ceil"), maps=CONSTANT)
trunc_p = elementwise("trunc", "x", numpy=np.trunc, xla=_trunc_xla, maps=CONSTANT)
rint_p = elementwise("rint", "x", numpy=np.rint, xla=_rint_xla, maps=CONSTANT)


def _round_xla(lax: Lax, x: Array, *, decimals: int) -> Array:
    if is_integral(x.dtype):
        if decimals >= 0:
            return x
        return lax.convert_element_type(
            _round_xla(lax, lax.convert_element_type(x, lax.canonical_dtype(np.float64)), decimals=decimals), x.dtype
        )
    scale = lax.full_like(x, 10.0 ** abs(decimals))
    if decimals >= 0:
        return lax.div(_rint_xla(lax, lax.mul(x, scale)), scale)
    return lax.mul(_rint_xla(lax, lax.div(x, scale)), scale)


round_p = elementwise(
    "round",
    "x",
    numpy=lambda x, *, decimals: np.round(x, decimals),
    xla=_round_xla,
    maps=CONSTANT,
    flops=3,
)
round_p.rounds = True


def _differ_in_sign(lax: Lax, a: Value, b: Value) -> Value:
    zero = lax.full_like(a, 0)
    return lax.ne(lax.lt(a, zero), lax.lt(b, zero))


def _nonzero_divisor(lax: Lax, b: Value) -> tuple[Any, Any]:
    """Return where an integer divisor is 0, and the divisor with 1 there: NumPy's quotient and remainder are 0."""
    by_zero = lax.eq(b, lax.full_like(b, 0))
    return by_zero, lax.select(by_zero, lax.full_like(b, 1), b)


def _integer_division(lax: Lax, a: Value, b: Value) -> tuple[Any, Any]:
    """Return quotient and remainder, rounded down."""
    by_zero, b = _nonzero_divisor(lax, b)
    quotient, remainder = lax.div(a, b), lax.rem(a, b)
    zero, one = lax.full_like(a, 0), lax.full_like(a, 1)
    off = lax.bitwise_and(lax.ne(remainder, zero), _differ_in_sign(lax, remainder, b))
    quotient = lax.sub(quotient, lax.select(off, one, zero))
    remainder = lax.add(remainder, lax.select(off, b, zero))
    return lax.select(by_zero, zero, quotient), lax.select(by_zero, zero, remainder)


def _float_division(lax: Lax, a: Value, b: Value) -> tuple[Any, Any]:
    """Return quotient and remainder, rounded down. NumPy too computes them from the exact remainder."""
    zero, one = lax.full_like(a, 0), lax.full_like(a, 1)
    remainder = lax.rem(a, b)
    off = lax.bitwise_and(lax.ne(remainder, zero), _differ_in_sign(lax, remainder, b))
    quotient = lax.sub(lax.div(lax.sub(a, remainder), b), lax.select(off, one, zero))
    rounded = lax.floor(quotient)
    rounded = lax.add(rounded, lax.select(lax.gt(lax.sub(quotient, rounded), lax.full_like(a, 0.5)), one, zero))
    # A zero quotient has the sign of the true quotient; a zero remainder has the sign of the divisor.
    signed = lax.select(lax.eq(rounded, zero), _copysign_xla(lax, zero, lax.div(a, b)), rounded)
    quotient = lax.select(lax.eq(b, zero), lax.div(a, b), signed)
    nothing = lax.select(lax.eq(remainder, zero), _copysign_xla(lax, zero, b), remainder)
    return quotient, lax.select(off, lax.add(remainder, b), nothing)


def _division_xla(part: int) -> Any:
    def divide(lax: Lax, a: Value, b: Value) -> Value:
        return (_integer_division if is_integer(a.dtype) else _float_division)(lax, a, b)[part]

    return divide


def _fmod_xla(lax: Lax, a: Array, b: Array) -> Array:
    if not is_integer(a.dtype):
        return lax.rem(a, b)
    by_zero, b = _nonzero_divisor(lax, b)
    return lax.select(by_zero, lax.full_like(a, 0), lax.rem(a, b))


floor_divide_p = elementwise(
    "floor_divide", "a b", numpy=np.floor_divide, xla=_division_xla(0), maps=CONSTANT, flops=8, operator=True
)
# Between its jumps, a remainder is a minus a constant multiple of b.
remainder_p = elementwise(
    "remainder",
    "a b",
    numpy=np.remainder,
    xla=_division_xla(1),
    maps=[lambda t: t, lambda t, a, b: t * -floor_divide_p(a, b)],
    flops=8,
    operator=True,
)
fmod_p = elementwise(
    "fmod", "a b", numpy=np.fmod, xla=_fmod_xla, maps=[lambda t: t, lambda t, a, b: t * -trunc_p(a / b)], flops=8
)


def _signbit_xla(lax: Lax, x: Array) -> Array:
    return lax.lt(x, lax.full_like(x, 0)) if is_integer(x.dtype) else signbit_xla(lax, x)


def _copysign_xla(lax: Lax, a: Array, b: Array) -> Array:
    magnitude = lax.abs(a)
    return lax.select(_signbit_xla(lax, b), lax.neg(magnitude), magnitude)


signbit_p = elementwise(
    "signbit", "x", numpy=np.signbit, xla=_signbit_xla, maps=CONSTANT, dtype=lambda x: np.dtype(bool)
)
copysign_p = elementwise(
    "copysign",
    "a b",
    numpy=np.copysign,
    xla=_copysign_xla,
    maps=[lambda t, a, y: t * (sign_p(a) * sign_p(y)), None],
)


def _spacing_xla(lax: Lax, x: Array) -> Array:
    magnitude = lax.abs(x)
    gap = lax.sub(lax.nextafter(magnitude, lax.full_like(x, np.inf)), magnitude)
    return _copysign_xla(lax, gap, x)


nextafter_p = elementwise(
    "nextafter",
    "a b",
    numpy=np.nextafter,
    xla="nextafter",
    maps=Undefined(
        "nextafter: a derivative of the next floating-point number was asked for. That number changes in steps of "
        "the rounding and has no derivative. Apply it to fg.stop_gradient(x), or call it outside of grad."
    ),
)
spacing_p = elementwise("spacing", "x", numpy=np.spacing, xla=_spacing_xla, maps=CONSTANT)


def _power_of_two(lax: Lax, exponent: Value, like: Value) -> Value:
    """Return ``2.0 ** exponent``, exact, for integer exponents within the normal range of the dtype of ``like``."""
    info = np.finfo(like.dtype)
    integer = np.dtype(f"i{like.dtype.itemsize}")
    biased = lax.add(lax.convert_element_type(exponent, integer), lax.full_like(exponent, 1 - info.minexp, integer))
    return lax.bitcast_convert_type(lax.shift_left(biased, lax.full_like(biased, info.nmant)), like.dtype)


def _ldexp_xla(lax: Lax, x: Array, exponent: Array) -> Array:
    limit = 2 - np.finfo(x.dtype).minexp
    if exponent.dtype.itemsize < 4:
        exponent = lax.convert_element_type(exponent, np.int32)
    # A wide exponent is limited before the cast, because the cast would wrap it.
    exponent = lax.min(exponent, lax.full_like(exponent, 3 * limit))
    if exponent.dtype.kind == "i":
        exponent = lax.max(exponent, lax.full_like(exponent, -3 * limit))
    exponent = lax.convert_element_type(exponent, np.int32)
    # Three factors, each a normal number, reach from the largest to the smallest subnormal.
    third = lax.div(exponent, lax.full_like(exponent, 3))
    for part in (third, third, lax.sub(exponent, lax.add(third, third))):
        bounded = lax.max(lax.min(part, lax.full_like(part, limit - 1)), lax.full_like(part, 2 - limit))
        x = lax.mul(x, _power_of_two(lax, bounded, x))
    return x


ldexp_p = elementwise(
    "ldexp",
    "x exponent",
    numpy=np.ldexp,
    xla=_ldexp_xla,
    maps=[lambda t, exponent: ldexp_p(t, exponent), None],
    dtype=lambda x, exponent: x.dtype,
)


def _exponent_xla(lax: Lax, x: Array) -> Array:
    plain = lax.bitwise_and(lax.is_finite(x), lax.ne(x, lax.full_like(x, 0)))
    magnitude = lax.abs(lax.select(plain, x, lax.full_like(x, 1)))
    log2 = lax.div(lax.log(magnitude), lax.full_like(x, math.log(2)))
    exponent = lax.add(lax.convert_element_type(lax.floor(log2), np.int32), lax.full_like(x, 1, np.int32))
    # The logarithm may round across a power of two.
    mantissa = _ldexp_xla(lax, magnitude, lax.neg(exponent))
    one, zero = lax.full_like(exponent, 1), lax.full_like(exponent, 0)
    exponent = lax.add(exponent, lax.select(lax.ge(mantissa, lax.full_like(x, 1)), one, zero))
    exponent = lax.sub(exponent, lax.select(lax.lt(mantissa, lax.full_like(x, 0.5)), one, zero))
    return lax.select(plain, exponent, zero)


# The exponent that frexp returns; the mantissa is ldexp(x, -exponent).
exponent_p = elementwise(
    "exponent",
    "x",
    numpy=lambda x: np.frexp(x)[1],
    xla=_exponent_xla,
    maps=CONSTANT,
    dtype=lambda x: np.dtype(np.int32),
)
