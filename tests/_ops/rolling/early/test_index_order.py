"""Values that several rounds read by index: rolled before they are differentiated, or refused, with equal numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._transforms.base import shortening
from tests._ops.rolling._rolled import rolled_early

ROUNDS = 30


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roll short programs too."""
    monkeypatch.setattr(shortening, "_LEAST_EQUATIONS", 60)


def own_round_and_next(x: Any, a: Any) -> Any:
    loss = 0.0
    for _ in range(ROUNDS):
        x = x + 0.01 * np.stack([x[1], -a * x[0] * x[1], x[2], x[3]])
        loss = loss + np.sin(x[0]) * x[1] + x[0]
    return loss


def slices_in_turns(x: Any, a: Any) -> Any:
    p = x * a
    for _ in range(ROUNDS):
        p = p - 0.01 * x[::-1] * x
        x = x + 0.01 * p * x[1:2]
        p = p - 0.01 * x[::-1] * x
    return np.sum(p**2) + np.sum(x**2)


def distances_of_particles(x: Any, a: Any) -> Any:
    p = x * a
    for _ in range(ROUNDS):
        for _ in range(2):
            d = x[:, None] - x[None, :]
            p = p - 0.005 * np.sum(d / (d**2 + 0.1) ** 1.5, axis=1)
        x = x + 0.01 * p
    return np.sum(p**2) + np.sum(x**2)


def before_the_loop(x: Any, a: Any) -> Any:
    x = np.tanh(x)
    loss = np.sum(x[::-1] * x[1:2] * x)
    for _ in range(ROUNDS):
        loss = loss * 0.9 + np.sum(x[::-1] * x) + x[0]
        x = np.tanh(x * a + 0.1)
    return loss


def three_rounds_back(x: Any, a: Any) -> Any:
    xs = [x, x * 1.1, x * 0.9]
    for _ in range(ROUNDS):
        xs.append(np.tanh(a * (xs[-1][::-1] + xs[-2][::-1] * xs[-3][1:2])))
    return np.sum(np.stack(xs) ** 2)


def last_round_after_the_loop(x: Any, a: Any) -> Any:
    b = np.tanh(0.3 * x[:2] @ x[2:] + 0.1 * np.ones(4))
    y = b
    for _ in range(ROUNDS):
        y = np.tanh(0.3 * b[0] + 0.1 * np.ones(4))
        b = np.tanh(0.3 * np.sum(y[None, :] * y[:, None], 0) * y[::-1] + 0.1)
    last = np.sum(y[None, :] * y[:, None], 0)
    return np.sum(y + b * 2) + np.sum(np.tanh(0.3 * np.sum(x[None, :] * x[:, None], 0) * last + a))


def constant_of_the_loop(x: Any, a: Any) -> Any:
    y, loss = np.tanh(x), 0.0
    for _ in range(ROUNDS):
        y = np.tanh(0.3 * y * y * a + 0.1)
        loss = loss + np.sum(np.tanh(0.3 * x + 0.1))
    return loss + np.sum(y) + np.sum(x) * 0.5 + np.sum(np.tanh(x[0] * y[::-1] + x[::-1]))


def last_value_of_a_carry_that_is_stacked(x: Any, a: Any) -> Any:
    y, before = x, x * a
    for _ in range(ROUNDS):
        y, before = np.tanh(0.3 * a * y[:2] @ y[2:] + 0.3 * y[0] + 0.1 * np.ones(4)), y
    return np.sum(y + before * 2) + np.sum(np.tanh(before[:2] @ before[2:] + y * before[0] + y[1:2]))


def parts_of_a_row_after_the_loop(x: Any, a: Any) -> Any:
    rows, y = np.reshape(np.concatenate([x] * ROUNDS), (ROUNDS, 4)) * a, x
    for t in range(ROUNDS):
        y = np.tanh(0.3 * rows[t] * y + 0.1)
    parts = np.sum(rows[0][None, :] * rows[0][:, None], 0) * rows[0][::-1]
    return np.sum(y * parts + rows[0] * 0.9 * y)


def stacked_and_read_two_rounds_later(x: Any, a: Any) -> Any:
    y, before, first = x, x * a, x * 0.9
    for _ in range(ROUNDS):
        before, first = y, before
        y = np.tanh(0.3 * a * first[::-1] + 0.3 * first[::-1] + 0.1)
    last = np.sum(before[None, :] * before[:, None], 0)
    return np.sum(y + before * 2) + np.sum(first) * 0.5 + np.sum(np.tanh(0.3 * first[1:2] * last + 0.1))


def last_value_whole_and_by_index(x: Any, a: Any) -> Any:
    y = z = np.ones(4) * a
    for _ in range(ROUNDS):
        z = np.tanh(0.3 * y + 0.3 * x * a + 0.1)
        y = np.tanh(0.3 * z[::-1] + 0.1)
    return np.sum(z * 2) + np.sum(y) * 0.5 + np.sum(np.tanh(0.3 * z[0] + 0.1))


def one_round_only(x: Any, a: Any) -> Any:
    ys = []
    for _ in range(ROUNDS):
        x = x + 0.01 * np.stack([x[1] * x[0], -a * x[0], x[2], x[3] * x[0]])
        ys.append(x)
    return np.sum(np.stack(ys) ** 2)


def elements_and_an_index_array(x: Any, a: Any) -> Any:
    loss, order = 0.0, np.array([1, 0, 3, 2])
    for _ in range(ROUNDS):
        loss = loss + np.tanh(a * x[0] * x[1:2] * x[2] * x[order][1]) + np.sum(x[0] * x * x[order])
    return np.sum(loss)


def table_that_index_arrays_read_twice(x: Any, a: Any) -> Any:
    table, h = np.outer(x, x), x
    for t in range(ROUNDS):
        h = np.tanh(np.sum(table[[t % 4, (t + 1) % 4, 1, 1]], 0) * a + 0.3 * h)
    return np.sum(h)


def rows_that_an_index_array_reads_twice(x: Any, a: Any) -> Any:
    rows, loss, places = np.outer(np.linspace(-1.0, 1.0, ROUNDS), x), 0.0, np.array([3, 1, 1, 0])
    for t in range(ROUNDS):
        loss = loss * 0.9 + np.sum(np.sin(rows[t][places] * a + loss)) + np.sum(np.cos(rows[t][1:2] * loss))
    return loss


def elements_and_a_slice(x: Any, a: Any) -> Any:
    """Estimate advantages: each value has shares of two rounds, and one of a slice."""
    values, total, found = np.sin(np.arange(31.0) * x[0]) * x[1], 0.0, []
    for t in reversed(range(ROUNDS)):
        total = x[2] + 0.99 * values[t + 1] - values[t] + a * total
        found.append(total)
    return np.sum((np.stack(found) + values[:-1]) ** 2)


@pytest.mark.parametrize(
    ("f", "rolls"),
    [
        (own_round_and_next, False),
        (slices_in_turns, False),
        (distances_of_particles, False),
        (before_the_loop, False),
        (three_rounds_back, False),
        (last_round_after_the_loop, False),
        (constant_of_the_loop, False),
        (last_value_of_a_carry_that_is_stacked, False),
        (parts_of_a_row_after_the_loop, False),
        (stacked_and_read_two_rounds_later, False),
        (last_value_whole_and_by_index, False),
        (one_round_only, True),
        (elements_and_an_index_array, False),
        (table_that_index_arrays_read_twice, False),
        (rows_that_an_index_array_reads_twice, False),
        (elements_and_a_slice, False),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_numbers_are_those_of_the_unrolled_program(
    f: Callable[..., Any], rolls: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rolled_early(monkeypatch)
    gradient = fg.grad(f, argnums=(0, 1))
    compiled = fg.jit(gradient, engine="numpy")
    for seed in range(6):
        rng = np.random.default_rng(seed)
        args = rng.standard_normal(4), np.float64(rng.standard_normal())
        expected = fg.jit(gradient, engine="numpy", roll=False)(*args)
        for a, b in zip(compiled(*args), expected, strict=True):
            np.testing.assert_array_equal(a, b)
    assert found[0] == rolls


def one_row_twice_in_an_equation(x: Any, a: Any) -> Any:
    y = np.zeros(len(x), like=x)
    for t in range(len(x)):
        y[t] = x[t] - x[t] - a * x[t]
    return np.sum(np.cos(y))


def rows_that_are_read_before_they_are_used(x: Any, a: Any) -> Any:
    loss = 0.0
    for t in range(len(x)):
        first, second, third = x[t], x[t], x[t]
        loss = loss * a + np.sin(third) * np.cos(second) * np.tanh(first)
    return loss


@pytest.mark.parametrize("f", [one_row_twice_in_an_equation, rows_that_are_read_before_they_are_used])
def test_shares_of_a_row_are_added_in_the_order_of_its_reads(f: Callable[..., Any]) -> None:
    gradient, rng = fg.grad(f, argnums=(0, 1)), np.random.default_rng(0)
    x, a = rng.uniform(-0.9, 0.9, 300), np.float64(0.7)
    expected = fg.jit(gradient, engine="numpy", roll=False)(x, a)
    for found, wanted in zip(fg.jit(gradient, engine="numpy")(x, a), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
