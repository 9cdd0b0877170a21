"""The tails of `scipy.stats.skewnorm`, where SciPy's value is 0 or off, beside mpmath's."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from funcgrad.scipy import stats

# (x, a): the light tail, the heavy one, and the region around SciPy's function.
POINTS = [(-1.0, 30.0), (-38.0, 0.5), (-50.0, 3.0), (-3.0, -1.5), (-40.0, -2.0), (-0.3, 4.0), (0.5, 2.0), (2.0, -3.0)]


def _log_cdf(x: Any, a: Any) -> Any:
    """Integrate the density from ``x`` downwards, over 100 of its lengths."""
    steepness = abs(x) * (1 + a * a if a > 0 else 1) + abs(a) + 1

    def density(u: Any) -> Any:
        return 2 * mpmath.npdf(x - u) * mpmath.erfc(-a * (x - u) / mpmath.sqrt(2)) / 2

    parts = [100 / steepness * k / 60 for k in range(61)]
    return mpmath.log(mpmath.quad(density, parts, method="gauss-legendre"))


@pytest.mark.parametrize(("x", "a"), POINTS)
def test_the_logarithm_and_its_derivatives(x: float, a: float) -> None:
    with mpmath.workdps(30):
        big_x, big_a = mpmath.mpf(x), mpmath.mpf(a)
        log_cdf = _log_cdf(big_x, big_a)
        ratio = 2 * mpmath.npdf(big_x) * mpmath.ncdf(big_a * big_x) / mpmath.exp(log_cdf)
        one = 1 + big_a**2
        by_a = -mpmath.exp(-(big_x**2) * one / 2 - log_cdf) / (mpmath.pi * one)
        slope = big_a * mpmath.npdf(big_a * big_x) / mpmath.ncdf(big_a * big_x) - big_x - ratio
        expected = [float(y) for y in (log_cdf, ratio, by_a, ratio * slope)]
    f = stats.skewnorm.logcdf
    for run in (lambda f: f, fg.jit, lambda f: fg.jit(f, engine="numpy")):
        g = run(lambda x, a: f(x, a))
        np.testing.assert_allclose(g(x, a), expected[0], rtol=1e-13)
        np.testing.assert_allclose(fg.grad(g, argnums=(0, 1))(x, a), expected[1:3], rtol=1e-10, atol=1e-300)
        np.testing.assert_allclose(fg.grad(fg.grad(g))(x, a), expected[3], rtol=1e-6)
    assert stats.skewnorm.logsf(-x, -a) == f(x, a)
    np.testing.assert_allclose(stats.skewnorm.cdf(x, a), np.exp(expected[0]), rtol=1e-12)


def test_the_borders() -> None:
    x = np.array([-np.inf, np.inf, np.nan, 0.0, -1e200, 1e200])
    for a in (2.0, -2.0, 0.0):
        np.testing.assert_array_equal(np.isnan(stats.skewnorm.logcdf(x, a)), np.isnan(x))
        with np.errstate(over="ignore"):
            theirs = scipy.stats.skewnorm.cdf(x, a)
        np.testing.assert_allclose(np.exp(stats.skewnorm.logcdf(x, a)), theirs, rtol=1e-12)
    assert stats.skewnorm.logcdf(-1e200, 2.0) == -np.inf
    assert np.isnan(stats.skewnorm.logcdf(0.0, np.inf))
    assert stats.skewnorm.logcdf(np.zeros((0, 3)), 1.0).shape == (0, 3)


def test_the_body_is_scipys() -> None:
    x, a = np.linspace(-4, 4, 41)[:, None], np.array([-30.0, -1.0, 0.0, 0.5, 4.0])
    for name in ("cdf", "sf", "logcdf", "logsf"):
        ours, theirs = [getattr(each.skewnorm, name)(x, a) for each in (stats, scipy.stats)]
        # SciPy's light tail has few digits.
        kept = np.isfinite(theirs) & ((theirs > 1e-6) if "log" not in name else (theirs > -14))
        np.testing.assert_allclose(ours[kept], theirs[kept], rtol=1e-8, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("a", [-2.0, 0.0, 3.0])
def test_the_function_is_continuous_where_the_formula_changes(a: float) -> None:
    edge = -2.0 / (np.hypot(1.0, a) if a > 0 else 1.0)
    x = edge * np.array([1 - 1e-12, 1 + 1e-12])
    for name in ("logcdf", "cdf"):
        f = getattr(stats.skewnorm, name)
        np.testing.assert_allclose(f(x[0], a), f(x[1], a), rtol=1e-10)
        for number in (0, 1):
            slope = fg.grad(f, argnums=number)
            np.testing.assert_allclose(slope(x[0], a), slope(x[1], a), rtol=1e-10)
