"""Products with logarithms of which one factor may be 0, and exponential quotients with a small denominator."""

from __future__ import annotations

import math

import numpy as np

from funcgrad._core.forms import Forms
from funcgrad._ops.elementwise.arithmetic import log_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.scipys import of_scipy, scipy_special
from funcgrad._ops.elementwise.special.series import polynomial
from funcgrad._ops.elementwise.transcendental import exp_p, log1p_p
from funcgrad._ops.elementwise.trigonometric import sin_p
from funcgrad._types import Array, Lax, Value

logit_p = elementwise(
    "logit",
    "x",
    numpy=lambda x: scipy_special.logit(x),
    xla=lambda lax, x: lax.sub(lax.log(x), lax.log1p(lax.neg(x))),
    # The reciprocal of x * (1 - x) would overflow in the second derivative near 0.
    maps=[lambda t, x: t * (1 / x + 1 / (1 - x))],
    flops=20,
    forms=Forms(special="logit", new_memory=True),
)


def _zero_unless(lax: Lax, a: Value, product: Value, b: Value) -> Value:
    """Return 0 where ``a`` is 0, for every logarithm except that of NaN; else the product."""
    zero = lax.full_like(a, 0)
    return lax.select(lax.bitwise_and(lax.eq(a, zero), lax.eq(b, b)), zero, product)


def _quotient(a: Value, b: Value) -> Value:
    """Return ``a / b``, and 0 for 0 / 0."""
    return a / select((a == 0) & (b == 0), 1, b)


xlogy_p = elementwise(
    "xlogy",
    "a b",
    numpy=lambda a, b: scipy_special.xlogy(a, b),
    xla=lambda lax, a, b: _zero_unless(lax, a, lax.mul(a, lax.log(b)), b),
    maps=[lambda t, b: t * log_p(b), lambda t, a, b: t * _quotient(a, b)],
    flops=12,
    forms=Forms(special="xlogy", new_memory=True),
)
xlog1py_p = elementwise(
    "xlog1py",
    "a b",
    numpy=lambda a, b: scipy_special.xlog1py(a, b),
    xla=lambda lax, a, b: _zero_unless(lax, a, lax.mul(a, lax.log1p(b)), b),
    maps=[lambda t, b: t * log1p_p(b), lambda t, a, b: t * _quotient(a, 1 + b)],
    flops=12,
    forms=Forms(special="xlog1py", new_memory=True),
)


def _entr_xla(lax: Lax, x: Array) -> Array:
    zero = lax.full_like(x, 0)
    positive = lax.neg(lax.mul(x, lax.log(x)))
    return lax.select(lax.lt(x, zero), lax.full_like(x, -np.inf), lax.select(lax.eq(x, zero), zero, positive))


entr_p = elementwise(
    "entr",
    "x",
    numpy=lambda x: scipy_special.entr(x),
    xla=_entr_xla,
    maps=[lambda t, x: t * (-1 - log_p(x))],
    flops=12,
    forms=Forms(special="entr", new_memory=True),
)

# A series in x replaces the closed form where its terms cancel (DLMF 4.2.19).
EXPREL_SLOPE = [1 / (math.factorial(k) * (k + 2)) for k in range(19)]


def exprel_slope(x: Value) -> Value:
    """Return the derivative of ``expm1(x) / x``."""
    near, right, huge = abs(x) < 1, x >= 1, x > 1e10
    z, left, middle = select(near, x, 0.0), select(x > -1, -1.0, x), select(right & (x <= 1e10), x, 1.0)
    # The exponential may overflow for large x; a difference of infinities would be NaN.
    above = exprel_p(middle) * (1 - 1 / middle) + 1 / middle
    above = select(huge, exprel_p(select(huge, x, 1.0)), above)
    below = (exp_p(left) - exprel_p(left)) / left
    return select(near, polynomial(EXPREL_SLOPE, z), select(right, above, below))


def _exprel_xla(lax: Lax, x: Array) -> Array:
    zero, one = lax.full_like(x, 0), lax.full_like(x, 1)
    at_zero, infinite = lax.eq(x, zero), lax.eq(x, lax.full_like(x, np.inf))
    y = lax.div(lax.expm1(x), lax.select(at_zero, one, x))
    return lax.select(at_zero, one, lax.select(infinite, x, y))


def _cosm1_xla(lax: Lax, x: Array) -> Array:
    half = lax.sin(lax.mul(x, lax.full_like(x, 0.5)))
    return lax.mul(lax.full_like(x, -2), lax.mul(half, half))


exprel_p = of_scipy("exprel", "x", [lambda t, x: t * exprel_slope(x)], xla=_exprel_xla, flops=20)
cosm1_p = of_scipy("cosm1", "x", [lambda t, x: t * -sin_p(x)], xla=_cosm1_xla, flops=20)
