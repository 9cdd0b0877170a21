"""Norms, and reductions that leave NaN out: NumPy's values, JAX's gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.numpy._surface import check_surface

NORMS: dict[str, dict[str, Any]] = {
    "of all": {},
    "of all, kept": {"keepdims": True},
    "fro": {"ord": "fro"},
    "rows": {"axis": 1},
    "columns, 1": {"ord": 1, "axis": 0},
    "rows, inf": {"ord": np.inf, "axis": 1, "keepdims": True},
    "rows, -inf": {"ord": -np.inf, "axis": -1},
    "rows, 3": {"ord": 3, "axis": 1},
    "rows, 2.5": {"ord": 2.5, "axis": 1},
    "matrix, 1": {"ord": 1},
    "matrix, inf": {"ord": np.inf, "keepdims": True},
    "matrix, -1": {"ord": -1, "axis": (1, 0)},
    "matrix, 2": {"ord": 2, "keepdims": True},
    "matrix, -2": {"ord": -2, "axis": (1, 0)},
    "nuclear": {"ord": "nuc"},
}


@pytest.mark.parametrize("name", NORMS)
def test_norm(name: str, rng: np.random.Generator) -> None:
    check_surface(lambda m, x: m.linalg.norm(x, **NORMS[name]), [rng.normal(size=(3, 4))])


@pytest.mark.parametrize("name", ["of all", "rows", "columns, 1", "rows, 3", "matrix, inf", "matrix, 2", "nuclear"])
def test_norm_of_complex_numbers(name: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4)) + 1j * rng.normal(size=(3, 4))
    check_surface(lambda m, x: m.linalg.norm(x, **NORMS[name]), [x])


def test_norms_of_the_array_api(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3, 4))
    check_surface(lambda m, x: m.linalg.vector_norm(x), [x])
    check_surface(lambda m, x: m.linalg.vector_norm(x, axis=(0, 2), ord=1), [x])
    check_surface(lambda m, x: m.linalg.matrix_norm(x, ord=np.inf, keepdims=True), [x])
    check_surface(lambda m, x: m.linalg.matrix_norm(x, ord="nuc"), [x])
    check_surface(lambda m, x: m.linalg.norm(x, 2, axis=(2, 0), keepdims=True), [x])


def test_number_of_elements_that_are_not_zero() -> None:
    x = np.array([0.0, 1.0, 2.0])
    np.testing.assert_array_equal(fg.grad(lambda x: np.linalg.norm(x, 0) + np.sum(x))(x), [1.0, 1.0, 1.0])


WITHOUT_NAN: dict[str, Any] = {
    "nansum": lambda m, x: m.nansum(x, axis=1),
    "nanprod": lambda m, x: m.nanprod(x, axis=0),
    "nanmax": lambda m, x: m.nanmax(x),
    "nanmin": lambda m, x: m.nanmin(x, axis=1, keepdims=True),
    "nanmean": lambda m, x: m.nanmean(x, axis=1),
    "nanvar": lambda m, x: m.nanvar(x, axis=1, ddof=1),
    "nanstd": lambda m, x: m.nanstd(x),
    "nancumsum": lambda m, x: m.nancumsum(x, axis=1),
    "nancumprod": lambda m, x: m.nancumprod(x),
    "nanargmax": lambda m, x: m.nanargmax(x, axis=1),
    "nanargmin": lambda m, x: m.nanargmin(x),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", WITHOUT_NAN)
def test_without_nan(name: str, dtype: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4)).astype(dtype)
    x[0, 1] = x[2, 2] = np.nan
    check_surface(WITHOUT_NAN[name], [x], tolerance=1e-10 if dtype is np.float64 else 1e-5)


def test_what_is_left_out_has_derivative_zero() -> None:
    x = np.array([1.0, np.nan, 3.0])
    functions: list[Callable[..., Any]] = [np.nansum, np.nanmean, np.nanmax, np.nanvar, np.nanstd]
    for f in functions:
        assert np.isfinite(fg.grad(f)(x)).all()


def test_mistakes() -> None:
    x = np.ones((3, 3))
    with pytest.raises(ValueError, match="the order is 3; needed 'fro', 'nuc'"):
        fg.vjp(lambda x: np.linalg.norm(x, 3), x)
    with pytest.raises(ValueError, match="is one of matrices"):
        fg.vjp(lambda x: np.linalg.norm(x, "fro", axis=0), x)
    with pytest.raises(ValueError, match="twice"):
        fg.vjp(lambda x: np.linalg.norm(x, axis=(0, 0)), x)


EMPTY: dict[str, tuple[tuple[int, ...], dict[str, Any]]] = {
    "inf": ((0,), {"ord": np.inf}),
    "inf, kept": ((0, 2), {"ord": np.inf, "axis": 0, "keepdims": True}),
    "inf of rows": ((2, 0), {"ord": np.inf, "axis": 1}),
    "matrix, inf": ((0, 2), {"ord": np.inf}),
    "matrix, 1": ((2, 0), {"ord": 1}),
    "matrix, 2": ((0, 3), {"ord": 2}),
    "nuclear": ((0, 0), {"ord": "nuc"}),
    "of all": ((0, 2), {}),
}


@pytest.mark.parametrize("name", EMPTY)
def test_norm_of_nothing(name: str) -> None:
    shape, options = EMPTY[name]
    x = np.ones(shape)
    try:
        expected = np.linalg.norm(x, **options)
    except ValueError:
        # NumPy before 2.3.
        expected = np.zeros(np.sum(x, options.get("axis"), keepdims=options.get("keepdims", False)).shape)
    got, pullback = fg.vjp(lambda x: np.linalg.norm(x, **options), x)
    np.testing.assert_array_equal(got, expected)
    with np.errstate(all="ignore"):
        assert pullback(got)[0].shape == shape
    with pytest.raises(ValueError, match="zero-size"):
        fg.vjp(lambda x: np.linalg.norm(x, -np.inf), np.ones(0))


ORDERS: dict[str, dict[str, Any]] = {
    **NORMS,
    **{f"vector, {order}": {"ord": order, "axis": 1} for order in (0, 0.5, 1, 1.5, 2, 7, -1, -2.5)},
}


@pytest.mark.parametrize("engine", [None, "numpy", "numba", "xla"])
@pytest.mark.parametrize("name", ORDERS)
def test_the_derivative_at_zero_is_zero(name: str, engine: str | None) -> None:
    x = np.zeros((2, 3))
    f = lambda x: np.linalg.norm(x, **ORDERS[name])
    gradient, push = fg.grad(lambda x: np.sum(f(x))), lambda x: fg.jvp(f, (x,), (np.ones_like(x),))[1]
    for each in (gradient, push):
        with np.errstate(all="ignore"):
            found = (each if engine is None else fg.jit(each, engine=engine))(x)
        np.testing.assert_array_equal(found, np.zeros_like(found))


@pytest.mark.parametrize("order", [0.5, 1.5, 2, 3, -1])
def test_a_zero_among_other_elements(order: float) -> None:
    """The others keep their derivatives; that of the zero is 0, as that of its absolute value."""
    x = np.array([2.0, 0.0, -1.0])
    with np.errstate(all="ignore"):
        found = fg.grad(lambda x: np.linalg.norm(x, order))(x)
        y = np.linalg.norm(x, order)
        expected = np.sign(x) * np.abs(x) ** (order - 1) * y ** (1 - order) if order > 0 else 0 * x
    expected[1] = 0
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@pytest.mark.parametrize("engine", [None, "numpy", "numba", "xla"])
@pytest.mark.parametrize("f", [np.std, np.nanstd])
def test_a_deviation_of_equal_numbers_has_the_derivative_zero(f: Any, engine: str | None) -> None:
    for axis in (None, 0):
        gradient = fg.grad(lambda x, axis=axis: np.sum(f(x, axis=axis)))
        found = (gradient if engine is None else fg.jit(gradient, engine=engine))(np.ones((2, 3)))
        np.testing.assert_array_equal(found, np.zeros((2, 3)))
        np.testing.assert_array_equal(
            fg.jvp(lambda x, a=axis: f(x, axis=a), (np.ones((2, 3)),), (np.ones((2, 3)),))[1], 0
        )
