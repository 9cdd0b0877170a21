"""Windows of different lengths in one array, as in products and factorizations of matrices written as loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Var
from funcgrad._ops.rolling.forwarding import forward
from funcgrad._ops.rolling.forwarding.cells import WindowRow, WindowSum
from funcgrad._ops.rolling.forwarding.chains import Chain
from funcgrad._ops.rolling.rows import HOLE
from tests._ops.rolling._rolled import assert_rolls, loops_of


def triangular_product(a: Any, b: Any) -> Any:
    b = b.copy()
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += a[i + 1 :, i] @ b[i + 1 :, j]
    return np.sum(b**2)


def factored(a: Any, b: Any) -> Any:
    """The triangular factors of a matrix, from left to right and from top to bottom."""
    a = a.copy()
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, a.shape[0]):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return np.sum(np.sin(a) * b)


def _arguments(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    return rng.normal(size=(n, n)) + n * np.eye(n), rng.normal(size=(n, n))


@pytest.mark.parametrize("f", [triangular_product, factored])
@pytest.mark.parametrize("most", [4, 64])
def test_numbers_of_the_straight_program(monkeypatch: pytest.MonkeyPatch, f: Callable[..., Any], most: int) -> None:
    """Windows of more rows than ``most`` are read and added to where arrays have their rows already."""
    monkeypatch.setattr(forward, "MOST_CELLS", most)
    assert_rolls(f, *_arguments(16), most=10_000)
    assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), *_arguments(16), most=10_000)


def test_a_product_of_long_windows_rolls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "MOST_CELLS", 8)
    graph = fg.make_graph(fg.value_and_grad(triangular_product, argnums=(0, 1)))(*_arguments(20))
    rolled = graph.roll()
    assert len(rolled.equations) < len(graph.equations) / 4
    # A loop forward and one backward for each row but the last one, whose window is empty.
    assert loops_of(rolled).count(20) >= 30


def test_older_versions_of_an_array_with_sums_of_windows() -> None:
    base, first, second = (Var(Aval((6, 3), np.dtype(float))) for _ in range(3))
    chain = Chain(base, (HOLE, HOLE))
    value = Var(Aval((), np.dtype(float)))
    chain.add((2, 1), value, adds=False)
    chain.add_window(WindowSum((slice(1, 5), slice(1, 2)), first))
    chain.add((2, 1), value, adds=True)
    chain.add_window(WindowSum((slice(2, 4), slice(1, 2)), second))

    def row(key: tuple[int, int], depth: int) -> tuple[Any, int]:
        replaced, after = chain.last(key, depth)
        return None if replaced is None else replaced.value, len(after)

    for _ in range(2):
        # The second time, the sums are updates of single rows.
        assert row((2, 1), 4) == (WindowRow(second, 0), 0)
        assert row((4, 1), 4) == (WindowRow(first, 3), 0)
        assert row((0, 0), 4) == (None, 0)
        assert row((2, 1), 3) == (WindowRow(first, 1), 1)
        assert row((3, 1), 2) == (WindowRow(first, 2), 0)
        assert row((2, 1), 1) == (value, 0)
        assert row((3, 1), 1) == (None, 0)
    assert sorted(chain.changed_rows(0, 4)) == [(1, 1), (2, 1), (3, 1), (4, 1)]
    assert sorted(chain.changed_rows(0, 1)) == [(2, 1)]
