"""The regularised incomplete gamma functions and their inverses. Rules: DLMF 8.8; `gamma_slope` for the parameter."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._ops.elementwise.arithmetic import log_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.gamma import gammaln_p, log_power
from funcgrad._ops.elementwise.special.gamma_slope import gamma_slope_p
from funcgrad._ops.elementwise.special.power import kl_div_xla
from funcgrad._ops.elementwise.special.scipys import of_scipy
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._types import Array, Lax, Value


def _density(a: Value, x: Value) -> Value:
    """Return ``x**(a - 1) exp(-x) / gamma(a)``."""
    inner = (x > 0) & (x < np.inf)
    z = select(inner, x, 1.0)
    at_end = select((a > 1) | (x > 0), 0.0, select(a == 1, 1.0, np.inf * (a + 1)))
    # For a small ``x`` the derivative of ``a log(x) - log(x)`` would cancel at ``a = 1``, and nothing else does.
    small = z < 0.5
    near, far = select(small, z, 0.5), select(small, 1.0, z)
    logarithm = select(small, (a - 1) * log_p(near) - near - gammaln_p(a), log_power(a, far) - log_p(far))
    return select(inner, exp_p(logarithm), at_end)


def _by_parameter(a: Value, x: Value) -> Value:
    """Return the derivative of the lower function by ``a``: it is constant along ``d log(x) / da``."""
    inner = (x > 0) & (x < np.inf)
    z = select(inner, x, 1.0)
    return select(inner, -gamma_slope_p(a, log_p(z)) * exp_p(log_power(a, z)), 0.0)


def _quantile_by_parameter(a: Value, y: Value) -> Any:
    inner = (y > 0) & (y < np.inf)
    z = select(inner, y, 1.0)
    return select(inner, z * gamma_slope_p(a, log_p(z)), 0.0)


# The coefficients of Temme's uniform expansion: of c_k(eta) in powers of eta (DLMF 8.12.10).
_TEMME = (
    (
        *(-1 / 3, 1 / 12, -2 / 135, 1 / 864, 1 / 2835, -139 / 777600, 3.919263178522438e-05, -2.185448510679992e-06),
        *(-1.85406221071516e-06, 8.296711340953087e-07, -1.7665952736826078e-07, 6.707853543401498e-09),
        *(1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10, -2.5514193994946248e-11),
    ),
    (
        *(-1 / 540, -1 / 288, 1 / 378, -0.0009902263374485596, 0.00020576131687242798, -4.018775720164609e-07),
        *(-1.8098550334489977e-05, 7.64916091608111e-06, -1.6120900894563446e-06, 4.647127802807434e-09),
    ),
    (0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06),
    (0.0006494341563786008, 0.00022947209362139917),
)
# XLA's loops end after 2,000 terms. At this parameter they need fewer, and the expansion is exact to rounding.
_UNIFORM = 3000.0


def _uniform_xla(lax: Lax, a: Array, x: Array, upper: bool) -> Array:
    """Return ``gammaincc`` or ``gammainc`` for a large ``a`` and ``x`` within half of it (DLMF 8.12.3, 8.12.4)."""

    def number(value: float) -> Array:
        return lax.full_like(x, value)

    deviance = kl_div_xla(lax, a, x)
    side = lax.sign(lax.sub(x, a))
    eta = lax.mul(side, lax.sqrt(lax.div(lax.mul(number(2), deviance), a)))
    total = number(0)
    for coefficients in reversed(_TEMME):
        term = number(0)
        for coefficient in reversed(coefficients):
            term = lax.add(lax.mul(term, eta), number(coefficient))
        total = lax.add(lax.div(total, a), term)
    rest = lax.div(lax.mul(lax.exp(lax.neg(deviance)), total), lax.sqrt(lax.mul(number(2 * np.pi), a)))
    z = lax.mul(side, lax.sqrt(deviance))
    if upper:
        return lax.add(lax.mul(number(0.5), lax.erfc(z)), rest)
    return lax.sub(lax.mul(number(0.5), lax.erfc(lax.neg(z))), rest)


# ``gammaln(1 + a)`` in powers of ``a``, from the first (DLMF 5.7.3): Euler's constant and the values of zeta.
_ZETA = (1.6449340668482264, 1.2020569031595942, 1.0823232337111382, 1.03692775514337, 1.0173430619844491)
_ZETA = (*_ZETA, 1.0083492773819228, 1.0040773561979443, 1.0020083928260822, 1.0009945751278181, 1.0004941886041195)
_GAMMALN_ONE = (-np.euler_gamma, *[(-1) ** k * z / k for k, z in enumerate(_ZETA, 2)])


def _small_xla(lax: Lax, a: Array, x: Array) -> Array:
    """Return ``gammaincc`` for a small parameter and ``x <= 1``.

    It uses the series DLMF 8.7.1, because one minus the lower function would cancel.
    """
    power, series = lax.full_like(x, 0), lax.full_like(x, 0)
    for coefficient in reversed(_GAMMALN_ONE):
        power = lax.mul(lax.add(power, lax.full_like(x, coefficient)), a)
    factor = 1.0
    term = lax.full_like(x, 1)
    for n in range(1, 20):
        factor = -factor / n
        term = lax.mul(term, x)
        series = lax.add(series, lax.div(lax.mul(lax.full_like(x, factor), term), lax.add(a, lax.full_like(x, n))))
    logarithm = lax.sub(lax.mul(a, lax.log(x)), power)
    return lax.neg(lax.add(lax.expm1(logarithm), lax.mul(lax.mul(a, lax.exp(logarithm)), series)))


def _incomplete_xla(upper: bool) -> Any:
    def compute(lax: Lax, a: Value, x: Value) -> Value:
        def number(value: float) -> Array:
            return lax.full_like(x, value)

        infinity = number(np.inf)
        close = lax.lt(lax.abs(lax.sub(x, a)), lax.mul(number(0.5), a))
        large = lax.bitwise_and(lax.bitwise_and(lax.gt(a, number(_UNIFORM)), lax.lt(a, infinity)), close)
        far = _uniform_xla(lax, lax.select(large, a, number(4000)), lax.select(large, x, number(4000)), upper)
        one = number(1)
        b, z = lax.select(large, one, a), lax.select(large, one, x)
        y = lax.select(large, far, (lax.igammac if upper else lax.igamma)(b, z))
        if upper:
            inner = lax.bitwise_and(lax.gt(x, number(0)), lax.le(x, one))
            small = lax.bitwise_and(lax.bitwise_and(lax.gt(a, number(0)), lax.lt(a, number(0.1))), inner)
            y = lax.select(small, _small_xla(lax, lax.select(small, a, one), lax.select(small, x, one)), y)
        # SciPy's values at the ends of the ranges: the lower function is 1 for a = 0 or x = inf, 0 for a = inf.
        low, high = (number(0), one) if upper else (one, number(0))
        zero = lax.eq(a, number(0))
        positive = lax.gt(x, number(0))
        y = lax.select(lax.bitwise_and(zero, positive), low, y)
        endless = lax.bitwise_and(lax.eq(x, infinity), lax.ge(a, number(0)))
        y = lax.select(endless, low, y)
        y = lax.select(lax.bitwise_and(lax.eq(a, infinity), lax.ge(x, number(0))), high, y)
        both = lax.bitwise_and(lax.eq(a, infinity), lax.eq(x, infinity))
        neither = lax.bitwise_and(zero, lax.eq(x, number(0)))
        return lax.select(lax.bitwise_or(both, neither), number(np.nan), y)

    return compute


gammainc_p = of_scipy(
    "gammainc",
    "a x",
    [lambda t, a, x: t * _by_parameter(a, x), lambda t, a, x: t * _density(a, x)],
    xla=_incomplete_xla(False),
)
gammaincc_p = of_scipy(
    "gammaincc",
    "a x",
    [lambda t, a, x: t * -_by_parameter(a, x), lambda t, a, x: t * -_density(a, x)],
    xla=_incomplete_xla(True),
)
gammaincinv_p = of_scipy(
    "gammaincinv",
    "a p",
    [lambda t, a, y: t * _quantile_by_parameter(a, y), lambda t, a, y: t / _density(a, y)],
)
gammainccinv_p = of_scipy(
    "gammainccinv",
    "a p",
    [lambda t, a, y: t * _quantile_by_parameter(a, y), lambda t, a, y: t / -_density(a, y)],
)
