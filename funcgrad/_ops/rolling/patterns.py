"""Parts of arrays at integers, such as ``x[t]`` and ``x[2, :, t]``.

An index consists of a *pattern* and a *key*. The key has the integers, and the pattern has a hole for each of them. So
``x[2, :, t]`` has the pattern ``x[_, :, _]`` and the key ``(2, t)``. All rounds of a loop read one pattern at keys of
their own. A window such as ``x[t : t + 4]`` or ``x[i : i + 3, j : j + 3]`` has a key, too: the lowest position of each
slice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad._ops.index.plan import SLOT, Index, expand_ellipsis

# Stands in a pattern for an integer of the index.
HOLE = "i"
# Stands in a pattern for a full slice.
FULL_SLICE = ("slice", None, None, None)
Pattern = tuple[Any, ...]
Key = tuple[int, ...]
FIRST_AXIS: Pattern = (HOLE,)


class MovingSlice(NamedTuple):
    """Stands in a pattern for a slice whose lowest position is in the key.

    Args:
        length: the number of positions of the slice.
        step: the distance from one position to the next; negative if they go down.
    """

    length: int
    step: int

    @property
    def span(self) -> int:
        """The number of positions from the lowest to the highest one."""
        return (self.length - 1) * abs(self.step) + 1

    def at(self, low: int) -> slice:
        """Return the slice with this lowest position."""
        if self.step > 0:
            return slice(low, low + self.span, self.step)
        return slice(low + self.span - 1, low - 1 if low else None, self.step)


def pattern_of(index: Index, shape: Sequence[int]) -> tuple[Pattern, Key] | None:
    """Return the pattern of an index and its integers, from 0 on; ``None`` if it has none, or index arrays."""
    if len(index.entries) == 1 and type(index.entries[0]) is int:
        # Most indices are one integer. This line takes an eighth of the time of the others.
        return FIRST_AXIS, (index.entries[0] % shape[0] if shape[0] else index.entries[0],)
    if Ellipsis in index.entries or SLOT in index.entries:
        return None if SLOT in index.entries else pattern_of(Index(expand_ellipsis(index.entries, len(shape))), shape)
    pattern: list[Any] = []
    key: list[int] = []
    axis = end = 0
    for entry in index.entries:
        if type(entry) is int:
            pattern.append(HOLE)
            key.append(entry % shape[axis] if shape[axis] else entry)
        elif isinstance(entry, slice):
            pattern.append(("slice", entry.start, entry.stop, entry.step))
        else:
            pattern.append(entry)
        axis += entry is not None
        if pattern[-1] != FULL_SLICE:
            end = len(pattern)
    # A full slice at the end says nothing.
    return (tuple(pattern[:end]), tuple(key)) if key else None


def window_of(index: Index, shape: Sequence[int]) -> tuple[Pattern, Key] | None:
    """Return the pattern of a window and its integers; ``None`` if an index has no slices, or has index arrays."""
    if SLOT in index.entries or 0 in shape:
        return None
    pattern: list[Any] = []
    key: list[int] = []
    end = 0
    lengths = iter(shape)
    for entry in expand_ellipsis(index.entries, len(shape)):
        if entry is None:
            pattern.append(None)
            end = len(pattern)
            continue
        n = next(lengths)
        if isinstance(entry, slice):
            places = range(*entry.indices(n))
            if not places:
                return None
            is_whole = len(places) == n and (places.step == 1 or n == 1)
            step = places.step if len(places) > 1 else 1
            pattern.append(FULL_SLICE if is_whole else MovingSlice(len(places), step))
            key += [] if is_whole else [min(places[0], places[-1])]
        else:
            assert type(entry) is int
            pattern.append(HOLE)
            key.append(entry % n)
        if pattern[-1] != FULL_SLICE:
            end = len(pattern)
    # A full slice at the end says nothing.
    found = tuple(pattern[:end])
    return (found, tuple(key)) if any(type(each) is MovingSlice for each in found) else None


def lows_of(pattern: Pattern, key: Key) -> Key:
    """Return the lowest positions of a window's slices."""
    moving = [each for each in pattern if each is not None and each != FULL_SLICE]
    return tuple([low for each, low in zip(moving, key, strict=True) if each != HOLE])


def entries_of(pattern: Pattern, key: Sequence[Any]) -> tuple[Any, ...]:
    """Return the entries of an index: the pattern with the entries of a key in its holes."""
    rest = iter(key)
    found: list[Any] = []
    for each in pattern:
        if type(each) is MovingSlice:
            found.append(each.at(next(rest)))
        elif each == HOLE:
            found.append(next(rest))
        else:
            found.append(slice(*each[1:]) if type(each) is tuple else each)
    return tuple(found)


def axis_of_arrays(pattern: Pattern) -> int:
    """Return the axis that the result has for index arrays in the holes of a pattern.

    If the arrays stand next to each other, NumPy puts their axis there; else first.
    """
    holes = [i for i, each in enumerate(pattern) if each == HOLE]
    return holes[0] if holes == [*range(holes[0], holes[-1] + 1)] else 0


def even_slice(places: list[int]) -> slice | None:
    """Return the slice of places that lie at one distance; ``None`` if they do not."""
    step = places[1] - places[0] if len(places) > 1 else 1
    if places != [*range(places[0], places[-1] + 1, step)]:
        return None
    return slice(places[0], places[-1] + 1, None if step == 1 else step)
