"""Windows of arrays that do not lie in memory in C order: their sums have the numbers of the straight program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg


def _sums_of_windows(k: Any, x: Any) -> Any:
    s = 0.0
    for i in range(x.shape[0] - 4):
        for j in range(x.shape[1] - 4):
            s = np.tanh(0.3 * s + k * np.sum(x[i : i + 5, j : j + 5]))
    return s


def _sums_of_rows(k: Any, x: Any) -> Any:
    s = 0.0
    for i in range(x.shape[0] - 4):
        s = np.tanh(0.3 * s + k * np.sum(x[i : i + 5 : 2]))
    return s


@pytest.mark.parametrize("f", [_sums_of_windows, _sums_of_rows])
@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (2, 1, 0), (1, 2, 0)])
def test_sums_of_windows_follow_the_memory_of_the_array(f: Callable[..., Any], order: tuple[int, ...]) -> None:
    """NumPy adds in the order of memory, so windows of an array in Fortran order have another sum."""
    x = np.transpose(np.transpose(np.random.default_rng(7).normal(size=(14, 12, 3)), order).copy(), np.argsort(order))
    for array in (x, x[..., 0], np.repeat(x, 2, axis=1)[:, ::2]):
        g = fg.value_and_grad(f, argnums=(0, 1))
        graph = fg.make_graph(g)(0.37, array)
        rolled = graph.roll()
        assert len(rolled.equations) < 30
        for engine in (lambda graph: graph, lambda graph: fg.jit(graph, engine="numpy", roll=False)):
            for a, b in zip(
                fg.tree.leaves(engine(graph)(0.37, array)), fg.tree.leaves(engine(rolled)(0.37, array)), strict=True
            ):
                np.testing.assert_array_equal(a, b)


def test_exported_python_has_the_same_sums() -> None:
    x = np.asfortranarray(np.random.default_rng(7).normal(size=(12, 11)))
    rolled = fg.make_graph(_sums_of_windows)(0.37, x).roll()
    scope: dict[str, Any] = {}
    exec(rolled.to_python(), scope)
    assert scope["_sums_of_windows"](0.37, x) == rolled(0.37, x)
