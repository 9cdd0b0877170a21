"""Special functions, elementwise. SciPy computes them on NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.lazy import LazyModule
from funcgrad._ops.elementwise.arithmetic import log_p, sign_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.transcendental import exp_p, log1p_p

scipy_special = LazyModule("scipy.special")

_TWO_OVER_SQRT_PI = 2 / math.sqrt(math.pi)
_ONE_OVER_SQRT_TWO_PI = 1 / math.sqrt(2 * math.pi)

erfc_p = elementwise(
    "erfc",
    "x",
    numpy=lambda x: scipy_special.erfc(x),
    xla="erfc",
    maps=[lambda t, x: t * (-_TWO_OVER_SQRT_PI * exp_p(-(x * x)))],
    flops=20,
)
erfinv_p = elementwise(
    "erfinv",
    "x",
    numpy=lambda x: scipy_special.erfinv(x),
    xla="erf_inv",
    maps=[lambda t, y: t * (exp_p(y * y) / _TWO_OVER_SQRT_PI)],
    flops=20,
)
ndtr_p = elementwise(
    "ndtr",
    "x",
    numpy=lambda x: scipy_special.ndtr(x),
    xla=lambda lax, x: lax.mul(lax.full_like(x, 0.5), lax.erfc(lax.mul(x, lax.full_like(x, -math.sqrt(0.5))))),
    maps=[lambda t, x: t * (_ONE_OVER_SQRT_TWO_PI * exp_p(-0.5 * (x * x)))],
    flops=20,
)
# Abramowitz and Stegun, 26.2.23: the quantile of the normal distribution to 4.5e-4.
_QUANTILE = ((2.515517, 0.802853, 0.010328), (1, 1.432788, 0.189269, 0.001308))


def _ndtri_xla(lax: Any, p: Any) -> Any:
    """Newton's method for the logarithm of the lesser tail: three steps from 4.5e-4 are exact."""

    def constant(value: float) -> Any:
        return lax.full_like(p, value)

    def polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
        y = constant(coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            y = lax.add(lax.mul(y, x), constant(coefficient))
        return y

    upper = lax.gt(p, constant(0.5))
    tail = lax.select(upper, lax.sub(constant(1), p), p)
    inner = lax.gt(tail, constant(0))
    logarithm = lax.log(lax.select(inner, tail, constant(0.5)))
    t = lax.sqrt(lax.mul(constant(-2), logarithm))
    x = lax.sub(lax.div(polynomial(_QUANTILE[0], t), polynomial(_QUANTILE[1], t)), t)
    for _ in range(3):
        below = lax.mul(constant(0.5), lax.erfc(lax.mul(x, constant(-math.sqrt(0.5)))))
        density = lax.mul(constant(_ONE_OVER_SQRT_TWO_PI), lax.exp(lax.mul(constant(-0.5), lax.mul(x, x))))
        x = lax.sub(x, lax.mul(lax.sub(lax.log(below), logarithm), lax.div(below, density)))
    ends = lax.select(lax.eq(tail, constant(0)), constant(-np.inf), constant(np.nan))
    x = lax.select(inner, x, ends)
    return lax.select(upper, lax.neg(x), x)


ndtri_p = elementwise(
    "ndtri",
    "p",
    numpy=lambda p: scipy_special.ndtri(p),
    xla=_ndtri_xla,
    maps=[lambda t, y: t * (exp_p(0.5 * (y * y)) / _ONE_OVER_SQRT_TWO_PI)],
    flops=100,
)
logit_p = elementwise(
    "logit",
    "x",
    numpy=lambda x: scipy_special.logit(x),
    xla=lambda lax, x: lax.sub(lax.log(x), lax.log1p(lax.neg(x))),
    maps=[lambda t, x: t / (x * (1 - x))],
    flops=20,
)


def _polygamma_numpy(x: Any, *, order: int) -> Any:
    # scipy.special.polygamma itself computes in float64 only.
    sign = -1.0 if order % 2 == 0 else 1.0
    return sign * math.factorial(order) * scipy_special.zeta(aval_of(x).dtype.type(order + 1), x)


def _cotangent_derivative(order: int) -> list[int]:
    """The derivative of the cotangent, as coefficients of its own powers: the derivative of ``c`` is ``-1 - c * c``."""
    powers = [0, 1]
    for _ in range(order):
        slopes = [k * coefficient for k, coefficient in enumerate(powers)][1:]
        powers = [-a - b for a, b in zip([*slopes, 0, 0], [0, 0, *slopes], strict=True)]
    return powers


def _polygamma_xla(lax: Any, x: Any, *, order: int) -> Any:
    """Below zero by reflection: the series of ``lax`` is one for positive arguments."""
    zero, infinity = lax.full_like(x, 0), lax.full_like(x, np.inf)
    below = lax.lt(x, zero)
    mirrored = lax.select(below, lax.sub(lax.full_like(x, 1), x), x)
    y = lax.polygamma(lax.full_like(x, order), mirrored)
    # Half a period around zero, where the cotangent keeps its precision.
    phase = lax.mul(lax.sub(x, lax.round(x)), lax.full_like(x, math.pi))
    cotangent = lax.div(lax.cos(phase), lax.sin(phase))
    series = zero
    for coefficient in reversed(_cotangent_derivative(order)):
        series = lax.add(lax.mul(series, cotangent), lax.full_like(x, coefficient))
    sign = -1 if order % 2 else 1
    reflected = lax.sub(lax.mul(lax.full_like(x, sign), y), lax.mul(lax.full_like(x, math.pi ** (order + 1)), series))
    y = lax.select(below, reflected, lax.select(lax.eq(x, infinity), zero, y))
    return lax.select(_is_pole(lax, x), lax.full_like(x, -sign * np.inf), y)


def _is_pole(lax: Any, x: Any) -> Any:
    """Where the gamma function has none of its values: at zero and the negative whole numbers."""
    return lax.bitwise_and(lax.le(x, lax.full_like(x, 0)), lax.eq(x, lax.floor(x)))


def _gammaln_xla(lax: Any, x: Any) -> Any:
    # SciPy's value there, which has no meaning.
    lowest = lax.full_like(x, -np.inf)
    return lax.select(lax.eq(x, lowest), lowest, lax.lgamma(x))


def _digamma_xla(lax: Any, x: Any) -> Any:
    zero = lax.eq(x, lax.full_like(x, 0))
    return lax.select(zero, lax.div(lax.full_like(x, -1), x), lax.digamma(x))


gammaln_p = elementwise(
    "gammaln",
    "x",
    numpy=lambda x: scipy_special.gammaln(x),
    xla=_gammaln_xla,
    maps=[lambda t, x: t * digamma_p(x)],
    flops=20,
)
digamma_p = elementwise(
    "digamma",
    "x",
    numpy=lambda x: scipy_special.psi(x),
    xla=_digamma_xla,
    maps=[lambda t, x: t * polygamma_p(x, order=1)],
    flops=20,
)
polygamma_p = elementwise(
    "polygamma",
    "x",
    numpy=_polygamma_numpy,
    xla=_polygamma_xla,
    maps=[lambda t, x, order: t * polygamma_p(x, order=order + 1)],
    flops=40,
)


def _betaln_xla(lax: Any, a: Any, b: Any) -> Any:
    """With SciPy's values at the poles: of whole numbers the beta function may be finite there, by reflection."""

    def number(value: float) -> Any:
        return lax.full_like(a, value)

    first = _is_pole(lax, a)
    a, b = lax.select(first, a, b), lax.select(first, b, a)
    pole, reflected = _is_pole(lax, a), lax.sub(lax.sub(number(1), a), b)
    whole = lax.bitwise_and(lax.gt(b, number(0)), lax.eq(b, lax.floor(b)))
    within = lax.bitwise_and(lax.gt(reflected, number(0)), lax.lt(reflected, number(np.inf)))
    infinite = lax.bitwise_and(pole, lax.bitwise_not(lax.bitwise_and(whole, within)))
    return lax.select(infinite, number(np.inf), _betaln_of_others(lax, lax.select(pole, reflected, a), b))


def _betaln_of_others(lax: Any, a: Any, b: Any) -> Any:
    """Far apart, the two nearly equal logarithms of the gamma function are a series: Cephes' ``lbeta``, 1995."""

    def number(value: float) -> Any:
        return lax.full_like(a, value)

    exchanged = lax.lt(lax.abs(a), lax.abs(b))
    a, b = lax.select(exchanged, b, a), lax.select(exchanged, a, b)
    of_b, rest = _gammaln_xla(lax, b), lax.sub(number(1), b)
    near = lax.add(_gammaln_xla(lax, a), lax.sub(of_b, _gammaln_xla(lax, lax.add(a, b))))
    product, reciprocal = lax.mul(b, rest), lax.div(number(1), a)
    far = lax.sub(of_b, lax.mul(b, lax.log(a)))
    terms = (
        lax.mul(product, number(1 / 2)),
        lax.mul(lax.mul(product, lax.sub(rest, b)), number(1 / 12)),
        lax.mul(lax.mul(product, product), number(-1 / 12)),
    )
    for term in terms:
        far = lax.add(far, lax.mul(term, reciprocal))
        reciprocal = lax.div(reciprocal, a)
    is_far = lax.bitwise_and(lax.gt(lax.abs(a), lax.mul(number(1e6), lax.abs(b))), lax.gt(a, number(1e6)))
    return lax.select(is_far, far, near)


betaln_p = elementwise(
    "betaln",
    "a b",
    numpy=lambda a, b: scipy_special.betaln(a, b),
    xla=_betaln_xla,
    maps=[
        lambda t, a, b: t * (digamma_p(a) - digamma_p(a + b)),
        lambda t, a, b: t * (digamma_p(b) - digamma_p(a + b)),
    ],
    flops=60,
)


def _gamma_xla(lax: Any, x: Any) -> Any:
    # Below zero the sign alternates from one pole to the next.
    zero = lax.full_like(x, 0)
    odd = lax.ne(lax.rem(lax.floor(x), lax.full_like(x, 2)), zero)
    size = lax.exp(lax.lgamma(x))
    y = lax.select(lax.bitwise_and(lax.lt(x, zero), odd), lax.neg(size), size)
    at_zero = lax.div(lax.full_like(x, 1), x)
    y = lax.select(lax.eq(x, zero), at_zero, y)
    return lax.select(lax.bitwise_and(_is_pole(lax, x), lax.lt(x, zero)), lax.full_like(x, np.nan), y)


gamma_p = elementwise(
    "gamma",
    "x",
    numpy=lambda x: scipy_special.gamma(x),
    xla=_gamma_xla,
    maps=[lambda t, x, y: t * (y * digamma_p(x))],
    flops=30,
)


def _zero_unless(lax: Any, a: Any, product: Any, b: Any) -> Any:
    """0 where ``a`` is 0, whatever the logarithm beside it is, unless its argument is NaN."""
    zero = lax.full_like(a, 0)
    return lax.select(lax.bitwise_and(lax.eq(a, zero), lax.eq(b, b)), zero, product)


def _quotient(a: Any, b: Any) -> Any:
    """``a / b``, and 0 for 0 / 0."""
    return a / select((a == 0) & (b == 0), 1, b)


xlogy_p = elementwise(
    "xlogy",
    "a b",
    numpy=lambda a, b: scipy_special.xlogy(a, b),
    xla=lambda lax, a, b: _zero_unless(lax, a, lax.mul(a, lax.log(b)), b),
    maps=[lambda t, b: t * log_p(b), lambda t, a, b: t * _quotient(a, b)],
    flops=12,
)
xlog1py_p = elementwise(
    "xlog1py",
    "a b",
    numpy=lambda a, b: scipy_special.xlog1py(a, b),
    xla=lambda lax, a, b: _zero_unless(lax, a, lax.mul(a, lax.log1p(b)), b),
    maps=[lambda t, b: t * log1p_p(b), lambda t, a, b: t * _quotient(a, 1 + b)],
    flops=12,
)


def _entr_xla(lax: Any, x: Any) -> Any:
    zero = lax.full_like(x, 0)
    positive = lax.neg(lax.mul(x, lax.log(x)))
    return lax.select(lax.lt(x, zero), lax.full_like(x, -np.inf), lax.select(lax.eq(x, zero), zero, positive))


entr_p = elementwise(
    "entr",
    "x",
    numpy=lambda x: scipy_special.entr(x),
    xla=_entr_xla,
    maps=[lambda t, x: t * (-1 - log_p(x))],
    flops=12,
)


def _over(y: Any, x: Any) -> Any:
    """``y / x`` for a Bessel function of order 1; its limit at 0 is one half."""
    zero = x == 0
    return select(zero, 0.5, y / select(zero, 1, x))


def _unscaled(name: str) -> Any:
    return lambda lax, x: lax.mul(lax.exp(lax.abs(x)), getattr(lax, name)(x))


i0_p = elementwise(
    "i0",
    "x",
    numpy=lambda x: scipy_special.i0(x),
    xla=_unscaled("bessel_i0e"),
    maps=[lambda t, x: t * i1_p(x)],
    flops=30,
)
i1_p = elementwise(
    "i1",
    "x",
    numpy=lambda x: scipy_special.i1(x),
    xla=_unscaled("bessel_i1e"),
    maps=[lambda t, x, y: t * (i0_p(x) - _over(y, x))],
    flops=30,
)
i0e_p = elementwise(
    "i0e",
    "x",
    numpy=lambda x: scipy_special.i0e(x),
    xla="bessel_i0e",
    maps=[lambda t, x, y: t * (i1e_p(x) - sign_p(x) * y)],
    flops=30,
)
i1e_p = elementwise(
    "i1e",
    "x",
    numpy=lambda x: scipy_special.i1e(x),
    xla="bessel_i1e",
    maps=[lambda t, x, y: t * (i0e_p(x) - sign_p(x) * y - _over(y, x))],
    flops=30,
)
