"""Logarithms of the incomplete beta function, also where it underflows: the tails of beta's relatives."""

from __future__ import annotations

from typing import Any, Literal

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.beta import log_beta_power
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import choose, log_of_part, never

Exact = Literal["x", "rest", "both"]

# Below this probability the continued fraction is used. After this many pairs of terms its error is below 1e-14.
_TINY = 1e-140
_PAIRS = 12


def log_fraction(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return the logarithm of ``a beta(a, b) betainc(a, b, x) / (x^a (1 - x)^b)``, far below the mean.

    Source: DLMF 8.17.22, a continued fraction.
    """
    t: Any = 1.0
    for m in range(_PAIRS, -1, -1):
        if m < _PAIRS:
            even = ((m + 1) / (a + 2 * m + 1)) * ((b - m - 1) / (a + 2 * m + 2) * x)
            t = 1 + even / t
        t = 1 - ((a + m) / (a + 2 * m)) * ((a + b + m) / (a + 2 * m + 1) * x) / t
    return -fnp.log(t)


def log_betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike, rest: ArrayLike, exact: Exact = "x") -> Array:
    """Return ``log(betainc(a, b, x))``.

    Args:
        a: the first parameter.
        b: the second one.
        x: the point.
        rest: ``1 - x``.
        exact: which of ``x`` and ``rest`` is exact; the other one was computed from it.
    """
    both = _parts(a, b, x, rest, exact)
    far = (both[0] < _TINY) & (x > 0) & (rest > 0)
    if never(far):
        return log_of_part(*both)
    # In either branch, the points of the other one are replaced by harmless ones.
    c, d = select(far, 1.0, a + 0 * x), select(far, 1.0, b + 0 * x)
    near = log_of_part(*_parts(c, d, select(far, 0.5, x), select(far, 0.5, rest), exact))
    a, b = select(far, a + 0 * x, 1.0), select(far, b + 0 * x, 1.0)
    x, rest = select(far, x, 0.01), select(far, rest, 0.99)
    low = x < 0.5
    power = log_beta_power(select(low, a, b), select(low, b, a), select(low, x, rest))
    return select(far, power + fnp.log(x) + fnp.log(rest) - fnp.log(a) + log_fraction(a, b, x), near)


def _parts(a: ArrayLike, b: ArrayLike, x: ArrayLike, rest: ArrayLike, exact: Exact) -> tuple[Any, Any]:
    """Return both probabilities, computed from the exact point."""
    if exact == "both":
        return part_of_beta(a, b, x, rest), part_of_beta(b, a, rest, x)
    lower = special.betaincc(b, a, rest) if exact == "rest" else special.betainc(a, b, x)
    return lower, special.betaincc(a, b, x) if exact == "x" else special.betainc(b, a, rest)


def part_of_beta(a: ArrayLike, b: ArrayLike, x: ArrayLike, rest: ArrayLike) -> Array:
    """Return ``betainc(a, b, x)`` from the smaller one of ``x`` and ``rest = 1 - x``, both of which are exact.

    The density is a power of each. From a rounded 1 its derivatives would be NaN.
    """
    low = x < 0.5
    below = special.betainc(a, b, select(low, x, 0.5))
    return select(low, below, special.betaincc(b, a, select(low, 0.5, rest)))


def log_upper_t(x: ArrayLike, df: ArrayLike) -> Array:
    """Return the logarithm of the upper tail of Student's distribution."""
    far = (x > 0) & (special.stdtr(df, -x) < _TINY) & fnp.isfinite(df) & fnp.isfinite(x)
    y, d = choose(far, 0.0, x), choose(far, 1.0, df)
    near = log_of_part(special.stdtr(d, -y), special.stdtr(d, y))
    if never(far):
        return near
    y, a = select(far, x, 1e9), 0.5 * select(far, df, 20.0)
    # The square of a large point would overflow, and logarithms of a small one cancel.
    large = y > fnp.sqrt(2 * a)
    ratio = fnp.sqrt(2 * a) / y
    square = ratio * ratio
    little = select(large, 1.0, y)
    logs = select(large, fnp.log(2 * a) - 2 * fnp.log(y) - fnp.log1p(square), -fnp.log1p(little * little / (2 * a)))
    z = square / (1 + square)
    power = a * logs - 0.5 * fnp.log1p(square) - special.betaln(a, 0.5) - fnp.log(2 * a)
    return select(far, power + log_fraction(a, 0.5, z), near)
