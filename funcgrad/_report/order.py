"""Order the boxes of each layer so that few edges cross.

The method is that of barycenters: Sugiyama, Tagawa and Toda, *Methods for Visual Understanding of Hierarchical System
Structures*, IEEE Transactions on Systems, Man, and Cybernetics 11(2), 1981.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right, insort
from collections.abc import Sequence

# Sweeps down and up the layers. Graphs of this package seldom improve after ten.
_SWEEPS = 24


def ordered(depths: Sequence[int], steps: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return the nodes of each layer, left to right.

    Args:
        depths: the layer of each node.
        steps: the edges ``(upper, lower)``, each from a layer to the next one.

    Returns:
        The order with the fewest crossings among those that the sweeps meet. Equal input gives an equal order.
    """
    above: list[list[int]] = [[] for _ in depths]
    below: list[list[int]] = [[] for _ in depths]
    for upper, lower in steps:
        above[lower].append(upper)
        below[upper].append(lower)
    rows: list[list[int]] = [[] for _ in range(max(depths, default=-1) + 1)]
    for node in _by_neighbours(above, below):
        rows[depths[node]].append(node)
    best, fewest = [list(row) for row in rows], crossings(rows, below)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        down = sweep % 2 == 0
        for depth in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            _sort(rows[depth], rows[depth - 1 if down else depth + 1], above if down else below)
        if (count := crossings(rows, below)) < fewest:
            best, fewest = [list(row) for row in rows], count
    return best


def crossings(rows: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> int:
    """Return how many pairs of edges between neighbouring layers cross."""
    total = 0
    for row, lower in itertools.pairwise(rows):
        places = {node: i for i, node in enumerate(lower)}
        seen: list[int] = []
        for node in row:
            ends = [places[end] for end in below[node]]
            total += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return total


def _by_neighbours(above: Sequence[Sequence[int]], below: Sequence[Sequence[int]]) -> list[int]:
    """Return all nodes, each near its neighbours: connected nodes stay together."""
    found: dict[int, None] = {}
    for start in range(len(above)):
        waiting = [start]
        while waiting:
            node = waiting.pop()
            if node not in found:
                found[node] = None
                waiting += reversed([*above[node], *below[node]])
    return list(found)


def _sort(row: list[int], fixed: Sequence[int], neighbours: Sequence[Sequence[int]]) -> None:
    """Sort a layer by the mean place of each node's neighbours in the fixed layer. Nodes without neighbours stay."""
    places = {node: i for i, node in enumerate(fixed)}
    linked = [node for node in row if neighbours[node]]
    means = {node: sum(places[other] for other in neighbours[node]) / len(neighbours[node]) for node in linked}
    following = iter(sorted(linked, key=means.__getitem__))
    row[:] = [next(following) if neighbours[node] else node for node in row]
