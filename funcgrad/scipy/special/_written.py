"""Functions composed of others, under the names of SciPy's ufuncs and Python functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NO_PARAMS, Tracer, bind
from funcgrad._core.primitive import Primitive
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special import complexes, hypergeometric, power
from funcgrad._ops.elementwise.special import gamma as gamma_
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, dtype_of, kind_of, known_value, special_functions
from funcgrad.scipy.special import _ufuncs as u
from funcgrad.scipy.special._declare import of_ufunc, real, scipys_dtype


def exp10(x: ArrayLike, /) -> Any:
    """``scipy.special.exp10``: ten to the power of ``x``."""
    return fnp.power(10.0, real("exp10", x)[0])


def log_expit(x: ArrayLike, /) -> Array:
    """``scipy.special.log_expit``: the logarithm of the logistic function, also where that rounds to 0."""
    return fnp.negative(fnp.logaddexp(fnp.negative(real("log_expit", x)[0]), 0.0))


def softplus(x: ArrayLike, /) -> Array:
    """``scipy.special.softplus``: ``log(1 + exp(x))``."""
    return fnp.logaddexp(real("softplus", x)[0], 0.0)


def loggamma(z: ArrayLike, /) -> Any:
    """``scipy.special.loggamma``; of a real number left of 0, where the logarithm is complex, it is NaN."""
    if dtype_of(z).kind == "c":
        return bind(complexes.complex_loggamma_p, (as_value(z),), NO_PARAMS)
    (z,) = real("loggamma", z)
    left = z < 0
    return select(left, math.nan, gamma_.gammaln_p(select(left, 1.0, z)))


def wofz(z: ArrayLike, /) -> Any:
    """``scipy.special.wofz``: Faddeeva's function ``exp(-z**2) erfc(-i z)``, which is complex."""
    z = as_value(z)
    return bind(
        complexes.wofz_p, (z if dtype_of(z).kind == "c" else cast(z, scipys_dtype("wofz", (kind_of(z),))),), NO_PARAMS
    )


def gammasgn(x: ArrayLike, /) -> Any:
    """``scipy.special.gammasgn``: the sign of the gamma function, whose derivative is 0."""
    (x,) = real("gammasgn", x)
    odd = fnp.remainder(fnp.floor(x), 2.0) == 1
    pole = (x <= 0) & (x == fnp.floor(x))
    sign = fnp.where((x < 0) & odd, -1.0, 1.0)
    sign = fnp.where(x == 0, fnp.copysign(1.0, x), fnp.where(pole | fnp.isnan(x), math.nan, sign))
    return cast(sign, x.dtype)


def poch(z: ArrayLike, m: ArrayLike, /) -> Any:
    """``scipy.special.poch``: ``gamma(z + m) / gamma(z)``, the rising factorial."""
    z, m = real("poch", z, m)
    y, zero = _rising(z, m), m == 0
    # The value is exactly 1 for ``m = 0``. The derivative by ``m`` is the digamma function, except at a pole.
    smooth = zero & (abs(y - 1) < 0.5) & ((z > 0) | (z != fnp.floor(z)))
    unit = select(smooth, y, 1.0)
    return select(zero, unit / stop_gradient_p(unit), y)


def _rising(z: ArrayLike, m: ArrayLike) -> Any:
    # Both gamma functions have a pole at integers up to 0; their quotient is that of the reflected arguments.
    poles = (z <= 0) & (z == fnp.floor(z)) & (m == fnp.floor(m))
    reflected = _quotient(select(poles, 1.0 - z - m, 1.0), select(poles, m, 0.0))
    signed = select(fnp.remainder(m, 2.0) == 1, -reflected, reflected)
    # The upper gamma function alone has a pole: SciPy's value is infinite.
    infinite = fnp.logical_not(poles) & (z + m <= 0) & (gamma_.sine_of_sum(z, m) == 0)
    simple = poles | infinite
    found = select(poles, signed, _quotient(select(simple, 1.0, z), select(simple, 0.0, m)))
    return select(infinite, math.inf, found)


def _quotient(z: ArrayLike, m: ArrayLike) -> Any:
    """``gamma(z + m) / gamma(z)``."""
    # The quotient is the power to all digits, and derivatives of the logarithms overflow.
    huge = (z > 1e30) & (z + m > 20)
    powers = fnp.power(select(huge, z, 1.0), select(huge, m, 1.0))
    # The two terms of a derivative nearly cancel for a small ``m``. That of the logarithm is their accurate difference.
    is_pole = (z <= 0) & (z == fnp.floor(z)) | (z + m <= 0) & (gamma_.sine_of_sum(z, m) == 0)
    smooth = fnp.logical_not(huge) & fnp.logical_not(is_pole)
    # The recurrence leads away from the zero at 0, near which the logarithm's derivatives nearly cancel.
    away = (z + m > -0.5) | (abs(m - fnp.floor(m + 0.5)) > 0.1)
    below = smooth & ((z > 0) & (z + m > 0) & (z < 1) | (abs(z) < 0.5) & away)
    logarithm = gamma_.log_rising_p(select(smooth, z + below, 1.0), select(smooth, m, 0.0))
    a, b = select(huge, 1.0, z + below), select(huge, 0.0, m)
    y = _quotient_up_to_large(select(smooth, stop_gradient_p(a), a), select(smooth, stop_gradient_p(b), b))
    constant = stop_gradient_p(select(smooth, y, 1.0))
    moving = constant * fnp.exp(logarithm - stop_gradient_p(logarithm))
    moving = moving * _part(select(below, z, 1.0), select(below, m, 0.0))
    return select(huge, powers, select(smooth, moving, y))


def _part(z: ArrayLike, m: ArrayLike) -> Any:
    """``z / (z + m)``, with derivatives that keep their digits."""
    small = abs(m) < abs(z)
    return select(small, 1 - select(small, m, 0.0) / (z + m), z / (z + select(small, 1.0, m)))


def _quotient_up_to_large(z: ArrayLike, m: ArrayLike) -> Any:
    left, low = z < 0.5, z + m < 0.5
    # Reflection, gamma(x) gamma(1 - x) = pi / sin(pi x), gives each gamma function a positive argument.
    up = _quotient_of_positive(select(left | low, 1.0, z), select(left | low, 0.0, m))
    both = left & low
    down = _quotient_of_positive(1 - select(both, z, 0.0), -select(both, m, 0.0))
    turned = gamma_.sine_of_turns(z)
    there = select(low, gamma_.sine_of_sum(z, m), 1.0)
    there = select(there == 0, 1.0, there)
    across = left & fnp.logical_not(low) & (turned != 0)
    across = _product(select(across, 1 - z, 1.0), select(across, z + m, 1.0)) * turned / math.pi
    other = low & fnp.logical_not(left)
    over = math.pi / there * gamma_.rgamma_p(select(other, 1 - z - m, 1.0)) * gamma_.rgamma_p(select(other, z, 1.0))
    return select(left, select(low, turned / (there * down), across), select(low, over, up))


def _quotient_of_positive(z: ArrayLike, m: ArrayLike) -> Any:
    # Use logarithms, because the gamma functions could overflow.
    large = (z > 20) & (z + m > 20)
    by_logarithms = fnp.exp(gamma_.gammaln_step(select(large, z, 21.0), select(large, m, 1.0)))
    a, b = select(large, 1.0, z), select(large, 1.0, m)
    return select(large, by_logarithms, gamma_.gamma_p(a + b) * gamma_.rgamma_p(a))


def _product(a: ArrayLike, b: ArrayLike) -> Any:
    """``gamma(a) gamma(b)`` of positive numbers."""
    return fnp.exp(gamma_.gammaln_p(a) + gamma_.gammaln_p(b))


def rel_entr(x: ArrayLike, y: ArrayLike, /) -> Any:
    """``scipy.special.rel_entr``: ``x log(x / y)``; 0 for x = 0, infinite for negative numbers."""
    x, y = real("rel_entr", x, y)
    return _of_positive(power.rel_entr_p, x, y, 0.0)


def kl_div(x: ArrayLike, y: ArrayLike, /) -> Any:
    """``scipy.special.kl_div``: ``x log(x / y) - x + y``."""
    x, y = real("kl_div", x, y)
    return _of_positive(power.kl_div_p, x, y, y - x)


def _of_positive(primitive: Primitive, x: ArrayLike, y: ArrayLike, at_zero: ArrayLike) -> Any:
    """Return a relative entropy; ``at_zero`` if both numbers are 0, and infinity for negative numbers."""
    inside = (x >= 0) & (y > 0)
    value = primitive(select(inside, x, 1.0), select(inside, y, 1.0))
    # The sum has the dtype of the value, and of two Python numbers it is one.
    outside = fnp.where((x == 0) & (y >= 0), at_zero + 0 * value, math.inf)
    return select(inside, value, select(fnp.isnan(x) | fnp.isnan(y), math.nan, outside))


def huber(delta: ArrayLike, r: ArrayLike, /) -> Any:
    """``scipy.special.huber``: the squared error up to ``delta``, and its tangent from there on."""
    delta, r = real("huber", delta, r)
    size = abs(r)
    value = select(size <= delta, 0.5 * (r * r), delta * (size - 0.5 * delta))
    return select(delta < 0, math.inf, value)


def pseudo_huber(delta: ArrayLike, r: ArrayLike, /) -> Any:
    """``scipy.special.pseudo_huber``: ``delta**2 (sqrt(1 + (r / delta)**2) - 1)``."""
    delta, r = real("pseudo_huber", delta, r)
    plain = (delta > 0) & (r != 0) & fnp.logical_not(fnp.isinf(r) & (delta < math.inf))
    value = power.pseudo_huber_p(select(plain, delta, 1.0), select(plain, r, 1.0))
    # At r = 0 the loss has its minimum, with the second derivative of a square. It is infinite where r is.
    least = select(fnp.isnan(delta) | fnp.isnan(r), math.nan, 0.5 * (r * r))
    return select(delta < 0, math.inf, select(delta == 0, 0.0, select(plain, value, least)))


boxcox = of_ufunc("boxcox", power.boxcox_p)
boxcox1p = of_ufunc("boxcox1p", power.boxcox1p_p)
inv_boxcox = of_ufunc("inv_boxcox", power.inv_boxcox_p)
inv_boxcox1p = of_ufunc("inv_boxcox1p", power.inv_boxcox1p_p)


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Compute the derivative of order ``n`` of the digamma function: an int, or an array of known ones.

    Example:
        >>> from funcgrad.scipy import special
        >>> print(round(float(special.polygamma(1, 1.0)), 6))
        1.644934
    """
    order = as_value(n)
    # A derivative by the order would be dropped.
    orders = None if isinstance(order, Tracer) and order.dtype.kind not in "biu" else known_value(order)
    orders = None if orders is None else np.asarray(orders)
    if orders is None or orders.dtype.kind not in "biuf" or not np.all((orders >= 0) & (orders == np.floor(orders))):
        raise ValueError(
            f"scipy.special.polygamma: n is {shown(n)}; needed an integer from 0 on, or known ones. Pass 1 for the "
            "trigamma."
        )
    (x,) = real("polygamma", x)
    if not orders.shape:
        return _of_order(int(orders), x)
    x = broadcast_to(x, np.broadcast_shapes(orders.shape, aval_of(x).shape))
    y = fnp.zeros_like(x)
    for order in np.unique(orders):
        # Other orders get 1, so that a pole of theirs gives no NaN to the derivative.
        y = select(orders == order, _of_order(int(order), select(orders == order, x, 1.0)), y)
    return y


def _of_order(n: int, x: ArrayLike) -> Array:
    return bind(gamma_.polygamma_p, (x,), {"order": n}) if n else bind(gamma_.digamma_p, (x,), NO_PARAMS)


def multigammaln(a: ArrayLike, d: int) -> Array:
    """Compute the logarithm of the multivariate gamma function of ``d`` dimensions (a Python int).

    Example:
        >>> from funcgrad.scipy import special
        >>> print(round(float(special.multigammaln(3.0, 2)), 6))
        1.550195
    """
    if int(d) != d or d < 1:
        raise ValueError(
            f"scipy.special.multigammaln: d is {d!r}; needed a positive whole number, the dimension. Pass an int."
        )
    a = cast(real("gammaln", a, called="multigammaln")[0], np.dtype(float))
    terms = [gamma_.gammaln_p(a - 0.5 * j) for j in range(int(d))]
    return sum(terms[1:], terms[0]) + d * (d - 1) * 0.25 * math.log(math.pi)


def zeta(x: ArrayLike, q: ArrayLike = None, out: Array = None) -> Any:
    """``scipy.special.zeta``: Hurwitz's function; Riemann's where ``q`` is left out."""
    if out is not None:
        raise UnsupportedFunctionError(
            "scipy.special.zeta: out was given, which a traced value cannot be written to. Use the result."
        )
    if q is None:
        return bind(gamma_.riemann_zeta_p, real("zeta", x), NO_PARAMS)
    return bind(gamma_.zeta_p, real("zeta", x, q), NO_PARAMS)


def lambertw(z: ArrayLike, k: ArrayLike = 0, tol: float = 1e-8) -> Any:
    """``scipy.special.lambertw``: the branch ``k`` of ``w exp(w) = z``, complex."""
    z = cast(as_value(z), np.dtype(complex))
    return bind(hypergeometric.lambertw_p, (z, _whole("lambertw", "k", k)), {"tol": float(tol)})


def sph_harm_y(n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, *, diff_n: int = 0) -> Any:
    """``scipy.special.sph_harm_y``: spherical harmonics of degree ``n`` and order ``m``, complex."""
    if diff_n:
        raise UnsupportedFunctionError(
            f"scipy.special.sph_harm_y: diff_n={shown(diff_n)} was asked for; funcgrad has the function itself. "
            "Take its "
            "derivatives with fg.jacfwd, or fg.jvp."
        )
    theta, phi = [cast(as_value(x), np.dtype(float)) for x in (theta, phi)]
    degree, order = _whole("sph_harm_y", "n", n), _whole("sph_harm_y", "m", m)
    return bind(hypergeometric.sph_harm_y_p, (degree, order, theta, phi), NO_PARAMS)


def _whole(name: str, argument: str, x: ArrayLike) -> Any:
    """Return 64-bit integers; other dtypes and traced floats are refused."""
    x = as_value(x)
    if dtype_of(x).kind not in "iu":
        raise UnsupportedFunctionError(
            f"scipy.special.{name}: {argument} is {dtype_of(x)}; needed integers, by which there is no derivative. "
            "Pass an int, or an array of integers."
        )
    return cast(x, np.dtype(np.int64)) if isinstance(x, Tracer) or hasattr(x, "dtype") else np.int64(x)


def factorial(n: ArrayLike, exact: bool = False, extend: str = "zero") -> Any:
    """``scipy.special.factorial``: ``gamma(n + 1)``, and 0 for negative ``n``."""
    if exact or extend != "zero":
        raise UnsupportedFunctionError(
            f"scipy.special.factorial: exact={shown(exact)}, extend={shown(extend)} was asked for; funcgrad has "
            "exact=False and "
            "extend='zero'. Take these, or special.gamma(n + 1)."
        )
    (n,) = real("gamma", n, called="factorial")
    negative = n < 0
    return select(negative, 0.0, gamma_.gamma_p(select(negative, 0.0, n) + 1))


def comb(N: ArrayLike, k: ArrayLike, *, exact: bool = False, repetition: bool = False) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.special.comb``: the number of ways to choose ``k`` of ``N``; 0 for ``k`` outside of 0 to ``N``."""
    if exact:
        raise UnsupportedFunctionError(
            "scipy.special.comb: exact=True was asked for, which is for Python's integers; a traced value is a float. "
            "Leave it out."
        )
    N, k = real("binom", N, k, called="comb")  # noqa: N806  (SciPy's name)
    if repetition:
        nothing = (k == 0) & (N >= 0)
        return select(nothing, 1.0, u.binom(select(nothing, 1.0, N) + k - 1, k))
    inside = (k <= N) & (N >= 0) & (k >= 0)
    return select(inside, u.binom(select(inside, N, 1.0), select(inside, k, 0.0)), 0.0)


def perm(N: ArrayLike, k: ArrayLike, exact: bool = False) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.special.perm``: the number of sequences of ``k`` of ``N``; 0 for ``k`` outside of 0 to ``N``."""
    if exact:
        raise UnsupportedFunctionError(
            "scipy.special.perm: exact=True was asked for, which is for Python's integers; a traced value is a float. "
            "Leave it out."
        )
    N, k = real("binom", N, k, called="perm")  # noqa: N806  (SciPy's name)
    inside = (k <= N) & (N >= 0) & (k >= 0)
    return select(inside, poch(select(inside, N - k + 1, 1.0), select(inside, k, 0.0)), 0.0)


special_functions.update(
    {
        each.__name__: each
        for each in (*(exp10, gammasgn, huber, kl_div, log_expit, loggamma, poch, pseudo_huber, rel_entr, wofz),)
    }
)
# The functions that SciPy's Python functions of these names call.
special_functions.update(_zeta=zeta, _riemann_zeta=zeta, _lambertw=lambertw)
