"""Positions along a layer: each box as close to the mean of its neighbours as the order and the widths allow.

This is isotonic regression of the positions minus the widths before them; it pools neighbours that would decrease
(Barlow, Bartholomew, Bremner and Brunk, *Statistical Inference under Order Restrictions*, 1972).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

# The gap between boxes and the width of a bend, in pixels.
GAP, BEND = 22.0, 6.0
_SWEEPS = 10

Rows = Sequence[Sequence[int]]


def along(
    rows: Rows, chains: Sequence[Sequence[int]], sizes: Mapping[int, tuple[float, float]]
) -> tuple[dict[int, float], float]:
    """Return the middle of each box and bend along its layer, and the width of all.

    Args:
        rows: the keys in each layer, in order; negative ones are bends.
        chains: the keys that each edge passes, one in each layer on its way.
        sizes: of boxes, width and height.
    """
    widths = {key: sizes[key][0] if key >= 0 else BEND for row in rows for key in row}
    beside = _neighbours(rows, chains)
    level = {key: i for i, row in enumerate(rows) for key in row}
    xs: dict[int, float] = {}
    for row in rows:
        spread = spaced([0.0] * len(row), [1.0] * len(row), [widths[key] for key in row])
        xs.update(zip(row, spread, strict=True))
    for sweep in range(_SWEEPS):
        down, both = sweep % 2 == 0, sweep >= _SWEEPS - 2
        for i in range(len(rows)) if down else reversed(range(len(rows))):
            wanted, weights = [], []
            for key in rows[i]:
                near = [(xs[other], w) for other, w in beside[key] if both or (level[other] < i) == down]
                total = sum(w for _, w in near)
                wanted.append(sum(x * w for x, w in near) / total if near else xs[key])
                weights.append(total or 0.1)
            xs.update(zip(rows[i], spaced(wanted, weights, [widths[key] for key in rows[i]]), strict=True))
    left = min((x - widths[key] / 2 for key, x in xs.items()), default=0.0)
    right = max((x + widths[key] / 2 for key, x in xs.items()), default=0.0)
    return {key: x - left for key, x in xs.items()}, right - left


def _neighbours(rows: Rows, chains: Sequence[Sequence[int]]) -> dict[int, list[tuple[int, float]]]:
    """Return the neighbours of each key with weights: a long edge has a large weight, so that it becomes straight."""
    beside: dict[int, list[tuple[int, float]]] = {key: [] for row in rows for key in row}
    for chain in chains:
        for one, other in itertools.pairwise(chain):
            weight = 1.0 + 2.0 * (one < 0) + 2.0 * (other < 0)
            beside[one].append((other, weight))
            beside[other].append((one, weight))
    return beside


def spaced(wanted: Sequence[float], weights: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Return the positions nearest to the wanted ones, in this order, with gaps between boxes of these widths."""
    offsets = [0.0]
    for a, b in itertools.pairwise(widths):
        offsets.append(offsets[-1] + (a + b) / 2 + GAP)
    # Positions minus the widths before them must only not decrease. Neighbours that would decrease share their mean.
    pools: list[list[float]] = []
    for x, weight, offset in zip(wanted, weights, offsets, strict=False):
        pools.append([x - offset, weight, 1])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, total, count = pools.pop()
            before = pools[-1]
            before[0] = (before[0] * before[1] + mean * total) / (before[1] + total)
            before[1] += total
            before[2] += count
    flat = [mean for mean, _, count in pools for _ in range(int(count))]
    return [mean + offset for mean, offset in zip(flat, offsets, strict=True)]
