"""Bessel functions. Rules: DLMF 10.6 and 10.29. The derivative by the order has no closed rule."""

from __future__ import annotations

import math
from typing import Any

from funcgrad._core.forms import Forms
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.arithmetic import sign_p, sqrt_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.scipys import no_rule, of_scipy
from funcgrad._ops.elementwise.special.series import polynomial
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._types import Value

# ``I1(x) / x`` in powers of ``x * x`` (DLMF 10.25.2); the series of J1 has alternating signs (10.2.2).
_OVER = [0.5 * 0.25**k / (math.factorial(k) * math.factorial(k + 1)) for k in range(12)]
_OVER_J = [(-1) ** k * c for k, c in enumerate(_OVER)]
_TERMS = 13


def _over(y: Value, x: Value, coefficients: list[float], *, scaled: bool = False) -> Value:
    """Return ``y / x`` for a Bessel function of order 1.

    Near 0 it uses a series, because the quotient's derivatives cancel.
    """
    near = abs(x) < 1
    z = select(near, x, 0)
    series = polynomial(coefficients, z * z)
    return select(near, series * exp_p(-abs(z)) if scaled else series, y / select(near, 1, x))


def _i1_slope(x: Value, y: Value) -> Value:
    """Return ``I0(x) - I1(x) / x``; infinity where both overflow."""
    over = abs(y) == math.inf
    z = select(over, 1, x)
    return select(over, abs(y), i0_p(z) - _over(select(over, 1, y), z, _OVER))


def _is_far(v: Value, x: Value) -> Value:
    """Return where the terms of a scaled function's slope cancel, and its expansion is exact."""
    return x > 50 * (1 + v * v)


def _far_slope(v: Value, x: Value, kind: float) -> Value:
    """Return the derivative of the expansion of ``exp(-x) I(v, x)`` (kind -1) or ``exp(x) K(v, x)`` (1) for large x.

    DLMF 10.40.1 and 10.40.2. The difference of the neighbours and the function would lose as many digits as x has.
    """
    u, coefficient = 1 / x, 0 * v + 1
    terms: list[Any] = []
    for k in range(_TERMS):
        terms.append(-(k + 0.5) * coefficient)
        coefficient = coefficient * (kind * (4 * v * v - (2 * k + 1) ** 2) / (8 * (k + 1)))
    constant = 1 / math.sqrt(2 * math.pi) if kind < 0 else math.sqrt(math.pi / 2)
    return constant * sqrt_p(u) * u * polynomial(terms, u)


def _scaled_slope(v: float, x: Value, kind: float, near: Value) -> Value:
    """Return the derivative of a scaled function of order 0 or 1: ``near``, and far from 0 by its expansion."""
    size = abs(x)
    far = _is_far(v, size)
    slope = _far_slope(v, select(far, size, 100), kind)
    # The function of order 0 is even, so its derivative is odd; the function of order 1 is odd.
    return select(far, slope if v else slope * sign_p(x), near)


def _unscaled(name: str) -> Any:
    return lambda lax, x: lax.mul(lax.exp(lax.abs(x)), getattr(lax, name)(x))


i0_p = of_scipy(
    "i0",
    "x",
    [lambda t, x: t * i1_p(x)],
    xla=_unscaled("bessel_i0e"),
    flops=30,
    forms=Forms(special="i0", new_memory=True),
)
i1_p = of_scipy(
    "i1",
    "x",
    [lambda t, x, y: t * _i1_slope(x, y)],
    xla=_unscaled("bessel_i1e"),
    flops=30,
    forms=Forms(special="i1", new_memory=True),
)
i0e_p = of_scipy(
    "i0e",
    "x",
    [lambda t, x, y: t * _scaled_slope(0.0, x, -1, i1e_p(x) - sign_p(x) * y)],
    xla="bessel_i0e",
    flops=30,
    forms=Forms(special="i0e", new_memory=True),
)
i1e_p = of_scipy(
    "i1e",
    "x",
    [lambda t, x, y: t * _scaled_slope(1.0, x, -1, i0e_p(x) - sign_p(x) * y - _over(y, x, _OVER, scaled=True))],
    xla="bessel_i1e",
    flops=30,
    forms=Forms(special="i1e", new_memory=True),
)

j0_p = of_scipy("j0", "x", [lambda t, x: t * -j1_p(x)])
j1_p = of_scipy("j1", "x", [lambda t, x, y: t * (j0_p(x) - _over(y, x, _OVER_J))])
y0_p = of_scipy("y0", "x", [lambda t, x: t * -y1_p(x)])
y1_p = of_scipy("y1", "x", [lambda t, x, y: t * (y0_p(x) - y / x)])
k0_p = of_scipy("k0", "x", [lambda t, x: t * -k1_p(x)])
k1_p = of_scipy("k1", "x", [lambda t, x, y: t * -(k0_p(x) + y / x)])
k0e_p = of_scipy("k0e", "x", [lambda t, x, y: t * _scaled_slope(0.0, x, 1, y - k1e_p(x))])
k1e_p = of_scipy("k1e", "x", [lambda t, x, y: t * _scaled_slope(1.0, x, 1, y - k0e_p(x) - y / x)])


def _of_order(name: str, sign: float, scaled: float = 0.0) -> Primitive:
    """Return a Bessel function of any real order. Its slope is half the sum or difference of its two neighbours.

    Args:
        name: SciPy's name.
        sign: the sign of both neighbours; for J and Y the upper one is subtracted instead.
        scaled: the growth rate of the exponential factor in ``abs(x)``.
    """
    lower, upper = (0.5, -0.5) if name in ("jv", "yv") else (0.5 * sign, 0.5 * sign)

    def by_argument(t: Value, v: Value, x: Value, y: Value) -> Value:
        slope = lower * made[0](v - 1, x) + upper * made[0](v + 1, x)
        if not scaled:
            return t * slope
        far = _is_far(v, x)
        w, z = select(far, v, 0), select(far, x, 100)
        return t * select(far, _far_slope(w, z, scaled), slope + scaled * sign_p(x) * y)

    made: list[Primitive] = []
    made.append(of_scipy(name, "v x", [no_rule(name, "its order"), by_argument]))
    return made[0]


jv_p = _of_order("jv", 1)
yv_p = _of_order("yv", 1)
iv_p = _of_order("iv", 1)
kv_p = _of_order("kv", -1)
ive_p = _of_order("ive", 1, -1)
kve_p = _of_order("kve", -1, 1)
