"""Arrays made inside of a transform: by NumPy's ``like=``, by ``funcgrad.numpy``, by copies of an outer function's."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import TracerAssignmentError
from tests.numpy._ways import WAYS, X, check

# NumPy, whose stubs take no traced value for ``like``.
UNTYPED: Any = np
STORED = np.linspace(1, 2, 5)
# Functions that make five numbers, with NumPy and with funcgrad.numpy.
MAKERS: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "zeros": lambda m, kw: m.zeros(5, **kw),
    "zeros of two axes": lambda m, kw: m.zeros((5, 2), **kw)[:, 1],
    "ones": lambda m, kw: m.ones(5, "f8", order="F", **kw),
    "full": lambda m, kw: m.full(5, 0.3, **kw),
    "full of integers": lambda m, kw: m.full((2, 5), [1, 2, 3, 4, 5], float, **kw)[1],
    "eye": lambda m, kw: m.eye(5, 6, 1, **kw)[1, 1:],
    "identity": lambda m, kw: m.identity(5, **kw)[2],
    "arange": lambda m, kw: m.arange(5.0, **kw),
    "tri": lambda m, kw: m.tri(5, **kw)[3],
    "array": lambda m, kw: m.array([1, 2, 3, 4.0, 5], **kw),
    "array of an array": lambda m, kw: m.array(STORED, ndmin=2, **kw)[0],
    "asarray": lambda m, kw: m.asarray([1, 2, 3, 4.0, 5], **kw),
}
LIKE: dict[str, Callable[[Any], Any]] = {
    "asanyarray": lambda x: UNTYPED.asanyarray([1.0, 2, 3, 4, 5], like=x),
    "asarray of an array": lambda x: UNTYPED.asarray(STORED, copy=True, like=x),
    "ascontiguousarray": lambda x: UNTYPED.ascontiguousarray([1.0, 2, 3, 4, 5], like=x),
    "asfortranarray": lambda x: UNTYPED.asfortranarray([[1.0, 2, 3, 4, 5]], like=x)[0],
    "require": lambda x: UNTYPED.require([1.0, 2, 3, 4, 5], float, ["C", "W"], like=x),
    "fromiter": lambda x: UNTYPED.fromiter(range(9), float, 5, like=x),
    "fromfunction": lambda x: UNTYPED.fromfunction(lambda i: 2.0 * i, (5,), like=x),
    "frombuffer": lambda x: UNTYPED.frombuffer(bytearray(STORED.tobytes()), like=x),
    "fromstring": lambda x: UNTYPED.fromstring("1 2 3 4 5", sep=" ", like=x),
    "genfromtxt": lambda x: UNTYPED.genfromtxt(io.StringIO("1 2 3 4 5"), like=x),
    "loadtxt": lambda x: UNTYPED.loadtxt(io.StringIO("1 2 3 4 5"), like=x),
    "fnp.linspace": lambda x: fnp.linspace(0.0, 1.0, 5),
    "fnp.copy": lambda x: fnp.copy(STORED),
    "fnp.zeros_like": lambda x: fnp.zeros_like(STORED),
    "full_like of an array": lambda x: np.full_like(x, STORED),
}


def filled(x: Any, y: Any) -> Any:
    y[1:4] += x[:3] ** 2
    y[0] = x[4] * y[2]
    return np.sum(y * y * np.arange(1.0, 6.0))


@pytest.mark.parametrize("name", MAKERS)
def test_makers(name: str) -> None:
    make = MAKERS[name]
    check(lambda x: filled(x, make(UNTYPED, {"like": x})), on_xla=name == "zeros")
    check(lambda x: filled(x, make(fnp, {})), ways=("grad", "jit", "vmap"), on_xla=name == "eye")
    plain = make(fnp, {})
    assert type(plain) is np.ndarray
    np.testing.assert_array_equal(plain, make(np, {}), strict=True)


@pytest.mark.parametrize("make", LIKE.values(), ids=LIKE)
def test_the_others(make: Callable[[Any], Any]) -> None:
    before = STORED.copy()
    check(lambda x: filled(x, make(x)), ways=("grad", "jit", "jacfwd"))
    assert np.array_equal(STORED, before)


def test_traced_parts() -> None:
    check(lambda x: np.sum(UNTYPED.array([[x[0], 2.0], [x[1] ** 2, 1.0]], like=x) ** 3), on_xla=True)
    check(lambda x: np.sum(UNTYPED.fromiter((v * v for v in x), float, like=x) ** 2))
    check(lambda x: np.sum(UNTYPED.full((2, 2), x[0], like=x) * x[1]))


def test_a_traced_array_is_itself() -> None:
    """As in NumPy: ``asarray`` of an array gives no other."""

    def f(x: Any) -> Any:
        y = x * 1
        for same in (np.asanyarray, np.ascontiguousarray, np.asarray, UNTYPED.require):
            z = same(y) if isinstance(y, np.ndarray) else same(y, like=x)
            assert z is y
        z = fnp.array(y)
        z[0] = 7.0
        turned = y.reshape(5, 1).repeat(2, 1).T
        turned = UNTYPED.ascontiguousarray(turned, like=x)
        turned[0] *= 2
        return np.sum(y * z) + np.sum(turned)

    assert np.allclose(fg.grad(f)(X), 2 * X * (np.arange(5) > 0) + 7 * (np.arange(5) == 0) + 3)


def test_what_numpy_makes_of_a_traced_array_is_no_place_to_write() -> None:
    """NumPy returns the array itself; this library returns another array."""

    def f(x: Any) -> Any:
        y = x * 1
        np.asarray(y)[0] = 1.0
        return np.sum(y * y)

    with pytest.warns(fg.errors.ObjectArrayWarning), pytest.raises(ValueError, match="read-only") as caught:
        fg.grad(f)(X)
    assert "Write into x" in caught.value.__notes__[0]


def test_numbers_in_an_array_that_takes_traced_values_are_plain() -> None:
    def f(x: Any) -> Any:
        z = fnp.zeros(5)
        z[1] = 2.0
        found = [float(z[1]), range(int(z[1]))[-1], np.arange(3)[z[1:2].astype(int)].item(), z.tolist()[1], f"{z[1]:g}"]
        assert found == [2.0, 1, 2, 2.0, "2"]
        assert type(np.asarray(z)) is np.ndarray
        assert np.polyval(z, 2.0) == 16.0, "a function that is not differentiated takes the numbers"
        with pytest.raises(ValueError, match="read-only"):
            np.asarray(z)[0] = 1.0
        order = fnp.arange(5)[::-1]
        return np.sum(x[order] * z) + sum(x[int(i)] for i in order[:2])

    assert np.array_equal(fg.grad(f)(X), [0, 0, 0, 3, 1])


def own_copies(x: Any, t: Any) -> Any:
    """Write into copies of the outer function's array, and return a polynomial of degree 3 in ``t``."""
    y, z, u, w = x.copy(), x.flatten(), x.astype(float), np.copy(x)
    y[0] = z[1] = u[4] = t
    w[2:] *= t
    return np.sum(y**2) + np.sum(z**3) + np.sum(w * y * u)


@pytest.mark.parametrize("way", WAYS)
def test_copies_belong_to_the_function_that_makes_them(way: str) -> None:
    def slope(x: Any) -> Any:
        return fg.grad(lambda t: own_copies(x, t))(x[1] * x[0])

    def known(x: Any) -> Any:
        # Differences of five points are exact for polynomials of degree 4.
        f, t = functools.partial(own_copies, x), x[1] * x[0]
        return (f(t - 2) - 8 * f(t - 1) + 8 * f(t + 1) - f(t + 2)) / 12

    expected = [(known(X + move) - known(X - move)) / 2e-5 for move in 1e-5 * np.eye(5)]
    np.testing.assert_allclose(WAYS[way](slope, X), expected, rtol=1e-6, atol=1e-8)


def by_index(y: Any, x: Any) -> None:
    y[0] = x[0]


@pytest.mark.parametrize("name", ["index", "operator", "out", "copyto"])
def test_a_plain_array_is_told_what_it_should_be(name: str) -> None:
    write = {
        "index": by_index,
        "operator": lambda y, x: y.__iadd__(x),
        "out": lambda y, x: np.add(x, 1.0, out=y),
        "copyto": np.copyto,
    }[name]

    def f(x: Any) -> Any:
        y = np.zeros(5)
        write(y, x)
        return np.sum(y)

    with pytest.raises((TracerAssignmentError, ValueError), match=r"like=x.*fnp\.zeros\(n\).*fg\.intercept\(\)"):
        fg.grad(f)(X)


def test_arrays_of_jax_are_written_to_as_well() -> None:
    """Arrays of JAX never change, so a write makes a new array. The results belong to the engine of the argument."""

    def f(x: Any) -> Any:
        y, z = np.zeros_like(x), np.ones_like(x) * 2
        part = y[1:]
        part[...] = x[:-1] ** 2
        y[0] += x[1]
        z[1] = x[0]
        np.add.at(z, [0, 0], x[:2])
        return np.sum(y * z) * float(np.ones_like(x)[0])

    with jax.enable_x64(True):
        x: Any = jax.numpy.array(X)
    for way in ("grad", "jacfwd"):
        np.testing.assert_allclose(WAYS[way](f, x), WAYS[way](f, X), rtol=1e-14)
    assert isinstance(fg.grad(f)(x), jax.Array)


@pytest.mark.parametrize(
    "make", [fnp.array, fnp.asarray, fnp.asanyarray, lambda x: fnp.asarray(x, copy=True), lambda x: fnp.array(x, float)]
)
@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
def test_of_a_number_an_array_is_made_that_can_be_written_to(make: Any, engine: Any) -> None:
    def f(x: Any) -> Any:
        total = np.sum(x)
        made = make(total)
        made[...] = 3 * made
        made += 1.0
        copy = np.array(made) if type(made) is np.ndarray else fnp.array(made)
        copy[()] = copy * copy
        return copy + 10 * made + total

    value_and_grad = fg.value_and_grad(f) if engine is None else fg.jit(fg.value_and_grad(f), engine=engine)
    value, slope = value_and_grad(X)
    assert f(X) == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(slope, np.full_like(X, 6 * (3 * X.sum() + 1) + 31), rtol=1e-14)
    np.testing.assert_allclose(fg.jvp(f, (X,), (X,))[1], slope @ X, rtol=1e-14)


@pytest.mark.parametrize("number", [2.0, 2, True, 1j, np.float64(2.0)], ids=repr)
def test_a_number_as_like_makes_a_plain_array(number: Any) -> None:
    assert type(fnp.zeros(3, like=number)) is np.ndarray
    assert fnp.asarray([1.0, 2.0], like=number).tolist() == [1.0, 2.0]
    with fg.intercept():
        assert UNTYPED.zeros(3, like=number).tolist() == [0.0, 0.0, 0.0]


def test_a_program_with_a_maker_runs_on_numbers_plainly_and_traced() -> None:
    def decay(rate: Any) -> Any:
        y = fnp.zeros(3, like=rate)
        y[0] = 1.0
        for i in range(1, 3):
            y[i] = y[i - 1] * rate
        return y[-1]

    assert decay(3.0) == 9.0
    assert fg.grad(decay)(3.0) == 6.0
