"""The maximum with one winner: eager tapes, which keep the winner, and graphs, which compare again."""

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._ops.elementwise.winner import first_max_p

NAN, INF = np.nan, np.inf
A = np.array([1.0, 2.0, 2.0, NAN, 1.0, NAN, -INF, INF])
B = np.array([2.0, 1.0, 2.0, 1.0, NAN, NAN, -INF, INF])
SECOND = np.array([1, 0, 0, 0, 1, 1, 0, 0], bool)
BARS = np.array([1.0, -2.0, INF, 3.0, NAN, 4.0, 5.0, -0.0])


def _pull(a: np.ndarray, b: np.ndarray, bars: np.ndarray) -> Any:
    y, pull = fg.vjp(first_max_p, a, b)
    return y, pull(bars)


@pytest.mark.parametrize("engine", [None, "numpy", "xla", "numba"])
def test_one_operand_gets_the_cotangent(engine: str | None) -> None:
    """Equal elements belong to the first operand, NaN of both to the second."""
    pull = _pull if engine is None else fg.jit(_pull, engine=engine)
    y, (a_bar, b_bar) = pull(A, B, BARS)
    np.testing.assert_array_equal(y, np.maximum(A, B))
    np.testing.assert_array_equal(a_bar, np.where(SECOND, 0, BARS))
    np.testing.assert_array_equal(b_bar, np.where(SECOND, BARS, 0))


def test_operands_that_broadcast() -> None:
    """The cotangent of a shorter operand is a sum."""
    y, (a_bar, b_bar) = _pull(np.array([[1.0], [3.0]]), np.array([2.0, 0.0, 3.0]), np.ones((2, 3)))
    np.testing.assert_array_equal(y, [[2, 1, 3], [3, 3, 3]])
    np.testing.assert_array_equal(a_bar, [[1], [3]])
    np.testing.assert_array_equal(b_bar, [1, 0, 1])
