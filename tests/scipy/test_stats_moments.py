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
            # Where SciPy has NaN, the limit.
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
