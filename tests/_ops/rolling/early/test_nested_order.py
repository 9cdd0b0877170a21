"""Loops in loops, rolled before they are differentiated: cotangents are added in the order of the unrolled program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._transforms.base import shortening
from tests._ops.rolling._rolled import rolled_early

ROUNDS = 28


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roll short programs too."""
    monkeypatch.setattr(shortening, "_LEAST_EQUATIONS", 60)


def constant(x: Any, m: Any, a: Any) -> Any:
    for _ in range(ROUNDS):
        for _ in range(5):
            a = a + 0.1 * np.sin(a) * x[2]
        a = np.cos(a)
    return a


def constant_of_two(x: Any, m: Any, a: Any) -> Any:
    v = a * 0.5
    for _ in range(ROUNDS):
        for _ in range(5):
            v = v + 0.1 * np.sin(v) * a
        for _ in range(5):
            v = v + 0.1 * np.cos(v) * a * v
    return v


def constant_of_three_levels(x: Any, m: Any, a: Any) -> Any:
    v = a * 0.5
    for _ in range(7):
        for _ in range(6):
            for _ in range(5):
                v = v + 0.1 * np.sin(v) * a * x[2]
            v = v * 0.9 + a * x[0]
        v = np.cos(v * a)
    return v


def last_rounds_apart(x: Any, m: Any, a: Any) -> Any:
    v, w = a * 0.5, x[0]
    for _ in range(ROUNDS):
        for _ in range(5):
            v = v + 0.1 * np.sin(v) * a
        w, v = v, np.cos(w) + v * a
    return w + a * np.sin(a)


def first_value(x: Any, m: Any, a: Any) -> Any:
    v, w, ys = a * 0.5, x[0], []
    for _ in range(ROUNDS):
        u = w
        for _ in range(5):
            u = np.sin(v * u) * a + u * v
        v = np.cos(u) * v
        ys.append(v)
    return np.sum(np.stack(ys) ** 2) + a * v


def whole_and_slice(x: Any, m: Any, a: Any) -> Any:
    q = np.sin(x)
    for _ in range(ROUNDS):
        a = a + np.sum(q * a) * 0.01
        for _ in range(5):
            a = a + 0.1 * np.sin(a) * np.sum(q[1:4])
    return a


def row_and_constant(x: Any, m: Any, a: Any) -> Any:
    for t in range(ROUNDS):
        for s in range(3):
            a = a + 0.1 * np.sin(a * m[t, s]) * m[2, 1]
    return a


def same_rows_each_round(x: Any, m: Any, a: Any) -> Any:
    for _ in range(ROUNDS):
        for s in range(1, 8):
            a = 0.9 * a + 0.1 * np.sin(a * x[s])
    return a


def rows_joined_in_a_round(x: Any, m: Any, a: Any) -> Any:
    u, v = np.sin(x * a), a
    for _ in range(ROUNDS):
        for s in range(6):
            v = v + 0.1 * np.sin(v * u[s]) * u[s]
        v = 0.5 * v + 0.1 * np.cos(v)
    return v


def row_and_element_of_a_round(x: Any, m: Any, a: Any) -> Any:
    v = a
    for t in range(ROUNDS):
        u = np.sin(x * v)
        for s in range(6):
            v = v + 0.1 * np.sin(v * u[s]) * u[s]
        v = v + 0.1 * np.sin(v * (np.cos(v * t) * u[1] + np.sum(u)))
    return v


def row_before_and_after_all_rows(x: Any, m: Any, a: Any) -> Any:
    u = m[0] * a
    for t in range(len(m)):
        u = np.tanh(0.5 * u + np.sin(m[t] * a))
    return np.sum(u * m[0])


def row_before_all_rows(x: Any, m: Any, a: Any) -> Any:
    u = m[0] * a
    for t in range(len(m)):
        u = np.tanh(0.5 * u + np.sin(m[t] * a))
    return np.sum(u)


def row_used_after_later_reads(x: Any, m: Any, a: Any) -> Any:
    row, v = m[1], a
    for t in range(4, 16):
        v = v * np.sum(m[1] * a)
        for _ in range(t):
            v = np.tanh(v * a + np.sin(v))
    return np.sum(np.sin(row) * v)


def rows_used_as_they_are_read(x: Any, m: Any, a: Any) -> Any:
    u = m[0] * a
    for t in range(1, len(m)):
        u = np.tanh(m[t] * a + m[t] * u + m[t])
    return np.sum(u)


def squares_of_rows(x: Any, m: Any, a: Any) -> Any:
    u = m[0] * a
    for t in range(1, len(m)):
        u = np.tanh(m[t] * m[t] * u + m[t])
    return np.sum(u)


def rows_used_in_another_order(x: Any, m: Any, a: Any) -> Any:
    u = m[0] * a
    for t in range(1, len(m)):
        u = np.tanh(np.hypot(m[t], 0.5 * u) + np.arctan2(m[t], m[t] * a) * u + m[t])
    return np.sum(u)


def row_read_after_writes_to_another(x: Any, m: Any, a: Any) -> Any:
    z = m * a
    u, y = np.sin(z[1]), np.cos(z)
    for _ in range(ROUNDS):
        z[0] += np.tanh(0.1 * u * a + z[0] * 0.1)
    return np.sum(z[1] ** 2) + np.sum(z[0] * u) + np.sum(y)


def rows_read_before_they_are_written(x: Any, m: Any, a: Any) -> Any:
    z = m * a
    for t in range(1, ROUNDS):
        z[t] = np.tanh(0.1 * z[t - 1] * a + z[t] * 0.1)
    return np.sum(z**2)


def constant_read_for_its_value(x: Any, m: Any, a: Any) -> Any:
    u, v = m[0], a * 0.5
    for _ in range(ROUNDS):
        u = u * 0.5 + fg.stop_gradient(np.where(u > 0.1, u, 0.1 * v))
    return np.sum(u)


def row_that_is_written_early(x: Any, m: Any, a: Any) -> Any:
    v, total, y = a * 0.5, 0.0, np.zeros(30, like=x)
    y[0] = x[0]
    for t in range(29, 0, -1):
        total = total + x[t - 1]
    for t in range(29, 0, -1):
        v = np.tanh(x[t - 1] * (1.0 / t) + x[t - 1])
        total = total + np.sum(m[:, 1]) * a
    return np.sum(y * y) + v + total


@pytest.mark.parametrize(
    ("f", "rolls"),
    [
        (constant, True),
        (constant_of_two, True),
        (constant_of_three_levels, True),
        (last_rounds_apart, True),
        (first_value, False),
        (whole_and_slice, False),
        (row_and_constant, False),
        (same_rows_each_round, False),
        (rows_joined_in_a_round, False),
        (row_and_element_of_a_round, False),
        (row_before_and_after_all_rows, False),
        (row_before_all_rows, True),
        (row_used_after_later_reads, False),
        (rows_used_as_they_are_read, True),
        (squares_of_rows, True),
        (rows_used_in_another_order, False),
        (row_read_after_writes_to_another, False),
        (constant_read_for_its_value, True),
        (row_that_is_written_early, False),
        (rows_read_before_they_are_written, True),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_order(f: Callable[..., Any], rolls: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    found = rolled_early(monkeypatch)
    gradient = fg.grad(f, argnums=(0, 1, 2))
    compiled = fg.jit(gradient, engine="numpy")
    for seed in range(8):
        rng = np.random.default_rng(seed)
        args = rng.standard_normal(30), rng.standard_normal((30, 3)), np.float64(rng.standard_normal())
        expected = fg.make_graph(gradient)(*args)(*args)
        for a, b in zip(compiled(*args), expected, strict=True):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    assert found == [rolls]
