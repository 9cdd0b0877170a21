"""Equal constants of a graph are one variable, so that equal equations of them are one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.graph.simplify import simplify

# More bytes than staging compares.
N = 1000
X = np.linspace(0.5, 1.5, N)


def _sines(a: Any, b: Any) -> Any:
    return lambda x: np.sin(x[: len(a)] * a) + np.sin(x[: len(b)] * b)


def _count(f: Any, **options: Any) -> int:
    graph = simplify(fg.make_graph(f)(X), **options)
    np.testing.assert_array_equal(graph(X), f(X))
    return sum(equation.primitive.name == "sin" for equation in graph.equations)


def test_equal_constants_are_one() -> None:
    assert _count(_sines(np.arange(1.0 * N), np.arange(1.0 * N))) == 1
    # Folding makes these.
    assert _count(lambda x: np.sin(x * (fnp.arange(N) * 2.0)) + np.sin(x * (fnp.arange(N) * 2.0))) == 1
    assert _count(lambda x: np.sin(x * (fnp.arange(N) * 2.0)) + np.sin(x * np.arange(0.0, 2.0 * N, 2))) == 1
    assert _count(_sines(np.full(N, np.nan), np.full(N, np.nan))) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (np.zeros(N), -np.zeros(N)),
        (np.ones((N, 1)), np.ones((N, 1), np.float32)),
        (np.ones(N), np.ones((1, N))),
        (np.ones(N), np.r_[np.ones(N - 1), 2.0]),
        (np.ones(N), np.ones(N - 1)),
    ],
)
def test_constants_that_differ_stay(a: np.ndarray, b: np.ndarray) -> None:
    def f(x: Any) -> Any:
        return np.sum(np.sin(x[: a.shape[0]].reshape(-1, *[1] * (a.ndim - 1)) * a)) + np.sum(np.sin(x[: b.size] * b))

    assert _count(f) == 2


def test_numbers_that_are_data_are_not_compared() -> None:
    f = _sines(np.arange(1.0 * N), np.arange(1.0 * N))
    assert _count(f, numbers_are_data=True) == 2


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_results_do_not_share_memory(engine: Any) -> None:
    def f(x: Any) -> Any:
        a, b = fnp.arange(N) * 2.0, fnp.arange(N) * 2.0
        return a, b, np.sin(x * a), b[::-1], np.sin(x * b), a.reshape(10, -1)

    found = fg.jit(f, engine=engine)(X)
    for ours, plain in zip(found, f(X), strict=True):
        np.testing.assert_allclose(ours, plain, rtol=1e-14)
    if engine != "xla":
        assert not np.shares_memory(found[0], found[1])
        assert not np.shares_memory(found[2], found[4])


def test_a_constant_that_is_written_to_ends() -> None:
    """Folding writes in place into a constant that nothing reads later; an equal constant follows."""

    def f(x: Any) -> Any:
        total = x
        for k in range(4):
            a = np.zeros(N, like=x)
            b = a + 0.0
            b[k], b[k + 1] = 1.0 + k, 2.0
            c = np.zeros(N, like=x)
            total = total + b * x + c
        return total

    graph = fg.make_graph(f)(X)
    np.testing.assert_array_equal(graph.simplify()(X), f(X))
    for engine in ("numpy", "numba"):
        np.testing.assert_array_equal(fg.jit(f, engine=engine)(X), f(X))
