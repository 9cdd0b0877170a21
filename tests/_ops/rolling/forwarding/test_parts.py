"""Loops that write rows and parts of rows, such as ``y[t] = ...; y[t, 0] = 0``, become loops that carry rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._ops.rolling.forwarding.parts import with_whole_rows
from tests._ops.rolling._rolled import assert_engine_agrees, assert_rolls

# Zeros of both signs, so that a sum that adds 0 shows.
X = np.where(np.abs(np.arange(21) - 10) < 3, 0.7, -0.0)


def _diffusion(u: Any, k: Any, rounds: int) -> Any:
    for t in range(rounds):
        u[t + 1] = u[t]
        u[t + 1, 1:-1] += k * (u[t, 2:] - 2 * u[t, 1:-1] + u[t, :-2])


def _inner(u: Any, k: Any, rounds: int) -> Any:
    for t in range(rounds):
        u[t + 1, 1:-1] = u[t, 1:-1] + k * (u[t, 2:] - 2 * u[t, 1:-1] + u[t, :-2])


def _ends(u: Any, k: Any, rounds: int) -> Any:
    for t in range(1, rounds + 1):
        u[t] = np.sin(u[t - 1]) * k
        u[t, 0] = -0.0
        u[t, -1] = u[t, -2]


def _wave(u: Any, k: Any, rounds: int) -> Any:
    u[1] = u[0] * 0.9
    for t in range(1, rounds):
        u[t + 1, 1:-1] = 2 * u[t, 1:-1] - u[t - 1, 1:-1] + k * (u[t, 2:] - 2 * u[t, 1:-1] + u[t, :-2])
        u[t + 1, 0] = u[t + 1, 1]


def _halves(u: Any, k: Any, rounds: int) -> Any:
    for t in range(1, rounds + 1):
        u[t, 10:] = u[t - 1, 10:] - k * u[t - 1, :11]
        u[t, :10] = u[t - 1, :10] + 0.1 * u[t, 10:20]


def _backwards(u: Any, k: Any, rounds: int) -> Any:
    u[rounds] = u[0]
    for t in range(rounds - 1, -1, -1):
        u[t] = np.maximum(0.9 * u[t + 1], k * u[t])
        u[t, 0] = 1.0


def _scaled(u: Any, k: Any, rounds: int) -> Any:
    for t in range(1, rounds + 1):
        u[t] = np.sin(u[t - 1]) + k
        u[t, 3] *= 0.5
        u[t, ::2] -= u[t - 1, ::2]


STEPS: dict[str, Callable[[Any, Any, int], Any]] = {
    "diffusion": _diffusion,
    "inner elements": _inner,
    "ends": _ends,
    "two rounds back": _wave,
    "halves": _halves,
    "backwards": _backwards,
    "elements and steps": _scaled,
}


def filled(name: str, rounds: int) -> Callable[[Any, Any], Any]:
    """Return a program that fills the rows of an array."""

    def f(x: Any, k: Any) -> Any:
        u = fnp.zeros((rounds + 1, 21))
        u[0] = x
        STEPS[name](u, k, rounds)
        return u

    return f


def gradient(name: str, rounds: int) -> Callable[[Any, Any], Any]:
    """Return the gradient of a number that depends on all rows."""
    return fg.grad(lambda x, k: np.sum(np.sin(filled(name, rounds)(x, k)) ** 2), argnums=(0, 1))


@pytest.mark.parametrize("name", STEPS)
def test_values_and_gradients_do_not_grow_with_the_rounds(name: str) -> None:
    for make in (filled, gradient):
        rolled = [assert_rolls(make(name, rounds), X, np.float64(0.2), most=80) for rounds in (24, 40)]
        assert len(rolled[0].equations) == len(rolled[1].equations)


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_engines(engine: str) -> None:
    assert_engine_agrees(engine, gradient("diffusion", 30), X, np.float64(0.2))
    assert_engine_agrees(engine, gradient("elements and steps", 30), X, np.float64(0.2))


def test_the_sign_of_zero() -> None:
    for name in STEPS:
        graph = fg.make_graph(gradient(name, 24))(X, np.float64(0.2))
        for a, b in zip(graph(X, np.float64(0.2)), graph.roll()(X, np.float64(0.2)), strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def test_planes_and_their_edges() -> None:
    def f(x: Any, k: Any) -> Any:
        u = fnp.zeros((30, 7, 3))
        u[0] = x.reshape(7, 3)
        for t in range(1, 30):
            u[t] = u[t - 1]
            u[t, 1:-1] += k * (u[t - 1, 2:] + u[t - 1, :-2] - 2 * u[t - 1, 1:-1])
            u[t, :, 0] = 0.5
            u[t, -1, 1] *= 0.5
        return u

    assert_rolls(f, X, np.float64(0.2), loops=[29])
    assert_rolls(fg.grad(lambda x, k: np.sum(f(x, k) ** 2)), X, np.float64(0.2))


def test_a_table_with_a_first_row_is_followed_number_by_number() -> None:
    def f(x: Any) -> Any:
        table = fnp.zeros((12, 12))
        table[0] = np.arange(12.0)
        for i in range(1, 12):
            for j in range(1, 12):
                table[i, j] = np.sin(table[i - 1, j - 1] + x[i])
        return table

    graph = fg.make_graph(f)(X[:12])
    assert with_whole_rows(graph) is graph


def test_a_program_that_uses_whole_rows_stays_as_it_is() -> None:
    def f(x: Any) -> Any:
        y = fnp.zeros((20, 21))
        for t in range(20):
            y[t] = y[t - 1] + x
        return y

    graph = fg.make_graph(f)(X)
    assert with_whole_rows(graph) is graph
