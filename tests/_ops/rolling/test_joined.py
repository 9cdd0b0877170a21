"""Tables that are filled cell by cell: the loop around the rows carries and stacks each row as one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests._ops.rolling._rolled import assert_engine_agrees, assert_rolls, loops_of


def _edit_distance(a: Any, b: Any, c: Any) -> Any:
    """Fill a table by its rows, from three neighbours of each cell."""
    n, m = len(a), len(b)
    d = np.zeros((n + 1, m + 1), like=a)
    for i in range(1, n + 1):
        d[i, 0] = i * 1.0
    for j in range(1, m + 1):
        d[0, j] = j * 1.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            changed = d[i - 1, j - 1] + np.abs(a[i - 1] - b[j - 1])
            d[i, j] = np.minimum(np.minimum(d[i - 1, j] + c, d[i, j - 1] + c), changed)
    return d[n, m]


def _edit_distance_by_lists(a: Any, b: Any, c: Any) -> Any:
    d = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        d[i][0] = d[i - 1][0] + c
    for j in range(1, len(b) + 1):
        d[0][j] = d[0][j - 1] + c
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            changed = d[i - 1][j - 1] + np.abs(a[i - 1] - b[j - 1])
            d[i][j] = np.minimum(np.minimum(d[i - 1][j] + c, d[i][j - 1] + c), changed)
    return d[len(a)][len(b)]


def _time_warping(a: Any, b: Any, c: Any) -> Any:
    d = np.full((len(a) + 1, len(b) + 1), 1e10, like=a)
    d[0, 0] = 0.0
    for i in range(len(a)):
        for j in range(len(b)):
            d[i + 1, j + 1] = (a[i] - b[j]) ** 2 + c * np.min(np.stack([d[i, j + 1], d[i + 1, j], d[i, j]]))
    return d[len(a), len(b)]


def _alignment(a: Any, b: Any, c: Any) -> Any:
    """Needleman and Wunsch's score with a smooth maximum, of which only the last row is kept."""
    row = [-c * j for j in range(len(b) + 1)]
    for i in range(len(a)):
        new = [-c * (i + 1)]
        for j in range(len(b)):
            paths = np.stack([row[j] - (a[i] - b[j]) ** 2, row[j + 1] - c, new[j] - c])
            new.append(np.log(np.sum(np.exp(paths))))
        row = new
    return row[-1]


def _viterbi(a: Any, b: Any, c: Any) -> Any:
    """The best path through states, state by state."""
    score = [b[k] for k in range(len(b))]
    for t in range(len(a)):
        new = []
        for k in range(len(b)):
            best = score[k]
            for other in (k - 1, k + 1):
                best = np.maximum(best, score[other % len(b)] - c)
            new.append(best + np.sin(a[t] * b[k]))
        score = new
    return score[0] + score[-1] * c


TABLES = [_edit_distance, _edit_distance_by_lists, _time_warping, _alignment, _viterbi]


def _arguments(n: int, m: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(n)
    return rng.normal(size=n), rng.normal(size=m), np.float64(0.7)


def _with_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    return fg.value_and_grad(f, argnums=(0, 1, 2))


@pytest.mark.parametrize("f", TABLES, ids=lambda f: f.__name__)
def test_a_table_has_the_numbers_of_the_straight_program(f: Callable[..., Any]) -> None:
    for args in (_arguments(9, 12), _arguments(12, 9)):
        assert_rolls(f, *args, most=100)
        assert_rolls(_with_gradient(f), *args, most=2000)


@pytest.mark.parametrize("f", TABLES, ids=lambda f: f.__name__)
def test_the_program_of_a_table_does_not_grow_with_the_table(f: Callable[..., Any]) -> None:
    small, large = (fg.make_graph(f)(*_arguments(n, n)).roll() for n in (20, 25))
    assert len(small.equations) == len(large.equations) <= 30


@pytest.mark.parametrize("f", [_edit_distance, _time_warping, _alignment], ids=lambda f: f.__name__)
def test_the_gradient_of_a_table_does_not_grow_with_the_table(f: Callable[..., Any]) -> None:
    small, large = (fg.make_graph(_with_gradient(f))(*_arguments(n, n)).roll() for n in (20, 25))
    assert len(small.equations) == len(large.equations) <= 450


@pytest.mark.parametrize("engine", ["numba", "xla"])
def test_engines_agree_on_a_table(engine: str) -> None:
    assert_engine_agrees(engine, _with_gradient(_edit_distance), *_arguments(10, 11))


def test_a_row_of_cells_is_one_carry_and_one_stack() -> None:
    rolled = fg.make_graph(_alignment)(*_arguments(12, 10)).roll()
    loop = rolled.equations[-2].params["loop"]
    # The first cell of a row, which the loop around the cells does not make, and the others.
    assert sorted(x.aval.shape for x in loop.body.outputs) == [(), (10,)]


def test_the_loop_in_few_rounds_beside_a_loop_is_a_loop() -> None:
    """The last row reads another row than the one before it, so it is in no loop of rows. Its cells are in one."""

    def f(x: Any, k: Any) -> Any:
        rows = [[x[j] for j in range(20)]]
        for i in range(8):
            before = rows[-1] if i < 7 else rows[-4]
            new = [k[i]]
            for j in range(1, 20):
                new.append(np.tanh(before[j] * new[j - 1] + before[j - 1]))
            rows.append(new)
        return rows[-1][-1]

    rolled = assert_rolls(f, np.linspace(0.1, 1.0, 20), np.linspace(0.2, 0.9, 8), most=30)
    assert 19 in loops_of(rolled)


def _wave_in_a_table(c: Any, first: Any, rounds: int) -> Any:
    n = len(first)
    u = np.zeros((rounds, n), like=first)
    u[0], u[1] = first, first
    for t in range(1, rounds - 1):
        for i in range(1, n - 1):
            u[t + 1, i] = 2.0 * u[t, i] - u[t - 1, i] + c[i] * (u[t, i + 1] - 2.0 * u[t, i] + u[t, i - 1])
    return np.sum(u[-1] ** 2)


def _wave_in_three_arrays(c: Any, first: Any, rounds: int) -> Any:
    n = len(first)
    before, now = first.copy(), first.copy()
    for _ in range(rounds):
        after = np.zeros(n, like=first)
        for i in range(1, n - 1):
            after[i] = 2.0 * now[i] - before[i] + c[i] * (now[i + 1] - 2.0 * now[i] + now[i - 1])
        before, now = now, after
    return np.sum(now**2)


def _wave_at_a_receiver(c: Any, first: Any, rounds: int) -> Any:
    # Only one point of each round is read, so the last rounds have fewer and fewer points that matter.
    n = len(first)
    u, loss = np.zeros((rounds, n), like=first), 0.0
    u[0], u[1] = first, first
    for t in range(1, rounds - 1):
        for i in range(1, n - 1):
            u[t + 1, i] = 2.0 * u[t, i] - u[t - 1, i] + c[i] * (u[t, i + 1] - 2.0 * u[t, i] + u[t, i - 1])
        loss = loss + (u[t + 1, n // 2] - 0.1) ** 2
    return loss


@pytest.mark.parametrize("f", [_wave_in_a_table, _wave_in_three_arrays, _wave_at_a_receiver], ids=lambda f: f.__name__)
def test_values_of_two_rounds_before_are_arrays(f: Callable[..., Any]) -> None:
    sizes = []
    for n, rounds in ((14, 12), (20, 12), (14, 20)):
        c, first = np.linspace(0.1, 0.3, n), np.sin(np.arange(n))
        rolled = fg.make_graph(lambda c, x, rounds=rounds: f(c, x, rounds))(c, first).roll()
        np.testing.assert_array_equal(rolled(c, first), f(c, first, rounds))
        (loop,) = [each.params["loop"] for each in rolled.equations if each.primitive.name == "scan"][-1:]
        sizes.append((len(rolled.equations), len(loop.body.equations)))
    assert len(set(sizes)) == 1
    assert sum(sizes[0]) <= 80
