"""Logarithms of the incomplete gamma functions, also where these underflow: the tails of gamma's relatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.gamma import log_power
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import choose, log_of_part, never

# Terms of the two series. Their errors are below 1e-14 in the regions where they are used.
_TERMS, _POWERS = 6, 16
# The asymptotic series holds if (x - a)**2 is at least this times max(x, a); the smaller part is below exp(-150).
_APART = 400.0


def _coefficients() -> list[list[int]]:
    """Return the polynomials ``P_k`` of ``r = a / x`` in DLMF 8.11.7, where ``a^k b_k`` is ``x^k P_k``."""
    # The coefficients, by powers of a, of the homogeneous polynomial u_k = x (a - x) u' + (2 k - 1) x u, u_0 = 1.
    found, u = [], [1]
    for k in range(1, _TERMS + 1):
        degree = k - 1
        powers = [degree - j for j in range(len(u))]
        u_next = [0] * k
        for j, (c, i) in enumerate(zip(u, powers, strict=True)):
            u_next[j] += c * (2 * k - 1 - i)
            if i:
                u_next[j + 1] += c * i
        u = u_next
        found.append(u)
    return found


_P = _coefficients()


def _polynomial(coefficients: list[int], x: ArrayLike) -> ArrayLike:
    y: Any = float(coefficients[-1])
    for c in coefficients[-2::-1]:
        y = y * x + float(c)
    return y


def _far(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the logarithm of the smaller part, far from ``x = a`` on either side (DLMF 8.11.6 and 8.11.7)."""
    distance = x - a
    t, r = (x / distance) / distance, a / x
    series: Any = 0.0
    for k in range(_TERMS, 0, -1):
        series = t * ((-1) ** k * _polynomial(_P[k - 1], r) + series)
    return log_power(a, x) - fnp.log(abs(distance)) + fnp.log1p(series)


def power_series(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the logarithm of ``1 + x / (a + 1) + x**2 / ((a + 1) (a + 2)) + ...``, for x below (a + 1) / 10."""
    rest: Any = 1.0
    for n in range(_POWERS, 1, -1):
        rest = 1 + x / (a + n) * rest
    return fnp.log1p(x / (a + 1) * rest)


def _chosen(
    condition: ArrayLike,
    value: Callable[[Any, Any], Any],
    point: float,
    otherwise: ArrayLike,
    a: ArrayLike,
    x: ArrayLike,
) -> Array:
    """Return ``value(a, x)`` where a condition holds, computed at ``a = 1`` and a point where it does not."""
    if never(condition):
        return otherwise
    return select(condition, value(select(condition, a, 1.0), select(condition, x, point)), otherwise)


def log_upper(a: ArrayLike, x: ArrayLike) -> Array:
    """Return ``log(gammaincc(a, x))``."""
    a = fnp.full_like(x, a) if type(a) is float else a
    far = (x > a) & (x - a > math.sqrt(_APART) * fnp.sqrt(x)) & (x < math.inf)
    b, z = choose(far, 1.0, a), choose(far, 1.0, x)
    return _chosen(far, _far, 1e4, log_of_part(special.gammaincc(b, z), special.gammainc(b, z)), a, x)


def log_lower(a: ArrayLike, x: ArrayLike) -> Array:
    """Return ``log(gammainc(a, x))``."""
    a = fnp.full_like(x, a) if type(a) is float else a
    small = (x < 0.1 * (a + 1)) & (a > 0.01) & (x > 0)
    far = (a > x) & (a - x > math.sqrt(_APART) * fnp.sqrt(a)) & fnp.logical_not(small) & (x > 0)
    near = small | far
    b, z = choose(near, 1.0, a), choose(near, 1.0, x)
    y = log_of_part(special.gammainc(b, z), special.gammaincc(b, z))
    y = _chosen(far, _far, 1e4, y, a, x)
    return _chosen(small, lambda a, x: log_power(a, x) - fnp.log(a) + power_series(a, x), 0.01, y, a, x)
