"""Logarithms of tails that underflow as probabilities, and their derivatives, beside mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.scipy import stats


def log_beta_part(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """The logarithm of the regularized incomplete beta function (DLMF 8.17.8)."""
    return a * mp.log(x) + b * mp.log(rest) - mp.log(a * mp.beta(a, b)) + mp.log(mp.hyp2f1(a + b, 1, a + 1, x))


def _f(x: Any, n: Any, m: Any) -> tuple[Any, Any]:
    return n * x / (m + n * x), m / (m + n * x)


def _t(x: Any, df: Any) -> Any:
    return log_beta_part(df / 2, mp.mpf(0.5), df / (df + x * x), x * x / (df + x * x)) - mp.log(2)


# The method, the formula, the arguments, and which of them it is differentiated by.
Case = tuple[Callable[..., Any], Callable[..., Any], tuple[float, ...], tuple[int, ...]]
CASES: dict[str, Case] = {
    "beta.logcdf": (stats.beta.logcdf, lambda x, a, b: log_beta_part(a, b, x, 1 - x), (0.39, 2e4, 1e4), (0, 1, 2)),
    "beta.logcdf near 0": (stats.beta.logcdf, lambda x, a, b: log_beta_part(a, b, x, 1 - x), (1e-200, 3, 0.5), (0, 1)),
    "beta.logsf": (stats.beta.logsf, lambda x, a, b: log_beta_part(b, a, 1 - x, x), (0.999, 2.0, 80.0), (0, 1, 2)),
    "t.logsf": (stats.t.logsf, _t, (60.0, 1000.0), (0, 1)),
    "t.logsf far out": (stats.t.logsf, _t, (1e160, 3.0), (0, 1)),
    "t.logcdf": (stats.t.logcdf, lambda x, df: _t(-x, df), (-1e40, 10.0), (0, 1)),
    "f.logcdf": (stats.f.logcdf, lambda x, n, m: log_beta_part(n / 2, m / 2, *_f(x, n, m)), (1e-40, 20, 5), (0, 1, 2)),
    "f.logsf": (
        stats.f.logsf,
        lambda x, n, m: log_beta_part(m / 2, n / 2, *_f(x, n, m)[::-1]),
        (30.0, 200.0, 300.0),
        (0, 1, 2),
    ),
    "binom.logcdf": (stats.binom.logcdf, lambda k, n, p: log_beta_part(n - k, k + 1, 1 - p, p), (3, 2000, 0.5), (2,)),
    "binom.logsf": (stats.binom.logsf, lambda k, n, p: log_beta_part(k + 1, n - k, p, 1 - p), (400, 500, 1e-3), (2,)),
    "nbinom.logcdf": (stats.nbinom.logcdf, lambda k, n, p: log_beta_part(n, k + 1, p, 1 - p), (3, 400, 0.01), (1, 2)),
    "nbinom.logsf": (stats.nbinom.logsf, lambda k, n, p: log_beta_part(k + 1, n, 1 - p, p), (2000, 10, 0.5), (1, 2)),
}


# The density where no point is an end is computed at a point within, whatever the parameters are.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_tails_and_their_slopes(name: str) -> None:
    method, formula, args, by = CASES[name]
    args = tuple(map(float, args))
    with mp.workdps(60):
        exact = tuple(map(mp.mpf, args))
        np.testing.assert_allclose(method(*args), float(formula(*exact)), rtol=1e-12)
        np.testing.assert_allclose(fg.jit(method, engine="numpy")(*args), float(formula(*exact)), rtol=1e-12)
        for i in by:
            step = exact[i] * mp.mpf(10) ** -20
            ends = [formula(*[x + side * (k == i) for k, x in enumerate(exact)]) for side in (-step, step)]
            np.testing.assert_allclose(fg.grad(method, i)(*args), float((ends[1] - ends[0]) / (2 * step)), rtol=1e-11)


def test_points_near_and_far_in_one_array() -> None:
    x = np.array([0.3, 2.0, 60.0, -60.0, 0.0, np.inf, -np.inf, np.nan])
    y, slope = fg.jvp(lambda x: stats.t.logsf(x, 1000.0), (x,), (np.ones_like(x),))
    np.testing.assert_allclose(y[:2], np.log(stats.t.sf(x[:2], 1000.0)))
    assert abs(y[2] - stats.t.logsf(60.0, 1000.0)) < 1e-9
    np.testing.assert_array_equal(y[[5, 6]], [-np.inf, 0.0])
    assert np.isfinite(slope[:5]).all()
    assert (stats.beta.logcdf(0.0, 2.0, 3.0), stats.beta.logsf(0.0, 2.0, 3.0)) == (-np.inf, 0.0)
    assert (stats.binom.logsf(4, 4, 0.5), stats.binom.logcdf(4, 4, 0.5)) == (-np.inf, 0.0)
