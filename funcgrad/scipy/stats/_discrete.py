"""Distributions of whole numbers. Formulas: Johnson, Kemp and Kotz, "Univariate discrete distributions"."""

from __future__ import annotations

import math

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.gamma import gammaln_step, log_binomial, log_power
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import Formula, choose, log_of_rest, never
from funcgrad.scipy.stats._beta_tails import log_betainc
from funcgrad.scipy.stats._families import Discrete
from funcgrad.scipy.stats._gamma_tails import log_lower, log_upper

_COUNTS = (0.0, math.inf)


def _probability(p: ArrayLike) -> Array:
    return (p >= 0) & (p <= 1)


def poisson_log_mass(k: ArrayLike, mu: ArrayLike) -> Array:
    # The terms cancel for a large count.
    large = (k > 100) & (mu > 0)
    c, m = choose(large, k, 200.0), choose(large, mu, 200.0)
    k, mu = choose(large, 1.0, k), choose(large, 1.0, mu)
    return choose(large, log_power(c, m) - fnp.log(c), special.xlogy(k, mu) - special.gammaln(k + 1) - mu)


poisson = Discrete(
    "poisson",
    "mu",
    domain=lambda mu: mu >= 0,
    support=_COUNTS,
    logpmf=poisson_log_mass,
    powers=lambda k, mu: [(mu, k)],
    rest=lambda k, mu: -special.gammaln(k + 1) - mu,
    inside=lambda k, mu: (k, 1.0),
    cdf=lambda k, mu: special.gammaincc(k + 1, mu),
    sf=lambda k, mu: special.gammainc(k + 1, mu),
    logcdf=lambda k, mu: log_upper(k + 1, mu),
    logsf=lambda k, mu: log_lower(k + 1, mu),
    mean=lambda mu: mu,
    var=lambda mu: mu,
)


def _binomial(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    """Return the logarithm of the probability of ``k`` among ``n``."""
    none, every = k == 0, k == n
    end = none | every
    some, rest = choose(end, 1.0, k), choose(end, 1.0, n - k)
    # The logarithm of the binomial coefficient is 0 for k = n, but its derivative with respect to n is not.
    choices = gammaln_step(choose(every, k, 1.0) + 1, choose(every, n - k, 0.0)) - special.gammaln(n - k + 1)
    at = select(every, p, 0.5)
    last = special.xlogy(k, at) + special.xlog1py(n - k, -at) + choices
    ends = select(none, special.xlog1py(n, -select(none, p, 0.5)), choose(every, last, 0.0))
    sure = (p == 0) | (p == 1)
    inner = log_binomial(some, rest, choose(sure, 0.5, p))
    q = choose(end, 0.5, p)
    impossible = special.xlogy(some, q) + special.xlog1py(rest, -q)
    return choose(end, ends, choose(sure, impossible, inner))


def _by_beta(k: ArrayLike, n: ArrayLike, p: ArrayLike, upper: bool) -> Array:
    """Return the binomial distribution function as an incomplete beta function of ``p`` (DLMF 8.17.5)."""
    end = k >= n
    a, b = choose(end, 0.0, k) + 1, choose(end, 1.0, n - k)
    return choose(end, 0.0 if upper else 1.0, special.betainc(a, b, p) if upper else special.betaincc(a, b, p))


def _log_by_beta(k: ArrayLike, n: ArrayLike, p: ArrayLike, upper: bool) -> Array:
    end = k >= n
    a, b = choose(end, 0.0, k) + 1, choose(end, 1.0, n - k)
    inner = log_betainc(a, b, p, 1 - p) if upper else log_betainc(b, a, 1 - p, p, "rest")
    return choose(end, -math.inf if upper else 0.0, inner)


binom = Discrete(
    "binom",
    "n p",
    domain=lambda n, p: (n >= 0) & (n == fnp.floor(n)) & _probability(p),
    support=lambda n, p: (0.0, n),
    logpmf=_binomial,
    powers=lambda k, n, p: [(p, k), (1 - p, n - k)],
    rest=lambda k, n, p: special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1),
    inside=lambda k, n, p: (k, n, 0.5),
    cdf=lambda k, n, p: _by_beta(k, n, p, False),
    sf=lambda k, n, p: _by_beta(k, n, p, True),
    logcdf=lambda k, n, p: _log_by_beta(k, n, p, False),
    logsf=lambda k, n, p: _log_by_beta(k, n, p, True),
    mean=lambda n, p: n * p,
    var=lambda n, p: n * p * (1 - p),
)
bernoulli = Discrete(
    "bernoulli",
    "p",
    domain=_probability,
    support=(0.0, 1.0),
    logpmf=lambda k, p: special.xlogy(k, p) + special.xlog1py(1 - k, -p),
    powers=lambda k, p: [(p, k), (1 - p, 1 - k)],
    rest=lambda k, p: 0 * k,
    inside=lambda k, p: (k, 0.5),
    cdf=lambda k, p: 1 - p + 0 * k,
    sf=lambda k, p: p + 0 * k,
    mean=lambda p: p,
    var=lambda p: p * (1 - p),
    entropy=lambda p: special.entr(p) + special.entr(1 - p),
)


def _negative_binomial(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Array:
    end = (k == 0) | (p == 1)
    failures, q = choose(end, 1.0, k), choose(end, 0.5, p)
    inner = log_binomial(n, failures, q) - fnp.log1p(failures / n)
    return choose(end, n * fnp.log(p) + special.xlog1py(k, -p), inner)


nbinom = Discrete(
    "nbinom",
    "n p",
    domain=lambda n, p: (n > 0) & fnp.isfinite(n) & (p > 0) & (p <= 1),
    support=_COUNTS,
    logpmf=_negative_binomial,
    powers=lambda k, n, p: [(1 - p, k)],
    rest=lambda k, n, p: special.gammaln(n + k) - special.gammaln(k + 1) - special.gammaln(n) + n * fnp.log(p),
    inside=lambda k, n, p: (k, n, 0.5),
    cdf=lambda k, n, p: special.betainc(n, k + 1, p),
    sf=lambda k, n, p: special.betaincc(n, k + 1, p),
    logcdf=lambda k, n, p: log_betainc(n, k + 1, p, 1 - p),
    logsf=lambda k, n, p: log_betainc(k + 1, n, 1 - p, p, "rest"),
    mean=lambda n, p: n * (1 - p) / p,
    var=lambda n, p: n * (1 - p) / (p * p),
)


def _geometric(k: ArrayLike, p: ArrayLike, far: Formula, sure: Formula) -> Array:
    """Return a function of the tail's logarithm; of the tail where it is 0 and its logarithm has no derivative."""
    end = p == 1
    y = far(k * fnp.log1p(-choose(end, 0.5, p)))
    return y if never(end) else select(end, sure(fnp.power(1 - choose(end, p, 0.5), k)), y)


geom = Discrete(
    "geom",
    "p",
    domain=lambda p: (p > 0) & (p <= 1),
    support=(1.0, math.inf),
    logpmf=lambda k, p: special.xlog1py(k - 1, -p) + fnp.log(p),
    powers=lambda k, p: [(1 - p, k - 1)],
    rest=lambda k, p: fnp.log(p),
    inside=lambda k, p: (k, 0.5),
    cdf=lambda k, p: _geometric(k, p, lambda y: -fnp.expm1(y), lambda tail: 1 - tail),
    sf=lambda k, p: _geometric(k, p, fnp.exp, lambda tail: tail),
    logcdf=lambda k, p: _geometric(k, p, log_of_rest, lambda tail: fnp.log1p(-tail)),
    logsf=lambda k, p: k * fnp.log1p(-p),
    mean=lambda p: 1 / p,
    var=lambda p: (1 - p) / (p * p),
    entropy=lambda p: -fnp.log(p) - fnp.log1p(-p) * (1 - p) / p,
)
betabinom = Discrete(
    "betabinom",
    "n a b",
    domain=lambda n, a, b: (n >= 0) & (n == fnp.floor(n)) & (a > 0) & (b > 0),
    support=lambda n, a, b: (0.0, n),
    logpmf=lambda k, n, a, b: (
        gammaln_step(k + 1, a - 1)
        + gammaln_step(n - k + 1, b - 1)
        - gammaln_step(n + 1, a + b - 1)
        - special.betaln(a, b)
    ),
    mean=lambda n, a, b: n * a / (a + b),
    var=lambda n, a, b: n * (a + b + n) * a * b / ((a + b + 1) * (a + b) ** 2),
)
