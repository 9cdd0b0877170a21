"""Rows that several arrays have in turns are read at once: results of odd and even rounds, columns of an array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Var
from funcgrad._ops.rolling.patterns import FIRST_AXIS
from funcgrad._ops.rolling.rows import Row
from funcgrad._ops.rolling.turns import rows_in_turns
from tests._ops.rolling._rolled import assert_engine_agrees, assert_rolls


def _odd_and_even(x: Any) -> Any:
    h = 0.0
    for t in range(len(x)):
        h = np.tanh(h + x[t]) if t % 2 else np.sin(h * x[t]) + 0.1
    return h


def _three_kinds(x: Any) -> Any:
    h = 0.0
    for t in range(len(x)):
        h = (np.tanh, np.sin, np.arctan)[t % 3](h + x[t])
    return h


def _pendulum(x: Any) -> Any:
    y = fnp.zeros((len(x), 2))
    y[0, 0], y[0, 1] = x[1], x[0]
    for t in range(1, len(x)):
        y[t, 0] = y[t - 1, 0] + 0.1 * y[t - 1, 1]
        y[t, 1] = y[t - 1, 1] - 0.1 * np.sin(y[t - 1, 0]) + x[t]
    return np.sum(np.cos(y))


def _up_and_down(x: Any) -> Any:
    s, n = 0.0, len(x) // 2
    for t in range(n):
        s = np.tanh(s) + x[t] * x[2 * n - 1 - t] - x[2 * t]
    return s


def _lists_of_vectors(x: Any) -> Any:
    rows, a, b = [], x[:3], x[3:6]
    for t in range(len(x)):
        a, b = np.sin(a + b), np.cos(a) * x[t]
        rows += [a, b]
    return np.sum(np.tanh(np.stack(rows)))


PROGRAMS = (_odd_and_even, _three_kinds, _pendulum, _up_and_down, _lists_of_vectors)


@pytest.mark.parametrize("f", PROGRAMS)
def test_values_and_gradients_do_not_grow_with_the_rounds(f: Any) -> None:
    for g in (f, fg.grad(f)):
        rolled = [assert_rolls(g, np.linspace(0.1, 1.0, 6 * n), most=110) for n in (8, 16)]
        assert len(rolled[0].equations) == len(rolled[1].equations)


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_engines(engine: str) -> None:
    assert_engine_agrees(engine, fg.grad(_odd_and_even), np.linspace(0.1, 1.0, 48))
    assert_engine_agrees(engine, fg.grad(_pendulum), np.linspace(0.1, 1.0, 48))


def _rows(text: str) -> tuple[list[Var], dict[Any, Row]]:
    """Return operands and the rows that they are: ``a0`` is row 0 of array a, ``-`` is no row."""
    bases = {name: Var(Aval((20,), np.dtype(float))) for name in "abc"}
    parts = [Var(Aval((), np.dtype(float))) for _ in text.split()]
    pairs = zip(parts, text.split(), strict=True)
    return parts, {x: Row(bases[each[0]], FIRST_AXIS, (int(each[1:]),)) for x, each in pairs if each != "-"}


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        ("a0 b0 a1 b1 a2 b2 a3 b3", 0, (2, 8)),
        ("a0 b0 a1 b1 a2 b2 a3 b3 a4", 0, (2, 8)),
        ("- a9 b0 a7 b1 a5 b2 a3 b3", 1, (2, 9)),
        ("a0 b0 c0 a1 b1 c1 a2 b2 c2 a3 b3 c3 - -", 0, (3, 12)),
        ("a0 b0 a1 b1 a2 b2", 0, (0, 0)),
        ("a0 b0 a1 b1 a3 b2 a4 b3", 0, (0, 0)),
        ("a0 b0 a1 b1 a2 b2 - b3", 0, (0, 0)),
        ("a0 b0 a0 b1 a0 b2 a0 b3", 0, (0, 0)),
        ("- a0", 0, (0, 0)),
    ],
)
def test_rows_in_turns(text: str, start: int, expected: tuple[int, int]) -> None:
    assert rows_in_turns(*_rows(text), start) == expected
