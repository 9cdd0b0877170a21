"""Distributions on the whole line. Formulas: Johnson, Kotz and Balakrishnan, "Continuous univariate distributions"."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.normal import normal_log_density_p
from funcgrad._ops.elementwise.special.series import log1prel, polynomial
from funcgrad._ops.elementwise.special.skewed import log_skewed_ndtr_p, skewed_ndtr_p
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import above, choose, log_of_part, log_of_rest, never
from funcgrad.scipy.stats._beta_tails import log_upper_t
from funcgrad.scipy.stats._families import Continuous
from funcgrad.scipy.stats._moments import t_entropy

LOG_ROOT_TAU = 0.5 * math.log(2 * math.pi)


def normal_log_density(x: ArrayLike) -> Array:
    """Return the logarithm of the density of the normal distribution."""
    return -0.5 * (x * x) - LOG_ROOT_TAU


def log1p_of_square(x: ArrayLike) -> Array:
    """Return ``log1p(x * x)``; above 1e8 twice the logarithm, because the square overflows in the second derivative."""
    far = abs(x) > 1e8
    if never(far):
        return fnp.log1p(x * x)
    near = select(far, 0.0, x)
    return select(far, 2 * fnp.log(abs(select(far, x, 1.0))), fnp.log1p(near * near))


def log_both_tails(x: ArrayLike) -> Array:
    """Return the logarithm of the probability that a normal variable is farther than ``x`` from 0."""
    far = x > 1
    near = fnp.log1p(-special.erf(select(far, 0.0, x) * math.sqrt(0.5)))
    return select(far, math.log(2) + special.log_ndtr(-select(far, x, 1.0)), near)


norm = Continuous(
    "norm",
    located=normal_log_density_p,
    logpdf=normal_log_density,
    cdf=special.ndtr,
    logcdf=special.log_ndtr,
    sf=lambda x: special.ndtr(-x),
    logsf=lambda x: special.log_ndtr(-x),
    ppf=special.ndtri,
    isf=lambda q: -special.ndtri(q),
    mean=0.0,
    var=1.0,
    entropy=0.5 + LOG_ROOT_TAU,
)


def _t_log_density(x: ArrayLike, df: ArrayLike) -> Array:
    normal = fnp.isinf(df)
    d = choose(normal, 1.0, df)
    y = -special.betaln(0.5 * d, 0.5) - 0.5 * fnp.log(d) - 0.5 * (d + 1) * fnp.log1p(x * x / d)
    return y if never(normal) else select(normal, normal_log_density(x), y)


t = Continuous(
    "t",
    "df",
    logpdf=_t_log_density,
    cdf=lambda x, df: special.stdtr(df, x),
    sf=lambda x, df: special.stdtr(df, -x),
    logcdf=lambda x, df: log_upper_t(-x, df),
    logsf=log_upper_t,
    ppf=lambda q, df: special.stdtrit(df, q),
    isf=lambda q, df: -special.stdtrit(df, q),
    mean=lambda df: above(df, 1, lambda d: 0 * fnp.minimum(d, 1.0), math.inf),
    var=lambda df: select(df <= 1, math.nan, above(df, 2, lambda d: 1 / (1 - 2 / d), math.inf)),
    entropy=t_entropy,
)
logistic = Continuous(
    "logistic",
    logpdf=lambda x: special.log_expit(x) + special.log_expit(-x),
    cdf=special.expit,
    sf=lambda x: special.expit(-x),
    logcdf=special.log_expit,
    logsf=lambda x: special.log_expit(-x),
    ppf=special.logit,
    isf=lambda q: -special.logit(q),
    mean=0.0,
    var=math.pi**2 / 3,
    entropy=2.0,
)


def _cauchy_quantile(q: ArrayLike) -> Array:
    middle, upper = abs(q - 0.5) < 0.25, q > 0.5
    # 1 - q is exact there. The tangent near pi would amplify its rounding.
    part = select(upper, 1 - q, q)
    far = 1.0 / fnp.tan(math.pi * select(middle, 0.25, part))
    return select(middle, fnp.tan(math.pi * (select(middle, q, 0.5) - 0.5)), select(upper, far, -far))


def _cauchy_log_cdf(x: ArrayLike) -> Array:
    """Return ``log(cdf)``. Far to the left the derivative of the distribution function would underflow."""
    left = x < -1
    distance = select(left, -x, 1.0)
    u = 1 / distance
    near = fnp.log(fnp.arctan2(1.0, select(left, 1.0, -x)) / math.pi)
    return select(left, fnp.log(fnp.arctan(u) / u) - fnp.log(math.pi * distance), near)


cauchy = Continuous(
    "cauchy",
    logpdf=lambda x: -math.log(math.pi) - log1p_of_square(x),
    cdf=lambda x: fnp.arctan2(1.0, -x) / math.pi,
    sf=lambda x: fnp.arctan2(1.0, x) / math.pi,
    logcdf=_cauchy_log_cdf,
    logsf=lambda x: _cauchy_log_cdf(-x),
    ppf=_cauchy_quantile,
    isf=lambda q: -_cauchy_quantile(q),
    mean=math.nan,
    var=math.nan,
    entropy=math.log(4 * math.pi),
)


def _laplace_tail(x: ArrayLike) -> Array:
    right = x > 0
    near = 0.5 * fnp.exp(-select(right, x, 0.0))
    return select(right, near, 1 - 0.5 * fnp.exp(select(right, 0.0, x)))


def _laplace_log_tail(x: ArrayLike) -> Array:
    right = x > 0
    far = fnp.log1p(-0.5 * fnp.exp(select(right, 0.0, x)))
    return select(right, -math.log(2) - x, far)


def _laplace_quantile(q: ArrayLike) -> Array:
    upper = q > 0.5
    return select(upper, -fnp.log(2 * (1 - select(upper, q, 0.5))), fnp.log(2 * select(upper, 0.5, q)))


laplace = Continuous(
    "laplace",
    logpdf=lambda x: -math.log(2) - abs(x),
    cdf=lambda x: _laplace_tail(-x),
    sf=_laplace_tail,
    logcdf=lambda x: _laplace_log_tail(-x),
    logsf=_laplace_log_tail,
    ppf=_laplace_quantile,
    isf=lambda q: -_laplace_quantile(q),
    mean=0.0,
    var=2.0,
    entropy=1 + math.log(2),
)


# Left of it ``exp(-exp(-x))`` is 0 in double precision, and so are its derivatives of every order.
VANISHED = -8.0


def value_unless(
    vanished: ArrayLike, limit: float, value: Callable[[Any], Any], x: ArrayLike, inside: ArrayLike = 0.0
) -> Array:
    """Return ``value(x)``; a constant where it has vanished, as the derivative of ``exp(-exp(x))`` is 0 times infinity.

    There the value is asked at ``inside``. A NaN is no vanished point, and stays.
    """
    return choose(vanished, limit, value(choose(vanished, inside, x)))


def _gumbel(x: ArrayLike, limit: float, value: Callable[[Any], Any]) -> Array:
    return value_unless(x < VANISHED, limit, value, x)


def _gumbel_density(x: ArrayLike) -> Array:
    return _gumbel(x, 0.0, lambda x: fnp.exp(-x - fnp.exp(-x)))


def _gumbel_below(x: ArrayLike) -> Array:
    return _gumbel(x, 0.0, lambda x: fnp.exp(-fnp.exp(-x)))


def _gumbel_above(x: ArrayLike) -> Array:
    return _gumbel(x, 1.0, lambda x: -fnp.expm1(-fnp.exp(-x)))


def _gumbel_log_tail(x: ArrayLike) -> Array:
    """Return ``log(1 - exp(-exp(-x)))``: close to -x for large x, where the exponential may be 0."""
    right = x > 0
    z, left = select(right, x, 1.0), select(right, -1.0, choose(x < VANISHED, VANISHED, x))
    tail = -z + fnp.log(special.exprel(-fnp.exp(-z)))
    return select(right, tail, fnp.log1p(-fnp.exp(-fnp.exp(-left))))


gumbel_r = Continuous(
    "gumbel_r",
    pdf=_gumbel_density,
    logpdf=lambda x: -x - fnp.exp(-x),
    cdf=_gumbel_below,
    sf=_gumbel_above,
    logcdf=lambda x: -fnp.exp(-x),
    logsf=_gumbel_log_tail,
    ppf=lambda q: -fnp.log(-fnp.log(q)),
    isf=lambda q: -fnp.log(-fnp.log1p(-q)),
    mean=np.euler_gamma,
    var=math.pi**2 / 6,
    entropy=1 + np.euler_gamma,
)
gumbel_l = Continuous(
    "gumbel_l",
    pdf=lambda x: _gumbel_density(-x),
    logpdf=lambda x: x - fnp.exp(x),
    cdf=lambda x: _gumbel_above(-x),
    sf=lambda x: _gumbel_below(-x),
    logsf=lambda x: -fnp.exp(x),
    logcdf=lambda x: _gumbel_log_tail(-x),
    ppf=lambda q: fnp.log(-fnp.log1p(-q)),
    isf=lambda q: fnp.log(-fnp.log(q)),
    mean=-np.euler_gamma,
    var=math.pi**2 / 6,
    entropy=1 + np.euler_gamma,
)


class _Circular(Continuous):
    """A continuous distribution on the circle. Its density is periodic, and its support is the line."""

    periodic = True


def _scaled_logarithm(kappa: ArrayLike) -> Array:
    """Return ``log(I0(kappa)) - kappa``. The function ``i0e`` has a kink at 0, because it scales by ``abs(kappa)``."""
    near = kappa < 1
    z, far = select(near, kappa, 0.0), select(near, 1.0, kappa)
    return select(near, fnp.log(special.i0(z)) - z, fnp.log(special.i0e(far)))


def _circular_entropy(kappa: ArrayLike) -> Array:
    near = kappa < 1
    z, far = select(near, kappa, 0.0), select(near, 1.0, kappa)
    length = select(near, special.i1(z) / special.i0(z), special.i1e(far) / special.i0e(far))
    return kappa * (1 - length) + math.log(2 * math.pi) + _scaled_logarithm(kappa)


vonmises = _Circular(
    "vonmises",
    "kappa",
    domain=lambda kappa: kappa >= 0,
    logpdf=lambda x, kappa: kappa * special.cosm1(x) - math.log(2 * math.pi) - _scaled_logarithm(kappa),
    entropy=_circular_entropy,
)


# The coefficients of erf(z) / z * sqrt(pi) / 2 as a series in z**2, less the first one.
_ERF = [(-1.0) ** n / (math.factorial(n) * (2 * n + 1)) for n in range(10, 0, -1)]


def _moyal_logsf(x: ArrayLike) -> Array:
    """Return ``log(erf(exp(-x / 2) / sqrt(2)))``: close to ``-x / 2 - log(pi / 2) / 2`` on the right."""
    right = x > 2
    u = 0.5 * fnp.exp(-select(right, x, 2.0))
    series: Any = 0.0
    for c in _ERF:
        series = u * (c + series)
    near = fnp.exp(-0.5 * select(right, 0.0, x)) * math.sqrt(0.5)
    tail = -0.5 * x - 0.5 * math.log(math.pi / 2) + fnp.log1p(series)
    return select(right, tail, log_of_part(special.erf(near), special.erfc(near)))


moyal = Continuous(
    "moyal",
    pdf=lambda x: _gumbel(x, 0.0, lambda x: fnp.exp(-0.5 * (x + fnp.exp(-x)) - LOG_ROOT_TAU)),
    logpdf=lambda x: -0.5 * (x + fnp.exp(-x)) - LOG_ROOT_TAU,
    cdf=lambda x: _gumbel(x, 0.0, lambda x: special.erfc(fnp.exp(-0.5 * x) * math.sqrt(0.5))),
    logcdf=lambda x: log_both_tails(fnp.exp(-0.5 * x)),
    sf=lambda x: _gumbel(x, 1.0, lambda x: special.erf(fnp.exp(-0.5 * x) * math.sqrt(0.5))),
    logsf=lambda x: _gumbel(x, 0.0, _moyal_logsf),
    ppf=lambda q: -fnp.log(2 * special.erfcinv(q) ** 2),
    isf=lambda q: -fnp.log(2 * special.erfinv(q) ** 2),
    mean=np.euler_gamma + math.log(2),
    var=math.pi**2 / 2,
    entropy=0.5 * (np.euler_gamma + math.log(2) + 1) + LOG_ROOT_TAU,
)


def _generalized_log_tail(x: ArrayLike, c: ArrayLike) -> Array:
    """Return ``log(1 - expit(x)**c)``: close to ``log(c) - x`` for large x."""
    right = x > 0
    z, left = select(right, x, 1.0), select(right, -1.0, x)
    tail = fnp.log(c) - z + fnp.log(log1prel(fnp.exp(-z))) + fnp.log(special.exprel(c * special.log_expit(z)))
    return select(right, tail, log_of_rest(c * special.log_expit(left)))


def _log_expm1(x: ArrayLike) -> Array:
    """Return ``log(exp(x) - 1)``; ``exp(x)`` may overflow."""
    return x + fnp.log(-fnp.expm1(-x))


genlogistic = Continuous(
    "genlogistic",
    "c",
    logpdf=lambda x, c: fnp.log(c) + c * special.log_expit(x) + special.log_expit(-x),
    logcdf=lambda x, c: c * special.log_expit(x),
    logsf=_generalized_log_tail,
    ppf=lambda q, c: -_log_expm1(-fnp.log(q) / c),
    isf=lambda q, c: -_log_expm1(-fnp.log1p(-q) / c),
    entropy=lambda c: 1 + np.euler_gamma - fnp.log(c) + special.digamma(c + 1),
    mean=lambda c: np.euler_gamma + special.digamma(c),
    var=lambda c: math.pi**2 / 6 + special.polygamma(1, c),
)


def _half_normal_factor(a: ArrayLike) -> Array:
    """Return the mean of a skewed normal distribution: ``sqrt(2 / pi) a / sqrt(1 + a**2)``."""
    return math.sqrt(2 / math.pi) * a / fnp.sqrt(1 + a * a)


skewnorm = Continuous(
    "skewnorm",
    "a",
    domain=fnp.isfinite,
    logpdf=lambda x, a: math.log(2) + normal_log_density(x) + special.log_ndtr(a * x),
    cdf=skewed_ndtr_p,
    logcdf=log_skewed_ndtr_p,
    sf=lambda x, a: skewed_ndtr_p(-x, -a),
    logsf=lambda x, a: log_skewed_ndtr_p(-x, -a),
    mean=_half_normal_factor,
    var=lambda a: 1 - _half_normal_factor(a) ** 2,
)


def _extreme_support(c: ArrayLike) -> tuple[Any, Any]:
    upper, lower = c > 0, c < 0
    return (
        fnp.where(lower, 1 / fnp.where(lower, c, -1.0), -math.inf),
        fnp.where(upper, 1 / fnp.where(upper, c, 1.0), math.inf),
    )


def _log_of_log(x: ArrayLike, c: ArrayLike) -> Array:
    """Return ``log(-log(cdf))``, which is ``log1p(-c x) / c``, and ``-x`` for c = 0."""
    return -x * log1prel(-c * x)


def _extreme_log_density(x: ArrayLike, c: ArrayLike) -> Array:
    end, one = c * x == 1, c == 1
    z = choose(end, 0.0, x)
    y = _log_of_log(z, c)
    y = choose(one & fnp.isinf(y), 0.0, (1 - c) * y) - fnp.exp(y)
    return choose(end, fnp.where(one, 0.0, -math.inf), y)


genextreme = Continuous(
    "genextreme",
    "c",
    domain=fnp.isfinite,
    support=_extreme_support,
    logpdf=_extreme_log_density,
    powers=lambda x, c: [(1 - c * x, 1 / select(c > 0, c, 1.0) - 1)],
    rest=lambda x, c: -fnp.power(1 - c * x, 1 / select(c > 0, c, 1.0)),
    logcdf=lambda x, c: -fnp.exp(_log_of_log(x, c)),
    ppf=lambda q, c: _extreme_quantile(-fnp.log(-fnp.log(q)), c),
    isf=lambda q, c: _extreme_quantile(-fnp.log(-fnp.log1p(-q)), c),
    mean=lambda c: select(c > -1, _extreme_mean(select(c > -1, c, 0.5)), math.inf),
    entropy=lambda c: 1 + np.euler_gamma * (1 - c),
)


def _extreme_quantile(x: ArrayLike, c: ArrayLike) -> Array:
    return x * special.exprel(-c * x)


# ``log(gamma(1 + c)) / c`` in powers of c (DLMF 5.7.3).
_LOG_GAMMA = [
    -0.5772156649015329,
    0.8224670334241132,
    -0.40068563438653143,
    0.27058080842778454,
    -0.207385551028674,
    0.16955717699740822,
    -0.14404989676884614,
    0.12550966952474304,
    -0.11133426586956469,
    0.10009945751278179,
    -0.09095401714582904,
    0.083353840546109,
    -0.0769325164113522,
    0.07143294629536134,
    -0.06666870588242046,
    0.06250095514121304,
    -0.05882397865868458,
]


def _extreme_mean(c: ArrayLike) -> Array:
    """Return ``(1 - gamma(1 + c)) / c``, and Euler's constant for c = 0."""
    near = abs(c) < 0.1
    d, slope = select(near, 1.0, c), polynomial(_LOG_GAMMA, select(near, c, 0.0))
    return select(near, -slope * special.exprel(select(near, c, 0.0) * slope), -fnp.expm1(special.gammaln(1 + d)) / d)
