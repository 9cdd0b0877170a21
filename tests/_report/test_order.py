"""The order of boxes within layers: crossings are counted correctly, and few are left."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from funcgrad._report.order import crossings, ordered


def _below(count: int, steps: list[tuple[int, int]]) -> list[list[int]]:
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in steps:
        below[upper].append(lower)
    return below


def _pairs_that_cross(rows: list[list[int]], steps: list[tuple[int, int]]) -> int:
    place = {node: (depth, i) for depth, row in enumerate(rows) for i, node in enumerate(row)}
    return sum(
        (place[a][1] - place[c][1]) * (place[b][1] - place[d][1]) < 0
        for (a, b), (c, d) in itertools.combinations(steps, 2)
        if place[a][0] == place[c][0]
    )


def _random(seed: int) -> tuple[list[int], list[tuple[int, int]]]:
    rng = np.random.default_rng(seed)
    depths = sorted(rng.integers(0, 4, 12).tolist())
    pairs = itertools.product(range(12), repeat=2)
    return depths, [(a, b) for a, b in pairs if depths[b] == depths[a] + 1 and rng.random() < 0.4]


@pytest.mark.parametrize("seed", range(8))
def test_all_nodes_are_placed_in_their_layers(seed: int) -> None:
    depths, steps = _random(seed)
    rows = ordered(depths, steps)
    assert sorted(itertools.chain(*rows)) == list(range(12))
    assert all(depths[node] == depth for depth, row in enumerate(rows) for node in row)
    assert rows == ordered(depths, steps)


@pytest.mark.parametrize("seed", range(8))
def test_crossings(seed: int) -> None:
    depths, steps = _random(seed)
    rows = [[node for node in range(12) if depths[node] == depth] for depth in range(max(depths) + 1)]
    assert crossings(rows, _below(12, steps)) == _pairs_that_cross(rows, steps)
    assert _pairs_that_cross(ordered(depths, steps), steps) <= _pairs_that_cross(rows, steps)


def test_a_drawing_without_crossings_is_found() -> None:
    # Two ladders whose nodes alternate.
    depths = [0, 0, 0, 0, 1, 1, 1, 1]
    steps = [(0, 7), (1, 5), (2, 4), (3, 6)]
    rows = ordered(depths, steps)
    assert _pairs_that_cross(rows, steps) == 0


def test_nothing() -> None:
    assert ordered([], []) == []
    assert ordered([0], []) == [[0]]
    assert ordered([2, 0], []) == [[1], [], [0]]
