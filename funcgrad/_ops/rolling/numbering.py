"""Numbers for objects, for pairs of numbers, and for parts of arrays; equal for equal ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from funcgrad._ops.rolling.patterns import FIRST_AXIS, Key, Pattern

# Stands for a value that no equation makes, and for an index that is no part at integers.
OUTSIDE = -1


def numbers_of(made: np.ndarray, numbers: np.ndarray, read: np.ndarray) -> np.ndarray:
    """Return the number of each value that is read, or `OUTSIDE` if no equation makes it.

    Args:
        made: the ids of all results.
        numbers: their numbers.
        read: the ids of the values that are read.
    """
    order = np.argsort(made)
    places = np.searchsorted(made[order], read)
    order = np.append(order, order[-1:])
    if not len(made):
        return np.full_like(read, OUTSIDE)
    return np.where(made[order[places]] == read, numbers[order[places]], OUTSIDE)


def first_places(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the position where each distinct number occurs first, in order, and for each number which of these it is.

    ``[7, 5, 7]`` gives ``[0, 1]`` and ``[0, 1, 0]``.
    """
    distinct = np.unique(ids)
    inverse = np.searchsorted(distinct, ids)
    first = np.empty_like(distinct)
    # NumPy keeps the last value that is written to a position.
    first[inverse[::-1]] = np.arange(len(ids))[::-1]
    order = np.argsort(first)
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return first[order], ranks[inverse]


def distinct_objects(objects: list[Any]) -> tuple[list[Any], np.ndarray]:
    """Return the distinct objects in the order in which they occur first, and the number of each object among them."""
    first, numbers = first_places(np.fromiter(map(id, objects), np.int64, len(objects)))
    return [objects[i] for i in first.tolist()], numbers


def number_pairs(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a number for each pair of numbers from 0 on, equal for equal pairs."""
    pairs = a * (int(b.max(initial=0)) + 1) + b
    most = int(pairs.max(initial=0))
    if most > 4 * len(pairs):
        return np.unique(pairs, return_inverse=True)[1]
    seen = np.zeros(most + 1, np.int64)
    seen[pairs] = 1
    return (np.cumsum(seen) - 1)[pairs]


class IndexReads(NamedTuple):
    """The equations of a program that read a part of an array by index, without index arrays.

    Args:
        equations: the equations.
        bases: the number of the array that each of them reads.
        numbers: the number of the part that each of them reads; `OUTSIDE` if it is no part at integers.
    """

    equations: np.ndarray
    bases: np.ndarray
    numbers: np.ndarray


class PartNumbers:
    """The parts of arrays at integers that a program reads and writes: a number for each."""

    def __init__(self) -> None:
        self._parts: list[tuple[Pattern, Key]] = []
        # The numbers of the most frequent parts, one integer, and of all others.
        self._rows: dict[int, int] = {}
        self._numbers: dict[tuple[Pattern, Key], int] = {}
        self._patterns: dict[Pattern, int] = {}
        # The first of these as arrays.
        self._places = np.zeros(0, np.int64), np.zeros((0, 1), np.int64)

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[tuple[Pattern, Key]]:
        return iter(self._parts)

    def __getitem__(self, number: int) -> tuple[Pattern, Key]:
        return self._parts[number]

    def number(self, part: tuple[Pattern, Key]) -> int:
        """Return the number of a part."""
        if part[0] == FIRST_AXIS:
            return self._row(part[1][0])
        found = self._numbers.setdefault(part, len(self._parts))
        if found == len(self._parts):
            self._parts.append(part)
        return found

    def rows(self, keys: np.ndarray) -> np.ndarray:
        """Return the numbers of the rows at these integers."""
        first, places = first_places(keys)
        return np.array([self._row(key) for key in keys[first].tolist()], np.int64)[places]

    def _row(self, key: int) -> int:
        found = self._rows.setdefault(key, len(self._parts))
        if found == len(self._parts):
            self._parts.append((FIRST_AXIS, (key,)))
        return found

    def pattern(self, pattern: Pattern) -> int:
        """Return the number of a pattern in `places`; -1 if no part has it."""
        return self._patterns.get(pattern, -1)

    @property
    def patterns(self) -> list[Pattern]:
        """The patterns of `places`, in the order of their numbers."""
        return [*self._patterns]

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of the pattern of each part, and the integers of each part with zeros after them."""
        patterns, keys = self._places
        if len(patterns) < len(self._parts):
            new, numbers = self._parts[len(patterns) :], self._patterns
            added = [numbers.setdefault(pattern, len(numbers)) for pattern, _ in new]
            width = max(keys.shape[1], *map(len, [key for _, key in new]))
            wide = np.zeros((len(self._parts), width), np.int64)
            wide[: len(keys), : keys.shape[1]] = keys
            if width == 1:
                wide[len(keys) :, 0] = [key[0] for _, key in new]
            else:
                wide[len(keys) :] = [(*key, *[0] * (width - len(key))) for _, key in new]
            self._places = np.concatenate((patterns, np.array(added, np.int64))), wide
        return self._places
