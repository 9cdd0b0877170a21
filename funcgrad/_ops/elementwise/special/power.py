"""The transformations of Box and Cox, relative entropies and the pseudo-Huber loss.

Each derivative has a formula of its own. Differentiating the formula of the value would subtract large numbers:
``boxcox(1e-8, 3)`` is -1/3 to the last digit, and its derivative is 1e-16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.forms import NEW_MEMORY
from funcgrad._ops.elementwise.arithmetic import log_p, pow_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.entropy import EXPREL_SLOPE
from funcgrad._ops.elementwise.special.scipys import of_scipy, scipy_special
from funcgrad._ops.elementwise.special.series import LOG1PREL_SLOPE, polynomial
from funcgrad._ops.elementwise.transcendental import exp_p, hypot_p, hypot_xla, log1p_p
from funcgrad._types import Array, Lax, Value

# ``expm1(u) / u`` and ``log1p(u) / u`` are 1 in every dtype below this.
_NOTHING = 1e-18


def _is_plain(lax: Lax, u: Value, lmbda: Value) -> Value:
    little = lax.lt(lax.abs(u), lax.full_like(u, _NOTHING))
    return lax.bitwise_or(little, lax.eq(lmbda, lax.full_like(lmbda, 0)))


def _boxcox_xla(lax: Lax, logarithm: Array, lmbda: Array) -> Array:
    """Return the value by SciPy's branches, from ``log(x)``."""
    u, one = lax.mul(lmbda, logarithm), lax.full_like(lmbda, 1)
    plain = _is_plain(lax, u, lmbda)
    safe = lax.select(plain, one, lmbda)
    near = lax.div(lax.expm1(u), safe)
    shifted = lax.exp(lax.sub(u, lax.log(lax.abs(safe))))
    far = lax.sub(lax.mul(lax.sign(safe), shifted), lax.div(one, safe))
    overflows = lax.eq(lax.abs(near), lax.full_like(near, np.inf))
    return lax.select(plain, logarithm, lax.select(overflows, far, near))


def _boxcox_by_lmbda(t: Value, base: Value, logarithm: Value, lmbda: Value, y: Value) -> Value:
    """Return the derivative of ``expm1(u) / lmbda`` by ``lmbda``, for ``u = lmbda * log(base)``.

    For a base of 0 it returns the limits.
    """
    u = lmbda * logarithm
    # If the power is 0 or the logarithm infinite, the slope is its limit.
    at_zero = base == 0
    low, high = (u < -800) | (at_zero & (lmbda > 0)), (u > 0) & (abs(y) == np.inf)
    endless = (abs(logarithm) == np.inf) | at_zero
    inner = select(low | high | endless, 0, logarithm)
    near, right = abs(lmbda * inner) < 1, lmbda * inner >= 1
    square = inner * inner * polynomial(EXPREL_SLOPE, select(near, lmbda * inner, 0))
    m, far = select(near, 1, lmbda), select(near, 0, inner)
    power = exp_p(m * far)
    above = (power * (far - 1 / m) + 1 / m) / m
    below = (power * far - select(near, 0, (power - 1) / m)) / m
    slope = select(near, square, select(right, above, below))
    end = select(low, lmbda, 1)
    growth = exp_p(select(high, u, 0))
    return t * select(low, 1 / (end * end), select(high, growth, select(endless, np.inf, slope)))


boxcox_p = of_scipy(
    "boxcox",
    "x lmbda",
    [
        lambda t, x, lmbda: t * pow_p(x, lmbda - 1),
        lambda t, x, lmbda, y: _boxcox_by_lmbda(t, x, log_p(select(x == 0, 1, x)), lmbda, y),
    ],
    xla=lambda lax, x, lmbda: _boxcox_xla(lax, lax.log(x), lmbda),
    flops=30,
)
boxcox1p_p = of_scipy(
    "boxcox1p",
    "x lmbda",
    [
        lambda t, x, lmbda: t * pow_p(1 + x, lmbda - 1),
        lambda t, x, lmbda, y: _boxcox_by_lmbda(t, 1 + x, log1p_p(select(x == -1, 0, x)), lmbda, y),
    ],
    xla=lambda lax, x, lmbda: _boxcox_xla(lax, lax.log1p(x), lmbda),
    flops=30,
)


def _inverse_log_xla(lax: Lax, y: Array, lmbda: Array) -> Array:
    """Return ``log1p(lmbda * y) / lmbda`` by SciPy's branches."""
    v, one = lax.mul(lmbda, y), lax.full_like(lmbda, 1)
    plain = _is_plain(lax, v, lmbda)
    safe = lax.select(plain, one, lmbda)
    near = lax.div(lax.log1p(v), safe)
    size = lax.mul(lax.sign(safe), lax.add(y, lax.div(one, safe)))
    far = lax.div(lax.add(lax.log(size), lax.log(lax.abs(safe))), safe)
    overflows = lax.eq(v, lax.full_like(v, np.inf))
    return lax.select(plain, y, lax.select(overflows, far, near))


def _inverse_by_point(t: Value, b: Value, lmbda: Value) -> Any:
    end = lmbda * b == -1
    inner, exponent = select(end, 0, b), select(end, lmbda, 1)
    return t * select(end, pow_p(0 * inner, 1 / exponent - 1), inv_boxcox_p(inner, lmbda) / (1 + lmbda * inner))


def _inverse_by_lmbda(t: Value, b: Value, lmbda: Value) -> Any:
    v = lmbda * b
    near = abs(v) < 0.1
    series = b * (b * polynomial(LOG1PREL_SLOPE, select(near, v, 0)))
    m, far = select(near, 1, lmbda), select(near, 0, b)
    closed = (far / (1 + m * far) - log1p_p(m * far) / m) / m
    return t * (inv_boxcox_p(b, lmbda) * select(near, series, closed))


inv_boxcox_p = of_scipy(
    "inv_boxcox",
    "b lmbda",
    [_inverse_by_point, _inverse_by_lmbda],
    xla=lambda lax, b, lmbda: lax.exp(_inverse_log_xla(lax, b, lmbda)),
    flops=30,
)


def _inv_boxcox1p_numpy(b: Array, lmbda: Array) -> Array:
    # SciPy's value for a tiny product is ``b`` in place of ``expm1(b)``. For ``lmbda = 0`` it is right.
    plain = abs(lmbda) < _NOTHING / np.maximum(abs(b), 1)
    return scipy_special.inv_boxcox1p(b, np.where(plain, 0, lmbda).astype(np.result_type(b, lmbda)))


inv_boxcox1p_p = elementwise(
    "inv_boxcox1p",
    "b lmbda",
    numpy=_inv_boxcox1p_numpy,
    xla=lambda lax, b, lmbda: lax.expm1(_inverse_log_xla(lax, b, lmbda)),
    maps=[_inverse_by_point, _inverse_by_lmbda],
    flops=30,
    forms=NEW_MEMORY,
)


def _log_ratio(x: Value, y: Value) -> Value:
    """Return ``log(x / y)`` of positive numbers, accurate even where the quotient overflows or is nearly 1."""
    near = (0.5 * x < y) & (0.5 * y < x)
    p, q = select(near, x, 1), select(near, y, 1)
    return select(near, log1p_p((p - q) / q), log_p(x) - log_p(y))


def _one_minus_ratio(p: Value, q: Value) -> Value:
    """Return ``1 - p / q``; near p = q as the difference over q, which does not cancel."""
    near = (0.5 * p < q) & (0.5 * q < p)
    return select(near, (select(near, q, 1) - select(near, p, 1)) / select(near, q, 1), 1 - p / q)


def _rel_entr_xla(lax: Lax, x: Array, y: Array) -> Array:
    ratio = lax.div(x, y)
    near = lax.bitwise_and(lax.gt(ratio, lax.full_like(x, 0.5)), lax.lt(ratio, lax.full_like(x, 2)))
    close = lax.log1p(lax.div(lax.sub(x, y), y))
    product = lax.mul(x, lax.select(near, close, lax.sub(lax.log(x), lax.log(y))))
    return lax.select(lax.eq(x, lax.full_like(x, 0)), x, product)


# For p >= 0 and q > 0 only; the public functions handle other numbers.
rel_entr_p = of_scipy(
    "rel_entr",
    "p q",
    [lambda t, p, q: t * (_log_ratio(p, q) + 1), lambda t, p, q: t * -(p / q)],
    xla=_rel_entr_xla,
    flops=30,
)


# ``atanh(v) / v - 1`` in powers of ``v * v``, without the first power.
_ATANH = [1 / (2 * j + 1) for j in range(1, 11)]


def _kl_div_numpy(p: Array, q: Array) -> Array:
    # The difference over the sum; the sum of huge numbers would overflow.
    half = 0.5 * (p - q)
    v = half / (q + half)
    square = v * v
    series = _ATANH[-1]
    for coefficient in reversed(_ATANH[:-1]):
        series = series * square + coefficient
    near = (p - q) * v + p * (2 * v) * (square * series)
    return np.where(abs(v) < 0.1, near, rel_entr_p.numpy(p, q) - p + q)[()]


def kl_div_xla(lax: Lax, p: Array, q: Array) -> Array:
    half = lax.mul(lax.full_like(p, 0.5), lax.sub(p, q))
    v = lax.div(half, lax.add(q, half))
    square, series = lax.mul(v, v), lax.full_like(v, 0)
    for coefficient in reversed(_ATANH):
        series = lax.add(lax.mul(series, square), lax.full_like(v, coefficient))
    terms = lax.mul(lax.mul(p, lax.mul(lax.full_like(v, 2), v)), lax.mul(square, series))
    near = lax.add(lax.mul(lax.sub(p, q), v), terms)
    far = lax.add(lax.sub(_rel_entr_xla(lax, p, q), p), q)
    return lax.select(lax.lt(lax.abs(v), lax.full_like(v, 0.1)), near, far)


# Near p = q the terms cancel, so it uses Loader, "Fast and accurate computation of binomial probabilities" (2000).
kl_div_p = elementwise(
    "kl_div",
    "p q",
    numpy=_kl_div_numpy,
    xla=kl_div_xla,
    maps=[lambda t, p, q: t * _log_ratio(p, q), lambda t, p, q: t * _one_minus_ratio(p, q)],
    flops=30,
)


def _excess(delta: Value, r: Value, length: Any) -> Value:
    """Return ``hypot(delta, r) - delta``."""
    return r * (r / (delta + length))


def _pseudo_huber_by_delta(t: Value, delta: Value, r: Value) -> Any:
    length = hypot_p(delta, r)
    excess = _excess(delta, r, length)
    return t * (excess * (excess / length))


def _pseudo_huber_xla(lax: Lax, delta: Array, r: Array) -> Array:
    length = hypot_xla(lax, delta, r)
    return lax.mul(delta, lax.mul(r, lax.div(r, lax.add(delta, length))))


# For positive ``delta`` and nonzero ``r``.
pseudo_huber_p = elementwise(
    "pseudo_huber",
    "delta r",
    numpy=lambda delta, r: delta * _excess(delta, r, np.hypot(delta, r)),
    xla=_pseudo_huber_xla,
    maps=[_pseudo_huber_by_delta, lambda t, delta, r: t * (delta * (r / hypot_p(delta, r)))],
    flops=20,
)
