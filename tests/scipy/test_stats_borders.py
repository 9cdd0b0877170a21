"""Distributions at the borders of their arguments: values beside SciPy's, or beside the exact ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.stats

import funcgrad as fg
from funcgrad.scipy import stats
from tests.laws.fuzz import borders
from tests.laws.fuzz.check import Report

# These were numbers where SciPy has NaN, or others than SciPy's.
SCIPYS = [
    ("f", "cdf", (2.0, 0.5, np.inf)),
    ("f", "logsf", (1e-8, 0.5, np.inf)),
    ("f", "sf", (2.0, np.inf, 0.5)),
    ("nbinom", "cdf", (3, np.inf, 0.5)),
    ("powerlaw", "pdf", (0.0, 0.5)),
    ("powerlaw", "logpdf", (0.0, 0.5)),
    ("powerlaw", "pdf", (0.0, 1.0)),
    ("invgauss", "logpdf", (0.5, np.inf)),
    ("fisk", "logpdf", (1e300, 5.0)),
    ("fisk", "logpdf", (0.0, 5.0)),
    ("fisk", "logpdf", (0.7, 2.0)),
    ("fisk", "logcdf", (0.0, 5.0)),
    ("genlogistic", "isf", (0.25, 2.0)),
    ("gengamma", "pdf", (0.0, 0.5, 0.5)),
    ("gengamma", "logpdf", (-0.0, 1.0, 2.0)),
    ("gengamma", "pdf", (0.0, 1.0, 1.0)),
    ("gengamma", "pdf", (0.0, 0.5, -0.5)),
]
# Here SciPy's value is infinite, and the exact one is not.
EXACT = [
    (stats.fisk.logcdf, (1e-300, 5.0), -1500 * math.log(10)),
    (stats.fisk.logsf, (1e300, 5.0), -1500 * math.log(10)),
    (stats.genlogistic.ppf, (0.25, 1e-8), -1e8 * math.log(4)),
    (stats.genlogistic.isf, (0.75, 1e-8), -1e8 * math.log(4)),
]


@pytest.mark.parametrize(("name", "method", "arguments"), SCIPYS)
def test_the_value_is_scipys(name: str, method: str, arguments: tuple[float, ...]) -> None:
    with np.errstate(all="ignore"):
        expected = getattr(getattr(scipy.stats, name), method)(*arguments)
        f = getattr(getattr(stats, name), method)
        for run in (f, lambda *a: fg.vjp(f, *a)[0], fg.jit(lambda *a: f(*a), engine="numpy")):
            np.testing.assert_allclose(run(*map(float, arguments)), expected, rtol=1e-12)


@pytest.mark.parametrize(("f", "arguments", "expected"), EXACT)
def test_the_value_is_exact_where_scipys_overflows(f: Any, arguments: tuple[float, ...], expected: float) -> None:
    np.testing.assert_allclose(f(*arguments), expected, rtol=1e-12)
    assert np.isfinite(fg.grad(f)(*arguments))


@pytest.mark.parametrize("method", ["ppf", "isf"])
def test_a_quantile_among_probabilities_that_are_nan_is_nan(method: str) -> None:
    # The probabilities of SciPy are NaN here, and its search finds 5 and 2.
    q = np.array([1e-8, 0.5], np.float32)
    with np.errstate(all="ignore"):
        assert np.isnan(getattr(stats.betabinom, method)(q, 5, 0.3, np.inf)).all()
    assert not np.isnan(getattr(stats.betabinom, method)(q, 5, 0.3, 2.0)).any()


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, 400, 100))
def test_calls_at_borders(first: int) -> None:
    report = Report()
    found = [
        (seed, what) for seed in range(first, first + 100) for what in borders.findings(borders.call_of(seed), report)
    ]
    assert not found
    assert report.checks["borders"] > 200


@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
@pytest.mark.parametrize(
    ("f", "at", "first", "second"),
    [
        (lambda k: stats.vonmises.logpdf(0.3, k), 0.0, math.cos(0.3), -0.5),
        (lambda k: stats.vonmises.pdf(0.3, k), 0.0, math.cos(0.3) / (2 * math.pi), None),
        (stats.vonmises.entropy, 0.0, 0.0, -0.5),
        # Differences of the formula with 60 digits.
        (lambda c: stats.genextreme.logpdf(0.3, c), 1.0, 0.4070024831816197, None),
        (stats.genextreme.mean, 0.0, -(math.pi**2) / 12 - np.euler_gamma**2 / 2, None),
    ],
)
def test_parameters_at_which_the_formula_changes(
    f: Any, at: float, first: float, second: float | None, engine: str | None
) -> None:
    for derivative, expected in ((fg.grad(f), first), (fg.grad(fg.grad(f)), second)):
        if expected is not None:
            found = (derivative if engine is None else fg.jit(derivative, engine=engine))(at)
            np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("x", [-1e200, -1e10, -2.0])
def test_the_logarithm_of_cauchys_distribution_function_far_to_the_left(x: float) -> None:
    u = -1 / x
    expected = u * u / (1 + u * u) / np.arctan(u) if u > 1e-100 else u
    np.testing.assert_allclose(fg.grad(stats.cauchy.logcdf)(x), expected, rtol=1e-14)
    np.testing.assert_allclose(fg.grad(stats.cauchy.logsf)(-x), -expected, rtol=1e-14)
