"""Elliptic integrals. Rules: DLMF 19.4, with Carlson's integral R_D for the difference of K and E.

``(K - E) / m = R_D(0, 1 - m, 1) / 3`` (DLMF 19.25.1) keeps its precision where ``K`` and ``E`` are nearly equal.
"""

from __future__ import annotations

import math
from typing import Any

from funcgrad._ops.elementwise.arithmetic import sqrt_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.scipys import no_rule, of_scipy, on_host, scipy_special
from funcgrad._ops.elementwise.special.series import polynomial
from funcgrad._ops.elementwise.trigonometric import sin_p
from funcgrad._types import Value


def _series() -> list[float]:
    """Return the derivative of ``(K - E) / m`` at 0 as coefficients, from those of K and E (DLMF 19.5.1, 19.5.2)."""
    found, c = [], 1.0
    for n in range(1, 22):
        c *= (2 * n - 1) / (2 * n)
        found.append(math.pi / 2 * c * c * 2 * n / (2 * n - 1) * (n - 1))
    return found[1:]


_NEAR = 0.1
_SERIES = _series()


def _difference_slope(q: Value, y: Value) -> Any:
    """Return the slope by ``q = 1 - m``; near m = 0 by a series, because the closed form cancels."""
    m = 1 - q
    near = abs(m) < _NEAR
    z, p = select(near, m, 0.0), select(near, 0.5, q)
    far = select(near, 1.0, y)
    closed = (ellipkm1_p(p) - 2 * far + (1 - p) * far) / (2 * (1 - p) * p)
    return -select(near, polynomial(_SERIES, z), closed)


elliptic_difference_p = elementwise(
    "elliptic_difference",
    "q",
    numpy=lambda q: scipy_special.elliprd(0 * q, q, 0 * q + 1) / 3,
    xla=on_host(lambda: elliptic_difference_p),
    maps=[lambda t, q, y: t * _difference_slope(q, y)],
    flops=100,
)
ellipk_p = of_scipy("ellipk", "m", [lambda t, m, y: t * ((y - elliptic_difference_p(1 - m)) / (2 * (1 - m)))])
ellipkm1_p = of_scipy("ellipkm1", "p", [lambda t, p, y: t * ((elliptic_difference_p(p) - y) / (2 * p))])
ellipe_p = of_scipy("ellipe", "m", [lambda t, m: t * (-0.5 * elliptic_difference_p(1 - m))])


def _delta(phi: Value, m: Value) -> Any:
    sine = sin_p(phi)
    return sqrt_p(1 - m * (sine * sine))


_BY_PARAMETER = "Hold m constant with fg.stop_gradient; the complete integrals, ellipk and ellipe, have a rule for it."
ellipkinc_p = of_scipy(
    "ellipkinc", "phi m", [lambda t, phi, m: t / _delta(phi, m), no_rule("ellipkinc", "m", _BY_PARAMETER)]
)
ellipeinc_p = of_scipy(
    "ellipeinc", "phi m", [lambda t, phi, m: t * _delta(phi, m), no_rule("ellipeinc", "m", _BY_PARAMETER)]
)
