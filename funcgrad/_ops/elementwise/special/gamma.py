"""The gamma function, its logarithm and the logarithm's derivatives; zeta functions. Rules: DLMF 5.2, 5.15, 25.11."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.forms import Forms
from funcgrad._ops.elementwise.arithmetic import log_p
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._ops.elementwise.logic import logical_not_p
from funcgrad._ops.elementwise.rounding import floor_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.power import kl_div_p
from funcgrad._ops.elementwise.special.scipys import no_rule, of_scipy, scipy_special
from funcgrad._ops.elementwise.special.series import polynomial
from funcgrad._ops.elementwise.transcendental import log1p_p
from funcgrad._ops.elementwise.trigonometric import cos_p, sin_p
from funcgrad._types import Array, Lax, Value


def _polygamma_numpy(x: Array, *, order: int) -> Array:
    # scipy.special.polygamma itself computes in float64 only.
    sign = -1.0 if order % 2 == 0 else 1.0
    return sign * math.factorial(order) * scipy_special.zeta(aval_of(x).dtype.type(order + 1), x)


def _cotangent_derivative(order: int) -> list[int]:
    """Return the derivative of the cotangent ``c``, as coefficients of powers of ``c``: its slope is ``-1 - c * c``."""
    powers = [0, 1]
    for _ in range(order):
        slopes = [k * coefficient for k, coefficient in enumerate(powers)][1:]
        powers = [-a - b for a, b in zip([*slopes, 0, 0], [0, 0, *slopes], strict=True)]
    return powers


def _polygamma_xla(lax: Lax, x: Array, *, order: int) -> Array:
    """Return the polygamma function; below 0 by reflection, because the series of ``lax`` is for positive arguments."""
    zero, infinity = lax.full_like(x, 0), lax.full_like(x, np.inf)
    below = lax.lt(x, zero)
    mirrored = lax.select(below, lax.sub(lax.full_like(x, 1), x), x)
    y = lax.polygamma(lax.full_like(x, order), mirrored)
    # Half a period around zero, where the cotangent keeps its precision.
    phase = lax.mul(lax.sub(x, lax.round(x)), lax.full_like(x, math.pi))
    cotangent = lax.div(lax.cos(phase), lax.sin(phase))
    series = zero
    for coefficient in reversed(_cotangent_derivative(order)):
        series = lax.add(lax.mul(series, cotangent), lax.full_like(x, coefficient))
    sign = -1 if order % 2 else 1
    reflected = lax.sub(lax.mul(lax.full_like(x, sign), y), lax.mul(lax.full_like(x, math.pi ** (order + 1)), series))
    y = lax.select(below, reflected, lax.select(lax.eq(x, infinity), zero, y))
    return lax.select(is_pole_xla(lax, x), lax.full_like(x, -sign * np.inf), y)


def is_pole_xla(lax: Lax, x: Array) -> Array:
    """Return where the gamma function has a pole: at zero and the negative integers."""
    return lax.bitwise_and(lax.le(x, lax.full_like(x, 0)), lax.eq(x, lax.floor(x)))


def gammaln_xla(lax: Lax, x: Array) -> Array:
    # At -inf SciPy returns -inf, which has no mathematical meaning.
    lowest = lax.full_like(x, -np.inf)
    return lax.select(lax.eq(x, lowest), lowest, lax.lgamma(x))


def _digamma_xla(lax: Lax, x: Array) -> Array:
    zero = lax.eq(x, lax.full_like(x, 0))
    return lax.select(zero, lax.div(lax.full_like(x, -1), x), lax.digamma(x))


gammaln_p = of_scipy(
    "gammaln",
    "x",
    [lambda t, x: t * digamma_p(x)],
    xla=gammaln_xla,
    flops=20,
    forms=Forms(special="gammaln", new_memory=True),
)
digamma_p = elementwise(
    "digamma",
    "x",
    numpy=lambda x: scipy_special.psi(x),
    xla=_digamma_xla,
    maps=[lambda t, x: t * polygamma_p(x, order=1)],
    flops=20,
    forms=Forms(special="psi", new_memory=True),
)
polygamma_p = elementwise(
    "polygamma",
    "x",
    numpy=_polygamma_numpy,
    xla=_polygamma_xla,
    maps=[lambda t, x, order: t * polygamma_p(x, order=order + 1)],
    flops=40,
)


def _gamma_xla(lax: Lax, x: Array) -> Array:
    # Below zero the sign alternates from one pole to the next.
    zero = lax.full_like(x, 0)
    odd = lax.ne(lax.rem(lax.floor(x), lax.full_like(x, 2)), zero)
    size = lax.exp(lax.lgamma(x))
    y = lax.select(lax.bitwise_and(lax.lt(x, zero), odd), lax.neg(size), size)
    at_zero = lax.div(lax.full_like(x, 1), x)
    y = lax.select(lax.eq(x, zero), at_zero, y)
    return lax.select(lax.bitwise_and(is_pole_xla(lax, x), lax.lt(x, zero)), lax.full_like(x, np.nan), y)


gamma_p = of_scipy(
    "gamma",
    "x",
    [lambda t, x, y: t * (y * digamma_p(x))],
    xla=_gamma_xla,
    flops=30,
    forms=Forms(special="gamma", new_memory=True),
)


def _rgamma_xla(lax: Lax, x: Array) -> Array:
    pole = is_pole_xla(lax, x)
    y = lax.div(lax.full_like(x, 1), _gamma_xla(lax, lax.select(pole, lax.full_like(x, 1), x)))
    return lax.select(pole, lax.full_like(x, 0), y)


def rgamma_slope(x: Value) -> Value:
    """Return the derivative of ``1 / gamma(x)``; left of 1/2 by reflection (DLMF 5.5.3), which is finite at poles."""
    left = x < 0.5
    z, right = select(left, x, 0.0), select(left, 1.0, x)
    slope = gamma_p(1 - z) * (cos_p(math.pi * z) - sin_p(math.pi * z) * digamma_p(1 - z) / math.pi)
    return select(left, slope, -rgamma_p(right) * digamma_p(right))


rgamma_p = of_scipy("rgamma", "x", [lambda t, x: t * rgamma_slope(x)], xla=_rgamma_xla)
zeta_p = of_scipy(
    "zeta",
    "x q",
    [
        no_rule("zeta", "its first argument"),
        lambda t, x, q: t * (-x * zeta_p(x + 1, q)),
    ],
    ufunc="_zeta",
)
riemann_zeta_p = of_scipy("riemann_zeta", "x", [no_rule("zeta", "its first argument")], ufunc="_riemann_zeta")

# Bernoulli's numbers over 2n: the expansion of digamma (DLMF 5.11.2) beyond its first two terms.
_STIRLING = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
# From this argument on the expansion is exact to rounding.
_LARGE = 12


def _remainders_step(x: Value, d: Value) -> Value:
    """Return how much more digamma(x + d) is beyond its logarithm and first correction than digamma(x) is.

    It is a product with ``d``, so a small one keeps its digits.
    """
    u, v = 1 / (x * x), 1 / ((x + d) * (x + d))
    value: Any = 0.0
    slope: Any = 0.0
    for c in reversed((0.0, *_STIRLING)):
        value, slope = value * u + c, slope * v + value
    return slope * (-(d / (x + d)) * ((x + d + x) / (x + d)) * u)


def digamma_step(a: Value, b: Value) -> Value:
    """Return ``digamma(a + b) - digamma(a)``, accurate even where most digits of the two agree."""
    positive = (a > 0) & (a + b > 0)
    left = logical_not_p(positive) & (a < 0.5) & (a + b < 0.5) & (a != floor_p(a)) & (sine_of_sum(a, b) != 0)
    known = left | positive
    # Reflection (DLMF 5.5.4): digamma(x) = digamma(1 - x) - pi / tan(pi x).
    c, d = select(known, select(left, 1 - a, a), 1.0), select(known, select(left, -b, b), 0.0)
    # The recurrence leads to arguments for which the expansion is exact: digamma(x + 1) = digamma(x) + 1 / x.
    step: Any = 0.0
    for i in range(_LARGE):
        step = step + d / (c + d + i) / (c + i)
    c = c + _LARGE
    step = step + (log1p_p(d / c) + d / (2 * c * (c + d)) - _remainders_step(c, d))
    x, y = select(left, a, 0.5), select(left, b, 0.0)
    step = step + math.pi * sine_of_turns(y) / (sine_of_turns(x) * sine_of_sum(x, y))
    e, f = select(known, 1.0, a), select(known, 0.0, b)
    return select(known, step, digamma_of_sum(e, f) - _digamma(e, e - floor_p(e + 0.5)))


def digamma_of_sum(a: Value, b: Value) -> Value:
    """Return ``digamma(a + b)``, accurate even where the sum rounds to a pole."""
    return _digamma(a + b, _parts(a, b)[0])


def _digamma(x: Value, part: Value) -> Value:
    """Return ``digamma(x)``; ``part`` is the distance of ``x`` from the next integer."""
    below = (x < 0) & (part != 0)
    near = math.pi * select(below, part, 0.25)
    y = digamma_p(select(below, 1 - x, x))
    return select(below, y - math.pi * cos_p(near) / sin_p(near), y)


def sine_of_turns(x: Value) -> Value:
    """Return ``sin(pi x)``, accurate for large ``x`` and beside each integer."""
    whole = floor_p(x + 0.5)
    return sin_p(math.pi * (x - whole)) * _sign_of_turns(whole)


def sine_of_sum(x: Value, y: Value) -> Value:
    """Return ``sin(pi (x + y))``, accurate even where the sum rounds to an integer."""
    part, whole = _parts(x, y)
    return sin_p(math.pi * part) * _sign_of_turns(whole)


def _parts(x: Value, y: Value) -> tuple[Value, Value]:
    """Return ``x + y`` as a number between -1/2 and 1/2, and an integer."""
    a, b = floor_p(x + 0.5), floor_p(y + 0.5)
    part = (x - a) + (y - b)
    c = floor_p(part + 0.5)
    return part - c, a + b + c


def _sign_of_turns(whole: Value) -> Value:
    return 1 - 2 * abs(whole - 2 * floor_p(whole / 2))


# The expansion of gammaln (DLMF 5.11.1) beyond its elementary terms, for ``x`` of 10 and more.
_STIRLING_REST = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)


def log_power(a: Value, x: Value) -> Value:
    """Return ``a * log(x) - x - gammaln(a)``, accurate even where the terms are large and their sum is small."""
    large = (a > 100) & (x > 0)
    c, z = select(large, a, 100.0), select(large, x, 1.0)
    direct = a * log_p(select(x > 0, x, 1.0)) - x - gammaln_p(select(large, 1.0, a))
    expanded = 0.5 * log_p(c) - 0.5 * math.log(2 * math.pi) - kl_div_p(c, z) - stirling_rest(c)
    return select(large, expanded, direct)


def stirling_rest(x: Value) -> Value:
    """Return ``gammaln(x + 1) - (x + 1/2) log(x) + x - log(2 pi) / 2``, the rest of Stirling's formula, for x > 0."""
    large = x > 10
    far, near = select(large, x, 10.0), select(large, 1.0, x)
    direct = gammaln_p(near + 1) - (near + 0.5) * log_p(near) + near - 0.5 * math.log(2 * math.pi)
    # The square of ``far`` may overflow.
    small = 1 / far
    return select(large, polynomial(_STIRLING_REST, small * small) * small, direct)


def gammaln_step(a: Value, b: Value) -> Value:
    """Return ``gammaln(a + b) - gammaln(a)``, accurate even where most digits of the two agree."""
    large = (a > 100) & (a + b > 100)
    c, d = select(large, a, 100.0), select(large, b, 0.0)
    # ``stirling_rest`` of x is the rest of the formula for gammaln of x, too.
    step = (c + d - 0.5) * log1p_p(d / c) + d * (log_p(c) - 1) + stirling_rest(c + d) - stirling_rest(c)
    e, f = select(large, 1.0, a), select(large, 0.0, b)
    return select(large, step, gammaln_p(e + f) - gammaln_p(e))


# ``gammaln(a + b) - gammaln(a)`` where ``a`` and ``a + b`` have one sign. Its derivatives have all digits, its
# values do not: use `gammaln_step` for those.
def _log_rising_numpy(a: Array, b: Array) -> Array:
    x = a + b
    below = x < 0
    whole = np.floor(a + 0.5), np.floor(b + 0.5)
    turn = np.where(below, (a - whole[0]) + (b - whole[1]), a.dtype.type(0.5))
    up = scipy_special.gammaln(np.where(below, 1 - x, x))
    return np.where(below, math.log(math.pi) - np.log(abs(np.sin(math.pi * turn))) - up, up) - scipy_special.gammaln(a)


def _log_rising_xla(lax: Lax, a: Array, b: Array) -> Array:
    x = a + b
    below = x < 0
    turn = lax.select(below, (a - lax.floor(a + 0.5)) + (b - lax.floor(b + 0.5)), lax.full_like(x, 0.5))
    up = lax.lgamma(lax.select(below, 1 - x, x))
    reflected = math.log(math.pi) - lax.log(abs(lax.sin(math.pi * turn))) - up
    return lax.select(below, reflected, up) - lax.lgamma(a)


# The logarithm of the size of ``gamma(a + b) / gamma(a)``; below 0 by reflection, since the sum may round to a pole.
log_rising_p = elementwise(
    "log_rising",
    "a b",
    numpy=_log_rising_numpy,
    xla=_log_rising_xla,
    maps=[lambda t, a, b: t * digamma_step(a, b), lambda t, a, b: t * digamma_of_sum(a, b)],
    flops=60,
)


def log_binomial(k: Value, j: Value, p: Value) -> Value:
    """Return ``log(gamma(k + j + 1) / gamma(k + 1) / gamma(j + 1)) + k log(p) + j log(1 - p)`` for k, j > 0.

    It uses Loader's saddle point expansion, because the three logarithms are large and their sum is small.
    """
    n = k + j
    rest = stirling_rest(n) - stirling_rest(k) - stirling_rest(j)
    return rest + 0.5 * log_p(n / k / j / (2 * math.pi)) - kl_div_p(k, n * p) - kl_div_p(j, n * (1 - p))
