"""Running sums and products, differences, slopes, integrals, interpolation: NumPy's values, JAX's gradients."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TracerAssignmentError
from tests.numpy._surface import check_surface, same

POINTS = np.array([0.0, 0.5, 2.0, 2.5])

CASES: dict[str, Any] = {
    "cumsum": lambda m, x: m.cumsum(x),
    "cumsum along an axis": lambda m, x: x.cumsum(axis=1),
    "cumsum by the ufunc": lambda m, x: m.add.accumulate(x, axis=1),
    "cumprod": lambda m, x: m.cumprod(x, axis=0),
    "cumprod of all": lambda m, x: x.cumprod(),
    "cumprod by the ufunc": lambda m, x: m.multiply.accumulate(x),
    "diff": lambda m, x: m.diff(x),
    "second diff": lambda m, x: m.diff(x, n=2, axis=0),
    "diff with ends": lambda m, x: m.diff(x, prepend=0.0, append=m.ones((3, 2))),
    "ediff1d": lambda m, x: m.ediff1d(x, to_end=m.array([9.0, 8.0]), to_begin=m.array([7.0])),
    "trapezoid": lambda m, x: m.trapezoid(x, dx=0.5, axis=0),
    "trapezoid between points": lambda m, x: m.trapezoid(x, POINTS),
    "gradient along an axis": lambda m, x: m.gradient(x, axis=1),
    "gradient of a spacing": lambda m, x: m.gradient(x, 0.5, axis=0),
    "gradients": lambda m, x: m.stack(m.gradient(x, 0.5, 2.0)),
    "log of the sum of exponentials": lambda m, x: m.logaddexp.reduce(x, axis=1),
}


@pytest.mark.parametrize("name", CASES)
def test_calculus(name: str, rng: np.random.Generator) -> None:
    check_surface(CASES[name], [rng.normal(size=(3, 4))])


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "diff", "trapezoid", "gradient along an axis"])
def test_single_precision_stays(name: str, rng: np.random.Generator) -> None:
    check_surface(CASES[name], [rng.normal(size=(3, 4)).astype(np.float32)], tolerance=1e-5)


@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 3.0], [0.0, 0.0, 0.0, 0.0]])
def test_running_products_with_zeros(x: list) -> None:
    check_surface(lambda m, x: m.cumprod(x), [np.array(x)])


def slopes_of_units(x: Any, *spacing: Any, edge_order: Any) -> np.ndarray:
    """The Jacobian of a linear function, column by column; JAX has neither uneven spacing nor edges of second order."""
    return np.stack([np.gradient(row, *spacing, edge_order=edge_order) for row in np.eye(len(x))], 1)


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("spacing", [0.5, np.array([0.0, 0.4, 1.0, 1.5, 3.0])])
def test_gradient_at_the_edges(spacing: Any, edge_order: Any, rng: np.random.Generator) -> None:
    x, y_bar = rng.normal(size=5), rng.normal(size=5)
    y, pullback = fg.vjp(lambda x: np.gradient(x, spacing, edge_order=edge_order), x)
    np.testing.assert_allclose(y, np.gradient(x, spacing, edge_order=edge_order))
    np.testing.assert_allclose(pullback(y_bar)[0], y_bar @ slopes_of_units(x, spacing, edge_order=edge_order))


def test_cumulative_sum() -> None:
    if not hasattr(np, "cumulative_sum"):
        pytest.skip("NumPy has it from 2.1 on")
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    check_surface(lambda m, x: m.cumulative_sum(x, axis=1, include_initial=True), [x])
    check_surface(lambda m, x: m.cumulative_prod(x, axis=0), [x])
    with pytest.raises(ValueError, match="needed axis="):
        fg.vjp(np.cumulative_sum, x)


def test_running_extrema(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 6))
    check_surface(lambda m, x: m.maximum.accumulate(x, axis=1), [x], jax_f=lambda m, x: jax.lax.cummax(x, axis=1))
    check_surface(lambda m, x: m.minimum.accumulate(x, axis=1), [x], jax_f=lambda m, x: jax.lax.cummin(x, axis=1))


INTERPOLATIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "given ends": {"left": -5.0, "right": 7.0},
    "periodic": {"period": 3.0},
}


@pytest.mark.parametrize("options", INTERPOLATIONS)
@pytest.mark.parametrize("shape", [(), (6,), (2, 3), (0,)])
def test_interp(options: str, shape: tuple, rng: np.random.Generator) -> None:
    x = rng.uniform(-1, 4, shape)
    xp, fp = np.sort(rng.uniform(0, 2.9, 5)), rng.normal(size=5)
    check_surface(lambda m, x, xp, fp: m.interp(x, xp, fp, **INTERPOLATIONS[options]), [x, xp, fp])


def test_interp_at_the_points() -> None:
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([1.0, 3.0, 2.0])
    value, gradient = fg.value_and_grad(lambda x: np.sum(np.interp(x, xp, fp)))(xp)
    assert value == 6.0
    np.testing.assert_allclose(gradient, [2.0, -0.5, -0.5])


def test_the_greatest_exponent_does_not_overflow() -> None:
    x = np.array([1000.0, 1000.0, -np.inf])
    value, gradient = fg.value_and_grad(lambda x: np.logaddexp.reduce(x))(x)
    np.testing.assert_allclose(value, 1000 + np.log(2))
    np.testing.assert_allclose(gradient, [0.5, 0.5, 0.0])


def test_mistakes() -> None:
    x = np.ones(3)
    with pytest.raises(ValueError, match="non-negative"):
        fg.vjp(lambda x: np.diff(x, -1), x)
    with pytest.raises(ValueError, match="needed at least 3"):
        fg.vjp(lambda x: np.gradient(x[:2], edge_order=2), x)
    with pytest.raises(TypeError, match="2 spacings"):
        fg.vjp(lambda x: np.gradient(x, 1.0, 2.0), x)
    with pytest.raises(ValueError, match="vectors of one length"):
        fg.vjp(lambda x: np.interp(0.5, x, np.ones(4)), x)
    with pytest.raises(TracerAssignmentError, match="out="):
        fg.vjp(lambda x: np.cumsum(x, out=np.empty(3)), x)


ENDS = [-np.inf, -1e308, -1.0, 0.0, 2.0, 1e308, np.inf, np.nan]


@pytest.mark.parametrize("xp", [[0.0, 1.0, 2.0], [-np.inf, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 1e-320, 1.0], [1.0] * 3])
def test_interpolation_that_overflows(xp: list[float]) -> None:
    """Between numbers whose difference is none, at the points and beside them, without a warning: as NumPy."""
    points = np.array([-np.inf, -1.0, 0.0, 1e-320, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf, np.nan])
    for a, b, c in itertools.product(ENDS, repeat=3):
        fp = np.array([a, b, c])
        got = fg.vjp(lambda x, fp=fp: np.interp(x, xp, fp), points)[0]
        np.testing.assert_allclose(got, np.interp(points, xp, fp), rtol=1e-15, err_msg=str(fp))


def test_the_slope_at_the_points_of_an_interpolation() -> None:
    xp, fp = np.array([0.0, 1.0, 3.0]), np.array([0.0, 2.0, 3.0])
    slopes = fg.grad(lambda x: np.sum(np.interp(x, xp, fp)))(np.array([-1.0, 0.0, 0.5, 1.0, 3.0, 4.0]))
    np.testing.assert_array_equal(slopes, [0, 2, 2, 0.5, 0.5, 0])
    ends = fg.grad(lambda fp: np.sum(np.interp(xp, xp, fp)))(fp)
    np.testing.assert_array_equal(ends, np.ones(3))


def test_unwrap(rng: np.random.Generator) -> None:
    x = rng.uniform(-9, 9, (3, 6))
    for options in ({}, {"axis": 0}, {"period": 2.5}, {"discont": 4.0}, {"period": 4}, {"period": 3.0, "discont": 0.5}):
        check_surface(lambda m, x, options=options: m.unwrap(x, **options), [x])
    for each in (np.array([0, 3, 7, -2]), x[0].astype(np.float32), np.zeros((2, 0)), np.array([0, 2, 0, -2])):
        for period in (4, 5, 4.0):
            f = lambda x, period=period: np.unwrap(x, period=period)
            same(fg.make_graph(f)(each)(each), f(each), 1e-6)


@pytest.mark.parametrize("edge_order", [1, 2])
@pytest.mark.parametrize("spacing", [(), (0.5,), (np.array([0.0, 1.0, 1.5, 3.0]),)], ids=["one", "even", "uneven"])
def test_a_flat_line_has_the_slope_zero_with_numpys_sign(edge_order: Any, spacing: tuple) -> None:
    for f in (np.zeros(4), -np.zeros(4), np.full(4, 2.0)):
        expected = np.gradient(f, *spacing, edge_order=edge_order)
        got = fg.make_graph(lambda f: np.gradient(f, *spacing, edge_order=edge_order))(f)(f)
        np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))
        np.testing.assert_allclose(got, expected, atol=1e-15)


def test_interp_at_complex_points_is_refused() -> None:
    for compiled in (False, True):
        f: Any = lambda x: np.interp(x, np.arange(3.0), np.ones(3))
        with pytest.raises(TypeError, match=r"interp: x is c128\[2\] and xp c128\[3\]; needed real numbers"):
            (fg.jit(f) if compiled else fg.vmap(f))(
                np.ones((1, 2), complex)[0] if compiled else np.ones((1, 2), complex)
            )
