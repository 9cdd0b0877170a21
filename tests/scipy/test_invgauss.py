"""The tails of `scipy.stats.invgauss`, where the two terms of its distribution function cancel, beside mpmath's."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from funcgrad.scipy import stats

# (x, mu): huge arguments and parameters, the middle, and small arguments.
POINTS = [
    (1e8, 1e3),
    (1e8, 1e8),
    (2e3, 0.8),
    (5.0, 0.3),
    (50.0, 5.0),
    (0.81, 0.8),
    (0.05, 0.8),
    (1.0, 1e3),
    (0.3, 0.01),
]


def _log_tail(x: Any, mu: Any, upper: bool) -> Any:
    z, w = (x / mu - 1) / mpmath.sqrt(2 * x), (x / mu + 1) / mpmath.sqrt(2 * x)
    second = mpmath.exp(2 / mu) * mpmath.erfc(w)
    return mpmath.log((mpmath.erfc(z) - second if upper else mpmath.erfc(-z) + second) / 2)


@pytest.mark.parametrize("name", ["logsf", "logcdf"])
@pytest.mark.parametrize(("x", "mu"), POINTS)
def test_the_logarithm_and_its_derivatives(x: float, mu: float, name: str) -> None:
    upper = name == "logsf"
    with mpmath.workdps(60 + int((x / mu - 1) ** 2 / (2 * x) + 2 / mu)):
        at, of, h = mpmath.mpf(x), mpmath.mpf(mu), mpmath.mpf(10) ** -20
        before, y, after = [_log_tail(at * (1 + k * h), of, upper) for k in (-1, 0, 1)]
        by_mu = (_log_tail(at, of * (1 + h), upper) - _log_tail(at, of * (1 - h), upper)) / (2 * h * of)
        slope, curvature = (after - before) / (2 * h * at), (after + before - 2 * y) / (h * at) ** 2
        expected = [float(each) for each in (y, slope, by_mu, curvature)]
    f = getattr(stats.invgauss, name)
    np.testing.assert_allclose(f(x, mu), expected[0], rtol=1e-12)
    np.testing.assert_allclose(fg.grad(f, argnums=(0, 1))(x, mu), expected[1:3], rtol=1e-10)
    np.testing.assert_allclose(fg.grad(fg.grad(f))(x, mu), expected[3], rtol=1e-8)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_compiled(engine: str) -> None:
    x, mu = np.array(POINTS).T
    for f in (stats.invgauss.logsf, stats.invgauss.logcdf):
        compute = fg.value_and_grad(lambda x, mu, f=f: np.sum(f(x, mu)), argnums=(0, 1))
        value, slopes = fg.jit(compute, engine=engine)(x, mu)
        np.testing.assert_allclose(value, compute(x, mu)[0], rtol=1e-12)
        np.testing.assert_allclose(slopes, compute(x, mu)[1], rtol=1e-10)


def test_where_the_probability_underflows() -> None:
    f, mu = stats.invgauss.logsf, 0.8
    for x in (1e8, 1e12, 1e20, 1e60):
        # The density is exp(-x / (2 mu**2)) / x**1.5 there, up to constants.
        np.testing.assert_allclose(f(x, mu), -x / (2 * mu**2) - 1.5 * np.log(x), rtol=1e-7)
        np.testing.assert_allclose(fg.grad(f)(x, mu), -1 / (2 * mu**2), rtol=1e-7)
        np.testing.assert_allclose(fg.grad(fg.grad(f))(x, mu), 1.5 / x**2, rtol=1e-6)
        np.testing.assert_allclose(fg.grad(fg.grad(stats.invgauss.logpdf))(x, mu), 1.5 / x**2, rtol=1e-6)
        assert fg.grad(stats.invgauss.sf)(x, mu) == 0


def test_the_borders() -> None:
    x = np.array([0.0, np.inf, np.nan, -1.0, 1e-300, 1e300])
    for mu in (0.8, 1e10, np.inf):
        np.testing.assert_array_equal(np.isnan(stats.invgauss.logcdf(x[2:], mu)), np.isnan(x[2:]))
    np.testing.assert_array_equal(stats.invgauss.logsf(x[:4], 0.8), [0.0, -np.inf, np.nan, 0.0])
    np.testing.assert_array_equal(stats.invgauss.logcdf(x[:4], 0.8), [-np.inf, 0.0, np.nan, -np.inf])
    t = np.geomspace(0.01, 100.0, 12).reshape(3, 4)
    np.testing.assert_allclose(stats.invgauss.sf(t, 0.8), scipy.stats.invgauss.sf(t, 0.8), rtol=1e-11)
    np.testing.assert_allclose(stats.invgauss.cdf(t, [0.3, 1.0, 2.0, 9.0]), scipy.stats.invgauss.cdf(t, [0.3, 1, 2, 9]))
    assert stats.invgauss.logsf(np.zeros((0, 3)), 1.0).shape == (0, 3)
