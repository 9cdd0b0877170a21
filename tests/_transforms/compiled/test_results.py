"""Results of compiled functions beside the arguments: what shares memory, and what a later write changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg

ENGINES = ("numpy", "numba", "xla")
ARGUMENTS: dict[str, Any] = {
    "float64": np.ones(3),
    "float32": np.ones(3, np.float32),
    "int64": np.arange(3),
    "int32": np.arange(3, dtype=np.int32),
    "bool": np.ones(2, bool),
    "complex": np.ones(2) + 1j,
    "no axes": np.array(1.5),
    "a number": np.float64(2.0),
    "a Python number": 3.0,
    "empty": np.ones(0),
    "strided": np.ones(6)[::2],
    "read-only": np.broadcast_to(1.0, (3,)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("paths", [1, 4])
def test_an_argument_that_is_handed_through_is_the_callers_object(engine: str, paths: int) -> None:
    f = fg.jit(lambda x: {"whole": x, "twice": x * 2, "again": [x]}, engine=engine, paths=paths)
    alone = fg.jit(lambda x: x, engine=engine, paths=paths)
    for x in (*ARGUMENTS.values(), jax.numpy.ones(3)):
        for _ in range(2):
            result = f(x)
            assert (result["whole"] is x, result["again"][0] is x, alone(x) is x) == (True, True, True)
            np.testing.assert_array_equal(np.asarray(result["twice"]), np.asarray(x) * 2)


def aligned(dtype: Any, size: int = 100_000) -> np.ndarray:
    """Return ones in memory that JAX's CPU backend reads where it is."""
    whole = np.zeros(size * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -whole.ctypes.data % 64
    x = whole[start : start + size * np.dtype(dtype).itemsize].view(dtype)
    x[:] = 1
    return x


COMPUTED: dict[str, Callable[[Any], Any]] = {
    "doubled": lambda x: x * 2,
    "x + 0": lambda x: x + 0,
    "reshaped": lambda x: x.reshape(2, -1),
    "beside itself": lambda x: (np.sin(x), x),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", COMPUTED)
@pytest.mark.parametrize("wide", [False, True])
def test_a_write_to_an_argument_changes_no_result(engine: str, dtype: Any, name: str, wide: bool) -> None:
    """JAX returns before its CPU backend has read the array."""
    f = fg.jit(COMPUTED[name], engine=engine)
    with jax.enable_x64(wide):
        expected = [np.asarray(y).copy() for y in fg.tree.leaves(f(aligned(dtype)))][:1]
        for _ in range(5):
            x = aligned(dtype)
            found = fg.tree.leaves(f(x))[:1]
            x[:] = 0
            np.testing.assert_array_equal(np.asarray(found[0]), expected[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_write_to_a_result_changes_no_later_call(engine: str) -> None:
    c = np.linspace(1, 2, 1000)
    functions = [lambda x: (x * c, c), fg.grad(lambda x: np.sum(x * c)), lambda x: c + 0 * x]
    for f in functions:
        compiled, x = fg.jit(f, engine=engine), np.ones(1000)
        first = [np.asarray(y).copy() for y in fg.tree.leaves(compiled(x))]
        for y in fg.tree.leaves(compiled(x)):
            if isinstance(y, np.ndarray):
                y[...] = 0
        for y, expected in zip(fg.tree.leaves(compiled(x)), first, strict=True):
            np.testing.assert_array_equal(np.asarray(y), expected)
    np.testing.assert_array_equal(c, np.linspace(1, 2, 1000))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pullback_of_a_compiled_function_reads_no_array_of_the_caller(engine: str) -> None:
    x = np.linspace(0.1, 0.9, 1000)
    y, pullback = fg.vjp(fg.jit(np.tanh, engine=engine), x)
    expected = 1 - np.tanh(x) ** 2
    x += 1
    if isinstance(y, np.ndarray):
        y -= 1
    np.testing.assert_allclose(pullback(np.ones(1000))[0], expected, rtol=1e-12)


def test_a_linear_operator_keeps_its_point() -> None:
    x = np.linspace(0.1, 0.9, 1000)
    a, expected = fg.linear_operator(np.tanh, x), 1 - np.tanh(x) ** 2
    x += 1
    np.testing.assert_allclose(a @ np.ones(1000), expected, rtol=1e-12)
    np.testing.assert_allclose(a.T @ np.ones(1000), expected, rtol=1e-12)
