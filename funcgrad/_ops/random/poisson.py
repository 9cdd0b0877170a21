"""Poisson-distributed counts, drawn as ``jax.random.poisson`` draws them: from rates in single precision.

Below a rate of 10: count uniform numbers until their product is below ``exp(-rate)`` (Knuth, "The Art of Computer
Programming", volume 2, 3.4.1). From there on: rejection (Hormann, "The transformed rejection method for generating
Poisson random variables", 1993, algorithm PTRS).
"""

from __future__ import annotations

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.layout.broadcast import batch_all
from funcgrad._ops.random.bits import as_rows, random_unit, split_rows
from funcgrad._types import Array, Key, Value

scipy_special = LazyModule("scipy.special")

_SINGLE = np.dtype(np.float32)
_REJECTED_FROM = 10


def _product(keys: np.ndarray, rate: np.ndarray, most: int) -> np.ndarray:
    """Draw counts by products. For each key's rates ``[n, count]`` all are drawn until the last is done."""
    keys, k, product = keys.copy(), np.zeros(rate.shape, np.int64), np.zeros_like(rate)
    for _ in range(most):
        rows = np.flatnonzero((product > -rate).any(1))
        if not len(rows):
            break
        pairs = split_rows(keys[rows], 2)
        keys[rows] = pairs[:, 0]
        k[rows] += product[rows] > -rate[rows]
        product[rows] += np.log(random_unit(pairs[:, 1], rate.shape[1], _SINGLE))
    return k - 1


def _rejection(keys: np.ndarray, rate: np.ndarray, most: int) -> np.ndarray:
    """Draw counts by rejection.

    Accepted counts are drawn again while others of the same key are not accepted, as in JAX.
    """
    keys, k, accepted = keys.copy(), np.full_like(rate, -1), np.zeros(rate.shape, bool)
    for _ in range(most):
        rows = np.flatnonzero(~accepted.all(1))
        if not len(rows):
            break
        triples = split_rows(keys[rows], 3)
        keys[rows] = triples[:, 0]
        u, v = (random_unit(triples[:, i], rate.shape[1], _SINGLE) for i in (1, 2))
        found, good = _proposed(rate[rows], u - _SINGLE.type(0.5), v)
        k[rows] = np.where(good, found, k[rows])
        accepted[rows] |= good
    return k


def _proposed(rate: np.ndarray, u: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts for two uniform numbers, and whether they are accepted; the constants are the algorithm's."""
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inner = 0.5 - abs(u)
    k = np.floor((2 * a / inner + b) * u + rate + 0.43)
    height = np.log(v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (inner * inner) + b))
    # In double precision, because terms of the size of the rate almost cancel.
    exactly = rate.astype(float)
    density = -exactly + k * np.log(exactly) - scipy_special.gammaln(k.astype(float) + 1)
    quickly = (inner >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    never = (k < 0) | ((inner < 0.013) & (v > inner))
    return k, quickly | (~never & (height <= density))


def _poisson_numpy(keys: Key, rate: Array, *, dtype: np.dtype) -> Array:
    rows, most = as_rows(keys), np.iinfo(dtype).max
    flat = rate.reshape(len(rows), -1) if rate.size else np.zeros((len(rows), 0), _SINGLE)
    small = np.isnan(flat) | (flat < _REJECTED_FROM)
    with np.errstate(all="ignore"):
        few = _product(rows, np.where(small, flat, _SINGLE.type(0)), most).astype(dtype)
        # Counts that are not needed use a rate at which few proposals are rejected.
        many = _rejection(rows, np.where(small, _SINGLE.type(1e5), flat), most).astype(dtype)
    return np.where(flat == 0, dtype.type(0), np.where(small, few, many)).reshape(rate.shape)[()]


poisson_p = Primitive(
    "random_poisson",
    operands=("keys", "rate"),
    numpy=_poisson_numpy,
    xla=lambda lax, keys, rate, *, dtype: lax.random.poisson(keys, rate, dtype),
    aval=lambda keys, rate, *, dtype: Aval(rate.shape, dtype),
    derivative=CONSTANT,
    batch=batch_all(),
    cost=lambda y, keys, rate, **_: 1000 * y.size,
)


def poisson(key: Key, rate: Value, dtype: np.dtype) -> Value:
    """Return a count for each rate ``f32[...]``; keys and rates share their leading axes."""
    return poisson_p(key, rate, dtype=dtype)
