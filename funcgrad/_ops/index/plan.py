"""The static part of an index, and the shape arithmetic of NumPy's indexing rules."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from funcgrad.tree.extend import static_key


class ArraySlot:
    """Stands in an index for an index array, which is an operand of the primitive."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "@"

    def __reduce__(self) -> str:
        return "SLOT"


SLOT = ArraySlot()
Entry = int | slice | EllipsisType | ArraySlot | None
FULL = slice(None)


class Index:
    """The static part of ``x[...]``: integers, slices, ``None``, ``...``, and a slot for each index array.

    Args:
        entries: the entries in the order in which they are between the brackets.
        unique: whether the index arrays are known to select no element twice (a mask does not).
        windows: whether the first axis of the result counts windows, which lie in memory as they do in the array.
    """

    __slots__ = ("entries", "unique", "windows")

    def __init__(self, entries: tuple[Entry, ...], unique: bool = False, windows: bool = False) -> None:
        self.entries: Any = entries
        self.unique = unique
        self.windows = windows

    @property
    def slots(self) -> int:
        """The number of index arrays."""
        return sum(entry is SLOT for entry in self.entries)

    def filled(self, arrays: tuple) -> Any:
        """Return the entries with index arrays in the slots: an index that NumPy takes."""
        if not arrays:
            return self.entries
        remaining = iter(arrays)
        return tuple([next(remaining) if entry is SLOT else entry for entry in self.entries])

    def _key(self) -> tuple:
        return self.unique, self.windows, static_key(self.entries)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Index) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"[{', '.join(map(_entry_text, self.entries))}]"


def _entry_text(entry: Entry) -> str:
    if entry is Ellipsis:
        return "..."
    if not isinstance(entry, slice):
        return str(entry)
    ends = ":".join("" if end is None else str(end) for end in (entry.start, entry.stop))
    return ends if entry.step is None else f"{ends}:{entry.step}"


def flat_places(places: Sequence[Any], lengths: Sequence[int]) -> Any:
    """Return where places along several axes are, if these axes are one axis.

    Args:
        places: the places along each axis, integers or arrays of them.
        lengths: the lengths of the axes; those of further axes may follow.
    """
    found = places[0]
    for place, n in zip(places[1:], lengths[1:], strict=False):
        found = found * n + place
    return found


class ResolvedIndex(NamedTuple):
    """An index resolved against shapes.

    First the array is *cut*: per axis the elements ``low, low + stride, ...`` below ``high``, reversed on some axes,
    without the axes of integers. Then index arrays of the common shape ``batch`` select along ``array_axes`` of the
    cut array, whose shape is ``base``. Their axes start at position ``place`` among the ``kept`` axes. ``shape`` is the
    result's shape, with new axes.

    Example: ``x[1:3, ::-2, None, rows]`` with ``x`` of shape (4, 5, 6) and three rows. Lows (1, 0, 0), highs (3, 5, 6)
    and strides (1, 2, 1) cut a box of shape (2, 3, 6), the base; its axis 1 is reversed. The rows select along axis 2
    of the base and start at place 2, behind the kept axes (2, 3). Gathered, the shape is (2, 3, 3); with the new axis
    it is (2, 3, 1, 3).
    """

    lows: tuple[int, ...]
    highs: tuple[int, ...]
    strides: tuple[int, ...]
    reversed_axes: tuple[int, ...]
    dropped: tuple[int, ...]
    base: tuple[int, ...]
    array_axes: tuple[int, ...]
    batch: tuple[int, ...]
    place: int
    kept: tuple[int, ...]
    shape: tuple[int, ...]

    @property
    def gathered(self) -> tuple[int, ...]:
        """The result's shape before new axes."""
        return (*self.kept[: self.place], *self.batch, *self.kept[self.place :])


def expand_ellipsis(entries: tuple[Entry, ...], ndim: int) -> tuple[Entry, ...]:
    """Return the entries with full slices in place of ``...`` (or at the end), one for each axis that is left."""
    consumed = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if consumed > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {consumed} were indexed")
    rest = (FULL,) * (ndim - consumed)
    places = [i for i, entry in enumerate(entries) if entry is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not places:
        return entries + rest
    return entries[: places[0]] + rest + entries[places[0] + 1 :]


def slot_lengths(index: Index, shape: tuple[int, ...]) -> list[int]:
    """Return the lengths of the axes that index arrays select along, in the order of the arrays."""
    entries = [entry for entry in expand_ellipsis(index.entries, len(shape)) if entry is not None]
    return [n for entry, n in zip(entries, shape, strict=True) if entry is SLOT]


def resolve(index: Index, shape: tuple[int, ...], arrays: tuple[tuple[int, ...], ...] = ()) -> ResolvedIndex:
    """Resolve an index against the shape of the array and the shapes of the index arrays."""
    entries = expand_ellipsis(index.entries, len(shape))
    sources = [entry for entry in entries if entry is not None]
    # An integer is a range of one, whose axis is dropped; an index array takes all of its axis, and selects from it
    # later.
    ranges = [_range(entry, shape[axis], axis) for axis, entry in enumerate(sources)]
    base = [len(span) for entry, span in zip(sources, ranges, strict=True) if not isinstance(entry, int)]
    array_axes = [i for i, entry in enumerate(e for e in sources if not isinstance(e, int)) if entry is SLOT]
    lengths = iter(base)
    # The axes of the result without those of index arrays, with -1 for a new axis; and how many of them stand before
    # each slot.
    items: list[int] = []
    before: list[int] = []
    for entry in entries:
        if entry is None:
            items.append(-1)
        elif entry is SLOT:
            before.append(len(items))
            next(lengths)
        elif isinstance(entry, slice):
            items.append(next(lengths))
    # NumPy's rule: adjacent axes of index arrays keep their place, and separated ones come first.
    place = before[0] if before and is_adjacent(index.entries) else 0
    batch = np.broadcast_shapes(*arrays) if arrays else ()
    # XLA's slices are ascending, so a descending range is cut in memory order and reversed afterwards.
    ascending = [span if span.step > 0 else span[::-1] for span in ranges]
    return ResolvedIndex(
        lows=tuple(span[0] if span else 0 for span in ascending),
        highs=tuple(span[-1] + 1 if span else 0 for span in ascending),
        strides=tuple(span.step if len(span) > 1 else 1 for span in ascending),
        reversed_axes=tuple(axis for axis, span in enumerate(ranges) if span.step < 0),
        dropped=tuple(axis for axis, entry in enumerate(sources) if isinstance(entry, int)),
        base=tuple(base),
        array_axes=tuple(array_axes),
        batch=batch,
        place=sum(item >= 0 for item in items[:place]),
        kept=tuple(item for item in items if item >= 0),
        shape=tuple(abs(item) for item in (*items[:place], *batch, *items[place:])),
    )


def selected_shape(index: Index, shape: tuple[int, ...], arrays: tuple[tuple[int, ...], ...] = ()) -> tuple[int, ...]:
    """Return the shape of the result, as `resolve` does. Integers and slices alone take a tenth of its time."""
    selected: list[int] = []
    axis = 0
    for entry in index.entries:
        if type(entry) is int and axis < len(shape) and -shape[axis] <= entry < shape[axis]:
            axis += 1
        elif type(entry) is slice and axis < len(shape):
            selected.append(len(range(*entry.indices(shape[axis]))))
            axis += 1
        else:
            return resolve(index, shape, arrays).shape
    return (*selected, *shape[axis:])


def is_row(index: Index, shape: tuple[int, ...]) -> bool:
    """Return whether an index is one integer within the first axis, the most frequent index of loops."""
    entries = index.entries
    return len(entries) == 1 and type(entries[0]) is int and bool(shape) and -shape[0] <= entries[0] < shape[0]


def _range(entry: Any, length: int, axis: int) -> range:
    """Return the positions that an entry selects along its axis; all of them for an index array."""
    if isinstance(entry, slice):
        return range(*entry.indices(length))
    if not isinstance(entry, int):
        return range(length)
    if not -length <= entry < length:
        raise IndexError(f"index {entry} is out of bounds for axis {axis} with size {length}")
    return range(entry % length, entry % length + 1)


def _is_advanced(entry: Entry) -> bool:
    return entry is SLOT or isinstance(entry, int)


def is_adjacent(entries: tuple[Entry, ...]) -> bool:
    """Return whether index arrays and integers are adjacent, so that their axes stay in place."""
    places = [i for i, entry in enumerate(entries) if _is_advanced(entry)]
    return places[-1] - places[0] + 1 == len(places)


def normalized_slice(part: slice) -> slice:
    """Return the slice with Python integers as its parts; a part that is no integer raises Python's own error."""
    return slice(*[None if end is None else operator.index(end) for end in (part.start, part.stop, part.step)])
