"""The exponential integrals, and Spence's function. Rules: DLMF 6.2, 8.19.13, 25.12.2."""

from __future__ import annotations

from funcgrad._ops.elementwise.arithmetic import log_p, max_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.scipys import of_scipy
from funcgrad._ops.elementwise.special.series import log1prel
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._types import Value


def _lower_order(n: Value, x: Value, y: Value) -> Value:
    """Return the function of the next lower order; below order 0 it is ``exp(-x) (1 + 1/x) / x``."""
    return select(n < 1, y * (1 + 1 / x), expn_p(max_p(n - 1, 0.0), x))


exp1_p = of_scipy("exp1", "x", [lambda t, x: t * (-exp_p(-x) / x)])
expi_p = of_scipy("expi", "x", [lambda t, x: t * (exp_p(x) / x)])
# The order is an integer, so it has no derivative.
expn_p = of_scipy("expn", "n x", [None, lambda t, n, x, y: t * -_lower_order(n, x, y)])


def _spence_slope(x: Value) -> Value:
    """Return ``-log(x) / (x - 1)``. Near 0 the difference ``x - 1`` has lost the digits of x."""
    near = abs(x - 1) < 0.1
    z, far = select(near, x, 1), select(near, 2, x)
    return -select(near, log1prel(z - 1), log_p(far) / (far - 1))


spence_p = of_scipy("spence", "x", [lambda t, x: t * _spence_slope(x)])
