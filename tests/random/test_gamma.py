"""The derivative of a gamma-distributed number by its parameter: of quantiles by differences, and as JAX has it."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad._ops.random.gamma import gamma_slope_p
from funcgrad.errors import NotDifferentiableError

KEY = fg.random.key(42)
# Type checkers see a parameter that its decorator takes away.
GRAD: Any = jax.lax.random_gamma_grad
A = np.geomspace(1e-3, 1e6, 46)


@pytest.mark.long
@pytest.mark.parametrize("p", [1e-6, 0.02, 0.3, 0.5, 0.9, 1 - 1e-6])
def test_the_slope_of_quantiles(p: float) -> None:
    """Five-point differences of ``log(gammaincinv)``, whose own rounding they magnify."""
    a = A[scipy.special.gammaincinv(A, p) > 1e-280]
    step = 1e-4 * a

    def quantile(times: int) -> np.ndarray:
        return np.log(scipy.special.gammaincinv(a + times * step, p))

    differences = (8 * (quantile(1) - quantile(-1)) - (quantile(2) - quantile(-2))) / (12 * step)
    y = np.log(scipy.special.gammaincinv(a, p))
    slope = gamma_slope_p(a, y)
    np.testing.assert_allclose(slope, differences, rtol=2e-8)
    np.testing.assert_allclose(fg.jit(lambda a, y: gamma_slope_p(a, y))(a, y), slope, rtol=2e-9)
    with jax.enable_x64(True):
        of_jax = np.asarray(GRAD(a, np.exp(y))) * np.exp(-y)
    np.testing.assert_allclose(slope, of_jax, rtol=2e-9)


def test_slopes_too_small_for_the_dtype() -> None:
    """``P`` is ``x**a / gamma(a + 1)`` there: ``log x`` is known, ``x`` is not."""
    a, p = np.array([1e-4, 1e-3, 0.5]), 0.1
    y = (np.log(p) + scipy.special.gammaln(a + 1)) / a
    y[2] = -800
    expected = (scipy.special.psi(a + 1) - y) / a
    for slope in (gamma_slope_p(a, y), fg.jit(lambda a, y: gamma_slope_p(a, y))(a, y)):
        np.testing.assert_allclose(slope, expected, rtol=1e-12)
    assert fg.grad(lambda a: fg.random.gamma(KEY, a))(1e-4) == 0
    assert abs(fg.grad(lambda a: fg.random.loggamma(KEY, a))(1e-4)) > 1e6


def test_where_there_is_no_slope() -> None:
    a, y = np.array([0.0, -1.0, np.nan, np.inf, 1.0, 1.0]), np.array([0.0, 0.0, 0.0, 0.0, np.nan, np.inf])
    assert np.isnan(gamma_slope_p(a, y)).all()
    assert np.isnan(fg.random.gamma(KEY, np.array([np.nan, -3.0]))).all()
    assert fg.random.gamma(KEY, np.inf) == np.inf


def test_parameters_broadcast_to_the_shape() -> None:
    """Each element has a key of its own, by its place."""
    low, high, pair = np.array([[0.3], [2.0]]), np.ones((2, 5)), np.array([[0.5, 1.0], [3.0, 20.0]])
    random: Any = fg.random
    for name, given, whole, shape in (
        ("gamma", (low,), (low * high,), (2, 5)),
        ("poisson", (low,), (low * high,), (2, 5)),
        ("beta", (0.5, low), (0.5 * high, low * high), (2, 5)),
        ("dirichlet", (pair,), (np.stack([pair] * 3),), (3, 2)),
    ):
        draw = getattr(random, name)
        np.testing.assert_array_equal(draw(KEY, *given, shape), draw(KEY, *whole))
        none = [np.broadcast_to(x, (0, *np.shape(x))) for x in given]
        assert draw(KEY, *none).shape == np.broadcast_shapes(*[x.shape for x in none])


def test_a_second_derivative_is_refused() -> None:
    def f(a: Any) -> Any:
        return fg.random.gamma(KEY, a)

    for second in (fg.grad(fg.grad(f)), fg.jit(fg.grad(fg.grad(f)), engine="numpy")):
        with pytest.raises(NotDifferentiableError, match="a second derivative by the shape parameter"):
            second(2.0)
    mixed = fg.grad(fg.grad(lambda scale: (scale * f(2.0)) ** 2))(1.5)
    np.testing.assert_allclose(mixed, 2 * f(2.0) ** 2)


def test_moments() -> None:
    """A hundred thousand samples: means and variances within five deviations."""
    n = 100_000
    for a in (0.3, 1.0, 7.5):
        x = fg.random.gamma(KEY, a, (n,))
        assert abs(x.mean() - a) < 5 * np.sqrt(a / n)
        slope = fg.grad(lambda a: fg.random.gamma(KEY, a, (n,)).mean())(a)
        assert abs(slope - 1) < 0.03
        counts = fg.random.poisson(KEY, 10 * a, (n,))
        assert abs(counts.mean() - 10 * a) < 5 * np.sqrt(10 * a / n)
        assert abs(counts.var() / (10 * a) - 1) < 0.03
