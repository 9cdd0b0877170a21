"""Elementwise exponentials, logarithms, roots and powers of two. Each derivative uses the cheapest stable formula."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.forms import Forms
from funcgrad._ops.elementwise.arithmetic import Square, abs_p, add_p, div_p, neg_p, squared
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.cuts import logarithm
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._types import Array, Lax, Value

_LN2 = math.log(2)
_LN10 = math.log(10)


def _expm1_xla(lax: Lax, x: Array) -> Array:
    """Return ``exp(x) - 1``; for complex numbers by NumPy's formula, which differs where the imaginary part is NaN."""
    if x.dtype.kind != "c":
        return lax.expm1(x)
    real, imag = lax.real(x), lax.imag(x)
    half = lax.sin(lax.mul(imag, lax.full_like(imag, 0.5)))
    small = lax.mul(lax.full_like(half, 2), lax.mul(half, half))
    return lax.complex(lax.sub(lax.mul(lax.expm1(real), lax.cos(imag)), small), lax.mul(lax.exp(real), lax.sin(imag)))


def _log_to_base(base: float) -> Any:
    def to_base(lax: Lax, x: Value) -> Value:
        y = logarithm("log")(lax, x)
        if x.dtype.kind != "c":
            return lax.div(y, lax.full_like(y, math.log(base)))
        # The complex quotient of an infinite number would be NaN.
        parts = lax.real(y), lax.imag(y)
        return lax.complex(*[lax.div(part, lax.full_like(part, math.log(base))) for part in parts])

    return to_base


exp_p = elementwise("exp", "x", numpy=np.exp, xla="exp", maps=[lambda t, y: t * y], flops=10)
exp2_p = elementwise("exp2", "x", numpy=np.exp2, xla="exp2", maps=[lambda t, y: t * (y * _LN2)], flops=10)
expm1_p = elementwise("expm1", "x", numpy=np.expm1, xla=_expm1_xla, maps=[lambda t, x: t * exp_p(x)], flops=10)


def gauss(x: Value) -> Value:
    """Return ``exp(-x * x)``, whose derivatives of every order are 0 at infinity.

    The exponential is 0 from 40 on in every dtype. Without the bound, the derivative at infinity is infinity times 0.
    """
    z = select(abs_p(x) > 40, 40, x)
    return exp_p(-(z * z))


log2_p = elementwise("log2", "x", numpy=np.log2, xla=_log_to_base(2), maps=[lambda t, x: t / (x * _LN2)], flops=10)
log10_p = elementwise("log10", "x", numpy=np.log10, xla=_log_to_base(10), maps=[lambda t, x: t / (x * _LN10)], flops=10)
log1p_p = elementwise("log1p", "x", numpy=np.log1p, xla=logarithm("log1p"), maps=[lambda t, x: t / (x + 1)], flops=10)

cbrt_p = elementwise("cbrt", "x", numpy=np.cbrt, xla="cbrt", maps=[lambda t, y: t * (squared(1 / y) / 3)], flops=10)
square_p = elementwise("square", "x", numpy=np.square, xla="square", maps=Square(("x",), [lambda t, x: t * (2 * x)]))
reciprocal_p = elementwise(
    "reciprocal",
    "x",
    numpy=np.reciprocal,
    xla=lambda lax, x: lax.div(lax.full_like(x, 1), x),
    maps=[lambda t, y: t * -squared(y)],
)


def hypot_xla(lax: Lax, a: Array, b: Array) -> Array:
    a, b = lax.abs(a), lax.abs(b)
    large, small = lax.max(a, b), lax.min(a, b)
    # Zero and infinity cannot be divided by; an infinite side wins over NaN.
    infinity = lax.full_like(large, np.inf)
    plain = lax.bitwise_and(lax.gt(large, lax.full_like(large, 0)), lax.lt(large, infinity))
    ratio = lax.div(small, lax.select(plain, large, lax.full_like(large, 1)))
    length = lax.mul(large, lax.sqrt(lax.add(lax.full_like(ratio, 1), lax.square(ratio))))
    infinite = lax.bitwise_or(lax.eq(a, infinity), lax.eq(b, infinity))
    return lax.select(infinite, infinity, lax.select(plain, length, large))


def _leg_numpy(a: Array, b: Array) -> Array:
    y = np.hypot(a, b)
    return a / np.where(y == 0, 1, y)


def _leg_xla(lax: Lax, a: Array, b: Array) -> Array:
    y = hypot_xla(lax, a, b)
    return lax.div(a, lax.select(lax.eq(y, lax.full_like(y, 0)), lax.full_like(y, 1), y))


def _over_hypot(x: Value, a: Value, b: Value) -> Any:
    """Return ``x / hypot(a, b)``, and 0 if both are 0: then ``x`` is 0, too."""
    y = hypot_p(a, b)
    # XLA would multiply the divisors of a quotient of a quotient.
    return x * (1 / select(y == 0, 1, y))


# The quotient ``a / hypot(a, b)``, 0 at the origin. The rules of division would give its derivative as a difference of
# two nearly equal terms if ``a`` is much greater than ``b``.
leg_p = elementwise(
    "leg",
    "a b",
    numpy=_leg_numpy,
    xla=_leg_xla,
    maps=[
        lambda t, a, b: t * (leg_p(b, a) * _over_hypot(leg_p(b, a), a, b)),
        lambda t, a, b: t * (-leg_p(a, b) * _over_hypot(leg_p(b, a), a, b)),
    ],
    flops=8,
)


def _leg(a: Value, b: Value, y: Value) -> Any:
    """Return the derivative of ``y = hypot(a, b)`` by ``a``."""
    return a / np.where(y == 0, 1, y) if type(y) is np.ndarray else leg_p(a, b)


hypot_p = elementwise(
    "hypot",
    "a b",
    numpy=np.hypot,
    xla=hypot_xla,
    maps=[lambda t, a, b, y: t * _leg(a, b, y), lambda t, a, b, y: t * _leg(b, a, y)],
    flops=6,
)


def _logistic_numpy(x: Array) -> Array:
    # For large negative x the exponential overflows to infinity, and its reciprocal is the correct 0.
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def _logistic_expanded(x: Value) -> Any:
    return div_p(1, add_p(1, exp_p(neg_p(x))))


logistic_p = elementwise(
    "logistic",
    "x",
    numpy=_logistic_numpy,
    xla="logistic",
    # ``y * (1 - y)`` would be 0 from x = 37 on, where y rounds to 1.
    maps=[lambda t, x, y: t * (y * logistic_p(-x))],
    flops=12,
    forms=Forms(expand=_logistic_expanded, new_memory=True),
)


def _gap(a: Value, b: Value, dtype: np.dtype) -> Value:
    """Return ``a - b``, and 0 for two infinities of one sign: the operands then share the derivative."""
    # A Python number alone would be an array of its own dtype in a selection, and widen the derivative.
    a, b = cast(a, dtype), cast(b, dtype)
    same = (a == b) & (abs_p(a) == np.inf)
    return select(same, 0, a) - select(same, 0, b)


def _logaddexp_xla(lax: Lax, a: Array, b: Array) -> Array:
    # The difference of infinities of one sign is NaN.
    gap = lax.select(lax.eq(a, b), lax.full_like(a, 0), lax.abs(lax.sub(a, b)))
    return lax.add(lax.max(a, b), lax.log1p(lax.exp(lax.neg(gap))))


def _logaddexp2_xla(lax: Lax, a: Array, b: Array) -> Array:
    ln2 = lax.full_like(a, _LN2)
    return lax.div(_logaddexp_xla(lax, lax.mul(a, ln2), lax.mul(b, ln2)), ln2)


logaddexp_p = elementwise(
    "logaddexp",
    "a b",
    numpy=np.logaddexp,
    xla=_logaddexp_xla,
    # The derivative by an operand is the logistic function of its distance from the other: accurate in both tails.
    maps=[
        lambda t, a, b, y_aval: t * logistic_p(_gap(a, b, y_aval.dtype)),
        lambda t, a, b, y_aval: t * logistic_p(_gap(b, a, y_aval.dtype)),
    ],
    flops=25,
)
logaddexp2_p = elementwise(
    "logaddexp2",
    "a b",
    numpy=np.logaddexp2,
    xla=_logaddexp2_xla,
    maps=[
        lambda t, a, b, y_aval: t * logistic_p(_LN2 * _gap(a, b, y_aval.dtype)),
        lambda t, a, b, y_aval: t * logistic_p(_LN2 * _gap(b, a, y_aval.dtype)),
    ],
    flops=25,
)
