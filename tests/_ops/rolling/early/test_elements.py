"""Elements of one array that are read one by one, in no even order, are read at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines import ENGINES
from tests._ops.rolling._rolled import assert_rolls


def gathers_of(graph: fg.Graph) -> int:
    """Return how many reads and sums a program has whose places are index arrays."""
    return sum("@" in str(equation.params) for equation in graph.equations)


def test_elements_in_no_even_order_are_read_at_once() -> None:
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 12, (2, 60))
    x = np.linspace(-1.0, 1.0, 144).reshape(12, 12)

    def diagonal(x: Any) -> Any:
        total = 0.0
        for k in range(12):
            total += np.tanh(x[k, k])
        return x + total

    def anywhere(x: Any) -> Any:
        # Some elements are read several times.
        total = 0.0
        for k in range(60):
            total = total * 0.9 + x[i[k], j[k]] * x[int(j[k]), 3]
        return total

    def parts(x: Any) -> Any:
        # Slices of rows, and elements below the top of columns.
        total = np.zeros(9)
        for k in range(40):
            total = total + x[i[k], 2:11] * x[3:, j[k]]
        return np.sum(total)

    for f in (diagonal, anywhere, parts):
        rolled = assert_rolls(f, x, most=15)
        assert gathers_of(rolled)
        rolled = assert_rolls(fg.grad(lambda x, f=f: np.sum(f(x) ** 2)), x, most=130)
        assert gathers_of(rolled)


@pytest.mark.parametrize("engine", ENGINES)
def test_elements_read_at_once_have_signs_and_gradients_on_each_engine(engine: str) -> None:
    x = np.where(np.arange(400).reshape(20, 20) % 21, 1.5, -0.0)

    def f(x: Any) -> Any:
        total = 0.0
        for k in range(20):
            total += x[k, k] * x[19 - k, k] + np.sin(x[k, 19 - k])
        return total

    value, slope = fg.value_and_grad(f)(x)
    found, found_slope = fg.jit(fg.value_and_grad(f), engine=engine)(x)
    np.testing.assert_allclose(found, value, 1e-14)
    np.testing.assert_allclose(found_slope, slope, 1e-14)
    if engine == "numpy":
        np.testing.assert_array_equal(np.signbit(found_slope), np.signbit(slope))
