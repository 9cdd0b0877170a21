"""Moments and entropies whose terms cancel for large shapes; series of DLMF 5.11 replace them there."""

from __future__ import annotations

import math

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import choose

# Above this shape the first omitted term of a series is below the rounding.
_LARGE = 250.0


def gamma_entropy(a: ArrayLike) -> Array:
    """Return the entropy of the gamma distribution, ``a + log(gamma(a)) + (1 - a) digamma(a)``."""
    large = a > _LARGE
    c, z = choose(large, 1.0, a), 1 / choose(large, a, 2 * _LARGE)
    near = c + special.gammaln(c) + (1 - c) * special.digamma(c)
    far = 0.5 * (1 + math.log(2 * math.pi) - fnp.log(z)) - z * (1 / 3 + z * (1 / 12 + z * (1 / 90 - z / 120)))
    return choose(large, far, near)


def beta_entropy(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the entropy of the beta distribution; for large shapes from small gamma entropies."""
    large = a + b > _LARGE
    c, d = choose(large, 1.0, a), choose(large, 1.0, b)
    near = special.betaln(c, d) - (
        (c - 1) * special.digamma(c) + (d - 1) * special.digamma(d) - (c + d - 2) * special.digamma(c + d)
    )
    c, d = choose(large, a, 2 * _LARGE), choose(large, b, 2 * _LARGE)
    far = gamma_entropy(c) + gamma_entropy(d) - gamma_entropy(c + d) - special.digamma(c + d)
    return choose(large, far, near)


def t_entropy(df: ArrayLike) -> Array:
    """Return the entropy of Student's distribution."""
    large = df > _LARGE
    d, z = choose(large, 1.0, df), 1 / choose(large, df, 2 * _LARGE)
    half, more = 0.5 * d, 0.5 * (d + 1)
    near = more * (special.digamma(more) - special.digamma(half)) + 0.5 * fnp.log(d) + special.betaln(half, 0.5)
    rest = z * (1 + z * (1 / 4 - z * (1 / 6 + z * (1 / 8 - z * (3 / 10 + z / 4)))))
    return choose(large, 0.5 * (1 + math.log(2 * math.pi)) + rest, near)


def half_step(a: ArrayLike) -> Array:
    """Return ``gamma(a + 1/2) / (gamma(a) sqrt(a)) - 1``, which goes to 0 as ``a`` grows."""
    large = a > _LARGE
    c, z = choose(large, 1.0, a), 1 / choose(large, a, 2 * _LARGE)
    near = fnp.expm1(special.gammaln(c + 0.5) - special.gammaln(c) - 0.5 * fnp.log(c))
    return choose(large, -z * (1 / 8 - z * (1 / 128 + z * (5 / 1024 - z * 21 / 32768))), near)


def mean_of_root(a: ArrayLike) -> Array:
    """Return the mean of the square root of a gamma variable over the square root of its mean."""
    return 1 + half_step(a)


def variance_of_root(a: ArrayLike) -> Array:
    """Return ``1 - mean_of_root(a) ** 2`` without the cancellation."""
    less = half_step(a)
    return -less * (2 + less)
