"""Functions of `scipy.special` of complex numbers: values, and derivatives beside mpmath."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.fft
import scipy.special

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError
from funcgrad.scipy import special

# Near 0, at the border of the expansion, far away, in both half planes and on the axes.
PLACES = np.array(
    [
        0.3 + 0.2j,
        -1.5 + 0.7j,
        3 - 0.1j,
        2.5 - 1.5j,
        11.9 + 1j,
        12.1 + 1j,
        -9 + 9j,
        30 - 0.01j,
        1e8 + 1j,
        5 + 0j,
        2j,
        -3 - 0.5j,
    ]
)


def _wofz(z: Any) -> Any:
    return mpmath.exp(-z * z) * mpmath.erfc(-1j * z)


FORMULAS = {"wofz": _wofz, "gamma": mpmath.gamma, "loggamma": mpmath.loggamma, "rgamma": mpmath.rgamma}
# The derivative as a formula, which needs no difference.
SLOPES = {
    "wofz": lambda z: 2j / mpmath.sqrt(mpmath.pi) - 2 * z * _wofz(z),
    "gamma": lambda z: mpmath.gamma(z) * mpmath.digamma(z),
    "loggamma": mpmath.digamma,
    "rgamma": lambda z: -mpmath.rgamma(z) * mpmath.digamma(z),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_derivatives(name: str) -> None:
    places = PLACES if name == "wofz" else PLACES[np.abs(PLACES) < 20]
    with mpmath.workdps(60):
        expected = np.array([complex(SLOPES[name](mpmath.mpc(z))) for z in places])
    f = getattr(special, name)
    np.testing.assert_array_equal(f(places), getattr(scipy.special, name)(places))
    y, y_dot = fg.jvp(f, (places,), (np.ones_like(places),))
    np.testing.assert_array_equal(y, f(places), strict=True)
    np.testing.assert_allclose(y_dot, expected, rtol=2e-12)
    # An analytic function's derivative in another direction is the same number times the direction.
    np.testing.assert_allclose(fg.jvp(f, (places,), (np.full_like(places, 1j),))[1], 1j * y_dot, rtol=1e-14)
    for engine in ("numpy", "numba", "xla"):
        found = fg.jit(lambda z: fg.jvp(f, (z,), (np.ones_like(z),))[1], engine=engine)(places)
        np.testing.assert_allclose(found, expected, rtol=2e-12)


def test_second_derivatives() -> None:
    # w'' = -2 w - 2 z w'.
    z = PLACES[:8]
    with mpmath.workdps(60):
        values = [(_wofz(mpmath.mpc(each)), SLOPES["wofz"](mpmath.mpc(each)), mpmath.mpc(each)) for each in z]
        expected = np.array([complex(-2 * w - 2 * at * slope) for w, slope, at in values])
    first = lambda z: fg.jvp(special.wofz, (z,), (np.ones_like(z),))[1]
    np.testing.assert_allclose(fg.jvp(first, (z,), (np.ones_like(z),))[1], expected, rtol=1e-9)
    with pytest.raises(NotDifferentiableError, match=r"special\.psi: its derivative by a complex argument"):
        fg.jvp(special.psi, (z,), (np.ones_like(z),))


def test_the_profile_of_voigt() -> None:
    """Fits of spectra take the real part of the function, at numbers that follow from real parameters."""

    def voigt(p: Any) -> Any:
        x = np.linspace(-40.0, 40.0, 33)
        z = (x - p[1] + 1j * p[3]) / (p[2] * np.sqrt(2))
        return p[0] * scipy.special.wofz(z).real / (p[2] * np.sqrt(2 * np.pi))

    p, v = np.array([2.0, 0.3, 0.8, 0.5]), np.array([0.4, -0.2, 0.3, 0.7])
    expected = (voigt(p + 1e-5 * v) - voigt(p - 1e-5 * v)) / 2e-5
    np.testing.assert_allclose(fg.jvp(voigt, (p,), (v,))[1], expected, rtol=1e-7, atol=1e-12)
    weights = np.linspace(0.0, 1.0, 33)
    for f in (voigt, fg.jit(voigt), fg.jit(voigt, engine="numpy")):
        slope = fg.grad(lambda p, f=f: np.sum(f(p) * weights))(p)
        np.testing.assert_allclose(np.sum(slope * v), np.sum(expected * weights), rtol=1e-8)


def test_dtypes() -> None:
    for kind in ("F", "D", "f", "d", "e", "i8", "?"):
        x = np.ones(2, kind)
        for name in (*FORMULAS, "psi"):
            expected = getattr(scipy.special, name)(x)
            np.testing.assert_array_equal(getattr(special, name)(x), expected, strict=True)
    assert special.wofz(1.0) == scipy.special.wofz(1.0)
    assert special.loggamma(-0.5 + 0j) == scipy.special.loggamma(-0.5 + 0j)


def test_the_hankel_transform_inside_a_context() -> None:
    x, v = np.array([0.3, 1.2, 2.0, 0.7]), np.array([1.0, -0.5, 0.3, 2.0])

    def f(x: Any) -> Any:
        y: Any = scipy.fft.fht(x, 0.1, 0.5)
        return np.sum(y**2)

    with fg.intercept():
        found = fg.jvp(f, (x,), (v,))[1]
    np.testing.assert_allclose(found, (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6, rtol=1e-7)
