"""Distributions of positive numbers: Johnson, Kotz and Balakrishnan, "Continuous univariate distributions"."""

from __future__ import annotations

import math

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.gamma import log_power
from funcgrad._ops.elementwise.special.series import log1prel
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import above, choose, log_of_rest, never, positive
from funcgrad.scipy.stats._beta_tails import log_betainc, part_of_beta
from funcgrad.scipy.stats._families import Continuous
from funcgrad.scipy.stats._gamma_tails import log_lower, log_upper
from funcgrad.scipy.stats._lifetimes import inside
from funcgrad.scipy.stats._line import LOG_ROOT_TAU, log1p_of_square, log_both_tails, normal_log_density
from funcgrad.scipy.stats._moments import gamma_entropy, mean_of_root, variance_of_root

_POSITIVE = (0.0, math.inf)


def log_gamma_density(x: ArrayLike, a: ArrayLike) -> Array:
    """Return the logarithm of ``x**(a - 1) exp(-x) / gamma(a)``, without the cancellation for large ``a``."""
    large = (a > 100) & (x > 0)
    if never(large):
        return special.xlogy(a - 1, x) - x - special.gammaln(a)
    c, z = select(large, a, 200.0), select(large, x, 1.0)
    a, x = select(large, 1.0, a), select(large, 1.0, x)
    return select(large, log_power(c, z) - fnp.log(z), special.xlogy(a - 1, x) - x - special.gammaln(a))


expon = Continuous(
    "expon",
    support=_POSITIVE,
    logpdf=lambda x: -x,
    logsf=lambda x: -x,
    ppf=lambda q: -fnp.log1p(-q),
    isf=lambda q: -fnp.log(q),
    mean=1.0,
    var=1.0,
    entropy=1.0,
)
gamma = Continuous(
    "gamma",
    "a",
    support=_POSITIVE,
    logpdf=log_gamma_density,
    powers=lambda x, a: [(x, a - 1)],
    rest=lambda x, a: -x - special.gammaln(a),
    cdf=lambda x, a: special.gammainc(a, x),
    sf=lambda x, a: special.gammaincc(a, x),
    logcdf=lambda x, a: log_lower(a, x),
    logsf=lambda x, a: log_upper(a, x),
    ppf=lambda q, a: special.gammaincinv(a, q),
    isf=lambda q, a: special.gammainccinv(a, q),
    mean=lambda a: a,
    var=lambda a: a,
    entropy=gamma_entropy,
)
chi2 = Continuous(
    "chi2",
    "df",
    support=_POSITIVE,
    logpdf=lambda x, df: log_gamma_density(0.5 * x, 0.5 * df) - math.log(2),
    powers=lambda x, df: [(0.5 * x, 0.5 * df - 1)],
    rest=lambda x, df: -0.5 * x - special.gammaln(0.5 * df) - math.log(2),
    cdf=lambda x, df: special.gammainc(0.5 * df, 0.5 * x),
    sf=lambda x, df: special.gammaincc(0.5 * df, 0.5 * x),
    logcdf=lambda x, df: log_lower(0.5 * df, 0.5 * x),
    logsf=lambda x, df: log_upper(0.5 * df, 0.5 * x),
    ppf=lambda q, df: 2 * special.gammaincinv(0.5 * df, q),
    isf=lambda q, df: 2 * special.gammainccinv(0.5 * df, q),
    mean=lambda df: df,
    var=lambda df: 2 * df,
    entropy=lambda df: math.log(2) + gamma_entropy(0.5 * df),
)
invgamma = Continuous(
    "invgamma",
    "a",
    support=_POSITIVE,
    logpdf=lambda x, a: inside(x, lambda x: -(a + 1) * fnp.log(x) - special.gammaln(a) - 1 / x),
    cdf=lambda x, a: special.gammaincc(a, 1 / x),
    sf=lambda x, a: special.gammainc(a, 1 / x),
    logcdf=lambda x, a: log_upper(a, 1 / x),
    logsf=lambda x, a: log_lower(a, 1 / x),
    ppf=lambda q, a: 1 / special.gammainccinv(a, q),
    isf=lambda q, a: 1 / special.gammaincinv(a, q),
    mean=lambda a: above(a, 1, lambda a: 1 / (a - 1), math.inf),
    var=lambda a: above(a, 2, lambda a: 1 / ((a - 1) ** 2 * (a - 2)), math.inf),
    entropy=lambda a: gamma_entropy(a) - 2 * special.digamma(a),
)


chi = Continuous(
    "chi",
    "df",
    support=_POSITIVE,
    powers=lambda x, df: [(x, df - 1)],
    rest=lambda x, df: math.log(2) - 0.5 * math.log(2) * df - special.gammaln(0.5 * df) - 0.5 * x * x,
    cdf=lambda x, df: special.gammainc(0.5 * df, 0.5 * x * x),
    sf=lambda x, df: special.gammaincc(0.5 * df, 0.5 * x * x),
    logcdf=lambda x, df: log_lower(0.5 * df, 0.5 * x * x),
    logsf=lambda x, df: log_upper(0.5 * df, 0.5 * x * x),
    ppf=lambda q, df: fnp.sqrt(2 * special.gammaincinv(0.5 * df, q)),
    isf=lambda q, df: fnp.sqrt(2 * special.gammainccinv(0.5 * df, q)),
    mean=lambda df: fnp.sqrt(df) * mean_of_root(0.5 * df),
    var=lambda df: df * variance_of_root(0.5 * df),
    entropy=lambda df: gamma_entropy(0.5 * df) - 0.5 * (special.digamma(0.5 * df) + math.log(2)),
)
lognorm = Continuous(
    "lognorm",
    "s",
    support=_POSITIVE,
    logpdf=lambda x, s: inside(x, lambda x: normal_log_density(fnp.log(x) / s) - fnp.log(s * x)),
    cdf=lambda x, s: special.ndtr(fnp.log(x) / s),
    logcdf=lambda x, s: special.log_ndtr(fnp.log(x) / s),
    sf=lambda x, s: special.ndtr(-fnp.log(x) / s),
    logsf=lambda x, s: special.log_ndtr(-fnp.log(x) / s),
    ppf=lambda q, s: fnp.exp(s * special.ndtri(q)),
    isf=lambda q, s: fnp.exp(-s * special.ndtri(q)),
    mean=lambda s: fnp.exp(0.5 * s * s),
    var=lambda s: fnp.expm1(s * s) * fnp.exp(s * s),
    entropy=lambda s: 0.5 + LOG_ROOT_TAU + fnp.log(s),
)


def _weibull_var(c: ArrayLike) -> Array:
    return special.gamma(1 + 2 / c) - special.gamma(1 + 1 / c) ** 2


weibull_min = Continuous(
    "weibull_min",
    "c",
    support=_POSITIVE,
    powers=lambda x, c: [(x, c - 1)],
    rest=lambda x, c: fnp.log(c) - fnp.power(x, c),
    logsf=lambda x, c: -fnp.power(x, c),
    ppf=lambda q, c: fnp.power(-fnp.log1p(-q), 1 / c),
    isf=lambda q, c: fnp.power(-fnp.log(q), 1 / c),
    mean=lambda c: special.gamma(1 + 1 / c),
    var=_weibull_var,
    entropy=lambda c: 1 + np.euler_gamma * (1 - 1 / c) - fnp.log(c),
)
weibull_max = Continuous(
    "weibull_max",
    "c",
    support=(-math.inf, 0.0),
    powers=lambda x, c: [(0 - x, c - 1)],
    rest=lambda x, c: fnp.log(c) - fnp.power(-x, c),
    logcdf=lambda x, c: -fnp.power(-x, c),
    ppf=lambda q, c: -fnp.power(-fnp.log(q), 1 / c),
    isf=lambda q, c: -fnp.power(-fnp.log1p(-q), 1 / c),
    mean=lambda c: -special.gamma(1 + 1 / c),
    var=_weibull_var,
    entropy=lambda c: 1 + np.euler_gamma * (1 - 1 / c) - fnp.log(c),
)


def _exponweib_log_tail(x: ArrayLike, a: ArrayLike, c: ArrayLike) -> Array:
    """Return ``log(1 - (1 - exp(-y))**a)`` with ``y = x**c``: close to ``log(a) - y`` for large y."""
    power = fnp.power(x, c)
    right = power > 1
    y, left = select(right, power, 1.0), select(right, 1.0, power)
    tail = fnp.log(a) - y + fnp.log(log1prel(-fnp.exp(-y))) + fnp.log(special.exprel(a * log_of_rest(-y)))
    return select(right, tail, log_of_rest(a * log_of_rest(-left)))


exponweib = Continuous(
    "exponweib",
    "a c",
    support=_POSITIVE,
    powers=lambda x, a, c: [(-fnp.expm1(-fnp.power(x, c)), a - 1), (x, c - 1)],
    rest=lambda x, a, c: fnp.log(a) + fnp.log(c) - fnp.power(x, c),
    logcdf=lambda x, a, c: a * log_of_rest(-fnp.power(x, c)),
    logsf=_exponweib_log_tail,
    ppf=lambda q, a, c: fnp.power(-fnp.log1p(-fnp.power(q, 1 / a)), 1 / c),
    isf=lambda q, a, c: fnp.power(-log_of_rest(fnp.log1p(-q) / a), 1 / c),
)
rayleigh = Continuous(
    "rayleigh",
    support=_POSITIVE,
    logpdf=lambda x: fnp.log(x) - 0.5 * x * x,
    pdf=lambda x: x * fnp.exp(-0.5 * x * x),
    logsf=lambda x: -0.5 * x * x,
    ppf=lambda q: fnp.sqrt(-2 * fnp.log1p(-q)),
    isf=lambda q: fnp.sqrt(-2 * fnp.log(q)),
    mean=math.sqrt(math.pi / 2),
    var=2 - math.pi / 2,
    entropy=1 + 0.5 * (np.euler_gamma - math.log(2)),
)


halfnorm = Continuous(
    "halfnorm",
    support=_POSITIVE,
    logpdf=lambda x: math.log(2) - LOG_ROOT_TAU - 0.5 * x * x,
    cdf=lambda x: special.erf(x * math.sqrt(0.5)),
    sf=lambda x: special.erfc(x * math.sqrt(0.5)),
    logsf=log_both_tails,
    ppf=lambda q: math.sqrt(2) * special.erfinv(q),
    isf=lambda q: math.sqrt(2) * special.erfcinv(q),
    mean=math.sqrt(2 / math.pi),
    var=1 - 2 / math.pi,
    entropy=0.5 * math.log(math.pi / 2) + 0.5,
)
halfcauchy = Continuous(
    "halfcauchy",
    support=_POSITIVE,
    logpdf=lambda x: math.log(2 / math.pi) - log1p_of_square(x),
    cdf=lambda x: 2 / math.pi * fnp.arctan(x),
    sf=lambda x: 2 / math.pi * fnp.arctan2(1.0, x),
    ppf=lambda q: fnp.tan(0.5 * math.pi * q),
    isf=lambda q: 1 / fnp.tan(0.5 * math.pi * q),
    mean=math.inf,
    var=math.inf,
    entropy=math.log(2 * math.pi),
)
pareto = Continuous(
    "pareto",
    "b",
    support=(1.0, math.inf),
    logpdf=lambda x, b: fnp.log(b) - (b + 1) * fnp.log(x),
    logsf=lambda x, b: -b * fnp.log(x),
    ppf=lambda q, b: fnp.exp(-fnp.log1p(-q) / b),
    isf=lambda q, b: fnp.exp(-fnp.log(q) / b),
    mean=lambda b: above(b, 1, lambda b: b / (b - 1), math.inf),
    var=lambda b: above(b, 2, lambda b: b / ((b - 2) * (b - 1) ** 2), math.inf),
    entropy=lambda b: 1 + 1 / b - fnp.log(b),
)


def _genpareto(x: ArrayLike, c: ArrayLike) -> Array:
    # For c = -1 the distribution is uniform, up to its end.
    flat = c == -1
    z = choose(flat, 0.0, x)
    return choose(flat, 0 * x, -(c + 1) * z * log1prel(c * z))


genpareto = Continuous(
    "genpareto",
    "c",
    domain=fnp.isfinite,
    support=lambda c: (0.0, fnp.where(c < 0, -1 / fnp.where(c < 0, c, -1.0), math.inf)),
    logpdf=_genpareto,
    powers=lambda x, c: [(1 + c * x, -(1 + 1 / select(c < 0, c, -1.0)))],
    rest=lambda x, c: 0 * x,
    logsf=lambda x, c: -x * log1prel(c * x),
    ppf=lambda q, c: -special.boxcox1p(-q, -c),
    isf=lambda q, c: -special.boxcox(q, -c),
    mean=lambda c: select(c < 1, 1 / (1 - select(c < 1, c, 0.0)), math.inf),
    var=lambda c: select(c < 0.5, _genpareto_var(select(c < 0.5, c, 0.0)), math.inf),
    entropy=lambda c: 1 + c,
)


def _genpareto_var(c: ArrayLike) -> Array:
    return 1 / ((1 - c) ** 2 * (1 - 2 * c))


def _f_rest(x: ArrayLike, n: ArrayLike, m: ArrayLike) -> Array:
    logs = 0.5 * m * fnp.log(m) + 0.5 * n * fnp.log(n)
    return logs - (0.5 * (n + m) * fnp.log(m + n * x) + special.betaln(0.5 * n, 0.5 * m))


def _f_entropy(dfn: ArrayLike, dfd: ArrayLike) -> Array:
    n, d = 0.5 * dfn, 0.5 * dfd
    digammas = (1 - n) * special.digamma(n) - (1 + d) * special.digamma(d) + (n + d) * special.digamma(n + d)
    return fnp.log(dfd) - fnp.log(dfn) + special.betaln(n, d) + digammas


f = Continuous(
    "f",
    "dfn dfd",
    domain=lambda n, m: positive(n, m) & fnp.isfinite(n) & fnp.isfinite(m),
    support=_POSITIVE,
    powers=lambda x, n, m: [(x, 0.5 * n - 1)],
    rest=_f_rest,
    cdf=lambda x, n, m: part_of_beta(0.5 * n, 0.5 * m, n * x / (m + n * x), m / (m + n * x)),
    sf=lambda x, n, m: part_of_beta(0.5 * m, 0.5 * n, m / (m + n * x), n * x / (m + n * x)),
    logcdf=lambda x, n, m: log_betainc(0.5 * n, 0.5 * m, n * x / (m + n * x), m / (m + n * x), "both"),
    logsf=lambda x, n, m: log_betainc(0.5 * m, 0.5 * n, m / (m + n * x), n * x / (m + n * x), "both"),
    ppf=lambda q, n, m: m / n * special.betaincinv(0.5 * n, 0.5 * m, q) / special.betainccinv(0.5 * m, 0.5 * n, q),
    isf=lambda q, n, m: m / n * special.betainccinv(0.5 * n, 0.5 * m, q) / special.betaincinv(0.5 * m, 0.5 * n, q),
    mean=lambda n, m: above(m, 2, lambda m: m / (m - 2), math.inf) + 0 * n,
    var=lambda n, m: above(m, 4, lambda m: 2 * m * m * (n + m - 2) / (n * (m - 2) ** 2 * (m - 4)), math.inf),
    entropy=_f_entropy,
)
