"""Distributions of vectors beside SciPy's: shapes, singular covariances, several matrices, many and large counts."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.scipy import stats

theirs: Any = scipy.stats
SINGULAR = np.array([[1.0, 1.0], [1.0, 1.0]])
POINTS = {
    "one": (np.array([0.1, 0.2]), {"mean": np.zeros(2)}),
    "one in a row": (np.array([[0.1, 0.2]]), {"mean": np.zeros(2)}),
    "number": (0.3, {}),
    "one number": (np.array([0.3]), {}),
    "numbers": (np.array([0.1, 0.2]), {"cov": 2.0}),
    "block": (np.zeros((2, 3, 2)), {"cov": np.eye(2)}),
    "axes of length 1": (np.zeros((2, 1, 2)), {"cov": np.eye(2)}),
    "on the line": (np.array([2.0, 2.0]), {"mean": np.zeros(2), "cov": SINGULAR, "allow_singular": True}),
    "off the line": (np.array([[2.0, 2.0], [1.0, 2.0]]), {"cov": SINGULAR, "allow_singular": True}),
    "regular": (np.array([2.0, 1.0]), {"cov": np.array([[2.0, 1.0], [1.0, 1.0]]), "allow_singular": True}),
}


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("method", ["logpdf", "pdf"])
def test_multivariate_normal(name: str, method: str) -> None:
    x, options = POINTS[name]
    found = getattr(stats.multivariate_normal, method)(x, **options)
    expected = getattr(theirs.multivariate_normal, method)(x, **options)
    assert type(found) is type(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.shape(found) == np.shape(expected)


def test_gradient_on_a_subspace() -> None:
    def f(m: Any) -> Any:
        return stats.multivariate_normal.logpdf(np.array([2.0, 2.0]), m * np.ones(2), SINGULAR, allow_singular=True)

    fg.check_grads(f, (0.3,), 2)


def test_several_matrices() -> None:
    x = np.moveaxis(theirs.wishart.rvs(5, np.eye(3), size=4, random_state=1), 0, -1)
    np.testing.assert_allclose(stats.wishart.pdf(x, 5, np.eye(3)), theirs.wishart.pdf(x, 5, np.eye(3)), rtol=1e-12)
    assert np.shape(stats.wishart.logpdf(x[..., :1], 5, np.eye(3))) == ()
    fg.check_grads(lambda scale: stats.wishart.logpdf(x, 5, scale + scale.T), (np.eye(3) + 0.1,), 1)


def test_multinomial_of_many_cells() -> None:
    count = 100_000
    x, p = np.ones(count), np.full(count, 1 / count)
    found, expected = stats.multinomial.logpmf(x, count, p), theirs.multinomial.logpmf(x, count, p)
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_multinomial_of_large_counts() -> None:
    with mpmath.workdps(60):
        n = mpmath.mpf(10) ** 15
        exact = mpmath.loggamma(n + 1) - 10 * mpmath.loggamma(n / 10 + 1) - n * mpmath.log(10)
        # The sum of ten floats 0.1 is 1 to one unit in the last place, which changes the result by as much as that.
        found = float(stats.multinomial.logpmf(np.full(10, 1e14), 1e15, np.full(10, 0.1)))
        assert found == pytest.approx(float(exact), rel=1e-10)


def test_supports() -> None:
    for name, shapes in {"poisson": (3.0,), "binom": (5, 0.3), "genpareto": (-0.3,), "gamma": (-1.0,)}.items():
        found, expected = getattr(stats, name).support(*shapes), getattr(theirs, name).support(*shapes)
        np.testing.assert_array_equal(found, expected)
        assert [np.asarray(x).dtype for x in found] == [np.asarray(x).dtype for x in expected]
    low, high = fg.jit(stats.truncnorm.support)(np.array([1.0, 3.0]), 2.0, 10.0, 2.0)
    np.testing.assert_array_equal([low, high], [[12.0, np.nan], [14.0, np.nan]])
    assert fg.grad(lambda s: stats.uniform.support(1.0, s)[1])(2.0) == 1


@pytest.mark.parametrize("name", ["poisson", "bernoulli", "geom", "nbinom"])
@pytest.mark.parametrize("first", [0.5, -5.3, np.array([0.5, 1.0])], ids=["a number", "refused", "an array"])
def test_supports_of_traced_parameters_have_scipys_dtypes(name: str, first: Any) -> None:
    """They are integers as long as no parameter is refused; compiled programs do not know, and have floats."""
    rest = (0.3,) if name == "nbinom" else ()
    found: list[Any] = []
    fg.vjp(lambda x: found.extend(getattr(stats, name).support(x, *rest)) or x, first)
    for ours, expected in zip(found, getattr(theirs, name).support(first, *rest), strict=True):
        np.testing.assert_array_equal(ours, expected)
        assert np.asarray(ours).dtype == np.asarray(expected).dtype
    staged = fg.jit(getattr(stats, name).support)(first, *rest)
    np.testing.assert_array_equal(staged, getattr(theirs, name).support(first, *rest))
    assert all(each.dtype == np.float64 for each in staged)


@pytest.mark.parametrize("engine", ["eager", "numpy", "xla"])
def test_a_traced_covariance_may_be_declared_singular_if_it_is_not(engine: str) -> None:
    """Kalman filters pass allow_singular=True always."""
    x, cov = np.array([0.3, -0.2]), np.array([[2.0, 0.5], [0.5, 1.0]])

    def f(c: Any, **options: Any) -> Any:
        return stats.multivariate_normal.logpdf(x, np.zeros(2), c @ c.T, **options)

    def with_option(c: Any) -> Any:
        return f(c, allow_singular=True)

    run = with_option if engine == "eager" else fg.jit(with_option, engine=engine)
    value, slope = fg.value_and_grad(run)(cov)
    expected, expected_slope = fg.value_and_grad(f)(cov)
    np.testing.assert_allclose(value, expected, rtol=1e-14)
    np.testing.assert_allclose(slope, expected_slope, rtol=1e-13)
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])
    if engine == "eager":
        with pytest.raises(UnsupportedFunctionError, match="no derivative by a singular matrix"):
            fg.grad(run)(singular)
    elif engine == "numpy":
        with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
            fg.grad(run)(singular)
    else:
        assert np.isnan(fg.value_and_grad(run)(singular)[0])


def test_a_multivariate_t_of_many_degrees_of_freedom_is_nearly_normal() -> None:
    x = np.array([0.3, -0.7, 1.1])
    # The values of mpmath. Two log gamma functions agree in all digits but a few.
    for df, expected in ((1e8, -3.651815610953768), (1e12, -3.6518155996151522), (1e15, -3.6518155996140194)):
        np.testing.assert_allclose(stats.multivariate_t.logpdf(x, shape=np.eye(3), df=df), expected, rtol=1e-13)
