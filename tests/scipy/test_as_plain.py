"""Calls of SciPy's functions on traced values: value, shape and dtype of SciPy's plain call, or its class of error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import linalg, signal, special, stats

import funcgrad as fg
from funcgrad.scipy import linalg as our_linalg
from funcgrad.scipy import signal as our_signal
from funcgrad.scipy import special as our_special
from funcgrad.scipy import stats as our_stats

RNG = np.random.default_rng(0)
TALL, RIGHT, SQUARE = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 4, 2)), RNG.normal(size=(2, 3, 3))
ROWS, POINTS = RNG.normal(size=(3, 9)), np.array([-1.0, 0.0, 0.5, 30.0])
SINGLE = np.array([4.0, 1.0, 0.5, 0.25], np.float32)
Case = tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]
CASES: dict[str, Case] = {
    "lstsq of a stack": (linalg.lstsq, our_linalg.lstsq, (TALL, RIGHT)),
    "lstsq of a stack and one vector": (linalg.lstsq, our_linalg.lstsq, (TALL, RIGHT[0, :, 0])),
    "lstsq of one matrix and a stack": (linalg.lstsq, our_linalg.lstsq, (TALL[0], RIGHT)),
    "lstsq of a wide stack": (linalg.lstsq, our_linalg.lstsq, (TALL[:, :2], RIGHT[:, :2])),
    "lstsq where the rows differ": (linalg.lstsq, our_linalg.lstsq, (TALL, RIGHT[:, :, 0])),
    "expm_frechet along one direction": (linalg.expm_frechet, our_linalg.expm_frechet, (SQUARE, SQUARE[0])),
    "expm_frechet along several": (linalg.expm_frechet, our_linalg.expm_frechet, (SQUARE[0], SQUARE)),
    "expm_frechet of float32": (linalg.expm_frechet, our_linalg.expm_frechet, (*(SQUARE[:1] / 9).astype("f"),) * 2),
    "matmul_toeplitz of float32": (linalg.matmul_toeplitz, our_linalg.matmul_toeplitz, (SINGLE, SINGLE)),
    "solve_toeplitz of complex64": (linalg.solve_toeplitz, our_linalg.solve_toeplitz, (SINGLE * (1 + 2j), SINGLE)),
    "pearsonr of float32": (
        lambda x: tuple(stats.pearsonr(x, SINGLE)),
        lambda x: our_stats.pearsonr(x, SINGLE),
        (SINGLE[::-1] ** 2,),
    ),
    "pearsonr of two pairs of float32": (
        lambda x: tuple(stats.pearsonr(x, SINGLE[:2])),
        lambda x: our_stats.pearsonr(x, SINGLE[:2]),
        (SINGLE[2:],),
    ),
    "cho_solve of a stack": (
        lambda a, b: linalg.cho_solve((a, True), b),
        lambda a, b: our_linalg.cho_solve((a, True), b),
        (SQUARE, RIGHT[:, :3]),
    ),
    "complex tridiagonal matrices": (
        linalg.eigvalsh_tridiagonal,
        our_linalg.eigvalsh_tridiagonal,
        (np.ones(3), np.array([1.0, 1j])),
    ),
    "polygamma of several orders": (
        lambda x: special.polygamma([0, 1, 2.0], x),
        lambda x: our_special.polygamma([0, 1, 2.0], x),
        (np.array([1.5, 2.0, -0.5]),),
    ),
    "polygamma of orders by arguments": (
        lambda x: special.polygamma(np.arange(2)[:, None], x),
        lambda x: our_special.polygamma(np.arange(2)[:, None], x),
        (np.array([1.5, 2.0, -0.5]),),
    ),
    "savgol_filter along rows": (
        lambda x: signal.savgol_filter(x, 5, 2, axis=0, mode="nearest"),
        lambda x: our_signal.savgol_filter(x, 5, 2, axis=0, mode="nearest"),
        (RNG.normal(size=(7, 3)),),
    ),
    "f_oneway": (lambda x: stats.f_oneway(x, *ROWS), lambda x: our_stats.f_oneway(x, *ROWS), (ROWS[0] + 0.5,)),
    "f_oneway of unequal variances": (
        lambda x: stats.f_oneway(x, ROWS[1][:5], equal_var=False),
        lambda x: our_stats.f_oneway(x, ROWS[1][:5], equal_var=False),
        (ROWS[0],),
    ),
    "f_oneway of rows": (
        lambda x: stats.f_oneway(x, ROWS[0][:3]),
        lambda x: our_stats.f_oneway(x, ROWS[0][:3]),
        (SQUARE[0],),
    ),
    "kendalltau": (
        lambda x: tuple(stats.kendalltau(x, ROWS[1])),
        lambda x: our_stats.kendalltau(x, ROWS[1]),
        (ROWS[0],),
    ),
    "weightedtau": (
        lambda x: tuple(stats.weightedtau(x, ROWS[1])),
        lambda x: our_stats.weightedtau(x, ROWS[1]),
        (ROWS[0],),
    ),
    "siegelslopes": (
        lambda x: tuple(stats.siegelslopes(x, ROWS[1])),
        lambda x: our_stats.siegelslopes(x, ROWS[1]),
        (ROWS[0],),
    ),
    "siegelslopes with ties": (
        lambda x: tuple(stats.siegelslopes(x, [1.0, 2.0, 2.0, 4.0, 4.0], "separate")),
        lambda x: our_stats.siegelslopes(x, [1.0, 2.0, 2.0, 4.0, 4.0], "separate"),
        (ROWS[0][:5],),
    ),
    "boxcox_llf": (lambda x: stats.boxcox_llf(0.7, x), lambda x: our_stats.boxcox_llf(0.7, x), (ROWS[0] ** 2,)),
    "boxcox_llf at 0": (lambda x: stats.boxcox_llf(0.0, x), lambda x: our_stats.boxcox_llf(0.0, x), (ROWS[0] ** 2,)),
    "bayes_mvs": (
        lambda x: [z for each in stats.bayes_mvs(x) for z in (each[0], *each[1])],
        lambda x: [z for each in our_stats.bayes_mvs(x) for z in (each[0], *each[1])],
        (ROWS[0],),
    ),
    "bayes_mvs of many": (
        lambda x: [z for each in stats.bayes_mvs(x, 0.5) for z in (each[0], *each[1])],
        lambda x: [z for each in our_stats.bayes_mvs(x, 0.5) for z in (each[0], *each[1])],
        (np.linspace(0.0, 3.0, 1001) ** 2,),
    ),
    "shapiro": (stats.shapiro, our_stats.shapiro, (ROWS[0],)),
    "shapiro of three": (stats.shapiro, our_stats.shapiro, (ROWS[0][:3],)),
    "shapiro of many": (stats.shapiro, our_stats.shapiro, (np.concatenate(ROWS),)),
    "chdtr": (lambda x: special.chdtr(3.0, x), lambda x: our_special.chdtr(3.0, x), (POINTS,)),
    "chdtrc": (lambda x: special.chdtrc(3.0, x), lambda x: our_special.chdtrc(3.0, x), (POINTS,)),
    "chdtri": (lambda p: special.chdtri(3.0, p), lambda p: our_special.chdtri(3.0, p), (np.array([0.0, 0.2, 1.0]),)),
    "fdtr": (lambda x: special.fdtr(2.0, 3.0, x), lambda x: our_special.fdtr(2.0, 3.0, x), (POINTS,)),
    "fdtrc": (lambda x: special.fdtrc(2.0, 3.0, x), lambda x: our_special.fdtrc(2.0, 3.0, x), (POINTS,)),
    "gdtr": (lambda x: special.gdtr(2.0, 3.0, x), lambda x: our_special.gdtr(2.0, 3.0, x), (POINTS,)),
    "gdtrc": (lambda x: special.gdtrc(2.0, 3.0, x), lambda x: our_special.gdtrc(2.0, 3.0, x), (POINTS,)),
    "iqr of nothing": (stats.iqr, our_stats.iqr, (np.zeros(0),)),
    "iqr of empty rows": (lambda x: stats.iqr(x, axis=1), lambda x: our_stats.iqr(x, axis=1), (np.zeros((2, 0)),)),
    "decimate of a broken order": (
        lambda x: signal.decimate(x, 2, n=2.5),
        lambda x: our_signal.decimate(x, 2, n=2.5),  # pyright: ignore[reportArgumentType]  (the argument is wrong)
        (np.arange(40.0),),
    ),
}


def _ran(f: Callable[..., Any], args: tuple[Any, ...]) -> list[np.ndarray] | Exception:
    try:
        y = f(*args)
    except (TypeError, ValueError) as error:
        return error
    return [np.asarray(each) for each in y] if isinstance(y, tuple | list) else [np.asarray(y)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_is_scipys(name: str) -> None:
    scipys, ours, args = CASES[name]
    expected = _ran(scipys, args)
    for run in (lambda *args: fg.vjp(ours, *args)[0], fg.jit(ours, engine="numpy")):
        got = _ran(run, args)
        if isinstance(expected, Exception):
            assert isinstance(got, type(expected)), got
            continue
        assert isinstance(got, list), got
        for y, z in zip(got, expected, strict=True):
            assert (y.shape, y.dtype) == (z.shape, z.dtype)
            np.testing.assert_allclose(y, z, rtol=1e-6 if z.dtype == np.float32 else 1e-8, atol=1e-12)


def test_lstsq_of_a_stack_has_derivatives() -> None:
    fg.check_grads(lambda a, b: our_linalg.lstsq(a, b)[:2], (TALL, RIGHT))


def test_shapiro_and_analysis_of_variance_have_derivatives() -> None:
    fg.check_grads(lambda x: our_stats.shapiro(x), (ROWS[0],))
    fg.check_grads(lambda x: our_stats.f_oneway(x, ROWS[1]), (ROWS[0],))


def test_estimates_have_derivatives() -> None:
    positive = ROWS[0] ** 2 + 0.1
    fg.check_grads(our_stats.boxcox_llf, (0.3, positive))
    fg.check_grads(our_stats.boxcox_llf, (0.0, positive))
    fg.check_grads(our_stats.bayes_mvs, (ROWS[0],))
    for method in ("hierarchical", "separate"):
        fg.check_grads(lambda y, x, method=method: our_stats.siegelslopes(y, x, method), (ROWS[0], ROWS[1]))
    assert not fg.grad(lambda x: our_stats.weightedtau(x, ROWS[1]).statistic)(ROWS[0]).any()
    with fg.intercept():
        best = fg.grad(lambda a: stats.boxcox(positive + a * ROWS[1] ** 2)[1])(0.0)
    around = [_best_exponent(positive + a * ROWS[1] ** 2) for a in (-1e-3, 1e-3)]
    assert abs(best - (around[1] - around[0]) / 2e-3) < 1e-3


def _best_exponent(x: np.ndarray) -> float:
    """The exponent of the greatest likelihood, by SciPy."""
    return float(stats.boxcox_normmax(x, brack=(-2.0, 2.0), method="mle"))


def test_logarithms_of_gammas_tails_do_not_underflow() -> None:
    assert abs(our_stats.gamma.logsf(5000.0, 1.8) + 4993.1150015931) < 1e-9
    assert abs(fg.grad(our_stats.gamma.logsf)(5000.0, 1.8) + 0.99984003199) < 1e-10
    assert fg.grad(our_stats.poisson.logcdf, 1)(3.0, 2000.0) < -0.99


def test_polygamma_of_several_orders_has_derivatives() -> None:
    with pytest.raises(ValueError, match="needed an integer from 0 on"):
        fg.grad(lambda n: our_special.polygamma([n, 1.0], 2.5)[0])(2.0)
    np.testing.assert_allclose(
        fg.jacfwd(lambda x: our_special.polygamma([0, 1], x))(2.5), special.polygamma([1, 2], 2.5), rtol=1e-13
    )
