"""Writes through names, views and copies, under every transform: NumPy's value, and its derivative."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TracerAssignmentError

X = np.array([0.5, 2.0, -1.0, 0.3, 0.7])


def through_a_name(x: Any) -> Any:
    y = x.copy()
    z = y
    z += 1
    return np.sum(y**2)


def through_a_slice(x: Any) -> Any:
    y = x * 1
    z = y[1:]
    z += 1
    return np.sum(y**2)


def filled_row_by_row(x: Any) -> Any:
    out = np.zeros_like(x)
    out[0] = x[0]
    for t in range(1, 5):
        out[t] = np.sin(out[t - 1]) * x[t] + out[t - 1]
    return np.sum(out**2)


def an_argument(x: Any) -> Any:
    x[0] = 2 * x[1]
    x *= 3
    return np.sum(x**3)


def seen_by_a_view(x: Any) -> Any:
    y = x * 1
    matrix = y.reshape(5, 1)
    y[0] = 7 * x[2]
    return np.sum(matrix[:, 0] * x) + np.sum(matrix.T**2)


def through_views_of_views(x: Any) -> Any:
    y = x * 2.0
    backwards = y[::-1]
    w = y * y
    backwards[1:][:2] = x[:2]
    y += 1
    return np.sum(backwards * backwards * x) + np.sum(w)


def a_copy_is_not_written_to(x: Any) -> Any:
    y = x * 2.0
    picked, flat = y[[0, 1]], np.stack([y, y]).T.reshape(-1)
    y[...] = x**2
    picked[0] = 5.0
    return np.sum(y * x) + np.sum(picked**2) + np.sum(flat**3)


def overlapping(x: Any) -> Any:
    y = x * 1.5
    y[1:] = y[:-1]
    y[:-2] *= y[2:]
    return np.sum(y**2 * x)


def with_masks_and_repeated_indices(x: Any) -> Any:
    y = np.zeros((3, 5)) + x
    y[:, x < 0.6] = 0
    y[[0, 0, 2], [1, 1, 3]] = x[:3] ** 2
    return np.sum(y**2 * np.arange(15.0).reshape(3, 5))


def read_in_another_order(x: Any) -> Any:
    y = np.stack([x, 2 * x])
    y.reshape(-1)[3:7] *= x[0]
    return np.sum(y.T * np.cos(np.arange(10.0)).reshape(5, 2))


PROGRAMS = [
    through_a_name,
    through_a_slice,
    filled_row_by_row,
    an_argument,
    seen_by_a_view,
    through_views_of_views,
    a_copy_is_not_written_to,
    overlapping,
    with_masks_and_repeated_indices,
    read_in_another_order,
]


def gradient_by_differences(f: Callable[[Any], Any], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    moves = step * np.eye(len(x))
    return np.array([(f(x + move) - f(x - move)) / (2 * step) for move in moves])


def hessian(f: Callable[[Any], Any]) -> np.ndarray:
    gradient = fg.grad(f)
    return np.stack([(gradient(X + move) - gradient(X - move)) / 2e-5 for move in 1e-5 * np.eye(5)])


WAYS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: fg.grad(f)(X),
    "jacfwd": lambda f: fg.jacfwd(f)(X),
    "jacrev": lambda f: fg.jacrev(f)(X),
    "jit": lambda f: fg.jit(fg.grad(f))(X),
    "jit on numpy": lambda f: fg.jit(fg.grad(f), engine="numpy")(X),
    "grad of jit": lambda f: fg.grad(fg.jit(f, engine="numpy"))(X),
    "vmap": lambda f: fg.vmap(fg.grad(f))(np.stack([X + 1, X]))[1],
    "grad of vmap": lambda f: fg.grad(lambda x: fg.vmap(f)(np.stack([x, x * 0.5]).copy())[0])(X),
    "checkpoint": lambda f: fg.grad(fg.checkpoint(f))(X),
    "graph": lambda f: fg.make_graph(fg.grad(f))(X)(X),
    "linearize": lambda f: np.array([fg.linearize(f, X)[1](e) for e in np.eye(5)]),
}


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_writes(f: Callable[[Any], Any]) -> None:
    expected, before = gradient_by_differences(lambda x: f(x.copy()), X), X.copy()
    masked = f is with_masks_and_repeated_indices
    for name, way in WAYS.items():
        if masked and name not in ("grad", "jacfwd", "jacrev"):
            continue
        np.testing.assert_allclose(way(f), expected, atol=1e-7, err_msg=name)
    np.testing.assert_allclose(fg.value_and_grad(f)(X)[0], f(X.copy()))
    np.testing.assert_allclose(fg.hessian(f)(X), hessian(f), atol=1e-4)
    assert np.array_equal(before, X), "the caller's array was written to"


def in_fortran_order(x: Any) -> Any:
    y = np.stack([x, 2 * x]).T * 1.0
    y.T.reshape(-1)[1:4] = x[1:4] ** 2
    y.reshape(-1)[0] = 100 * x[0]
    return np.sum(y * np.arange(10.0).reshape(5, 2))


@pytest.mark.parametrize("way", ["grad", "jacfwd", "jacrev", "linearize"])
def test_what_is_a_view_is_told_by_the_strides_of_the_array(way: str) -> None:
    np.testing.assert_allclose(WAYS[way](in_fortran_order), gradient_by_differences(in_fortran_order, X), atol=1e-7)


def test_a_traced_mask_selects_what_is_written() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y[x > 0.4] = 0
        y[y < 0] = x[0]
        return np.sum(y**2)

    expected = gradient_by_differences(lambda x: f(x.copy()), X)
    for way in WAYS.values():
        np.testing.assert_allclose(way(f), expected, atol=1e-7)


def test_an_inner_function_writes_to_a_copy_only() -> None:
    x = np.array([1.0, 2.0])

    def f(x: Any) -> Any:
        out = np.zeros_like(x)

        def step(carry: Any, t: Any) -> Any:
            out[0] = t
            return carry, t

        return fg.scan(step, 0.0, x)[1].sum()

    with pytest.raises(TracerAssignmentError, match="return it"):
        fg.grad(f)(x)
    assert np.array_equal(fg.grad(lambda x: np.sum(x**2))(x), 2 * x)


def test_a_pullback_keeps_what_was_there() -> None:
    """A write after an inner tape has read a value does not change what the tape keeps, and the other way round."""

    def f(x: Any) -> Any:
        y = x * 1.0
        out, pullback = fg.vjp(lambda t: np.exp(t) * y, x)
        y[0] = 100.0
        out += y
        return np.sum(pullback(np.ones_like(x))[0] * out)

    def by_hand(x: Any) -> Any:
        y = np.concatenate([[100.0], x[1:]])
        return np.sum(np.exp(x) * x * (np.exp(x) * x + y))

    np.testing.assert_allclose(fg.grad(f)(X), gradient_by_differences(by_hand, X), rtol=1e-6)


def test_dtypes_are_numpys() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y += np.float64(1) * np.ones(5)
        z = y
        z *= np.ones(5)
        assert y.dtype == z.dtype == np.float32
        return np.sum(y)

    assert fg.grad(f)(X.astype(np.float32)).dtype == np.float32
    with pytest.raises(TypeError, match="same_kind"):
        fg.grad(lambda x: np.zeros_like(x, dtype=int).__iadd__(x).sum())(X)


def assigned(y: Any, index: Any, value: Any) -> Any:
    y[index] = value
    return np.sum(y)


def test_what_numpy_refuses_is_refused() -> None:
    with pytest.raises(ValueError, match=r"could not broadcast input array from shape \(3,\) into shape \(2,\)"):
        fg.grad(lambda x: assigned(x * 1, slice(2), x[:3]))(X)
    with pytest.raises(ValueError, match="read-only"):
        fg.grad(lambda x: assigned(np.broadcast_to(x, (2, 5)), 0, x))(X)
    with pytest.raises(IndexError, match="out of bounds"):
        fg.grad(lambda x: assigned(x * 1, 7, 0.0))(X)
    with pytest.raises(TracerAssignmentError, match="would be cut"):
        fg.grad(lambda x: assigned(np.zeros_like(x, dtype=int), 0, x[0]))(X)
    with pytest.raises(TypeError, match="item assignment"):
        fg.grad(lambda x: assigned(np.sum(x), (), 1.0))(X)


def test_a_loop_that_fills_rows_keeps_no_copies() -> None:
    """The bytes allocated in the pass grow linearly with the rows, and not quadratically."""
    copies: list[int] = []

    def f(x: Any) -> Any:
        out = np.zeros_like(x)
        for t in range(1, len(x)):
            out[t] = np.tanh(out[t - 1]) + x[t]
            copies.append(id(out._memory.value._value))
        return np.sum(out)

    fg.grad(f)(np.ones((50, 2)))
    assert len(set(copies)) == 1


def doubled_by_method(y: Any) -> None:
    y.__imul__(2)


def doubled_by_operator(y: Any) -> None:
    operator.imul(y, 2)


def doubled_by_statement(y: Any) -> None:
    y *= 2


def doubled_in_a_view(y: Any) -> None:
    operator.imul(y[:], 2)


DOUBLED = [doubled_by_method, doubled_by_operator, doubled_by_statement, doubled_in_a_view]


@pytest.mark.parametrize("double", DOUBLED)
def test_an_operator_in_place_writes_whoever_calls_it(double: Callable[[Any], None]) -> None:
    """The number of names of an array changes nothing: calling the operator's method does not rebind the name."""

    def closed_over(x: Any) -> Any:
        y = x * 1.0

        def write() -> None:
            double(y)

        write()
        return np.sum(y * x)

    def held(x: Any) -> Any:
        arrays = [x * 1.0]
        double(arrays[0])
        return np.sum(arrays[0] * x)

    def handed_on(x: Any) -> Any:
        parts = (part for part in [x * 1.0])
        array = next(parts)
        double(array)
        return np.sum(array * x)

    for f in (closed_over, held, handed_on):
        np.testing.assert_allclose(f(X), 2 * np.sum(X * X))
        np.testing.assert_allclose(fg.grad(f)(X), 4 * X)
        np.testing.assert_allclose(fg.jvp(f, (X,), (X,)), (2 * np.sum(X * X), 4 * np.sum(X * X)))
        np.testing.assert_allclose(fg.vmap(f)(X[None]), [2 * np.sum(X * X)])
        for engine in ("numpy", "xla"):
            np.testing.assert_allclose(fg.jit(fg.grad(f), engine=engine)(X), 4 * X)


INNER: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "scan": lambda f, x: fg.scan(lambda c, _: (f(c), 0.0 * c), np.sum(x), np.arange(2.0))[0],
    "fori_loop": lambda f, x: fg.fori_loop(0, 2, lambda _, c: f(c), np.sum(x)),
    "while_loop": lambda f, x: fg.while_loop(lambda c: c < 1e3, f, np.sum(x)),
    "condition of while_loop": lambda f, x: fg.while_loop(lambda c: f(c) < 1e3, lambda c: 2 * c, np.sum(x)),
    "cond": lambda f, x: fg.cond(np.sum(x) > 0, f, lambda c: c, np.sum(x)),
    "checkpoint": lambda f, x: fg.checkpoint(f)(np.sum(x)),
    "vmap": lambda f, x: np.sum(fg.vmap(f)(x)),
    "grad": lambda f, x: fg.grad(f)(np.sum(x)),
    "vjp": lambda f, x: fg.vjp(f, np.sum(x))[0],
    "jvp": lambda f, x: fg.jvp(f, (np.sum(x),), (1.0,))[1],
    "linearize": lambda f, x: fg.linearize(f, np.sum(x))[0],
    "hessian": lambda f, x: fg.hessian(f)(np.sum(x)),
    "make_graph": lambda f, x: fg.make_graph(f)(np.sum(x))(np.sum(x)),
}


@pytest.mark.parametrize("double", DOUBLED)
@pytest.mark.parametrize("name", INNER)
def test_a_function_inside_cannot_write_to_what_it_closes_over(name: str, double: Callable[[Any], None]) -> None:
    def program(x: Any) -> Any:
        y = x * 1.0

        def f(c: Any) -> Any:
            double(y)
            return 2 * c + np.sum(y)

        return INNER[name](f, x) + np.sum(y)

    for outer in (lambda: fg.jvp(program, (X,), (X,)), lambda: fg.jvp(fg.jit(program, engine="numpy"), (X,), (X,))):
        with pytest.raises(
            TracerAssignmentError, match=r"was made outside the function that .* Write into a copy made"
        ):
            outer()


def test_results_of_empty_arrays_are_written_to_under_two_transforms() -> None:
    def program(empty: Any, x: Any) -> Any:
        y = np.sum(empty, axis=0)
        y[1:] = x
        y *= 0.5
        z: Any = np.zeros_like(x, dtype=complex)
        z[3:] = np.sum(x)
        z *= 0.75
        return np.sum(y * y * y) + np.sum(z.real)

    x = np.array([1.0, 2.0, 3.0])

    def of(x: Any) -> Any:
        return program(np.reshape(x[:0], (0, 1)) * np.ones((0, 4)), x)

    np.testing.assert_allclose(fg.grad(of)(x), 0.375 * x**2)
    np.testing.assert_allclose(fg.hessian(of)(x), np.diag(0.75 * x))
    np.testing.assert_allclose(fg.jacfwd(fg.jacfwd(of))(x), np.diag(0.75 * x))
