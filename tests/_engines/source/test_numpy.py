"""Straight-line NumPy code: right numbers, reused buffers, and unchanged inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines.source.numpy import compile_numpy, numpy_source


def test_a_chain_of_ufuncs_needs_one_buffer() -> None:
    def chain(x: np.ndarray) -> np.ndarray:
        return np.minimum(np.exp(np.maximum(np.tanh(np.sin(x) * 2) + 1, 0.5)), 5.0)

    graph = fg.make_graph(chain)(np.ones(3))
    _, source = numpy_source(graph)
    buffers = [line.split("(")[1].count(f"v{i})") for i, line in enumerate(source.splitlines()[1:-1])]
    assert buffers == [0, *[1] * 6]
    x = np.linspace(-2, 2, 7)
    np.testing.assert_array_equal(compile_numpy(fg.make_graph(chain)(x))(x)[0], chain(x))


def test_inputs_and_constants_are_never_written_to() -> None:
    constant = np.arange(3.0)
    graph = fg.make_graph(lambda x: np.sin(x + constant) * constant)(np.ones(3))
    x = np.ones(3)
    x.flags.writeable = False
    constant.flags.writeable = False
    (y,) = compile_numpy(graph)(x)
    np.testing.assert_array_equal(y, np.sin(x + constant) * constant)


def test_a_buffer_that_is_viewed_or_returned_stays() -> None:
    def f(x: np.ndarray) -> tuple[np.ndarray, ...]:
        a = np.sin(x)
        turned = a.reshape(3, 2)
        b = np.exp(a)
        return turned, b, b * 2

    x = np.linspace(0, 1, 6)
    for got, want in zip(fg.jit(f, engine="numpy")(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_result_that_broadcasts_or_changes_dtype_gets_its_own_buffer() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        row = np.sin(x)
        return (row + np.ones((2, 3))) * (np.exp(x) > 1)

    x = np.linspace(-1, 1, 3)
    np.testing.assert_array_equal(fg.jit(f, engine="numpy")(x), f(x))


def test_gradients_agree_with_eager_ones(rng: np.random.Generator) -> None:
    w, x = rng.normal(size=(4, 4)), rng.normal(size=(5, 4))

    def loss(w: np.ndarray) -> np.floating:
        return np.mean(np.tanh(x @ w) ** 2 + np.exp(-x @ w))

    np.testing.assert_allclose(fg.jit(fg.grad(loss), engine="numpy")(w), fg.grad(loss)(w), rtol=1e-13)


ROWS = np.array([0, 2, 0])
# The gradient writes to the elements that are read here.
READ: dict[str, Callable[[Any], Any]] = {
    "a slice": lambda x: x[1:],
    "steps backwards": lambda x: x[::-2, 1:3],
    "a row": lambda x: x[1],
    "a number": lambda x: x[1, 2],
    "a new axis": lambda x: x[:, None, 1],
    "the last": lambda x: x[..., -1],
    "rows, one twice": lambda x: x[ROWS],
    "columns, one twice": lambda x: x[:, ROWS],
    "columns of some rows": lambda x: x[1:3, ROWS],
    "elements": lambda x: x[ROWS, ROWS],
    "elements of a row": lambda x: x[2, ROWS],
    "a mask": lambda x: x[np.eye(3, 4) > 0],
    "nothing": lambda x: x[:0],
    "split": lambda x: np.split(x, 3)[1],
    "into numbers": lambda x: sum(np.split(x[0], 4)),
    "along an axis": lambda x: np.take_along_axis(x, np.array([[1], [1], [0]]), 1),
}


@pytest.mark.parametrize("name", READ)
def test_reads_and_their_transposes(name: str) -> None:
    x = np.linspace(-1, 1, 12).reshape(3, 4)

    def f(x: Any) -> Any:
        return np.sum(np.sin(READ[name](x)) * 2) + np.sum(READ[name](x) ** 3)

    for g in (f, fg.grad(f), lambda x: fg.hvp(f, (x,), (x,))):
        np.testing.assert_allclose(fg.jit(g, engine="numpy")(x), g(x), rtol=1e-15, atol=1e-15)


STACKS: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda x: np.stack([x[0], x[-1] * 2, x[1]]),
    "one": lambda x: np.stack([x[0]]),
    "arrays": lambda x: np.stack([x, x * 2]),
    "no elements": lambda x: np.stack([x[:0], x[:0]]),
    "matrices in another order": lambda x: np.stack([(x[:, None] * x).T, x[:, None] + x]),
    "along the last axis": lambda x: np.stack([x, x * 2], axis=1),
    "a constant": lambda x: np.stack([x[1], np.zeros((), x.dtype)[()]]),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32, np.complex64])
@pytest.mark.parametrize("name", STACKS)
def test_stacks(name: str, dtype: type) -> None:
    x = np.array([3, 1, 2], dtype)
    got, want = fg.jit(STACKS[name], engine="numpy")(x), STACKS[name](x)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_numbers_are_added_to_zeros_in_order(dtype: type) -> None:
    """The gradient scatters numbers at integers: several at one place, and a zero with a sign."""

    def f(x: Any) -> Any:
        a, b, c = x[0], x[-1], x[0]
        return (a * dtype(1e8) + c * dtype(0.1)) * b - x[1] * dtype(0.0)

    graph = fg.make_graph(fg.grad(f))(np.ones(3, dtype))
    (scatter,) = [each for each in graph.equations if each.primitive.name == "scatter"]
    assert len(scatter.operands) > 2
    x = np.array([0.3, 1.0, -0.7], dtype)
    got, want = fg.jit(graph, engine="numpy")(x), graph(x)
    assert "scatter" not in fg.jit(graph, engine="numpy").source(x)
    assert got.dtype == want.dtype == dtype
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
