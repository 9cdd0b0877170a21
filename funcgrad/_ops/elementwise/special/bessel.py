"""Bessel functions. Rules: DLMF 10.6 and 10.29; by the order there is no closed rule."""

from __future__ import annotations

from typing import Any

from funcgrad._core.forms import Forms
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.arithmetic import sign_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.scipys import no_rule, of_scipy, scipy_special


def _over(y: Any, x: Any) -> Any:
    """``y / x`` for a Bessel function of order 1; its limit at 0 is one half."""
    zero = x == 0
    return select(zero, 0.5, y / select(zero, 1, x))


def _unscaled(name: str) -> Any:
    return lambda lax, x: lax.mul(lax.exp(lax.abs(x)), getattr(lax, name)(x))


i0_p = elementwise(
    "i0",
    "x",
    numpy=lambda x: scipy_special.i0(x),
    xla=_unscaled("bessel_i0e"),
    maps=[lambda t, x: t * i1_p(x)],
    flops=30,
    forms=Forms(special="i0", new_memory=True),
)
i1_p = elementwise(
    "i1",
    "x",
    numpy=lambda x: scipy_special.i1(x),
    xla=_unscaled("bessel_i1e"),
    maps=[lambda t, x, y: t * (i0_p(x) - _over(y, x))],
    flops=30,
    forms=Forms(special="i1", new_memory=True),
)
i0e_p = elementwise(
    "i0e",
    "x",
    numpy=lambda x: scipy_special.i0e(x),
    xla="bessel_i0e",
    maps=[lambda t, x, y: t * (i1e_p(x) - sign_p(x) * y)],
    flops=30,
    forms=Forms(special="i0e", new_memory=True),
)
i1e_p = elementwise(
    "i1e",
    "x",
    numpy=lambda x: scipy_special.i1e(x),
    xla="bessel_i1e",
    maps=[lambda t, x, y: t * (i0e_p(x) - sign_p(x) * y - _over(y, x))],
    flops=30,
    forms=Forms(special="i1e", new_memory=True),
)

j0_p = of_scipy("j0", "x", [lambda t, x: t * -j1_p(x)])
j1_p = of_scipy("j1", "x", [lambda t, x, y: t * (j0_p(x) - _over(y, x))])
y0_p = of_scipy("y0", "x", [lambda t, x: t * -y1_p(x)])
y1_p = of_scipy("y1", "x", [lambda t, x, y: t * (y0_p(x) - y / x)])
k0_p = of_scipy("k0", "x", [lambda t, x: t * -k1_p(x)])
k1_p = of_scipy("k1", "x", [lambda t, x, y: t * -(k0_p(x) + y / x)])
k0e_p = of_scipy("k0e", "x", [lambda t, x, y: t * (y - k1e_p(x))])
k1e_p = of_scipy("k1e", "x", [lambda t, x, y: t * (y - k0e_p(x) - y / x)])


def _of_order(name: str, sign: float, scaled: float = 0.0) -> Primitive:
    """A Bessel function of any real order: half of its lower neighbour, plus or minus half of the upper one.

    Args:
        name: SciPy's.
        sign: of both neighbours, positive where the upper one is subtracted (J, Y) and the lower one is not.
        scaled: by how much the exponential that it is multiplied by grows with ``abs(x)``.
    """
    lower, upper = (0.5, -0.5) if name in ("jv", "yv") else (0.5 * sign, 0.5 * sign)

    def by_argument(t: Any, v: Any, x: Any, y: Any) -> Any:
        slope = lower * made[0](v - 1, x) + upper * made[0](v + 1, x)
        return t * (slope + scaled * sign_p(x) * y if scaled else slope)

    made: list[Primitive] = []
    made.append(of_scipy(name, "v x", [no_rule(name, "its order"), by_argument]))
    return made[0]


jv_p = _of_order("jv", 1)
yv_p = _of_order("yv", 1)
iv_p = _of_order("iv", 1)
kv_p = _of_order("kv", -1)
ive_p = _of_order("ive", 1, -1)
kve_p = _of_order("kve", -1, 1)
