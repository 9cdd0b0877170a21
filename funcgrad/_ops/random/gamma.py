"""Gamma-distributed numbers, and their derivative by the shape parameter.

They are drawn by rejection: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000), with the keys
of ``jax.random.gamma``. For parameters below 1 a sample of ``a + 1`` is multiplied by ``u ** (1 / a)`` (section 6).

A sample has no formula, but its distribution function has one: with ``P(x, a)`` fixed, ``dx/da = -(dP/da) / (dP/dx)``
(Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018).
"""

from __future__ import annotations

import math

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.elementwise.arithmetic import log_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.gamma_slope import gamma_slope_p
from funcgrad._ops.layout.broadcast import batch_all
from funcgrad._ops.random.bits import as_rows, random_unit, split_rows
from funcgrad._types import Array, Key, Value

scipy_special = LazyModule("scipy.special")


def _normal(keys: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return one normal number for each key."""
    one = dtype.type(1)
    least = np.nextafter(-one, dtype.type(0))
    u = np.maximum(least, random_unit(keys, 1, dtype)[:, 0] * (one - least) + least)
    return dtype.type(math.sqrt(2)) * scipy_special.erfinv(u)


def _proposals(keys: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return normal numbers ``x`` with ``v = 1 + c * x`` above zero, and ``v``."""
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
    """Return ``v ** 3`` of the first accepted proposal, for each key and parameter."""
    number = d.dtype.type
    c = number(1 / 3) / np.sqrt(d)
    y = np.ones_like(d)
    keys = keys.copy()
    # No number can be drawn for NaN and infinity.
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


def _gamma_numpy(keys: Key, a: Array, *, log_space: bool) -> Array:
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


def _gamma_rule(t: Value, a: Value, y: Value, log_space: bool) -> Value:
    if log_space:
        return t * gamma_slope_p(a, y)
    # A sample too small for the dtype is 0, and its derivative is 0.
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


def gamma(key: Key, a: Value, *, log_space: bool) -> Value:
    """Return a sample for each parameter, or its logarithm; keys and parameters share their leading axes."""
    return gamma_p(key, a, log_space=log_space)
