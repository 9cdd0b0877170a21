"""Rounding, division with remainder, parts of floating-point numbers: NumPy's values on both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.trace.place import settled
from tests.numpy._surface import check_surface

AWKWARD = np.array([-2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, 1e300, -7.3, 0.1])
INTEGERS = np.array([-7, -3, -1, 0, 2, 7, 25])


@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize("name", ["floor", "ceil", "trunc", "rint", "fix", "signbit", "spacing"])
def test_rounding(name: str) -> None:
    check(lambda x: getattr(np, name)(x), AWKWARD)
    if name not in {"signbit", "spacing", "fix"}:
        check(lambda x: getattr(np, name)(x), INTEGERS)


@pytest.mark.filterwarnings("ignore::funcgrad.errors.HiddenDependenceWarning")
@pytest.mark.parametrize("decimals", [0, 2, -1])
def test_round(decimals: int) -> None:
    for x in (AWKWARD[:-3], np.array([1.005, 2.675, 155.0, 145.0]), INTEGERS, np.array([1.26 + 2.5j])):
        check(lambda x: np.round(x, decimals), x)
        check(lambda x: x.round(decimals), x)
    check(lambda x: np.around(x, decimals), AWKWARD[:-3])


def check(f: Callable[[Any], Any], x: np.ndarray) -> None:
    """The value, staged on both engines; under ``grad`` it is plain, and the derivative is zero."""
    check_surface(lambda m, x: f(x), [x], jax_f=lambda m, x: 0.0 * m.real(x))


DIVISIONS = ["floor_divide", "remainder", "mod", "fmod"]


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int8", "uint8"])
def test_division(name: str, dtype: str) -> None:
    """Test all pairs of signs, halves and tenths, and infinite divisors with NumPy's quotients."""
    kind = np.dtype(dtype).kind
    x = np.array([-7, -3, -1, 0, 2, 7] if kind == "i" else [0, 1, 2, 7] if kind == "u" else [-7.5, -1, -0.3, 0, 0.3, 6])
    y = np.array([-3, -1, 2, 5] if kind == "i" else [1, 3, 5] if kind == "u" else [-3, -0.1, 0.1, 2.5, 1e10])
    x, y = np.repeat(x, len(y)).astype(dtype), np.tile(y, len(x)).astype(dtype)
    f = getattr(np, name)
    expected = f(x, y)
    graph = fg.make_graph(f)(x, y)
    for got in (graph(x, y), fg.jit(f)(x, y)):
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-6 if dtype == "float32" else 1e-12, atol=1e-12)


@pytest.mark.parametrize("name", DIVISIONS)
def test_the_sign_of_what_is_zero(name: str) -> None:
    f, x, y = getattr(np, name), np.array([0.0, -0.0, 0.4, -0.4, 0.1, -0.1]), np.array([[0.2], [-0.2], [np.inf]])
    expected = f(x, y)
    got = fg.jit(f)(x, y)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


@pytest.mark.parametrize("name", DIVISIONS)
def test_integer_division_by_zero(name: str) -> None:
    x, y = np.array([5, -5, 0]), np.array([0, 0, 0])
    f = getattr(np, name)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(fg.jit(f)(x, y), f(x, y))


def test_operators() -> None:
    x = np.array([5.5, -5.5])
    gradient = fg.grad(lambda x: np.sum(x % 3.0 + (x // 2.0) * x + divmod(x, 4.0)[1] + divmod(x, 4.0)[0] + 7.0 % x))(x)
    np.testing.assert_allclose(gradient, 1 + x // 2.0 + 1 - 7.0 // x)
    gradient = fg.grad(lambda y: np.sum(np.array([7.0, -8.0]) % y + divmod(np.array([7.0, -8.0]), y)[1]))(x)
    np.testing.assert_allclose(gradient, -2 * (np.array([7.0, -8.0]) // x))
    np.testing.assert_array_equal(fg.make_graph(lambda x: round(x, 1) + round(x))(x + 0.04)(x + 0.04), [11.5, -10.5])


def test_modf(rng: np.random.Generator) -> None:
    x = np.array([1.25, -2.75, 0.5, np.inf, -np.inf])
    for got, expected in zip(fg.jit(np.modf)(x), np.modf(x), strict=True):
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.modf(x)[0] ** 2))(x[:3]), 2 * np.modf(x[:3])[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_frexp_and_ldexp(dtype: str) -> None:
    x = np.array([1.0, 0.5, 0.49999997, -3.7, 0.0, 1e30, -1e-30, 2.0**-20, np.inf, 1023.9999, 1024.0], dtype)
    for got, expected in zip(fg.jit(np.frexp)(x), np.frexp(x), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    mantissa, exponent = np.frexp(x)
    np.testing.assert_array_equal(fg.jit(np.ldexp)(mantissa, exponent), x)
    np.testing.assert_array_equal(fg.jit(lambda x: np.ldexp(x, 3))(x), np.ldexp(x, 3))
    gradient = fg.grad(lambda x: np.sum(np.ldexp(np.frexp(x)[0] ** 2, 2)))(x[:4])
    np.testing.assert_allclose(gradient, 8 * mantissa[:4] * 2.0 ** -exponent[:4].astype(float))
    assert gradient.dtype == x.dtype


def test_nextafter_and_copysign() -> None:
    x, y = np.array([1.0, -1.0, 0.0]), np.array([2.0, -0.0, -1.0])
    np.testing.assert_array_equal(fg.jit(np.nextafter)(x, y), np.nextafter(x, y))
    got = fg.jit(np.copysign)(x, y)
    np.testing.assert_array_equal(got, np.copysign(x, y))
    np.testing.assert_array_equal(np.signbit(got), [False, True, True])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.copysign(x, y)))(x), [1.0, 1.0, 0.0])


def test_rounded_values_are_plain_under_grad() -> None:
    """They carry no derivative, so they index and branch like any array."""

    def f(x: Any) -> Any:
        whole = np.floor(x)
        assert type(settled(whole)) is np.ndarray
        return np.sum(x[whole.astype(int)] * whole)

    np.testing.assert_array_equal(fg.grad(f)(np.array([0.5, 1.5, 1.7])), [0.0, 2.0, 0.0])


def test_the_next_number_has_no_derivative() -> None:
    x = np.array([0.5, 2.0])
    for derivative in (fg.grad(lambda x: np.sum(np.nextafter(x, 3.0))), lambda x: fg.jvp(np.nextafter, (x, x), (x, x))):
        with pytest.raises(fg.errors.NotDifferentiableError, match="nextafter: a derivative of the next"):
            derivative(x)
    got = fg.grad(lambda x: np.sum(x * np.nextafter(fg.stop_gradient(x), 3.0)))(x)
    np.testing.assert_array_equal(got, np.nextafter(x, 3.0))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_the_fraction_has_the_sign_of_the_number() -> None:
    x = np.array([-np.inf, -2.0, -0.0, 0.0, 2.0, -2.5, 1.25, np.inf, np.nan])
    for y in (fnp.modf(x)[0], fg.jit(lambda x: np.modf(x)[0], engine="numpy")(x)):
        np.testing.assert_array_equal(y, np.modf(x)[0])
        np.testing.assert_array_equal(np.signbit(y[:-1]), np.signbit(x[:-1]))
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.modf(x)[0]))(x[1:-2]), 1.0)
