"""Densities and distribution functions in mpmath."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import mpmath

# mpmath makes the attributes of its contexts when it is imported, which type checkers cannot see.
mp: Any = mpmath.mp
INF = math.inf
POSITIVE = (1e-60, 1e-20, 1e-8, 1e-3, 0.3, 1.0, 5.0, 9.0, 26.0, 40.0, 200.0, 1e3, 1e8, 1e20, 1e60)
LINE = (*POSITIVE, *[-x for x in POSITIVE], 0.0, INF, -INF)
HALF = (*POSITIVE, INF)
# For formulas that take the exponential of an exponential.
SHORT = tuple([x for x in LINE if abs(x) <= 200])
UNIT = (1e-100, 1e-20, 1e-8, 0.3, 0.5, 0.999, 1 - 1e-8, 1 - 2**-53)


def _phi(x: Any) -> Any:
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _lower(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def _upper(a: Any, x: Any) -> Any:
    return mp.gammainc(a, x, mp.inf, regularized=True)


def _beta(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


def _log_phi_density(x: Any) -> Any:
    return -x * x / 2 - mp.log(2 * mp.pi) / 2


def _log_beta(a: Any, b: Any) -> Any:
    return mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)


def _kernel(x: Any, c: Any) -> Any:
    """``log1p(c x) / c``."""
    return mp.log1p(c * x) / c if c else x


def _passage(x: Any, mu: Any, sign: int) -> Any:
    root = mp.sqrt(x)
    return _phi(sign * (x / mu - 1) / root) + sign * mp.exp(2 / mu) * _phi(-(x / mu + 1) / root)


def _extreme(x: Any, c: Any) -> Any:
    """``log(-log(cdf))``."""
    return mp.log1p(-c * x) / c if c else -x


def _t_tail(x: Any, v: Any) -> Any:
    tail = _beta(v / 2, ONE / 2, v / (v + x * x)) / 2
    return tail if x > 0 else 1 - tail


# Per distribution: shapes, points, log density, distribution function, survival function.
Formulas = tuple[tuple[float, ...], Iterable[float], Callable[..., Any], Callable[..., Any], Callable[..., Any]]
ONE = mp.mpf(1)
FORMULAS: dict[str, Formulas] = {
    "norm": ((), LINE, _log_phi_density, _phi, lambda x: _phi(-x)),
    "expon": ((), HALF, lambda x: -x, lambda x: -mp.expm1(-x), lambda x: mp.exp(-x)),
    "logistic": (
        (),
        LINE,
        lambda x: -x - 2 * mp.log1p(mp.exp(-x)),
        lambda x: 1 / (1 + mp.exp(-x)),
        lambda x: 1 / (1 + mp.exp(x)),
    ),
    "cauchy": (
        (),
        LINE,
        lambda x: -mp.log(mp.pi * (1 + x * x)),
        lambda x: mp.atan2(1, -x) / mp.pi,
        lambda x: mp.atan2(1, x) / mp.pi,
    ),
    "laplace": (
        (),
        [x for x in LINE if x],
        lambda x: -abs(x) - mp.log(2),
        lambda x: mp.exp(x) / 2 if x < 0 else 1 - mp.exp(-x) / 2,
        lambda x: mp.exp(-x) / 2 if x > 0 else 1 - mp.exp(x) / 2,
    ),
    "gumbel_r": ((), SHORT, lambda x: -x - mp.exp(-x), lambda x: mp.exp(-mp.exp(-x)), lambda x: -mp.expm1(-mp.exp(-x))),
    "gumbel_l": ((), SHORT, lambda x: x - mp.exp(x), lambda x: -mp.expm1(-mp.exp(x)), lambda x: mp.exp(-mp.exp(x))),
    "moyal": (
        (),
        SHORT,
        lambda x: -(x + mp.exp(-x)) / 2 - mp.log(2 * mp.pi) / 2,
        lambda x: mp.erfc(mp.exp(-x / 2) / mp.sqrt(2)),
        lambda x: mp.erf(mp.exp(-x / 2) / mp.sqrt(2)),
    ),
    "halfnorm": (
        (),
        HALF,
        lambda x: mp.log(2) + _log_phi_density(x),
        lambda x: mp.erf(x / mp.sqrt(2)),
        lambda x: mp.erfc(x / mp.sqrt(2)),
    ),
    "halfcauchy": (
        (),
        HALF,
        lambda x: mp.log(2 / mp.pi) - mp.log1p(x * x),
        lambda x: 2 * mp.atan(x) / mp.pi,
        lambda x: 2 * mp.atan2(1, x) / mp.pi,
    ),
    "rayleigh": (
        (),
        HALF,
        lambda x: mp.log(x) - x * x / 2,
        lambda x: -mp.expm1(-x * x / 2),
        lambda x: mp.exp(-x * x / 2),
    ),
    "maxwell": (
        (),
        HALF,
        lambda x: mp.log(2) + 2 * mp.log(x) + _log_phi_density(x),
        lambda x: _lower(1.5 * ONE, x * x / 2),
        lambda x: _upper(1.5 * ONE, x * x / 2),
    ),
    "levy": (
        (),
        HALF,
        lambda x: -mp.log(2 * mp.pi) / 2 - 1.5 * mp.log(x) - 1 / (2 * x),
        lambda x: mp.erfc(mp.sqrt(1 / (2 * x))),
        lambda x: mp.erf(mp.sqrt(1 / (2 * x))),
    ),
    "uniform": ((), UNIT, lambda x: 0 * x, lambda x: x, lambda x: 1 - x),
    "loggamma": (
        (1.8,),
        SHORT,
        lambda x, c: c * x - mp.exp(x) - mp.loggamma(c),
        lambda x, c: _lower(c, mp.exp(x)),
        lambda x, c: _upper(c, mp.exp(x)),
    ),
    "genlogistic": (
        (1.8,),
        LINE,
        lambda x, c: mp.log(c) - x - (c + 1) * mp.log1p(mp.exp(-x)),
        lambda x, c: mp.exp(-c * mp.log1p(mp.exp(-x))),
        lambda x, c: -mp.expm1(-c * mp.log1p(mp.exp(-x))),
    ),
    "powerlaw": (
        (1.8,),
        UNIT,
        lambda x, a: mp.log(a) + (a - 1) * mp.log(x),
        lambda x, a: x**a,
        lambda x, a: -mp.expm1(a * mp.log(x)),
    ),
    "fisk": (
        (1.8,),
        HALF,
        lambda x, c: mp.log(c) + (c - 1) * mp.log(x) - 2 * mp.log1p(x**c),
        lambda x, c: 1 / (1 + x**-c),
        lambda x, c: 1 / (1 + x**c),
    ),
    "lomax": (
        (1.8,),
        HALF,
        lambda x, c: mp.log(c) - (c + 1) * mp.log1p(x),
        lambda x, c: -mp.expm1(-c * mp.log1p(x)),
        lambda x, c: mp.exp(-c * mp.log1p(x)),
    ),
    "gompertz": (
        (1.8,),
        [x for x in SHORT if x > 0],
        lambda x, c: mp.log(c) + x - c * mp.expm1(x),
        lambda x, c: -mp.expm1(-c * mp.expm1(x)),
        lambda x, c: mp.exp(-c * mp.expm1(x)),
    ),
    "nakagami": (
        (1.8,),
        HALF,
        lambda x, v: mp.log(2) + v * mp.log(v) - mp.loggamma(v) + (2 * v - 1) * mp.log(x) - v * x * x,
        lambda x, v: _lower(v, v * x * x),
        lambda x, v: _upper(v, v * x * x),
    ),
    "gengamma": (
        (1.7, 2.3),
        HALF,
        lambda x, a, c: mp.log(abs(c)) + (c * a - 1) * mp.log(x) - x**c - mp.loggamma(a),
        lambda x, a, c: _lower(a, x**c),
        lambda x, a, c: _upper(a, x**c),
    ),
    "burr12": (
        (1.7, 2.3),
        HALF,
        lambda x, c, d: mp.log(c * d) + (c - 1) * mp.log(x) - (d + 1) * mp.log1p(x**c),
        lambda x, c, d: -mp.expm1(-d * mp.log1p(x**c)),
        lambda x, c, d: mp.exp(-d * mp.log1p(x**c)),
    ),
    "invgauss": (
        (0.8,),
        HALF,
        lambda x, mu: -mp.log(2 * mp.pi) / 2 - 1.5 * mp.log(x) - ((x - mu) / mu) ** 2 / (2 * x),
        lambda x, mu: _passage(x, mu, 1),
        lambda x, mu: _passage(x, mu, -1),
    ),
    "loguniform": (
        (0.4, 3.5),
        (0.400001, 0.7, 1.0, 3.49999),
        lambda x, a, b: -mp.log(x) - mp.log(mp.log(b / a)),
        lambda x, a, b: mp.log(x / a) / mp.log(b / a),
        lambda x, a, b: mp.log(b / x) / mp.log(b / a),
    ),
    "t": (
        (2.6,),
        LINE,
        lambda x, v: -_log_beta(v / 2, ONE / 2) - mp.log(v) / 2 - (v + 1) / 2 * mp.log1p(x * x / v),
        lambda x, v: _t_tail(-x, v),
        lambda x, v: _t_tail(x, v),
    ),
    "gamma": (
        (2.6,),
        HALF,
        lambda x, a: (a - 1) * mp.log(x) - x - mp.loggamma(a),
        lambda x, a: _lower(a, x),
        lambda x, a: _upper(a, x),
    ),
    "chi2": (
        (2.6,),
        HALF,
        lambda x, k: (k / 2 - 1) * mp.log(x / 2) - x / 2 - mp.loggamma(k / 2) - mp.log(2),
        lambda x, k: _lower(k / 2, x / 2),
        lambda x, k: _upper(k / 2, x / 2),
    ),
    "chi": (
        (2.6,),
        HALF,
        lambda x, k: mp.log(2) - k / 2 * mp.log(2) - mp.loggamma(k / 2) + (k - 1) * mp.log(x) - x * x / 2,
        lambda x, k: _lower(k / 2, x * x / 2),
        lambda x, k: _upper(k / 2, x * x / 2),
    ),
    "invgamma": (
        (2.6,),
        HALF,
        lambda x, a: -(a + 1) * mp.log(x) - mp.loggamma(a) - 1 / x,
        lambda x, a: _upper(a, 1 / x),
        lambda x, a: _lower(a, 1 / x),
    ),
    "pareto": (
        (2.6,),
        (1 + 1e-15, 1.3, 5.0, 1e3, 1e20, 1e100, INF),
        lambda x, b: mp.log(b) - (b + 1) * mp.log(x),
        lambda x, b: -mp.expm1(-b * mp.log(x)),
        lambda x, b: x**-b,
    ),
    "weibull_min": (
        (2.6,),
        HALF,
        lambda x, c: mp.log(c) + (c - 1) * mp.log(x) - x**c,
        lambda x, c: -mp.expm1(-(x**c)),
        lambda x, c: mp.exp(-(x**c)),
    ),
    "weibull_max": (
        (2.6,),
        [-x for x in HALF],
        lambda x, c: mp.log(c) + (c - 1) * mp.log(-x) - (-x) ** c,
        lambda x, c: mp.exp(-((-x) ** c)),
        lambda x, c: -mp.expm1(-((-x) ** c)),
    ),
    "lognorm": (
        (0.7,),
        HALF,
        lambda x, s: _log_phi_density(mp.log(x) / s) - mp.log(s * x),
        lambda x, s: _phi(mp.log(x) / s),
        lambda x, s: _phi(-mp.log(x) / s),
    ),
    "beta": (
        (3.4, 5.6),
        UNIT,
        lambda x, a, b: (a - 1) * mp.log(x) + (b - 1) * mp.log1p(-x) - _log_beta(a, b),
        lambda x, a, b: _beta(a, b, x),
        lambda x, a, b: _beta(b, a, 1 - x),
    ),
    "f": (
        (3.4, 5.6),
        HALF,
        lambda x, n, m: (
            m / 2 * mp.log(m)
            + n / 2 * mp.log(n)
            + (n / 2 - 1) * mp.log(x)
            - (n + m) / 2 * mp.log(m + n * x)
            - _log_beta(n / 2, m / 2)
        ),
        lambda x, n, m: _beta(n / 2, m / 2, n * x / (m + n * x)),
        lambda x, n, m: _beta(m / 2, n / 2, m / (m + n * x)),
    ),
    "exponweib": (
        (3.4, 1.6),
        HALF,
        lambda x, a, c: mp.log(a * c) + (a - 1) * mp.log(-mp.expm1(-(x**c))) - x**c + (c - 1) * mp.log(x),
        lambda x, a, c: mp.exp(a * mp.log(-mp.expm1(-(x**c)))),
        lambda x, a, c: -mp.expm1(a * mp.log1p(-mp.exp(-(x**c)))),
    ),
    "genextreme": (
        (0.2,),
        [x for x in LINE if x < 5],
        lambda x, c: (1 - c) * _extreme(x, c) - mp.exp(_extreme(x, c)),
        lambda x, c: mp.exp(-mp.exp(_extreme(x, c))),
        lambda x, c: -mp.expm1(-mp.exp(_extreme(x, c))),
    ),
    "genpareto": (
        (0.2,),
        HALF,
        lambda x, c: -(c + 1) * _kernel(x, c),
        lambda x, c: -mp.expm1(-_kernel(x, c)),
        lambda x, c: mp.exp(-_kernel(x, c)),
    ),
    "truncnorm": (
        (-0.4, 1.7),
        (-0.3999999, -0.1, 0.0, 0.7, 1.69999),
        lambda x, a, b: _log_phi_density(x) - mp.log(_phi(b) - _phi(a)),
        lambda x, a, b: (_phi(x) - _phi(a)) / (_phi(b) - _phi(a)),
        lambda x, a, b: (_phi(b) - _phi(x)) / (_phi(b) - _phi(a)),
    ),
}
