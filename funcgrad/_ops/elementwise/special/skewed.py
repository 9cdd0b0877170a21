"""The skewed normal distribution function and its logarithm, which is accurate where the function underflows.

The density is ``2 phi(x) ndtr(a x)``. With ``w = sqrt(1 + a**2)``, ``tau = -x w`` and ``d = a / w`` its lower tail is::

    cdf(x, a) = exp(-tau**2 / 2) / (w sqrt(2 pi)) I
    I = integral of exp(-tau v - v**2 / 2) erfcx(d (tau + v) / sqrt(2)) over v from 0 on

for positive ``a``. For a negative one it is ``2 ndtr(x) - cdf(x, -a)``.
Source: Azzalini, Scandinavian Journal of Statistics 12 (1985); its derivative by ``a`` is that of Owen's T.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.special.normal import hazard, ndtr_p
from funcgrad._ops.elementwise.special.scipys import on_host, scipy_special
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._types import Array, Value

scipy_stats = LazyModule("scipy.stats")

_ROOT_TAU = math.sqrt(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
# From this ``tau`` on Owen's T cancels in SciPy's function: it keeps two digits fewer here.
_FAR = 2.0
# The integral ends where the integrand is exp(-36), about 2**-52. With 32 nodes its relative error is 1e-14.
_DEPTH = 72.0
_COUNT = 32


@functools.cache
def _nodes() -> tuple[Array, Array]:
    """Return the nodes and weights of the Gauss-Legendre rule on the interval from 0 to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(_COUNT)
    return 0.5 * (nodes + 1), 0.5 * weights


def _integral(tau: Array, d: Array) -> Array:
    """Return the integral ``I``."""
    nodes, weights = _nodes()
    end = _DEPTH / (tau + np.sqrt(tau * tau + _DEPTH))
    total = np.zeros_like(tau)
    for node, weight in zip(nodes, weights, strict=True):
        v = end * node
        total += weight * np.exp(-v * (tau + 0.5 * v)) * scipy_special.erfcx(d * (tau + v) * _ROOT_HALF)
    return end * total


def _light(x: Array, a: Array) -> tuple[Array, Array]:
    """Return the logarithm of the function, and the density over it, for negative ``x`` and positive ``a``."""
    w = np.hypot(1.0, a)
    tau, d = -x * w, a / w
    part = _integral(tau, d)
    logarithm = -0.5 * tau * tau - np.log(_ROOT_TAU * w) + np.log(part)
    return logarithm, w * scipy_special.erfcx(d * tau * _ROOT_HALF) / part


def _tail(x: Array, a: Array) -> tuple[Array, Array]:
    """Return the logarithm of the function, and the density over it, where `_is_far` holds."""
    logarithm, ratio = _light(x, np.abs(a))
    whole = scipy_special.log_ndtr(x)
    # The share of the light tail in the normal one.
    share = np.exp(np.where(whole > -math.inf, logarithm - whole, 0.0))
    density = 2 * scipy_special.ndtr(a * x) / (_ROOT_HALF * math.sqrt(math.pi) * scipy_special.erfcx(-x * _ROOT_HALF))
    heavy = a < 0
    return (
        np.where(heavy, whole + np.log(2 - share), logarithm),
        np.where(heavy, density / (2 - share), ratio),
    )


def _is_far(x: Array, a: Array) -> Array:
    """Return whether the tail's formulas are needed. For a negative ``a`` only the normal tail underflows."""
    return (x < 0) & (-x * np.where(a > 0, np.hypot(1.0, a), 1.0) > _FAR) & np.isfinite(x) & np.isfinite(a)


def _as_doubles(x: Array, a: Array) -> tuple[Array, Array, np.dtype]:
    dtype = np.result_type(x, a)
    x, a = np.broadcast_arrays(np.asarray(x, float), np.asarray(a, float))
    return x, a, dtype


def _cdf(x: Array, a: Array) -> Array:
    x, a, dtype = _as_doubles(x, a)
    with np.errstate(all="ignore"):
        y = np.asarray(scipy_stats.skewnorm.cdf(x, a))
        far = _is_far(x, a)
        if far.any():
            y = np.array(y)
            y[far] = np.exp(_tail(x[far], a[far])[0])
        return y.astype(dtype)[()]


def _log_cdf(x: Array, a: Array) -> Array:
    x, a, dtype = _as_doubles(x, a)
    with np.errstate(all="ignore"):
        lower, upper = scipy_stats.skewnorm.cdf(x, a), _cdf(-x, -a)
        y = np.asarray(np.where(lower < 0.5, np.log(lower), np.log1p(-upper)))
        far = _is_far(x, a)
        y[far] = _tail(x[far], a[far])[0]
        return y.astype(dtype)[()]


def _ratio(x: Array, a: Array) -> Array:
    x, a, dtype = _as_doubles(x, a)
    with np.errstate(all="ignore"):
        far = _is_far(x, a)
        density = 2 / _ROOT_TAU * np.exp(-0.5 * x * x) * scipy_special.ndtr(a * x)
        y = np.asarray(density / scipy_stats.skewnorm.cdf(x, a))
        y[far] = _tail(x[far], a[far])[1]
        return y.astype(dtype)[()]


def _by_skewness(x: Value, a: Value) -> Value:
    """Return the derivative of the logarithm by ``a``, without the ratio as a factor."""
    return -hazard(a * x) / (1 + a * a)


skewed_ndtr_p = elementwise(
    "skewed_ndtr",
    "x a",
    numpy=_cdf,
    xla=on_host(lambda: skewed_ndtr_p),
    maps=[
        lambda t, x, a: t * (2 / _ROOT_TAU * exp_p(-0.5 * (x * x)) * ndtr_p(a * x)),
        lambda t, x, a: t * (exp_p(-0.5 * (x * x) * (1 + a * a)) / (-math.pi * (1 + a * a))),
    ],
    flops=2000,
)
# The density over the distribution function.
skewed_ratio_p = elementwise(
    "skewed_ratio",
    "x a",
    numpy=_ratio,
    xla=on_host(lambda: skewed_ratio_p),
    maps=[
        lambda t, x, a, y: t * (y * (a * hazard(a * x) - x - y)),
        lambda t, x, a, y: t * (y * (x * hazard(a * x) - y * _by_skewness(x, a))),
    ],
    flops=2000,
)
log_skewed_ndtr_p = elementwise(
    "log_skewed_ndtr",
    "x a",
    numpy=_log_cdf,
    xla=on_host(lambda: log_skewed_ndtr_p),
    maps=[
        lambda t, x, a: t * skewed_ratio_p(x, a),
        lambda t, x, a: t * (skewed_ratio_p(x, a) * _by_skewness(x, a)),
    ],
    flops=2000,
)
