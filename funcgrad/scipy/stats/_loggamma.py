"""The distribution of the logarithm of a gamma variable."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.select import select
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import choose
from funcgrad.scipy.stats._families import Continuous
from funcgrad.scipy.stats._gamma_tails import log_lower, log_upper, power_series
from funcgrad.scipy.stats._line import VANISHED, value_unless
from funcgrad.scipy.stats._moments import gamma_entropy

# Below it the distribution function is the first term of its series, and further left the exponential underflows.
_LEFT = -36.0
# Above it the exponential overflows.
_ENDLESS = 709.0


def _loggamma(x: ArrayLike, c: ArrayLike, limit: float, value: Callable[[Any], Any]) -> Array:
    """Return ``value(x)``; its limit far to the right of the mode, where the density and its derivatives are 0."""
    mode = fnp.log(fnp.maximum(c, 1.0))
    return value_unless(x > mode - VANISHED, limit, value, x, mode)


def _loggamma_tail(x: ArrayLike, c: ArrayLike, *, upper: bool) -> Array:
    return _loggamma(x, c, 0.0 if upper else 1.0, lambda x: _loggamma_tail_of(x, c, upper=upper))


def _loggamma_tail_of(x: ArrayLike, c: ArrayLike, *, upper: bool) -> Array:
    left = x < _LEFT
    z = fnp.exp(choose(left, 0.0, x))
    near = special.gammaincc(c, z) if upper else special.gammainc(c, z)
    power = c * choose(left, x, _LEFT) - special.gammaln(c + 1)
    return choose(left, -fnp.expm1(power) if upper else fnp.exp(power), near)


def _loggamma_logcdf(x: ArrayLike, c: ArrayLike) -> Array:
    return _loggamma(x, c, 0.0, lambda x: _loggamma_logcdf_of(x, c))


def _loggamma_logcdf_of(x: ArrayLike, c: ArrayLike) -> Array:
    left = x < fnp.log(0.1 * (c + 1))
    z = select(left, x, -50.0)
    small = fnp.exp(z)
    far = c * z - special.gammaln(c + 1) - small + power_series(c, small)
    return select(left, far, log_lower(c, fnp.exp(fnp.minimum(select(left, 0.0, x), _ENDLESS))))


def _loggamma_logsf(x: ArrayLike, c: ArrayLike) -> Array:
    return choose(x > _ENDLESS, -math.inf, log_upper(c, fnp.exp(fnp.minimum(x, _ENDLESS))))


def _loggamma_quantile(q: ArrayLike, c: ArrayLike, *, upper: bool) -> Array:
    far = ((fnp.log1p(-q) if upper else fnp.log(q)) + special.gammaln(c + 1)) / c
    left = far < _LEFT
    inner = choose(left, 0.5, q)
    near = special.gammainccinv(c, inner) if upper else special.gammaincinv(c, inner)
    return choose(left, far, fnp.log(near))


loggamma = Continuous(
    "loggamma",
    "c",
    pdf=lambda x, c: _loggamma(x, c, 0.0, lambda x: fnp.exp(c * x - fnp.exp(x) - special.gammaln(c))),
    logpdf=lambda x, c: c * x - fnp.exp(x) - special.gammaln(c),
    cdf=lambda x, c: _loggamma_tail(x, c, upper=False),
    sf=lambda x, c: _loggamma_tail(x, c, upper=True),
    logcdf=_loggamma_logcdf,
    logsf=_loggamma_logsf,
    ppf=lambda q, c: _loggamma_quantile(q, c, upper=False),
    isf=lambda q, c: _loggamma_quantile(q, c, upper=True),
    mean=special.digamma,
    var=lambda c: special.polygamma(1, c),
    entropy=lambda c: gamma_entropy(c) - special.digamma(c),
)
