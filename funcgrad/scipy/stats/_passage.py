"""The first passage of Brownian motion with drift: the inverse Gaussian distribution's tails, without cancellation.

With ``z = (x / mu - 1) / sqrt(2 x)`` and ``w = (x / mu + 1) / sqrt(2 x)``, so that ``w**2 - z**2 = 2 / mu``::

    cdf(x, mu) = exp(-z**2) (erfcx(-z) + erfcx(w)) / 2
    sf(x, mu)  = exp(-z**2) (erfcx(z) - erfcx(w)) / 2

The sum cancels nowhere. The difference does for a large ``x``; there it is the integral ::

    erfcx(z) - erfcx(z + d) = 2 / sqrt(pi) integral of exp(-t**2 - 2 z t) (1 - exp(-2 d t)) over t from 0 on

Source: Chhikara and Folks, "The inverse Gaussian distribution" (1989), equation 2.8, where the second term is
``exp(2 / mu) ndtr(-sqrt(2) w)``; and DLMF 7.7.1.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.select import select
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy import special

# The integral ends where the integrand is exp(-38), about 2**-55. With 36 nodes its relative error is 6e-15.
_DEPTH = 38.0
_COUNT = 36
# Right of here the two terms of the survival function are far apart.
_LEFT = -1.0


@functools.cache
def _nodes() -> tuple[Array, Array]:
    """Return the nodes of the Gauss-Legendre rule from 0 to 1, and the weights of ``t`` times a function of ``t``."""
    nodes, weights = np.polynomial.legendre.leggauss(_COUNT)
    nodes = 0.5 * (nodes + 1)
    return nodes, 0.5 * weights * nodes


def _log_integral(z: Array, d: Array) -> Any:
    """Return the logarithm of ``erfcx(z) - erfcx(z + d)`` by quadrature, for a ``d`` of the size of ``z`` or below."""
    nodes, weights = [fnp.asarray(each, z.dtype) for each in _nodes()]
    end = _DEPTH / (z + fnp.sqrt(z * z + _DEPTH))
    t = end[..., None] * nodes
    terms = fnp.exp(-t * (t + 2 * z[..., None])) * special.exprel(-2 * d[..., None] * t) * weights
    return fnp.log(d * (4 / math.sqrt(math.pi))) + 2 * fnp.log(end) + fnp.log(fnp.sum(terms, -1))


def _log_difference(z: Array, w: Array, d: Array) -> Any:
    """Return the logarithm of ``erfcx(z) - erfcx(w)`` for ``w = z + d``."""
    near = d < z + fnp.sqrt(z * z + 1)
    integral = _log_integral(select(near, z, 1.0), select(near, d, 1.0))
    return select(near, integral, fnp.log(special.erfcx(select(near, 0.0, z)) - special.erfcx(select(near, 1.0, w))))


def squared(x: ArrayLike, mu: ArrayLike) -> Any:
    """Return ``(x / mu - 1)**2 / (2 x)``. In this form the second derivative by ``x`` loses no digits for a large x."""
    return 0.5 * (x / mu - 1) * (1 / mu - 1 / x)


def log_passage(x: ArrayLike, mu: ArrayLike, upper: bool) -> Any:
    """Return the logarithm of the probability that the motion has not (``upper``), or has, arrived by ``x``."""
    begin, end = x == 0, x == math.inf
    time = select(begin | end, 1.0, x)
    root = fnp.sqrt(2 * time)
    z, w, d = fnp.broadcast_arrays((time / mu - 1) / root, (time / mu + 1) / root, math.sqrt(2) / fnp.sqrt(time))
    square = squared(time, mu)
    left = z < (_LEFT if upper else 0.0)
    # Each formula reads only the points for which it is meant.
    z_left, z_right = select(left, z, _LEFT), select(left, 1.0, z)
    w_left, w_right = select(left, w, 1.0), select(left, 2.0, w)
    lower_tail = fnp.log(0.5 * (special.erfcx(-z_left) + special.erfcx(w_left))) - square
    upper_tail = _log_difference(z_right, w_right, select(left, 1.0, d)) - math.log(2) - square
    if upper:
        inside = select(left, fnp.log1p(-fnp.exp(lower_tail)), upper_tail)
        return select(begin, 0.0, select(end, -math.inf, inside))
    inside = select(left, lower_tail, fnp.log1p(-fnp.exp(upper_tail)))
    return select(begin, -math.inf, select(end, 0.0, inside))
