"""The regularised incomplete gamma functions and their inverses. Rules: DLMF 8.8; by the parameter `gamma_slope`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._ops.elementwise.arithmetic import log_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.gamma import log_power
from funcgrad._ops.elementwise.special.gamma_slope import gamma_slope_p
from funcgrad._ops.elementwise.special.scipys import of_scipy
from funcgrad._ops.elementwise.transcendental import exp_p


def _density(a: Any, x: Any) -> Any:
    """``x**(a - 1) exp(-x) / gamma(a)``."""
    inner = x > 0
    z = select(inner, x, 1.0)
    at_zero = select(a > 1, 0.0, select(a == 1, 1.0, np.inf * (a + 1)))
    return select(inner, exp_p(log_power(a, z) - log_p(z)), at_zero)


def _by_parameter(a: Any, x: Any) -> Any:
    """The derivative of the lower function by ``a``: it is constant along ``d log(x) / da``."""
    inner = (x > 0) & (x < np.inf)
    z = select(inner, x, 1.0)
    return select(inner, -gamma_slope_p(a, log_p(z)) * exp_p(log_power(a, z)), 0.0)


def _quantile_by_parameter(a: Any, y: Any) -> Any:
    inner = (y > 0) & (y < np.inf)
    z = select(inner, y, 1.0)
    return select(inner, z * gamma_slope_p(a, log_p(z)), 0.0)


gammainc_p = of_scipy(
    "gammainc",
    "a x",
    [lambda t, a, x: t * _by_parameter(a, x), lambda t, a, x: t * _density(a, x)],
    xla="igamma",
)
gammaincc_p = of_scipy(
    "gammaincc",
    "a x",
    [lambda t, a, x: t * -_by_parameter(a, x), lambda t, a, x: t * -_density(a, x)],
    xla="igammac",
)
gammaincinv_p = of_scipy(
    "gammaincinv",
    "a p",
    [lambda t, a, y: t * _quantile_by_parameter(a, y), lambda t, a, y: t / _density(a, y)],
)
gammainccinv_p = of_scipy(
    "gammainccinv",
    "a p",
    [lambda t, a, y: t * _quantile_by_parameter(a, y), lambda t, a, y: t / -_density(a, y)],
)
