"""Repeats are found in parts of a program, and a program without any is not followed row by row."""

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.graph.repeats import LEAST_EQUATIONS, LEAST_ROUNDS, Repeat, has_repeats, repeats
from funcgrad._ops.rolling.forwarding import forward


def _has_by_hand(kinds: np.ndarray) -> bool:
    """Return whether any stretch has four equal rounds."""
    n = len(kinds)
    for period in range(1, n // LEAST_ROUNDS + 1):
        length = period * (LEAST_ROUNDS - 1)
        equal = kinds[period:] == kinds[:-period]
        if any(equal[i : i + length].all() for i in range(n - length - period + 1)):
            return True
    return False


@pytest.mark.parametrize("seed", range(40))
def test_any_repeat_is_noticed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Numbers that do not repeat, and in half of the cases four rounds among them.
    kinds = rng.permutation(200)[:80]
    if seed % 2:
        period, at = int(rng.integers(1, 12)), int(rng.integers(0, 80))
        kinds = np.insert(kinds, at, np.tile(200 + rng.permutation(period), LEAST_ROUNDS))
    assert has_repeats(kinds) == _has_by_hand(kinds) == bool(seed % 2)


def test_nothing_repeats_in_nothing() -> None:
    assert not has_repeats(np.zeros(0, np.int64))
    assert repeats(np.zeros(LEAST_EQUATIONS - 1, np.int64)) == []


def test_repeats_of_several_parts_do_not_overlap() -> None:
    parts = [np.tile(np.arange(20 * k, 20 * k + k), 40 - k) for k in range(2, 12)]
    edges = np.cumsum([0, *map(len, parts)]).tolist()
    expected = [Repeat(edge, k, 40 - k) for k, edge in zip(range(2, 12), edges, strict=False)]
    assert repeats(np.concatenate(parts)) == expected


def _factor(x: Any) -> Any:
    """Return a factor by Cholesky's rule. Each round reads a row of another length."""
    a = np.copy(x)
    for i in range(12):
        for j in range(i):
            a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j])) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
    return np.sum(a)


def test_a_program_of_which_nothing_repeats_is_not_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    passes: list[int] = []
    run = forward.Forwarder.run
    monkeypatch.setattr(forward.Forwarder, "run", lambda self: passes.append(1) or run(self))
    a = np.eye(12) * 12 + np.ones((12, 12))
    graph = fg.make_graph(fg.grad(_factor))(a)
    assert graph.roll() is graph
    assert not passes

    def running(x: Any) -> Any:
        y = np.zeros_like(x)
        for t in range(1, 144):
            y[t] = np.tanh(y[t - 1] + x[t])
        return np.sum(y)

    graph = fg.make_graph(fg.grad(running))(a.reshape(-1))
    assert len(graph.roll().equations) < 60
    assert passes
