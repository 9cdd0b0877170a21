"""Propagated covariances compared with the matrix formula, random draws, and known answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import curve_fit

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError, TreeMismatchError

RNG = np.random.default_rng(7)
X = {"a": RNG.normal(size=(2, 2)), "b": np.array(1.5)}
ROOT = RNG.normal(size=(5, 5))
COV = ROOT @ ROOT.T


def blocks(cov: np.ndarray) -> dict[str, Any]:
    """Return the covariance of ``X`` by leaves, from the matrix over all of its elements."""
    a, b = slice(0, 4), 4
    return {
        "a": {"a": cov[a, a].reshape(2, 2, 2, 2), "b": cov[a, b].reshape(2, 2)},
        "b": {"a": cov[b, a].reshape(2, 2), "b": cov[b, b]},
    }


def f(x: dict[str, Any]) -> tuple[Any, Any]:
    return np.sin(x["a"][0]) * x["b"], np.sum(x["a"]) ** 2


def flat(v: Any) -> Any:
    p, q = f({"a": v[:4].reshape(2, 2), "b": v[4]})
    return np.concatenate([p, q[None]])


@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
def test_blocks_are_those_of_the_matrix_formula(engine: str | None) -> None:
    propagate: Any = fg.delta_method(f)
    if engine is not None:
        propagate = fg.jit(propagate, engine=engine)
    value, ((pp, pq), (qp, qq)) = propagate(X, blocks(COV))
    v = np.concatenate([X["a"].ravel(), X["b"][None]])
    slopes = fg.jacobian(flat)(v)
    expected = slopes @ COV @ slopes.T
    np.testing.assert_allclose(np.concatenate([value[0], [value[1]]]), flat(v))
    np.testing.assert_allclose(np.block([[pp, pq[:, None]], [qp[None, :], qq]]), expected, rtol=1e-12)


def test_random_draws_have_this_covariance() -> None:
    """The function is nearly linear over the spread, so 200,000 draws give the difference."""
    x, cov = np.array([1.0, 2.0]), 1e-6 * np.array([[2.0, 0.5], [0.5, 1.0]])

    def ratio(x: Any) -> Any:
        return np.stack([x[0] / x[1], np.exp(x[0])])

    draws = RNG.multivariate_normal(x, cov, 200_000)
    np.testing.assert_allclose(fg.delta_method(ratio)(x, cov)[1], np.cov(ratio(draws.T)), rtol=0.02)


def test_the_band_of_a_fit() -> None:
    def model(t: Any, a: Any, rate: Any) -> Any:
        return a * np.exp(-rate * t)

    t = np.linspace(0, 2, 30)
    popt, pcov = curve_fit(model, t, model(t, 2.0, 1.1) + 0.01 * RNG.normal(size=30))
    value, cov = fg.delta_method(lambda p: model(t, *p))(popt, pcov)
    slopes = np.stack([np.exp(-popt[1] * t), -popt[0] * t * np.exp(-popt[1] * t)], 1)
    np.testing.assert_allclose(value, model(t, *popt))
    np.testing.assert_allclose(cov, slopes @ pcov @ slopes.T, rtol=1e-10, atol=1e-20)


@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
def test_exact_zeros_stay(engine: str | None) -> None:
    """Try independent outputs, an exact quantity, and a quantity with an unknown (infinite) error."""
    propagate: Any = fg.delta_method(lambda x: np.stack([x[0] ** 2, 3 * x[1], x[0] * x[2]]))
    if engine is not None:
        propagate = fg.jit(propagate, engine=engine)
    x = np.array([3.0, 0.1, 2.0])
    np.testing.assert_array_equal(propagate(x, np.diag([0.25, np.inf, 0.0]))[1], [[9, 0, 3], [0, np.inf, 0], [3, 0, 1]])
    np.testing.assert_array_equal(propagate(x, np.diag([np.nan, 1.0, 0.0]))[1][1], [0, 9, 0])
    full = propagate(x, np.full((3, 3), np.inf))[1]
    np.testing.assert_array_equal(full, np.full((3, 3), np.inf))


def test_no_warning_where_infinities_cancel() -> None:
    cov = np.full((2, 2), np.inf)
    with np.errstate(all="raise"):
        value, spread = fg.delta_method(lambda x: x[0] - x[1])(np.ones(2), cov)
    assert value == 0
    assert np.isnan(spread)


def test_dtypes_are_those_of_the_outputs() -> None:
    x = {"single": np.float32(2.0), "double": np.ones(2)}
    cov = {"single": {"single": 1, "double": [0, 0]}, "double": {"single": np.zeros(2, int), "double": np.eye(2)}}
    _, found = fg.delta_method(lambda x: x)(x, cov)
    assert found["single"]["single"].dtype == np.float32
    assert found["single"]["double"].dtype == found["double"]["double"].dtype == np.float64


def test_under_other_transforms() -> None:
    x, cov = np.array([0.3, -0.2]), np.array([[0.2, 0.05], [0.05, 0.1]])

    def variance(x: Any, cov: Any) -> Any:
        return fg.delta_method(lambda x: np.sum(np.sin(x)))(x, cov)[1]

    np.testing.assert_allclose(variance(x, cov), np.cos(x) @ cov @ np.cos(x))
    np.testing.assert_allclose(fg.grad(variance)(x, cov), -2 * np.sin(x) * (cov @ np.cos(x)))
    np.testing.assert_allclose(fg.grad(variance, 1)(x, cov), np.outer(np.cos(x), np.cos(x)))
    np.testing.assert_allclose(fg.vmap(variance)(np.stack([x, 2 * x]), np.stack([cov, cov]))[0], variance(x, cov))


def test_empty_outputs() -> None:
    value, cov = fg.delta_method(lambda x: {"none": x[:0], "nothing": ()})(np.ones(2), np.eye(2))
    assert value["none"].shape == (0,)
    assert cov["none"]["none"].shape == (0, 0)
    assert fg.delta_method(lambda x: ())(np.ones(2), np.eye(2)) == ((), ())


BAD = {
    "shape": (np.ones(2), np.ones(3), TreeMismatchError, r"block f64\[3\].*needed f64\[2,2\]"),
    "structure": ({"a": 1.0}, {"a": 1.0}, TreeMismatchError, "the covariance of argument 0"),
    "text": (np.ones(2), "errors", TypeError, "is a str; needed an array"),
    "complex": (np.ones(2), 1j * np.eye(2), TreeMismatchError, r"block c128\[2,2\]"),
    "integers": (np.ones(2, int), np.eye(2), NotDifferentiableError, "dtype int64"),
    "complex quantity": (np.ones(2) + 0j, np.eye(2), NotDifferentiableError, "needed a real dtype"),
    "nothing": ((), (), TypeError, "no arrays"),
    "negative": (np.ones(2), -np.eye(2), ValueError, "negative variance"),
    "asymmetric": (np.ones(2), np.array([[1.0, 0.5], [0.0, 1.0]]), ValueError, "not symmetric"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    x, cov, error, text = BAD[case]
    with pytest.raises(error, match=text):
        fg.delta_method(lambda x: x)(x, cov)


@pytest.mark.parametrize("output", [lambda x: x > 0, lambda x: 1j * x])
def test_bad_outputs(output: Any) -> None:
    with pytest.raises(NotDifferentiableError, match=r"delta_method: .* output"):
        fg.delta_method(output)(np.ones(2), np.eye(2))
    with pytest.raises(TypeError, match="delta_method"):
        fg.delta_method(3)  # pyright: ignore[reportArgumentType]  (bad on purpose)
