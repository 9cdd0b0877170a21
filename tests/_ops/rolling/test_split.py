"""Loops of small rounds are split for the NumPy engine, and every number stays the same to the last bit."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from benchmarks._loops import PROGRAMS
from funcgrad import Graph
from funcgrad._ops.rolling import moved
from funcgrad._ops.rolling.split import split_loops
from funcgrad.extend import check_graph
from tests.laws.fuzz.loops import looping_of

T = 400
RNG = np.random.default_rng(3)
X, A = RNG.standard_normal(T), np.float64(0.7)
ROWS = RNG.standard_normal((T, 4))


def assert_same(graph: Graph, *args: Any) -> Graph:
    """Split a program and compare its results bit by bit, on the NumPy engine; return the split one."""
    split = split_loops(graph)
    check_graph(split)
    before = fg.jit(graph, engine="numpy", roll=False)(*args)
    after = fg.jit(split, engine="numpy", roll=False)(*args)
    for a, b in zip(map(np.asarray, fg.tree.leaves(before)), map(np.asarray, fg.tree.leaves(after)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        # The sign of a NaN says nothing.
        assert np.array_equal(np.signbit(np.real(a))[~np.isnan(a)], np.signbit(np.real(b))[~np.isnan(b)])
    return split


def in_loops(graph: Graph) -> int:
    """Return the number of equations in the rounds of a program's loops."""
    return sum(len(each.params["loop"].body.equations) for each in graph.equations if each.primitive.name == "scan")


def staged(f: Any, *args: Any) -> Graph:
    return fg.make_graph(f)(*args)


def _scanned(step: Any, reverse: bool, x: Any) -> Any:
    return fg.scan(step, (A, A, A), x, reverse=reverse)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_programs_and_their_gradients(name: str) -> None:
    program = PROGRAMS[name]
    args = program.arguments(60)
    gradient = fg.value_and_grad(program.f, argnums=tuple(range(len(args))))
    assert_same(fg.make_graph(gradient)(*args).roll(), *args)
    np.testing.assert_array_equal(
        fg.jit(gradient, engine="numpy")(*args)[0], fg.jit(gradient, engine="numpy", roll=False)(*args)[0]
    )


@pytest.mark.parametrize("name", ["garch", "odd_and_even", "tridiagonal"])
def test_rounds_are_smaller(name: str) -> None:
    args = PROGRAMS[name].arguments(100)
    gradient = fg.value_and_grad(PROGRAMS[name].f, argnums=tuple(range(len(args))))
    graph = fg.make_graph(gradient)(*args).roll()
    assert in_loops(assert_same(graph, *args)) < 0.8 * in_loops(graph)


def test_what_no_round_changes_runs_once() -> None:
    def step(carry: Any, row: Any) -> Any:
        c, a = carry
        return (c * np.exp(a) + row * np.sin(a), a), c

    split = assert_same(staged(lambda x, a: fg.scan(step, (0.5 * a, a), x), X, A), X, A)
    assert in_loops(split) == 2


def test_sums_keep_their_order_in_both_directions() -> None:
    def step(carry: Any, row: Any) -> Any:
        y, s, n = carry
        y = np.sin(y) + row
        return (y, (s + y * y) - row / y, n), y * 2.0

    for reverse in (False, True):
        graph = staged(partial(_scanned, step, reverse), X * 1e8)
        split = assert_same(graph, X * 1e8)
        assert in_loops(split) == 2


@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_of_rows(order: Any) -> None:
    """A sum of a row adds in the order of memory, so rows that do not lie in order stay in the loop."""

    def f(x: Any, a: Any) -> Any:
        return fg.scan(lambda c, row: (c + np.sum(row * a), np.sum(np.cos(row) * c)), a, x)

    for width in (1, 4, 9, 16):
        rows = np.asarray(RNG.standard_normal((T, width)) * 10.0 ** RNG.integers(-8, 8, (T, width)), order=order)
        assert_same(staged(f, rows, A), rows, A)
        assert_same(staged(fg.grad(lambda x, a: f(x, a)[0], argnums=(0, 1)), rows, A), rows, A)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.complex128, np.int64])
def test_dtypes(dtype: type) -> None:
    x, a = (10 * ROWS).astype(dtype), (2 * np.ones(4)).astype(dtype)

    def step(carry: Any, row: Any) -> Any:
        y, s = carry
        y = y * row + a
        return (y, s + row * y), y - row * row

    with np.errstate(all="ignore"):
        assert_same(staged(lambda x, a: fg.scan(step, (a, a), x), x, a), x, a)


def test_zeros_of_both_signs_and_numbers_that_are_none() -> None:
    x = np.where(np.arange(T) % 3 == 0, -0.0, X)
    x[7], x[30] = np.inf, np.nan

    def step(carry: Any, row: Any) -> Any:
        y, s = carry
        return (y * row, s - row), -row * 0.0

    with np.errstate(all="ignore"):
        assert_same(staged(lambda x, a: fg.scan(step, (a, -0.0 * a), x), x, A), x, A)


def test_results_that_are_rows_carries_or_equal() -> None:
    def step(carry: Any, row: Any) -> Any:
        y, before = carry
        z = y * 0.5 + row
        return (z, y), (row, before, z * row, 2.0 * a_number, z)

    a_number = np.float64(3.0)
    assert_same(staged(lambda x, a: fg.scan(step, (a, a), x), X, A), X, A)
    assert_same(staged(lambda x, a: fg.scan(lambda c, row: (c, (row * a, row * a)), a, x), X, A), X, A)
    graph = staged(lambda x, a: fg.scan(lambda c, row: (c + row, None), a, x), X, A)
    assert in_loops(assert_same(graph, X, A)) == 0


def test_a_loop_without_carries_runs_at_once() -> None:
    graph = staged(lambda x, a: fg.scan(lambda c, row: (c, row * a + 1.0), a, x), X, A)
    assert in_loops(assert_same(graph, X, A)) == 0


@pytest.mark.parametrize("first", [9100, 9110, 9120])
def test_random_loops(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that can be moved is moved here, even where nothing is gained."""
    monkeypatch.setattr(moved, "_LEAST_SAVED", -1e9)
    monkeypatch.setattr(moved, "_CALL", 0.0)
    graphs = [graph for seed in range(first, first + 10) if (graph := _random(seed)) is not None]
    assert len(graphs) > 3
    for graph in graphs:
        rng = np.random.default_rng(first)
        args = rng.standard_normal(40), rng.standard_normal((40, 3)), np.float64(rng.standard_normal())
        with np.errstate(all="ignore"):
            assert_same(graph, *args)


def _random(seed: int) -> Graph | None:
    """Return the rolled gradient of a random program; ``None`` where the program refuses its own arrays."""
    gradient = fg.value_and_grad(looping_of(seed).made(40), argnums=(0, 1, 2))
    with contextlib.suppress(TypeError, ValueError, IndexError):
        return fg.make_graph(gradient)(np.ones(40), np.ones((40, 3)), np.float64(1.0)).roll()
    return None
