"""Find stretches of a program that repeat, by a number for each equation that says of what kind it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

# A stretch has at least this many rounds, and this many equations in all.
LEAST_ROUNDS = 4
LEAST_EQUATIONS = 16
# The distances between equal runs of equations that are tried as the length of a round, for each width of runs.
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
    found: list[Repeat] = []
    pending = [(0, len(kinds))]
    while pending:
        start, end = pending.pop()
        best = _longest(kinds[start:end])
        if best is not None:
            best = best._replace(start=best.start + start)
            found.append(best)
            pending += [(start, best.start), (best.end, end)]
    return sorted(found)


def _longest(kinds: np.ndarray) -> Repeat | None:
    if len(kinds) < LEAST_EQUATIONS:
        return None
    best: Repeat | None = None
    for period in _distances(kinds):
        equal = kinds[:-period] == kinds[period:]
        # Runs of equal pairs: each of n pairs in a row covers n + period equations.
        edges = np.flatnonzero(np.diff(np.concatenate(([0], equal.view(np.int8), [0]))))
        if not len(edges):
            continue
        starts, ends = edges[::2], edges[1::2]
        k = int(np.argmax(ends - starts))
        count = (int(ends[k] - starts[k]) + period) // period
        covered = count * period
        if count < LEAST_ROUNDS or covered < LEAST_EQUATIONS:
            continue
        if best is None or covered > best.rounds * best.period + period:
            best = Repeat(int(starts[k]), period, count)
    return best


def _distances(kinds: np.ndarray) -> Sequence[int]:
    """Return likely lengths of a round, short ones first: frequent distances between equal runs of equations.

    One equation may occur several times in a round; a long run of equations occurs there once.
    """
    found: set[int] = set()
    runs, width = kinds, 1
    while len(runs) >= LEAST_ROUNDS and width <= _WIDEST:
        order = np.argsort(runs, kind="stable")
        same = runs[order][1:] == runs[order][:-1]
        values, counts = np.unique(np.diff(order)[same], return_counts=True)
        found.update(int(p) for p in values[np.argsort(-counts, kind="stable")][:_TRIED])
        # Runs of twice the width, numbered again.
        pairs = runs[:-width] * (int(runs.max()) + 1) + runs[width:]
        _, runs = np.unique(pairs, return_inverse=True)
        width *= 2
    return sorted(p for p in found if p <= len(kinds) // LEAST_ROUNDS)
