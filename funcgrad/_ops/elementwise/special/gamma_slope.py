"""The derivative of a quantile of the gamma distribution by the shape parameter.

With the distribution function ``P(x, a)`` fixed, ``dx/da = -(dP/da) / (dP/dx)`` (Figurnov, Mohamed and Mnih, "Implicit
reparameterization gradients", 2018). The functions compute ``d log x / da``, which is accurate even where ``x`` itself
is too small for the dtype.
"""

from __future__ import annotations

import numpy as np

from funcgrad._core.trace.derivative import Undefined
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.special.scipys import scipy_special
from funcgrad._types import Array, Lax

# From here on the quantile's expansion is exact to rounding, and a series needs a hundred terms and more.
_LARGE = 4096.0
# Below this, the distribution function equals the first term of its series.
_TINY = 1e-30


def _series(a: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Use ``P(x, a) = x**a exp(-x) / gamma(a + 1) * sum(x**n / (a + 1) ... (a + n))`` (DLMF 8.7.1)."""
    term, total = np.ones_like(a), np.ones_like(a)
    reciprocals, slope = np.zeros_like(a), np.zeros_like(a)
    n = 0
    # The slope's terms are those of the sum times harmonic numbers.
    while np.any(term * (1 + reciprocals) > 1e-17 * total):
        n += 1
        term = term * (x / (a + n))
        reciprocals += 1 / (a + n)
        total += term
        slope -= term * reciprocals
    return ((scipy_special.psi(a + 1) - y) * total - slope) / a


def _fraction(a: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Use the continued fraction of ``gamma(a, x)`` (DLMF 8.9.2) and its derivative, by Lentz's method."""
    b = x + 1 - a
    d = 1 / b
    d_slope = d * d
    h, h_slope = d, d_slope
    c, c_slope = np.full_like(a, np.inf), np.zeros_like(a)
    n, done = 0, False
    while not done:
        n += 1
        factor, b = -n * (n - a), b + 2
        # The derivative of ``factor`` by ``a`` is ``n``, that of ``b`` is -1.
        c_slope = -1 + n / c - factor * (c_slope / c) / c
        c = b + factor / c
        d_slope = -(n * d + factor * d_slope - 1)
        d = 1 / (factor * d + b)
        d_slope = d_slope * d * d
        step, step_slope = c * d, c_slope * d + c * d_slope
        h, h_slope = h * step, h_slope * step + h * step_slope
        done = np.all((abs(step - 1) < 1e-15) & (abs(h * step_slope) <= 1e-15 * abs(h_slope) + 1e-300)) or n > 10_000
    return (y - scipy_special.psi(a)) * h + h_slope


def _expansion(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Use the normal quantile of the same probability as ``x`` (Cornish and Fisher; A&S 26.2.49)."""
    below, above = scipy_special.gammainc(a, x), scipy_special.gammaincc(a, x)
    z = np.where(below < above, scipy_special.ndtri(below), -scipy_special.ndtri(above))
    z2, root = z * z, np.sqrt(a)
    slope = 1 + z / (2 * root) - z * (z2 - 7) / (72 * a * root) + ((3 * z2 + 7) * z2 - 16) / (810 * a * a)
    slope -= z * ((9 * z2 + 256) * z2 - 433) / (25920 * a * a * root)
    return slope / x


def _slope_numpy(a: Array, y: Array) -> Array:
    dtype = np.result_type(a, y)
    a, y = np.broadcast_arrays(np.asarray(a, float), np.asarray(y, float))
    out = np.full(a.shape, np.nan)
    with np.errstate(all="ignore"):
        x = np.exp(y)
        known = np.isfinite(a) & np.isfinite(y) & (a > 0)
        large = known & (a >= _LARGE)
        small = known & ~large & (x < _TINY)
        series = known & ~large & ~small & (x <= a + 1)
        fraction = known & ~large & (x > a + 1)
        out[large] = _expansion(a[large], x[large])
        out[small] = (scipy_special.psi(a[small] + 1) - y[small]) / a[small]
        out[series] = _series(a[series], x[series], y[series])
        out[fraction] = _fraction(a[fraction], x[fraction], y[fraction])
    return out.astype(dtype)[()]


def _slope_xla(lax: Lax, a: Array, y: Array) -> Array:
    x = lax.exp(y)
    small = lax.lt(x, lax.full_like(x, _TINY))
    first = lax.div(lax.sub(lax.digamma(lax.add(a, lax.full_like(a, 1))), y), a)
    inner = lax.select(small, lax.full_like(x, 1), x)
    return lax.select(small, first, lax.div(lax.random_gamma_grad(a, inner), inner))


gamma_slope_p = elementwise(
    "gamma_slope",
    "a y",
    numpy=_slope_numpy,
    xla=_slope_xla,
    maps=Undefined(
        "the gamma distribution (random.gamma, gammainc): a second derivative by the shape parameter was asked for, "
        "but there is a rule for the first one only. Differentiate by other parameters, or estimate it from the score: "
        "the derivative of the log-density, which has all orders."
    ),
    flops=500,
)
