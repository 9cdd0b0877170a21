"""Arrays that grow in each round, as ``ys = np.append(ys, y)`` does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._ops.rolling.grown import grown
from tests._ops.rolling._rolled import assert_engine_agrees, assert_rolls, loops_of

rng = np.random.default_rng(12)
X = rng.normal(size=30)
POINTS = rng.normal(size=(30, 3))
A = 0.3 * rng.normal(size=(3, 3))


def appended(x: Any, a: Any) -> Any:
    ys, y = x[:1], x[0]
    for t in range(1, len(x)):
        y = np.tanh(a[0, 0] * y + x[t])
        ys = np.append(ys, y)
    return np.sum(ys**2)


def appended_and_read(x: Any, a: Any) -> Any:
    """Read the value that was appended last."""
    ys = x[:2]
    for t in range(2, len(x)):
        ys = np.append(ys, np.sin(a[0, 1] * ys[-1]) + x[t])
    return np.sum(ys**3) + ys[-1]


def rows(p: Any, a: Any) -> Any:
    path, s = p[:1], p[0]
    for t in range(len(p)):
        s = np.tanh(a @ s + p[t])
        path = np.vstack((path, s))
    return np.sum(path**2)


def columns(p: Any, a: Any) -> Any:
    """Keep a history of columns, as programs of filters do."""
    s = p[0].reshape(3, 1)
    history = s
    for t in range(len(p)):
        s = np.cos(a @ s) + p[t].reshape(3, 1)
        history = np.hstack((history, s))
    return np.sum(history**2) + np.sum(np.sin(history[0]))


def two_histories(p: Any, a: Any) -> Any:
    s, first, second = p[0], p[:1], np.zeros((1, 3), like=p)
    for t in range(len(p)):
        s = np.tanh(a @ s + p[t])
        first = np.concatenate([first, s[None]], axis=0)
        second = np.concatenate([second, s[None] * 2.0, s[None] + 1.0])
    return np.sum(first) + np.sum(second**2)


def put_before(x: Any, a: Any) -> Any:
    ys, y = x[:1], x[0]
    for t in range(1, len(x)):
        y = a[1, 1] * np.exp(-y) + x[t]
        ys = np.concatenate([y[None], ys])
    return np.sum(ys * np.arange(len(x)))


# The second number is the largest number of equations of the rolled gradient. Reverse mode adds to the whole array in
# each round where the last value is read, so this loop alone stays.
PROGRAMS: list[tuple[Callable[..., Any], Any, int]] = [
    (appended, X, 60),
    (appended_and_read, X, 400),
    (rows, POINTS, 60),
    (columns, POINTS, 60),
    (two_histories, POINTS, 120),
    (put_before, X, 60),
]
NAMES = [f.__name__ for f, _, _ in PROGRAMS]


@pytest.mark.parametrize(("f", "x", "most"), PROGRAMS, ids=NAMES)
def test_growing_arrays_roll(f: Callable[..., Any], x: Any, most: int) -> None:
    assert_rolls(f, x, A, most=90)
    assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), x, A, most=most)


@pytest.mark.parametrize("engine", ["xla", "numba"])
@pytest.mark.parametrize(("f", "x"), [each[:2] for each in PROGRAMS], ids=NAMES)
def test_growing_arrays_agree(f: Callable[..., Any], x: Any, engine: str) -> None:
    assert_engine_agrees(engine, fg.value_and_grad(f, argnums=(0, 1)), x, A)


def read_as_a_whole(x: Any, a: Any) -> Any:
    """Read the whole array in each round: its shape differs, so nothing rolls."""
    ys = x[:1]
    for t in range(1, len(x)):
        ys = np.append(ys, np.tanh(np.sum(ys) * a[0, 0] + x[t]))
    return np.sum(ys)


def read_from_the_front(x: Any, a: Any) -> Any:
    ys = x[:1]
    for t in range(1, len(x)):
        ys = np.append(ys, np.tanh(ys[t // 2] * a[0, 0] + x[t]))
    return np.sum(ys)


@pytest.mark.parametrize("f", [read_as_a_whole, read_from_the_front], ids=lambda f: f.__name__)
def test_other_reads_keep_their_numbers(f: Callable[..., Any]) -> None:
    for program in (f, fg.value_and_grad(f, argnums=(0, 1))):
        graph = fg.make_graph(program)(X, A)
        rolled = graph.roll()
        fg.extend.check_graph(rolled)
        for found, expected in zip(fg.tree.leaves(rolled(X, A)), fg.tree.leaves(graph(X, A)), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_program_that_joins_arrays_once_is_left() -> None:
    graph = fg.make_graph(lambda x: np.sum(np.concatenate([np.concatenate([x, x]), x])))(X)
    assert grown(graph) is graph


def test_a_program_that_grows_and_does_not_roll_is_the_given_one() -> None:
    def different(x: Any) -> Any:
        ys = x[:1]
        for t in range(1, 12):
            ys = np.append(ys, np.sum(x[:t]) if t % 3 else np.prod(x[t:]))
        return np.sum(ys)

    graph = fg.make_graph(different)(X)
    assert grown(graph) is not graph
    assert not loops_of(graph.roll())
    assert graph.roll() is graph
