"""Gamma-distributed numbers, and how they change with the shape parameter.

They are drawn by rejection: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), with the keys
of ``jax.random.gamma``; for parameters below 1 a sample of ``a + 1`` is multiplied by ``u ** (1 / a)`` (section 6).

A sample has no formula, but its distribution function has: with ``P(x, a)`` fixed, ``dx/da = -(dP/da) / (dP/dx)``
(Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018). What is computed is ``d log x / da``, which
has its precision where ``x`` itself is too small for the dtype.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import PerOperand, Undefined
from funcgrad._ops.elementwise.arithmetic import log_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.broadcast import batch_all
from funcgrad._ops.random.bits import as_rows, random_unit, split_rows

scipy_special = LazyModule("scipy.special")


def _normal(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """One normal number for each key."""
    one = dtype.type(1)
    least = np.nextafter(-one, dtype.type(0))
    u = np.maximum(least, random_unit(keys, 1, dtype)[:, 0] * (one - least) + least)
    return dtype.type(math.sqrt(2)) * scipy_special.erfinv(u)


def _proposals(keys: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normal numbers ``x`` with ``v = 1 + c * x`` above zero, and these."""
    x, v = np.zeros_like(c), np.full_like(c, -1)
    keys = keys.copy()
    todo = np.arange(len(c))
    while len(todo):
        pairs = split_rows(keys[todo], 2)
        keys[todo] = pairs[:, 0]
        x[todo] = _normal(pairs[:, 1], c.dtype)
        v[todo] = 1 + x[todo] * c[todo]
        todo = todo[v[todo] <= 0]
    return x, v


def _accepted(keys: np.ndarray, d: np.ndarray) -> np.ndarray:
    """``v ** 3`` of the first proposal that is accepted, for each key and parameter."""
    number = d.dtype.type
    c = number(1 / 3) / np.sqrt(d)
    y = np.ones_like(d)
    keys = keys.copy()
    # Of NaN and infinity nothing is drawn.
    todo = np.flatnonzero(np.isfinite(d))
    while len(todo):
        triples = split_rows(keys[todo], 3)
        keys[todo] = triples[:, 0]
        x, v = _proposals(triples[:, 1], c[todo])
        u = random_unit(triples[:, 2], 1, d.dtype)[:, 0]
        x, v = x * x, v * v * v
        y[todo] = v
        again = u >= 1 - number(0.0331) * (x * x)
        again &= np.log(u) >= x * number(0.5) + d[todo] * (1 - v + np.log(v))
        todo = todo[again]
    return y


def _gamma_numpy(keys: Any, a: Any, *, log_space: bool) -> Any:
    count = math.prod(a.shape[keys.ndim - 1 :])
    each = split_rows(as_rows(keys), count).reshape(-1, 2)
    with np.errstate(all="ignore"):
        return _drawn(each, a.reshape(-1), log_space).reshape(a.shape)[()]


def _drawn(keys: np.ndarray, a: np.ndarray, log_space: bool) -> np.ndarray:
    large = a >= 1
    d = np.where(large, a, a + 1) - a.dtype.type(1 / 3)
    pairs = split_rows(keys, 2)
    v = _accepted(pairs[:, 0], d)
    u = random_unit(pairs[:, 1], 1, a.dtype)[:, 0]
    if not log_space:
        return d * v * np.where(large, 1, (1 - u) ** (1 / a))
    boost = np.log1p(-u)
    return np.log(d) + np.log(v) + np.where(large | (boost == 0), 0, boost * (1 / a))


# From here on the quantile's expansion is exact to rounding, and series take a hundred terms and more.
_LARGE = 4096.0
# Where the distribution function is the first term of its series.
_TINY = 1e-30


def _series(a: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """By ``P(x, a) = x**a exp(-x) / gamma(a + 1) * sum(x**n / (a + 1) ... (a + n))`` (DLMF 8.7.1)."""
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
    """By the continued fraction of ``gamma(a, x)`` (DLMF 8.9.2), computed after Lentz together with its derivative."""
    b = x + 1 - a
    d = 1 / b
    d_slope = d * d
    h, h_slope = d, d_slope
    c, c_slope = np.full_like(a, np.inf), np.zeros_like(a)
    n, done = 0, False
    while not done:
        n += 1
        factor, b = -n * (n - a), b + 2
        # ``factor`` changes with ``a`` by ``n``, ``b`` by -1.
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
    """By the quantile of the normal distribution that belongs to ``x`` (Cornish and Fisher; A&S 26.2.49)."""
    below, above = scipy_special.gammainc(a, x), scipy_special.gammaincc(a, x)
    z = np.where(below < above, scipy_special.ndtri(below), -scipy_special.ndtri(above))
    z2, root = z * z, np.sqrt(a)
    slope = 1 + z / (2 * root) - z * (z2 - 7) / (72 * a * root) + ((3 * z2 + 7) * z2 - 16) / (810 * a * a)
    slope -= z * ((9 * z2 + 256) * z2 - 433) / (25920 * a * a * root)
    return slope / x


def _slope_numpy(a: Any, y: Any) -> Any:
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


def _slope_xla(lax: Any, a: Any, y: Any) -> Any:
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
        "random.gamma: a second derivative by the shape parameter was asked for, and there is a rule for the first "
        "alone. Differentiate by other parameters, or estimate this one from the score: the derivative of the "
        "log-density, which has all orders."
    ),
    flops=500,
)


def _gamma_rule(t: Any, a: Any, y: Any, log_space: bool) -> Any:
    if log_space:
        return t * gamma_slope_p(a, y)
    # Too small for the dtype: 0, whatever the parameter.
    zero = y == 0
    return t * select(zero, 0, y * gamma_slope_p(a, log_p(select(zero, 1, y))))


gamma_p = Primitive(
    "random_gamma",
    operands=("keys", "a"),
    numpy=_gamma_numpy,
    xla=lambda lax, keys, a, *, log_space: lax.random.gamma(keys, a, log_space),
    aval=lambda keys, a, **_: Aval(a.shape, a.dtype),
    derivative=PerOperand(("keys", "a"), [None, _gamma_rule], [None, _gamma_rule]),
    batch=batch_all(),
    cost=lambda y, keys, a, **_: 1000 * y.size,
)


def gamma(key: Any, a: Any, *, log_space: bool) -> Any:
    """A sample for each parameter, or its logarithm; keys and parameters have their leading axes in common."""
    return gamma_p(key, a, log_space=log_space)
