"""Special functions of complex numbers that are analytic: Faddeeva's function, and the gamma function with its kin."""

from __future__ import annotations

import math
from typing import Any

from funcgrad._ops.elementwise.cast import imag_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.scipys import no_rule, of_scipy
from funcgrad._ops.elementwise.special.series import polynomial
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._types import Value

# From here on the closed form of the derivative cancels, and 16 terms of the expansion are exact to rounding.
_FAR = 12.0
_ONE_OVER_ROOT_PI = 1 / math.sqrt(math.pi)
_EXPANSION = [-(2 * k + 1) * math.prod(range(1, 2 * k, 2)) * 0.5**k * _ONE_OVER_ROOT_PI for k in range(16)]


def _wofz_slope(z: Value, w: Value) -> Any:
    """Return ``w'(z) = -2 z w(z) + 2 i / sqrt(pi)``, DLMF 7.10.2; far from 0 by the expansion of ``w`` (DLMF 7.12.1).

    The expansion holds in the upper half plane. Below, ``w(z) = 2 exp(-z**2) - w(-z)``.
    """
    far, lower = abs(z) > _FAR, imag_p(z) < 0
    root = 1 / select(far, select(lower, -z, z), _FAR + 0j)
    u = root * root
    mirrored = far & lower
    inner = select(mirrored, z, 0j)
    reflected = select(mirrored, -4 * inner * exp_p(-inner * inner), 0j)
    return select(far, 1j * u * polynomial(_EXPANSION, u) + reflected, (2j * _ONE_OVER_ROOT_PI) - 2 * z * w)


wofz_p = of_scipy("wofz", "z", [lambda t, z, y: t * _wofz_slope(z, y)])
complex_loggamma_p = of_scipy("complex_loggamma", "z", [lambda t, z: t * complex_digamma_p(z)], ufunc="loggamma")
complex_gamma_p = of_scipy("complex_gamma", "z", [lambda t, z, y: t * (y * complex_digamma_p(z))], ufunc="gamma")
complex_rgamma_p = of_scipy("complex_rgamma", "z", [lambda t, z, y: t * (-y * complex_digamma_p(z))], ufunc="rgamma")
complex_digamma_p = of_scipy("complex_digamma", "z", [no_rule("psi", "a complex argument")], ufunc="psi")
