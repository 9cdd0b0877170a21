"""Loops over the elements of a column or channel of an array, and loops that write columns."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._ops.index.plan import Index
from funcgrad._ops.rolling.patterns import entries_of, pattern_of
from funcgrad._ops.rolling.reads import joined
from tests._ops.rolling._rolled import assert_engine_agrees, assert_rolls

rng = np.random.default_rng(11)
TABLE = rng.normal(size=(40, 3))
PATHS = rng.normal(size=(40, 6, 2))
BATCH = rng.normal(size=(3, 40, 2))
W = rng.normal(size=(2, 2))


def columns(data: Any, a: Any) -> Any:
    u, v, h = data[:, 0], data[:, 1], 0.0
    for t in range(len(u)):
        h = np.tanh(a * h + u[t]) * v[t] + data[t, 2]
    return h**2


def channels(noise: Any, a: Any) -> Any:
    """Simulate a price whose variance is random, with two channels of noise."""
    first, second = noise[:, :, 0], noise[:, :, 1]
    v = np.zeros(noise.shape[:2], like=noise)
    s = np.zeros(noise.shape[:2], like=noise)
    v[0], s[0] = 0.2, 1.0
    for t in range(1, len(noise)):
        v[t] = v[t - 1] + a * (0.3 - v[t - 1]) * 0.1 + 0.01 * first[t]
        s[t] = s[t - 1] * np.exp(0.1 * np.sqrt(v[t - 1] ** 2 + 0.1) * second[t])
    return np.mean(s[-1])


def parts_with_slices(data: Any, a: Any) -> Any:
    u, v, h = data[2:, 1], data[::-2, 0], 0.0
    for t in range(len(v)):
        h = np.tanh(a * h + u[t]) - v[t]
    return h


def layer(x: Any, w: Any) -> Any:
    """Run a recurrent layer whose first axis is the batch, with a last column of zeros as the first state."""
    n, rounds, _ = x.shape
    states = np.zeros((n, rounds + 1, 2), like=x)
    outputs = np.zeros((n, rounds, 2), like=x)
    states[:, -1] = np.zeros((n, 2))
    for t in range(rounds):
        states[:, t] = np.tanh(x[:, t] @ w + states[:, t - 1] @ w.T)
        outputs[:, t] = states[:, t] * 2.0
    return np.sum(outputs**2)


def saved(x: Any, a: Any) -> Any:
    """Keep each state along the last axis."""
    history = np.zeros((*x.shape, 30), like=x)
    history[:, :, 0] = x
    for t in range(29):
        x = x + 0.1 * np.sin(a * x)
        history[:, :, t + 1] = x
    return np.sum(history**2) + np.sum(history[:, :, 7])


def recurrence_of_columns(x: Any, a: Any) -> Any:
    v = np.zeros((len(x), 25), like=x)
    v[:, 0] = x
    v[:, 1] = a * x
    for t in range(1, 24):
        v[:, t + 1] = 0.4 * np.tanh(v[:, t]) - a * v[:, t - 1]
    return np.sum(v * v)


PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], int]] = [
    (columns, (TABLE, 0.3), 60),
    (channels, (PATHS, 0.5), 130),
    (parts_with_slices, (TABLE, 0.3), 60),
    (layer, (BATCH, W), 120),
    (saved, (TABLE[:4], 0.7), 60),
    (recurrence_of_columns, (TABLE[:5, 0], 0.2), 90),
]
NAMES = [f.__name__ for f, _, _ in PROGRAMS]


@pytest.mark.parametrize(("f", "args", "most"), PROGRAMS, ids=NAMES)
def test_loops_over_parts_roll(f: Callable[..., Any], args: tuple[Any, ...], most: int) -> None:
    assert_rolls(f, *args, most=most)
    assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), *args, most=most)


@pytest.mark.parametrize("engine", ["xla", "numba"])
@pytest.mark.parametrize(("f", "args", "most"), PROGRAMS, ids=NAMES)
def test_loops_over_parts_agree(f: Callable[..., Any], args: tuple[Any, ...], most: int, engine: str) -> None:
    del most
    assert_engine_agrees(engine, fg.value_and_grad(f, argnums=(0, 1)), *args)


ENTRIES = [1, -2, slice(None), slice(1, None), slice(None, None, -1), slice(0, 4, 2)]


@pytest.mark.parametrize("outer", [*product(ENTRIES, repeat=2)], ids=str)
def test_a_part_of_a_part_is_a_part(outer: tuple[Any, ...]) -> None:
    x = np.arange(60.0).reshape(4, 5, 3)
    first = pattern_of(Index(outer), x.shape)
    part = x[outer]
    for inner in [0, -1, (slice(None), 1), (0, slice(1, None)), (1, 1), (0, slice(None), -1)]:
        entries = inner if isinstance(inner, tuple) else (inner,)
        if first is None or len(entries) > part.ndim:
            continue
        second = pattern_of(Index(entries), part.shape)
        assert second is not None
        found = joined(first, second, x.shape)
        if found is not None:
            np.testing.assert_array_equal(x[entries_of(*found)], part[entries])


def test_a_part_that_cuts_a_cut_axis_is_left() -> None:
    assert joined((("i", ("slice", 1, None, None)), (0,)), ((("slice", 1, None, None), "i"), (1,)), (4, 5, 3)) is None
    assert joined((("i", None), (0,)), (("i",), (0,)), (4, 5)) is None
