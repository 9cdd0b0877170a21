"""The beta function, binomial coefficients, the incomplete beta function and its inverses. Rules: DLMF 5.12, 8.17."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.forms import Forms
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.arithmetic import log_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.rounding import floor_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.beta_slope import betainc_slope_p
from funcgrad._ops.elementwise.special.entropy import xlog1py_p, xlogy_p
from funcgrad._ops.elementwise.special.gamma import (
    digamma_p,
    digamma_step,
    gamma_p,
    gammaln_xla,
    is_pole_xla,
    log_binomial,
    rgamma_p,
    rgamma_slope,
)
from funcgrad._ops.elementwise.special.scipys import of_scipy, on_host, scipy_special
from funcgrad._ops.elementwise.transcendental import exp_p, log1p_p
from funcgrad._types import Array, Lax, Value


def _betaln_xla(lax: Lax, a: Array, b: Array) -> Array:
    """Return ``betaln`` with SciPy's values at the poles.

    For integers the beta function may be finite there, as its reflection formula shows.
    """

    def number(value: float) -> Array:
        return lax.full_like(a, value)

    first = is_pole_xla(lax, a)
    a, b = lax.select(first, a, b), lax.select(first, b, a)
    pole, reflected = is_pole_xla(lax, a), lax.sub(lax.sub(number(1), a), b)
    whole = lax.bitwise_and(lax.gt(b, number(0)), lax.eq(b, lax.floor(b)))
    within = lax.bitwise_and(lax.gt(reflected, number(0)), lax.lt(reflected, number(np.inf)))
    infinite = lax.bitwise_and(pole, lax.bitwise_not(lax.bitwise_and(whole, within)))
    return lax.select(infinite, number(np.inf), _betaln_of_others(lax, lax.select(pole, reflected, a), b))


def _betaln_of_others(lax: Lax, a: Value, b: Value) -> Value:
    """Return ``betaln`` away from poles.

    If a is much larger than b, it uses a series for the difference of nearly equal terms.
    """

    def number(value: float) -> Array:
        return lax.full_like(a, value)

    exchanged = lax.lt(lax.abs(a), lax.abs(b))
    a, b = lax.select(exchanged, b, a), lax.select(exchanged, a, b)
    of_b, rest = gammaln_xla(lax, b), lax.sub(number(1), b)
    near = lax.add(gammaln_xla(lax, a), lax.sub(of_b, gammaln_xla(lax, lax.add(a, b))))
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


def _betaln_numpy(a: Array, b: Array) -> Array:
    y = scipy_special.betaln(a, b)
    # SciPy takes a Python number as float64.
    return y.astype(np.float32) if np.result_type(a, b) == np.float32 and y.dtype != np.float32 else y


betaln_p = elementwise(
    "betaln",
    "a b",
    numpy=_betaln_numpy,
    xla=_betaln_xla,
    maps=[
        lambda t, a, b: t * -digamma_step(a, b),
        lambda t, a, b: t * -digamma_step(b, a),
    ],
    flops=60,
    forms=Forms(special="betaln", new_memory=True),
)
beta_p = of_scipy(
    "beta",
    "a b",
    [
        lambda t, a, b, y: t * (y * -digamma_step(a, b)),
        lambda t, a, b, y: t * (y * -digamma_step(b, a)),
    ],
)


def _is_pole(x: Value) -> Any:
    return (x <= 0) & (x == floor_p(x))


def _binom_slope(n: Value, k: Value, y: Value, by_n: bool) -> Any:
    """Return the slope by logarithms.

    At zeros, which are poles of the gamma functions, it uses their reciprocals (DLMF 5.2.1).
    """
    rest = n - k + 1
    at_zero = _is_pole(rest) | _is_pole(k + 1)
    m, j = select(at_zero, 1.0, n), select(at_zero, 0.0, k)
    smooth = digamma_step(m - j + 1, j) if by_n else digamma_p(m - j + 1) - digamma_p(j + 1)
    p, q = select(at_zero, n, 1.0), select(at_zero, k, 0.0)
    if by_n:
        zeros = rgamma_p(q + 1) * (rgamma_p(p - q + 1) * digamma_p(p + 1) + rgamma_slope(p - q + 1))
    else:
        zeros = rgamma_slope(q + 1) * rgamma_p(p - q + 1) - rgamma_p(q + 1) * rgamma_slope(p - q + 1)
    return select(at_zero, gamma_p(p + 1) * zeros, select(at_zero, 0.0, y) * smooth)


binom_p = of_scipy(
    "binom",
    "n k",
    [
        lambda t, n, k, y: t * _binom_slope(n, k, y, True),
        lambda t, n, k, y: t * _binom_slope(n, k, y, False),
    ],
)


def log_beta_power(a: Value, b: Value, x: Value) -> Value:
    """Return ``(a - 1) log(x) + (b - 1) log(1 - x) - betaln(a, b)``, the log-density of the beta distribution."""
    large = ((a > 100) | (b > 100)) & (x > 0) & (x < 1)
    c, d, z = select(large, a, 1.0), select(large, b, 1.0), select(large, x, 0.5)
    far = log_binomial(c, d, z) + log_p(c * (d / (c + d))) - log_p(z) - log1p_p(-z)
    a, b = select(large, 1.0, a), select(large, 1.0, b)
    return select(large, far, xlogy_p(a - 1, x) + xlog1py_p(b - 1, -x) - betaln_p(a, b))


def _density(a: Value, b: Value, x: Value) -> Value:
    return exp_p(log_beta_power(a, b, x))


# XLA's continued fraction loses digits with growing parameters (4e-11 here), and does not converge from a million on.
_LARGE = {np.dtype(np.float64): 1e3, np.dtype(np.float32): 30.0}


def _incomplete_xla(primitive: Callable[[], Primitive], native: Callable[..., Any]) -> Callable[..., Any]:
    """Return the XLA form of an incomplete beta function: XLA's own, and SciPy's if a parameter is large."""
    by_scipy = on_host(primitive)

    def run(lax: Lax, a: Value, b: Value, x: Value) -> Value:
        bound = lax.full_like(a, _LARGE.get(np.dtype(a.dtype), 0.0))
        large = lax.bitwise_and(lax.gt(lax.max(a, b), bound), lax.lt(lax.max(a, b), lax.full_like(a, np.inf)))
        one = lax.full_like(a, 1)
        y = native(lax, lax.select(large, one, a), lax.select(large, one, b), x)
        found = lax.reduce_or(large, tuple(range(large.ndim)))
        return lax.cond(found, lambda: lax.select(large, by_scipy(lax, a, b, x), y), lambda: y)

    return run


betainc_p = of_scipy(
    "betainc",
    "a b x",
    [
        lambda t, a, b, x: t * betainc_slope_p(a, b, x, of="a"),
        lambda t, a, b, x: t * betainc_slope_p(a, b, x, of="b"),
        lambda t, a, b, x: t * _density(a, b, x),
    ],
    xla=_incomplete_xla(lambda: betainc_p, lambda lax, a, b, x: lax.betainc(a, b, x)),
)
betaincc_p = of_scipy(
    "betaincc",
    "a b x",
    [
        lambda t, a, b, x: t * -betainc_slope_p(a, b, x, of="a"),
        lambda t, a, b, x: t * -betainc_slope_p(a, b, x, of="b"),
        lambda t, a, b, x: t * -_density(a, b, x),
    ],
    xla=_incomplete_xla(lambda: betaincc_p, lambda lax, a, b, x: lax.betainc(b, a, lax.sub(lax.full_like(x, 1), x))),
)


def _inverse_map(t: Value, a: Value, b: Value, y: Value, of: str) -> Any:
    # The value of the incomplete function is fixed, so a change of the parameter must be balanced by its argument.
    return t * (-betainc_slope_p(a, b, y, of=of) / _density(a, b, y))


betaincinv_p = of_scipy(
    "betaincinv",
    "a b p",
    [
        lambda t, a, b, y: _inverse_map(t, a, b, y, "a"),
        lambda t, a, b, y: _inverse_map(t, a, b, y, "b"),
        lambda t, a, b, y: t / _density(a, b, y),
    ],
)
betainccinv_p = of_scipy(
    "betainccinv",
    "a b p",
    [
        lambda t, a, b, y: _inverse_map(t, a, b, y, "a"),
        lambda t, a, b, y: _inverse_map(t, a, b, y, "b"),
        lambda t, a, b, y: t / -_density(a, b, y),
    ],
)
