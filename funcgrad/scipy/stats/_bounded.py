"""Distributions on an interval. Formulas: Johnson, Kotz and Balakrishnan, "Continuous univariate distributions"."""

from __future__ import annotations

import math

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.beta import log_beta_power
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import choose
from funcgrad.scipy.stats._beta_tails import log_betainc
from funcgrad.scipy.stats._families import Continuous
from funcgrad.scipy.stats._line import normal_log_density
from funcgrad.scipy.stats._moments import beta_entropy


def _span(a: ArrayLike, b: ArrayLike) -> Array:
    """Return ``log(b / a)``, without overflow of the ratio."""
    logs = fnp.log(b) - fnp.log(a)
    far = abs(logs) > 300
    return choose(far, logs, fnp.log(b / choose(far, b, a)))


uniform = Continuous(
    "uniform",
    support=(0.0, 1.0),
    logpdf=lambda x: 0 * x,
    cdf=lambda x: x,
    sf=lambda x: 1 - x,
    ppf=lambda q: q,
    isf=lambda q: 1 - q,
    mean=0.5,
    var=1 / 12,
    entropy=0.0,
)
beta = Continuous(
    "beta",
    "a b",
    support=(0.0, 1.0),
    logpdf=lambda x, a, b: log_beta_power(a, b, x),
    powers=lambda x, a, b: [(x, a - 1), (1 - x, b - 1)],
    rest=lambda x, a, b: -special.betaln(a, b),
    cdf=lambda x, a, b: special.betainc(a, b, x),
    sf=lambda x, a, b: special.betaincc(a, b, x),
    logcdf=lambda x, a, b: log_betainc(a, b, x, 1 - x),
    logsf=lambda x, a, b: log_betainc(b, a, 1 - x, x, "rest"),
    ppf=lambda q, a, b: special.betaincinv(a, b, q),
    isf=lambda q, a, b: special.betainccinv(a, b, q),
    mean=lambda a, b: a / (a + b),
    var=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
    entropy=beta_entropy,
)


def _powerlaw(x: ArrayLike, a: ArrayLike) -> Array:
    """Return the logarithm of the density. As in SciPy it is 0 at 0 where its limit there is infinite."""
    left_out = (x == 0) & (a < 1)
    return choose(left_out, -math.inf, fnp.log(a) + special.xlogy(a - 1, choose(left_out, 1.0, x)))


powerlaw = Continuous(
    "powerlaw",
    "a",
    support=(0.0, 1.0),
    logpdf=_powerlaw,
    powers=lambda x, a: [(x, a - 1)],
    rest=lambda x, a: fnp.log(a),
    logcdf=lambda x, a: a * fnp.log(x),
    ppf=lambda q, a: fnp.power(q, 1 / a),
    mean=lambda a: a / (a + 1),
    var=lambda a: a / ((a + 2) * (a + 1) ** 2),
    entropy=lambda a: 1 - 1 / a - fnp.log(a),
)
loguniform = Continuous(
    "loguniform",
    "a b",
    domain=lambda a, b: (a > 0) & (b > a),
    support=lambda a, b: (a, b),
    logpdf=lambda x, a, b: -fnp.log(x) - fnp.log(_span(a, b)),
    cdf=lambda x, a, b: _span(a, x) / _span(a, b),
    sf=lambda x, a, b: _span(x, b) / _span(a, b),
    ppf=lambda q, a, b: fnp.exp(fnp.log(a) + q * _span(a, b)),
    isf=lambda q, a, b: fnp.exp(fnp.log(b) - q * _span(a, b)),
    mean=lambda a, b: (b - a) / _span(a, b),
    var=lambda a, b: (b * b - a * a) / (2 * _span(a, b)) - ((b - a) / _span(a, b)) ** 2,
    entropy=lambda a, b: 0.5 * (fnp.log(a) + fnp.log(b)) + fnp.log(_span(a, b)),
)
# Replace an infinite limit by a number beyond which there is no mass, and whose square is finite.
_FAR = 1e150


def _log_mass(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the logarithm of the mass of the normal distribution between ``a`` and ``b``, exact in the tails too."""
    a, b = fnp.clip(a, -_FAR, _FAR), fnp.clip(b, -_FAR, _FAR)
    right, left = a > 0, b <= 0
    central = fnp.logical_not(right | left)
    # The upper tail is the mirrored lower one; an interval around 0 is the complement of the two tails.
    low = select(central, -2.0, select(right, -b, a))
    high = select(central, -1.0, select(right, -a, b))
    upper = special.log_ndtr(high)
    tail = upper + fnp.log1p(-fnp.exp(special.log_ndtr(low) - upper))
    c, d = select(central, a, -1.0), select(central, b, 1.0)
    return select(central, fnp.log1p(-special.ndtr(c) - special.ndtr(-d)), tail)


def _near_one(log_part: ArrayLike, log_rest: ArrayLike) -> Array:
    """Return the logarithm of a probability near 1, from that of the complement."""
    near = log_part > -0.1
    return select(near, fnp.log1p(-fnp.exp(select(near, log_rest, -1.0))), log_part)


def _log_below(x: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    whole = _log_mass(a, b)
    return _near_one(_log_mass(a, x) - whole, _log_mass(x, b) - whole)


def _log_above(x: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    whole = _log_mass(a, b)
    return _near_one(_log_mass(x, b) - whole, _log_mass(a, x) - whole)


def _quantile(log_q: ArrayLike, log_rest: ArrayLike, a: ArrayLike, b: ArrayLike) -> Array:
    """Return the quantile, from the log of the lower part, or of the upper part for an interval above 0."""
    a, b = fnp.clip(a, -_FAR, _FAR), fnp.clip(b, -_FAR, _FAR)
    left, whole = a < 0, _log_mass(a, b)
    part = fnp.logaddexp(special.log_ndtr(select(left, a, -b)), select(left, log_q, log_rest) + whole)
    y = special.ndtri_exp(part)
    return select(left, y, -y)


truncnorm = Continuous(
    "truncnorm",
    "a b",
    domain=lambda a, b: a < b,
    support=lambda a, b: (a, b),
    logpdf=lambda x, a, b: normal_log_density(x) - _log_mass(a, b),
    logcdf=_log_below,
    logsf=_log_above,
    ppf=lambda q, a, b: _quantile(fnp.log(q), fnp.log1p(-q), a, b),
    isf=lambda q, a, b: _quantile(fnp.log1p(-q), fnp.log(q), a, b),
)
