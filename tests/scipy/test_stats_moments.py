"""Infinite points, moments, entropies and quantiles of whole numbers; what distributions say of what they lack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.scipy import stats
from tests.scipy.test_stats import MOMENTS, QUANTILES, SHAPES, inner_points, is_discrete, methods, theirs


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [name for name in SHAPES if not is_discrete(name) and name != "vonmises"])
def test_infinite_points(name: str) -> None:
    """They carry no derivative, to any argument and any order, and do not spoil that of other points."""
    ours, shapes = getattr(stats, name), [np.float64(each) for each in SHAPES[name]]
    args = [*shapes, np.float64(0.2), np.float64(1.5)]
    inner = float(inner_points(name)[0])
    for method in methods(name):
        if method in QUANTILES:
            continue
        f = getattr(ours, method)
        pair = lambda x, *xs, f=f: np.sum(f(np.array([x, inner]), *xs))
        for x in (np.inf, -np.inf):
            expected = getattr(getattr(theirs, name), method)(x, *args)
            value, slopes = fg.value_and_grad(f, tuple(range(len(args) + 1)))(x, *args)
            # The limit, if SciPy has NaN.
            assert value == expected or np.isnan(expected)
            assert value in {0, 1, -np.inf}
            assert not np.any(slopes)
            others = tuple(range(1, len(args) + 1))
            np.testing.assert_array_equal(fg.grad(pair, others)(x, *args), fg.grad(f, others)(inner, *args))
        assert not np.any(fg.hessian(f, len(args))(np.inf, *args))


MOMENT_CASES = [
    (name, method)
    for name in SHAPES
    for method in MOMENTS
    # The numbers of trials are whole.
    if method.replace("std", "var") in getattr(stats, name)._formulas
    and name not in ("binom", "betabinom")
    and np.isfinite(getattr(theirs, name)(*SHAPES[name]).var() if method != "entropy" else 0)
]


@pytest.mark.parametrize(("name", "method"), MOMENT_CASES)
def test_gradients_of_moments(name: str, method: str) -> None:
    f = getattr(getattr(stats, name), method)
    rest = [] if is_discrete(name) else [np.float64(0.2), np.float64(1.5)]
    args = [*map(np.float64, SHAPES[name]), *rest]
    for i, slope in enumerate(fg.grad(lambda *xs: f(*xs) * 1.0, tuple(range(len(args))))(*args)):
        first, last = [f(*[x + t if j == i else x for j, x in enumerate(args)]) for t in (-1e-5, 1e-5)]
        assert float(slope) == pytest.approx((last - first) / 2e-5, rel=1e-6, abs=1e-8)


def test_quantiles_of_whole_numbers() -> None:
    """They go in steps, but for the location."""
    q, mu = np.array([0.1, 0.5, 0.93]), np.array([2.4, 3.0, 0.7])
    expected = theirs.poisson.ppf(q, mu, 2)
    ways: list[Any] = [stats.poisson.ppf, fg.jit(stats.poisson.ppf), fg.jit(stats.poisson.ppf, engine="numpy")]
    for way in ways:
        np.testing.assert_array_equal(way(q, mu, 2), expected)
    np.testing.assert_array_equal(fg.vmap(lambda q, mu: stats.poisson.ppf(q, mu, 2))(q, mu), expected)
    slopes = fg.grad(lambda *xs: np.sum(ways[0](*xs)), (0, 1, 2))(q, mu, 2.0)
    assert [np.sum(each) for each in slopes] == [0, 0, 3]
    for ours, other in ((stats.binom(7, 0.3), theirs.binom(7, 0.3)), (stats.nbinom(2.5, 0.4), theirs.nbinom(2.5, 0.4))):
        assert ours.median() == other.median()
        assert ours.interval(0.9) == other.interval(0.9)
        assert ours.isf(0.2) == other.isf(0.2)


def test_what_distributions_lack() -> None:
    assert stats.norm.stats(1.0, 2.0) == (1.0, 4.0)
    assert stats.norm(1.0, 2.0).stats(moments="v") == 4.0
    with pytest.raises(UnsupportedFunctionError, match="moments 'mvs' were asked for"):
        stats.norm.stats(moments="mvs")
    with pytest.raises(AttributeError, match="a fit is a search"):
        stats.norm.fit([1.0, 2.0])
    with pytest.raises(AttributeError, match=r"multivariate_normal> has no rvs: samples"):
        stats.multivariate_normal(np.zeros(2)).rvs()
    said = r"^scipy\.stats\.norm\.fit met a traced value.*Minimise -np\.sum\(logpdf"
    with pytest.raises(UnsupportedFunctionError, match=said):
        fg.grad(lambda x: theirs.norm.fit(x)[0])(np.array([1.0, 2.0, 4.0]))


# Values of mpmath with 60 digits.
LARGE_SHAPES: list[tuple[str, str, tuple[float, ...], float]] = [
    ("gamma", "entropy", (1e18,), 22.142204370151084),
    ("chi2", "entropy", (1e15,), 19.034900320939986),
    ("invgamma", "entropy", (1e100,), -343.96882541590224),
    ("chi", "entropy", (1e10,), 1.0723649429080333),
    ("gengamma", "entropy", (1e30, 1.0), 35.95771492811536),
    ("nakagami", "entropy", (1e100,), -114.40346329705757),
    ("loggamma", "entropy", (1e10,), -10.09398693174889),
    ("t", "entropy", (1e100,), 1.4189385332046727),
    ("beta", "entropy", (1e10, 1e10 + 20), -11.133707703130474),
    ("beta", "entropy", (5.0, 1e50), -112.97567149308153),
    ("chi", "mean", (1e14,), 9999999.999999975),
    ("chi", "var", (1e14,), 0.4999999999999988),
    ("nakagami", "mean", (1e10,), 0.9999999999875),
    ("loguniform", "mean", (1e-200, 1e200), 1.0857362047581295e197),
]


@pytest.mark.parametrize(("name", "method", "shapes", "expected"), LARGE_SHAPES)
def test_moments_of_large_shapes(name: str, method: str, shapes: tuple[float, ...], expected: float) -> None:
    f = getattr(getattr(stats, name), method)
    for run in (f, fg.jit(f, engine="numpy"), lambda *shapes: fg.vjp(f, *shapes)[0]):
        np.testing.assert_allclose(run(*map(np.float64, shapes)), expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["gamma", "chi2", "invgamma", "chi", "nakagami", "loggamma", "t"])
def test_entropies_are_smooth_where_the_series_begins(name: str) -> None:
    f = getattr(stats, name).entropy
    for border in (250.0, 500.0):
        around = border + np.array([-1e-3, 1e-3])
        first, second = fg.grad(f), fg.grad(fg.grad(f))
        np.testing.assert_allclose(np.diff(f(around)), 2e-3 * first(border), rtol=1e-5, atol=1e-11)
        np.testing.assert_allclose(*[first(x) for x in around], rtol=2e-4)
        np.testing.assert_allclose(*[second(x) for x in around], rtol=1e-3)


def test_ends_of_distributions_by_values_that_scipys_tests_have() -> None:
    ends = np.array([-745.1, -800.0])
    expected = np.array([0.4749605142005238, 0.44958802911019136])
    np.testing.assert_allclose(stats.loggamma.cdf(ends, 0.001), expected, rtol=1e-13)
    np.testing.assert_allclose(stats.loggamma.sf(ends, 0.001), 1 - expected, rtol=1e-13)
    np.testing.assert_allclose(stats.loggamma.ppf(expected, 0.001), ends, rtol=1e-11)
    np.testing.assert_allclose(stats.loggamma.isf(1 - expected, 0.001), ends, rtol=1e-11)
    np.testing.assert_allclose(
        fg.grad(stats.loggamma.cdf)(-800.0, 0.001), stats.loggamma.pdf(-800.0, 0.001), rtol=1e-12
    )
    np.testing.assert_allclose(stats.cauchy.ppf(0.999999999999), 318316927901.77966, rtol=1e-14)
    x, q = np.array([1e-199, 1.0, 1e100]), np.array([0.1, 0.5, 0.99])
    for method, points in (("logpdf", x), ("cdf", x), ("sf", x), ("ppf", q), ("isf", q)):
        f = getattr(theirs.loguniform, method)
        np.testing.assert_allclose(getattr(stats.loguniform, method)(points, 1e-200, 1e200), f(points, 1e-200, 1e200))


def test_moments_have_the_shape_of_all_parameters() -> None:
    loc, scale = np.zeros(2), np.array([[1.0], [2.0], [3.0]])
    for method in ("mean", "var", "std", "entropy"):
        f, expected = getattr(stats.norm, method), getattr(theirs.norm, method)(loc, scale)
        for run in (fg.jit(f, engine="numpy"), lambda *args, f=f: fg.vjp(f, *args)[0]):
            np.testing.assert_allclose(run(loc, scale), expected)
            assert run(loc, scale).shape == expected.shape
