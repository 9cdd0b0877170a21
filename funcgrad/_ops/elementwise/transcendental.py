"""Exponentials, logarithms, roots and powers of two, elementwise. Each derivative reads what is cheapest and stable."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._ops.elementwise.arithmetic import abs_p, squared
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.trigonometric import cos_p, sin_p

_LN2 = math.log(2)
_LN10 = math.log(10)


def _expm1_xla(lax: Any, x: Any) -> Any:
    """Of complex numbers by NumPy's formula, which tells where the imaginary part is no number."""
    if x.dtype.kind != "c":
        return lax.expm1(x)
    real, imag = lax.real(x), lax.imag(x)
    half = lax.sin(lax.mul(imag, lax.full_like(imag, 0.5)))
    small = lax.mul(lax.full_like(half, 2), lax.mul(half, half))
    return lax.complex(lax.sub(lax.mul(lax.expm1(real), lax.cos(imag)), small), lax.mul(lax.exp(real), lax.sin(imag)))


def _log_to_base(base: float) -> Any:
    def logarithm(lax: Any, x: Any) -> Any:
        y = lax.log(x)
        if x.dtype.kind != "c":
            return lax.div(y, lax.full_like(y, math.log(base)))
        # The quotient of an infinite complex number would be NaN.
        parts = lax.real(y), lax.imag(y)
        return lax.complex(*[lax.div(part, lax.full_like(part, math.log(base))) for part in parts])

    return logarithm


exp_p = elementwise("exp", "x", numpy=np.exp, xla="exp", maps=[lambda t, y: t * y], flops=10)
exp2_p = elementwise("exp2", "x", numpy=np.exp2, xla="exp2", maps=[lambda t, y: t * (y * _LN2)], flops=10)
expm1_p = elementwise("expm1", "x", numpy=np.expm1, xla=_expm1_xla, maps=[lambda t, y: t * (y + 1)], flops=10)
log2_p = elementwise("log2", "x", numpy=np.log2, xla=_log_to_base(2), maps=[lambda t, x: t / (x * _LN2)], flops=10)
log10_p = elementwise("log10", "x", numpy=np.log10, xla=_log_to_base(10), maps=[lambda t, x: t / (x * _LN10)], flops=10)
log1p_p = elementwise("log1p", "x", numpy=np.log1p, xla="log1p", maps=[lambda t, x: t / (x + 1)], flops=10)

cbrt_p = elementwise("cbrt", "x", numpy=np.cbrt, xla="cbrt", maps=[lambda t, y: t / (3 * squared(y))], flops=10)
square_p = elementwise("square", "x", numpy=np.square, xla="square", maps=[lambda t, x: t * (2 * x)])
reciprocal_p = elementwise(
    "reciprocal",
    "x",
    numpy=np.reciprocal,
    xla=lambda lax, x: lax.div(lax.full_like(x, 1), x),
    maps=[lambda t, y: t * -squared(y)],
)


def _hypot_xla(lax: Any, a: Any, b: Any) -> Any:
    a, b = lax.abs(a), lax.abs(b)
    large, small = lax.max(a, b), lax.min(a, b)
    # Zero and infinity are lengths that cannot be divided by; an infinite leg wins over NaN.
    infinity = lax.full_like(large, np.inf)
    plain = lax.bitwise_and(lax.gt(large, lax.full_like(large, 0)), lax.lt(large, infinity))
    ratio = lax.div(small, lax.select(plain, large, lax.full_like(large, 1)))
    length = lax.mul(large, lax.sqrt(lax.add(lax.full_like(ratio, 1), lax.square(ratio))))
    infinite = lax.bitwise_or(lax.eq(a, infinity), lax.eq(b, infinity))
    return lax.select(infinite, infinity, lax.select(plain, length, large))


def _leg_map(t: Any, leg: Any, y: Any) -> Any:
    return t * (leg / select(y == 0, 1, y))


hypot_p = elementwise(
    "hypot",
    "a b",
    numpy=np.hypot,
    xla=_hypot_xla,
    maps=[lambda t, a, y: _leg_map(t, a, y), lambda t, b, y: _leg_map(t, b, y)],
    flops=6,
)


def _share(x: Any, y: Any) -> Any:
    """``x - y`` for an addend of a logarithmic sum; where both are infinite, or the other addend is lost, 0."""
    return select(x == y, 0, x - y)


def _logaddexp_xla(lax: Any, a: Any, b: Any) -> Any:
    # Infinities of one sign have no difference.
    gap = lax.select(lax.eq(a, b), lax.full_like(a, 0), lax.abs(lax.sub(a, b)))
    return lax.add(lax.max(a, b), lax.log1p(lax.exp(lax.neg(gap))))


def _logaddexp2_xla(lax: Any, a: Any, b: Any) -> Any:
    ln2 = lax.full_like(a, _LN2)
    return lax.div(_logaddexp_xla(lax, lax.mul(a, ln2), lax.mul(b, ln2)), ln2)


logaddexp_p = elementwise(
    "logaddexp",
    "a b",
    numpy=np.logaddexp,
    xla=_logaddexp_xla,
    maps=[lambda t, a, y: t * exp_p(_share(a, y)), lambda t, b, y: t * exp_p(_share(b, y))],
    flops=25,
)
logaddexp2_p = elementwise(
    "logaddexp2",
    "a b",
    numpy=np.logaddexp2,
    xla=_logaddexp2_xla,
    maps=[lambda t, a, y: t * exp2_p(_share(a, y)), lambda t, b, y: t * exp2_p(_share(b, y))],
    flops=25,
)

# d/du sin(u)/u = u * series(u * u): below |u| = 2 the closed form cancels, and its derivatives more so.
_SINC_SERIES_LIMIT = 2.0
_SINC_SLOPE = [(-1) ** k * 2 * k / math.factorial(2 * k + 1) for k in range(1, 14)]


def _sinc_slope(x: Any) -> Any:
    """The derivative of ``sin(pi x) / (pi x)`` by x, right in each of its own derivatives too."""
    u = x * math.pi
    near = abs_p(u) < _SINC_SERIES_LIMIT
    inner = select(near, u, 0)
    square = inner * inner
    series = _SINC_SLOPE[-1] * square + _SINC_SLOPE[-2]
    for coefficient in _SINC_SLOPE[-3::-1]:
        series = series * square + coefficient
    outer = select(near, _SINC_SERIES_LIMIT, u)
    closed = (cos_p(outer) - sin_p(outer) / outer) / outer
    return math.pi * select(near, inner * series, closed)


def _sinc_xla(lax: Any, x: Any) -> Any:
    zero = lax.eq(x, lax.full_like(x, 0))
    u = lax.mul(lax.select(zero, lax.full_like(x, 1), x), lax.full_like(x, math.pi))
    return lax.select(zero, lax.full_like(x, 1), lax.div(lax.sin(u), u))


sinc_p = elementwise("sinc", "x", numpy=np.sinc, xla=_sinc_xla, maps=[lambda t, x: t * _sinc_slope(x)], flops=12)
