"""Correlations and quartiles beside SciPy's; derivatives against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError
from funcgrad.scipy import stats

theirs: Any = scipy.stats
X = np.array([0.3, -1.2, 0.9, 2.5, -0.4, 1.1, 0.2])
Y = np.array([0.1, -0.7, 1.9, 1.5, -0.9, 0.4, -1.3])


@pytest.mark.parametrize("name", ["pearsonr", "spearmanr"])
@pytest.mark.parametrize("y", [Y, X, -X, np.round(Y), X**3], ids=["any", "equal", "opposite", "ties", "monotone"])
def test_correlations(name: str, y: np.ndarray) -> None:
    function = getattr(stats, name)
    expected = getattr(theirs, name)(X, y)
    for found in (function(X, y), fg.jit(function)(X, y), fg.jvp(function, (X, y), (X, y))[0]):
        np.testing.assert_allclose(found.statistic, expected.statistic, rtol=1e-12)
        np.testing.assert_allclose(found.pvalue, expected.pvalue, rtol=1e-9, atol=1e-12)


def test_derivatives() -> None:
    fg.check_grads(lambda x, y: stats.pearsonr(x, y).statistic, (X, Y), 2)
    fg.check_grads(lambda x, y: stats.pearsonr(x, y).pvalue, (X, Y), 1)
    fg.check_grads(stats.iqr, (X,), 2)
    assert not fg.grad(lambda x: stats.spearmanr(x, Y).statistic)(X).any()


def test_pearsonr_of_two_points() -> None:
    assert tuple(stats.pearsonr(X[:2], Y[:2])) == tuple(theirs.pearsonr(X[:2], Y[:2]))


@pytest.mark.parametrize(
    "options",
    [{}, {"rng": (60, 10)}, {"scale": "normal"}, {"axis": 0, "keepdims": True}, {"scale": 2.0, "nan_policy": "omit"}],
    ids=str,
)
def test_iqr(options: dict[str, Any]) -> None:
    x = np.outer(X, Y)
    found, expected = stats.iqr(x, **options), theirs.iqr(x, **options)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert np.shape(found) == np.shape(expected)


def test_scipys_own_names() -> None:
    with fg.intercept():
        slope = fg.grad(lambda x: theirs.pearsonr(x, Y).statistic + theirs.iqr(x))(X)
    np.testing.assert_array_equal(slope, fg.grad(lambda x: stats.pearsonr(x, Y).statistic + stats.iqr(x))(X))


def test_refused() -> None:
    with pytest.raises(ValueError, match=r"shapes \(7,\) and \(6,\)"):
        stats.pearsonr(X, Y[:-1])
    with pytest.raises(ConcretizationTypeError, match="nan_policy='raise'"):
        fg.jit(lambda x: stats.iqr(x, nan_policy="raise"))(X)


def test_pearsonr_of_tiny_samples_and_of_equal_numbers() -> None:
    x = np.array([0.004434375, 0.004756007, 0.003911996, 0.0038005, 0.003409971])
    y = np.array([2.48e-188, 7.41e-181, 4.09e-208, 2.08e-223, 2.66e-245])
    found, pullback = fg.vjp(lambda x: stats.pearsonr(x, y).statistic, x)
    theirs: Any = scipy.stats.pearsonr(x, y)
    np.testing.assert_allclose(found, theirs.statistic, rtol=1e-13)
    expected = fg.grad(lambda x: stats.pearsonr(x, y * 1e181).statistic)(x)
    np.testing.assert_allclose(pullback(1.0)[0], expected, rtol=1e-12)
    assert np.isnan(fg.jit(stats.pearsonr)(np.full(3, 0.667), np.arange(3.0)).statistic)


def test_iqr_has_the_precision_of_the_sample() -> None:
    value = fg.vjp(stats.iqr, np.array([1, 2, 5, 3], np.float32))[0]
    assert value.dtype == np.float32
    assert value == 1.75
