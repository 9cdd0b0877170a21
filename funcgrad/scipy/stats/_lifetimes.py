"""Distributions of lifetimes and sizes: Johnson, Kotz and Balakrishnan, "Continuous univariate distributions"."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.select import select
from funcgrad._types import ArrayLike
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import above, choose
from funcgrad.scipy.stats._families import Continuous
from funcgrad.scipy.stats._gamma_tails import log_lower, log_upper
from funcgrad.scipy.stats._line import LOG_ROOT_TAU, log_both_tails
from funcgrad.scipy.stats._moments import gamma_entropy, mean_of_root, variance_of_root
from funcgrad.scipy.stats._passage import log_passage, squared

_POSITIVE = (0.0, math.inf)


def inside(x: ArrayLike, log_density: Any, where: Any = True) -> Any:
    """Return a log density that is minus infinity at 0, where its formula has no value.

    Args:
        x: the points.
        log_density: the formula.
        where: for which parameters the formula has no value.
    """
    zero = (x == 0) & where
    return choose(zero, -math.inf, log_density(choose(zero, 1.0, x)))


def _log1p_power(x: ArrayLike, c: ArrayLike) -> Any:
    """Return ``log(1 + x**c)``; ``x**c`` may overflow."""
    far = x > 1
    big = choose(far, x, 1.0)
    return choose(far, c * fnp.log(big) + fnp.log1p(fnp.power(big, -c)), fnp.log1p(fnp.power(choose(far, 1.0, x), c)))


def _fisk_log_cdf(x: ArrayLike, c: ArrayLike) -> Any:
    """Return ``-log(1 + x**-c)``; ``x**-c`` may overflow."""
    near = x < 1
    small = choose(near, x, 1.0)
    tail = c * fnp.log(small) - fnp.log1p(fnp.power(small, c))
    return choose(near, tail, -fnp.log1p(fnp.power(choose(near, 1.0, x), -c)))


fisk = Continuous(
    "fisk",
    "c",
    support=_POSITIVE,
    powers=lambda x, c: [(x, c - 1)],
    rest=lambda x, c: fnp.log(c) - 2 * _log1p_power(x, c),
    logcdf=_fisk_log_cdf,
    logsf=lambda x, c: -_log1p_power(x, c),
    ppf=lambda q, c: fnp.exp(special.logit(q) / c),
    isf=lambda q, c: fnp.exp(-special.logit(q) / c),
    entropy=lambda c: 2 - fnp.log(c),
)
lomax = Continuous(
    "lomax",
    "c",
    support=_POSITIVE,
    logpdf=lambda x, c: fnp.log(c) - (c + 1) * fnp.log1p(x),
    logsf=lambda x, c: -c * fnp.log1p(x),
    ppf=lambda q, c: fnp.expm1(-fnp.log1p(-q) / c),
    isf=lambda q, c: fnp.expm1(-fnp.log(q) / c),
    mean=lambda c: above(c, 1, lambda c: 1 / (c - 1), math.inf),
    var=lambda c: above(c, 2, lambda c: c / ((c - 1) ** 2 * (c - 2)), math.inf),
    entropy=lambda c: 1 + 1 / c - fnp.log(c),
)
gompertz = Continuous(
    "gompertz",
    "c",
    support=_POSITIVE,
    logpdf=lambda x, c: fnp.log(c) + x - c * fnp.expm1(x),
    logsf=lambda x, c: -c * fnp.expm1(x),
    ppf=lambda q, c: fnp.log1p(-fnp.log1p(-q) / c),
    isf=lambda q, c: fnp.log1p(-fnp.log(q) / c),
)


def _generalized_rest(x: ArrayLike, a: ArrayLike, c: ArrayLike) -> Any:
    return fnp.log(abs(c)) - fnp.power(x, c) - special.gammaln(a)


def _generalized_tail(x: ArrayLike, a: ArrayLike, c: ArrayLike, upper: bool) -> Any:
    power = fnp.power(x, c)
    rising = (c < 0) if upper else (c > 0)
    return select(rising, special.gammainc(a, power), special.gammaincc(a, power))


def _generalized_log_tail(x: ArrayLike, a: ArrayLike, c: ArrayLike, upper: bool) -> Any:
    power = fnp.power(x, c)
    rising = (c < 0) if upper else (c > 0)
    return select(rising, log_lower(a, power), log_upper(a, power))


def _generalized_quantile(q: ArrayLike, a: ArrayLike, c: ArrayLike, upper: bool) -> Any:
    rising = (c < 0) if upper else (c > 0)
    return fnp.power(select(rising, special.gammaincinv(a, q), special.gammainccinv(a, q)), 1 / c)


gengamma = Continuous(
    "gengamma",
    "a c",
    domain=lambda a, c: (a > 0) & (c != 0),
    support=_POSITIVE,
    logpdf=lambda x, a, c: inside(x, lambda x: special.xlogy(c * a - 1, x) + _generalized_rest(x, a, c), c < 0),
    powers=lambda x, a, c: [(x, c * a - 1)],
    rest=lambda x, a, c: _generalized_rest(x, a, choose(c < 0, 1.0, c)),
    cdf=lambda x, a, c: _generalized_tail(x, a, c, False),
    sf=lambda x, a, c: _generalized_tail(x, a, c, True),
    logcdf=lambda x, a, c: _generalized_log_tail(x, a, c, False),
    logsf=lambda x, a, c: _generalized_log_tail(x, a, c, True),
    ppf=lambda q, a, c: _generalized_quantile(q, a, c, False),
    isf=lambda q, a, c: _generalized_quantile(q, a, c, True),
    entropy=lambda a, c: gamma_entropy(a) + (1 / c - 1) * special.digamma(a) - fnp.log(abs(c)),
)


nakagami = Continuous(
    "nakagami",
    "nu",
    support=_POSITIVE,
    powers=lambda x, nu: [(x, 2 * nu - 1)],
    rest=lambda x, nu: math.log(2) + special.xlogy(nu, nu) - special.gammaln(nu) - nu * x * x,
    cdf=lambda x, nu: special.gammainc(nu, nu * x * x),
    sf=lambda x, nu: special.gammaincc(nu, nu * x * x),
    logcdf=lambda x, nu: log_lower(nu, nu * x * x),
    logsf=lambda x, nu: log_upper(nu, nu * x * x),
    ppf=lambda q, nu: fnp.sqrt(special.gammaincinv(nu, q) / nu),
    isf=lambda q, nu: fnp.sqrt(special.gammainccinv(nu, q) / nu),
    entropy=lambda nu: gamma_entropy(nu) - 0.5 * (special.digamma(nu) + fnp.log(nu)) - math.log(2),
    mean=mean_of_root,
    var=variance_of_root,
)
burr12 = Continuous(
    "burr12",
    "c d",
    support=_POSITIVE,
    powers=lambda x, c, d: [(x, c - 1)],
    rest=lambda x, c, d: fnp.log(c) + fnp.log(d) + special.xlog1py(-d - 1, fnp.power(x, c)),
    logsf=lambda x, c, d: special.xlog1py(-d, fnp.power(x, c)),
    ppf=lambda q, c, d: fnp.power(fnp.expm1(-fnp.log1p(-q) / d), 1 / c),
    isf=lambda q, c, d: fnp.power(fnp.expm1(-fnp.log(q) / d), 1 / c),
)


invgauss = Continuous(
    "invgauss",
    "mu",
    support=_POSITIVE,
    logpdf=lambda x, mu: inside(x, lambda x: -LOG_ROOT_TAU - 1.5 * fnp.log(x) - squared(x, mu)),
    logcdf=lambda x, mu: log_passage(x, mu, upper=False),
    logsf=lambda x, mu: log_passage(x, mu, upper=True),
    mean=lambda mu: mu,
    var=lambda mu: mu**3,
)
maxwell = Continuous(
    "maxwell",
    support=_POSITIVE,
    powers=lambda x: [(x, 2.0)],
    rest=lambda x: math.log(2) - LOG_ROOT_TAU - 0.5 * x * x,
    cdf=lambda x: special.gammainc(1.5, 0.5 * x * x),
    sf=lambda x: special.gammaincc(1.5, 0.5 * x * x),
    logcdf=lambda x: log_lower(1.5, 0.5 * x * x),
    logsf=lambda x: log_upper(1.5, 0.5 * x * x),
    ppf=lambda q: fnp.sqrt(2 * special.gammaincinv(1.5, q)),
    isf=lambda q: fnp.sqrt(2 * special.gammainccinv(1.5, q)),
    mean=2 * math.sqrt(2 / math.pi),
    var=3 - 8 / math.pi,
    entropy=np.euler_gamma + 0.5 * math.log(2 * math.pi) - 0.5,
)
levy = Continuous(
    "levy",
    support=_POSITIVE,
    logpdf=lambda x: inside(x, lambda x: -LOG_ROOT_TAU - 1.5 * fnp.log(x) - 0.5 / x),
    cdf=lambda x: special.erfc(fnp.sqrt(0.5 / x)),
    logcdf=lambda x: log_both_tails(1 / fnp.sqrt(x)),
    sf=lambda x: special.erf(fnp.sqrt(0.5 / x)),
    ppf=lambda q: 0.5 / special.erfcinv(q) ** 2,
    isf=lambda q: 0.5 / special.erfinv(q) ** 2,
    mean=math.inf,
    var=math.inf,
    entropy=(1 + 3 * np.euler_gamma + math.log(16 * math.pi)) / 2,
)
