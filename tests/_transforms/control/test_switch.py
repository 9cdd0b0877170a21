"""``switch`` compared with JAX: values and derivatives for each index and engine, ``vmap``, and refused calls."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg

X = np.array([0.1, -0.2, 0.3])
W = np.arange(3.0)


def branches(np: Any) -> list[Callable[[Any], Any]]:
    return [np.sin, lambda x: x * W, lambda x: np.exp(x) + 1, lambda x: {"a": x}["a"] ** 3, lambda x: 0 * x + 2]


def ours(index: Any, x: Any) -> Any:
    return fg.switch(index, branches(np), x)


def jaxs(index: Any, x: Any) -> Any:
    return jax.lax.switch(index, branches(jax.numpy), x)


def close(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("engine", [None, "numpy", "numba", "xla"])
def test_values_and_derivatives(engine: str | None) -> None:
    def compiled(f: Any) -> Any:
        return f if engine is None else fg.jit(f, engine=engine)

    value, gradient = compiled(ours), compiled(fg.grad(lambda x, i: ours(i, x).sum()))
    tangent = compiled(lambda i, x, x_dot: fg.jvp(lambda x: ours(i, x), (x,), (x_dot,))[1])
    second = compiled(lambda i, x: fg.hessian(lambda x: ours(i, x).sum())(x))
    with jax.enable_x64(True):
        for i in range(-1, 7):
            close(value(i, X), jaxs(i, X))
            close(gradient(X, i), jax.grad(lambda x, i=i: jaxs(i, x).sum())(X))
            close(tangent(i, X, W), jax.jvp(lambda x, i=i: jaxs(i, x), (X,), (W,))[1])
            close(second(i, X), jax.hessian(lambda x, i=i: jaxs(i, x).sum())(X))


def test_a_batch_of_indices() -> None:
    indices = np.arange(-1, 7)
    with jax.enable_x64(True):
        close(fg.vmap(ours, (0, None))(indices, X), jax.vmap(jaxs, (0, None))(indices, X))
        slope = jax.vmap(jax.grad(lambda x, i: jaxs(i, x).sum()), (None, 0))(X, indices)
    close(fg.vmap(fg.grad(lambda x, i: ours(i, x).sum()), (None, 0))(X, indices), slope)
    close(fg.vmap(ours, (None, 0))(2, np.stack([X, 2 * X])), np.stack([ours(2, X), ours(2, 2 * X)]))


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_integers_of_any_kind_and_many_branches(engine: str) -> None:
    constants = [functools.partial(int, k) for k in range(40)]
    f = fg.jit(lambda i: fg.switch(i, constants), engine=engine)
    for index in (np.uint8(200), np.int8(-3), np.int64(39), np.uint64(2**63 + 1), 7):
        assert int(f(index)) == int(fg.switch(index, constants)) == min(max(int(index), 0), 39)
    assert float(fg.jit(lambda i: fg.switch(i, [np.sin], 1.0), engine=engine)(5)) == np.sin(1.0)


def test_python_numbers_take_the_dtype_of_arrays() -> None:
    f = fg.jit(lambda i: fg.switch(i, [lambda: 1, lambda: 2.5, lambda: np.float32(3)]))
    assert [f(i).dtype for i in range(3)] == [np.float32] * 3
    for transformed in (lambda f: f, fg.jit):
        with pytest.raises(TypeError, match=r"returned i32\[\] where .* returned f64\[\]; needed the same"):
            transformed(lambda i: fg.switch(i, [lambda: np.int32(1), lambda: 2.5]))(1)


def test_only_the_chosen_one_runs_compiled() -> None:
    seen: list[str] = []

    def called(name: str) -> Callable[[Any], Any]:
        def noted(x: Any) -> Any:
            seen.append(name)
            return x

        return lambda x: fg.call_numpy(noted, x, x)

    f = fg.jit(lambda i, x: fg.switch(i, [called("a"), called("b"), called("c")], x), engine="numpy")
    assert float(f(1, 2.0)) == 2.0
    assert seen == ["b"]


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match=r"switch: the index is f64\[\]; needed an integer scalar"):
        fg.switch(1.0, [np.sin], 1.0)
    with pytest.raises(TypeError, match=r"switch: the index is i64\[2\]"):
        fg.switch(np.arange(2), [np.sin], 1.0)
    with pytest.raises(TypeError, match="the index is bool"):
        fg.switch(True, [np.sin], 1.0)
    with pytest.raises(ValueError, match="switch: branches is empty"):
        fg.switch(0, [])
    with pytest.raises(TypeError, match="branches is a function; needed a list"):
        fg.switch(0, lambda: 1)  # pyright: ignore[reportArgumentType]  (refused)
    with pytest.raises(TypeError, match="switch: branch 1 is a float; needed a function"):
        fg.switch(0, [np.sin, 1.0], 1.0)  # pyright: ignore[reportArgumentType]  (refused)


def test_derivatives_of_a_batch_that_takes_both_branches_read_their_own_residuals() -> None:
    """The second part of a branch divided by the other branch's residuals, which are zeros: its derivative was NaN."""

    def curved(x: Any, branch: Any) -> Any:
        y = branch(x[0] > 0.0, lambda x: np.where(x > 0.2, x * 0.3, np.sin(x)), lambda x: x / (1.0 + np.sum(x * x)), x)
        return np.sum(np.tanh(y))

    def product(branch: Any) -> Any:
        return lambda x: fg.hvp(lambda x: curved(x, branch), (x,), (np.array([0.3, 0.4, 0.5]),))

    rows = np.array([[0.4, -0.1, 0.1], [-0.4, 0.2, 0.3], [0.2, 0.1, -0.3]])
    plain = product(lambda pred, true, false, x: true(x) if pred else false(x))
    total = lambda f: lambda x: np.sum(f(x) ** 2)
    for taken in (rows, np.abs(rows), -np.abs(rows)):
        expected = np.stack([fg.grad(total(plain))(row) for row in taken])
        loss = lambda rows: np.sum(fg.vmap(product(fg.cond))(rows) ** 2)
        np.testing.assert_allclose(fg.grad(loss)(taken), expected, 1e-10)
        np.testing.assert_allclose(fg.jit(fg.grad(loss), engine="numpy")(taken), expected, 1e-10)
        np.testing.assert_allclose(fg.jacfwd(loss)(taken), expected, 1e-10)
