"""Find the stretches of a program that repeat. Each equation is a number here, which is equal for equal kinds.

The kinds 5 8 3, 5 8 3, 5 8 3, 5 8 3 are four rounds of three equations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

# A stretch that repeats has at least this many rounds, and this many equations in all.
LEAST_ROUNDS = 4
LEAST_EQUATIONS = 16
# For runs of 1, 2, 4, ... equations, this many distances from a run to the next equal one are tried as the length of a
# round. The longest runs have `_WIDEST` equations.
_TRIED = 6
_WIDEST = 64


class Repeat(NamedTuple):
    """Equations ``start`` to ``start + period * rounds`` are ``rounds`` rounds of ``period`` equations."""

    start: int
    period: int
    rounds: int

    @property
    def end(self) -> int:
        return self.start + self.period * self.rounds


def repeats(kinds: np.ndarray) -> list[Repeat]:
    """Return stretches in order, without overlap. Each covers as many of the remaining equations as possible."""
    if len(kinds) < LEAST_EQUATIONS:
        return []
    found: list[Repeat] = []
    search, pending = _RepeatSearch(kinds), [(0, len(kinds))]
    while pending:
        start, end = pending.pop()
        best = search.longest(start, end)
        if best is not None:
            found.append(best)
            pending += [(start, best.start), (best.end, end)]
    return sorted(found)


class _RepeatSearch:
    """Finds the longest repeats in parts of a program. Tables that were made for a part serve the parts of it.

    Args:
        kinds: the kind of each equation.
    """

    def __init__(self, kinds: np.ndarray) -> None:
        self._kinds = kinds
        self._again = [*again(kinds)]
        # For each period: the part that was searched, and where its runs start and end. All equations of a run are
        # equal to those one period later.
        self._runs: dict[int, tuple[int, int, np.ndarray, np.ndarray]] = {}

    def longest(self, start: int, end: int) -> Repeat | None:
        """Return the repeat between two equations that has the most equations."""
        if end - start < LEAST_EQUATIONS:
            return None
        best: Repeat | None = None
        for period in self._distances(start, end):
            starts, ends = self._equal(period, start, end)
            if not len(starts):
                continue
            # Each of n equal pairs in a row covers n + period equations.
            k = int(np.argmax(ends - starts))
            count = (int(ends[k] - starts[k]) + period) // period
            covered = count * period
            if count < LEAST_ROUNDS or covered < LEAST_EQUATIONS:
                continue
            if best is None or covered > best.rounds * best.period + period:
                best = Repeat(int(starts[k]), period, count)
        return best

    def _equal(self, period: int, start: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the runs of equations of a part that are equal to those one period later."""
        low, high, starts, ends = self._runs.get(period, (0, -1, self._kinds, self._kinds))
        if not (low <= start and end <= high):
            equal = self._kinds[start : end - period] == self._kinds[start + period : end]
            edges = np.flatnonzero(np.diff(np.concatenate(([0], equal.view(np.int8), [0])))) + start
            starts, ends = edges[::2], edges[1::2]
            self._runs[period] = start, end, starts, ends
        first, last = np.searchsorted(ends, start, "right"), np.searchsorted(starts, end - period)
        return np.maximum(starts[first:last], start), np.minimum(ends[first:last], end - period)

    def _distances(self, start: int, end: int) -> Sequence[int]:
        """Return likely lengths of a round, short ones first: frequent distances between equal runs of equations.

        One equation may occur several times in a round. A long run of equations occurs once in a round.
        """
        found: set[int] = set()
        for width, places, distances in self._again:
            if end - start - width < LEAST_ROUNDS - 1:
                break
            first, last = np.searchsorted(places, (start, end - width))
            inside = distances[first:last]
            counts = np.bincount(inside[places[first:last] + inside <= end - width])
            values = np.flatnonzero(counts)
            found.update(values[np.argsort(-counts[values], kind="stable")[:_TRIED]].tolist())
        return sorted(p for p in found if p <= (end - start) // LEAST_ROUNDS)


def has_repeats(kinds: np.ndarray) -> bool:
    """Return whether `LEAST_ROUNDS` equal rounds follow one another anywhere. Rounds of one equation count, too.

    Args:
        kinds: a number for each equation, equal for equations of one kind.
    """
    for width, places, distances in again(kinds):
        ends = np.flatnonzero((np.diff(places, append=-1) != 1) | (np.diff(distances, append=-1) != 0))
        # n runs of `width` equations one after another, each equal to the one a round later, show that n + width - 1
        # equations are equal to those one round later.
        lengths = np.diff(ends, prepend=-1) + width - 1
        if (lengths >= (LEAST_ROUNDS - 1) * distances[ends]).any():
            return True
    return False


def again(kinds: np.ndarray) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Yield for runs of 1, 2, 4, ... equations those that occur again: the width, their starts, how far the next is."""
    # The runs that may occur again: where they start, and a number for each, equal for equal runs.
    places, runs, width = np.arange(len(kinds)), kinds, 1
    while len(places) and width <= _WIDEST:
        order = np.argsort(runs, kind="stable")
        same = runs[order][1:] == runs[order][:-1]
        steps = np.diff(places[order])
        distances = np.zeros(len(runs), np.int64)
        distances[order[:-1][same]] = steps[same]
        is_again = distances > 0
        yield width, places[is_again], distances[is_again]
        # Runs of twice the width, numbered again. Both halves of one that occurs again occur again.
        numbers = np.full(len(kinds) + width, -1)
        several = np.concatenate(([False], same)) | np.concatenate((same, [False]))
        numbers[places[order[several]]] = np.cumsum(np.concatenate(([0], ~same)))[several]
        first, second = numbers[:-width], numbers[width:]
        places = np.flatnonzero((first >= 0) & (second >= 0))
        runs = first[places] * (int(numbers.max()) + 1) + second[places]
        width *= 2
