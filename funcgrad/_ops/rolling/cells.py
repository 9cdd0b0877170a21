"""The rows of an array that an index names, such as those of a window ``y[t - 4 : t]`` or ``y[i, j : j + 3]``.

Updates of rows and of windows are records of these.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.plan import FULL, SLOT, Index, expand_ellipsis
from funcgrad._ops.rolling.rows import HOLE, Key, pattern_of

# Windows of one form are followed if they have at least this many different places.
_LEAST_WINDOWS = 8


class Cells(NamedTuple):
    """The rows of an array that an index of integers and slices names.

    Args:
        places: the places along each axis, in the order of the result.
        is_kept: whether the result has each of these axes, because it is no integer's.
    """

    places: tuple[range, ...]
    is_kept: tuple[bool, ...]

    @property
    def form(self) -> tuple[tuple[int, int, bool], ...]:
        """The lengths and steps, which are the same for windows that move."""
        return tuple([(len(each), each.step, kept) for each, kept in zip(self.places, self.is_kept, strict=True)])

    @property
    def lows(self) -> Key:
        """The lowest place along each axis."""
        return tuple([min(each[0], each[-1]) for each in self.places])

    @property
    def highs(self) -> Key:
        """The highest place along each axis."""
        return tuple([max(each[0], each[-1]) for each in self.places])

    @property
    def is_upwards(self) -> bool:
        """Whether the places of each axis lie one after another."""
        return all(each.step == 1 for each in self.places)

    def moved(self, lows: Sequence[int]) -> Index:
        """Return the index of the same rows in an array that begins at ``lows``."""
        entries: list[int | slice] = []
        for each, is_kept, low in zip(self.places, self.is_kept, lows, strict=True):
            start, stop = each[0] - low, each[-1] - low + (1 if each.step > 0 else -1)
            entries.append(slice(start, stop if stop >= 0 else None, each.step) if is_kept else start)
        return Index(tuple(entries))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the axes of the result that are no rows' axes."""
        return tuple([len(each) for each, is_kept in zip(self.places, self.is_kept, strict=True) if is_kept])

    def keys(self) -> np.ndarray:
        """Return the integers of each row, in the order of the result."""
        columns = np.meshgrid(*[np.array(each, np.int64) for each in self.places], indexing="ij")
        return np.stack([each.reshape(-1) for each in columns], axis=1)

    @property
    def size(self) -> int:
        """The number of rows."""
        return math.prod(map(len, self.places))


class WindowRow(NamedTuple):
    """A row of a window."""

    window: Operand
    place: int


class Filled(NamedTuple):
    """A row all of whose elements are one number."""

    number: Literal
    shape: tuple[int, ...]


class RowUpdate(NamedTuple):
    """An update of one row.

    Args:
        depth: the number of updates of the chain up to this one.
        adds: whether the value is added to the row, or replaces it.
        value: the row.
        row_first: whether the row is the first operand of the sum.
    """

    depth: int
    adds: bool
    value: Operand | WindowRow | Filled
    row_first: bool


class WindowSum(NamedTuple):
    """A sum of a window.

    Args:
        box: the places of the window along each axis.
        rows: the rows after the sum, along a first axis.
    """

    box: tuple[slice, ...]
    rows: Operand

    @property
    def size(self) -> int:
        """The number of rows."""
        return math.prod([each.stop - each.start for each in self.box])

    @property
    def keys(self) -> list[Key]:
        """The integers of each row."""
        return [*product(*[range(each.start, each.stop) for each in self.box])]

    def update(self, key: Key, depth: int) -> RowUpdate:
        """Return the update of one row."""
        place = 0
        for k, each in zip(key, self.box, strict=True):
            place = place * (each.stop - each.start) + k - each.start
        return RowUpdate(depth, False, WindowRow(self.rows, place), False)

    def updates(self, depth: int) -> list[tuple[Key, RowUpdate]]:
        """Return the updates of all rows."""
        pairs = enumerate(self.keys)
        return [(key, RowUpdate(depth, False, WindowRow(self.rows, k), False)) for k, key in pairs]


class Run(NamedTuple):
    """A part of a window.

    Args:
        start: its first row.
        end: the row after it.
        array: an array that has these rows, and where; ``None`` if there is none.
        is_added: whether sums of other rows added 0 to these.
    """

    start: int
    end: int
    array: tuple[Operand, tuple[slice, ...]] | None
    is_added: bool


def axes_of(index: Index, ndim: int) -> int:
    """Return the number of axes up to the last one of which an index does not take everything."""
    if SLOT in index.entries or None in index.entries:
        return ndim
    entries = expand_ellipsis(index.entries, ndim)
    return max([k + 1 for k, each in enumerate(entries) if each != FULL], default=0)


def cells_of(index: Index, shape: Sequence[int], axes: int) -> Cells | None:
    """Return the rows at ``axes`` integers that an index names; ``None`` if it names parts of rows, or no rows."""
    if SLOT in index.entries or None in index.entries:
        return None
    entries = expand_ellipsis(index.entries, len(shape))
    if any(each != FULL for each in entries[axes:]) or 0 in shape[:axes]:
        return None
    places: list[range] = []
    for each, n in zip(entries[:axes], shape, strict=False):
        if isinstance(each, slice):
            found = range(*each.indices(n))
            places.append(found if len(found) > 1 else range(found.start, found.start + len(found)))
        else:
            assert type(each) is int
            places.append(range(each % n, each % n + 1))
    if not all(places):
        return None
    return Cells(tuple(places), tuple([isinstance(each, slice) for each in entries[:axes]]))


def even_slice(places: list[int]) -> slice | None:
    """Return the slice of places that lie at one distance; ``None`` if they do not."""
    step = places[1] - places[0] if len(places) > 1 else 1
    if places != [*range(places[0], places[-1] + 1, step)]:
        return None
    return slice(places[0], places[-1] + 1, None if step == 1 else step)


def has_slice(index: Index) -> bool:
    """Return whether an index has slices."""
    entries = index.entries
    # The most frequent index is one integer.
    return not (len(entries) == 1 and type(entries[0]) is int) and any(isinstance(each, slice) for each in entries)


def layers_of(equation: Equation) -> list[dict[Key, Operand]] | None:
    """Return the rows that are scattered by their integers: the first of each integer, the second ones, and so on."""
    (result,) = equation.results
    indices = equation.params["indices"]
    if len(indices) != len(equation.operands):
        return None
    layers: list[dict[Key, Operand]] = []
    counts: Counter[Key] = Counter()
    for x, index in zip(equation.operands, indices, strict=True):
        found = pattern_of(index, result.aval.shape)
        # All keys have one length.
        if found is None or set(found[0]) != {HOLE} or (layers and len(found[1]) != len(next(iter(layers[0])))):
            return None
        key = found[1]
        if counts[key] == len(layers):
            layers.append({})
        layers[counts[key]][key] = x
        counts[key] += 1
    return layers


# An index of a program, by its place in memory, and the shape of the array that it is an index of.
IndexOf = tuple[int, tuple[int, ...]]


def moving_windows(graph: Graph) -> dict[IndexOf, Cells]:
    """Return the rows that windows name, of those that move: slices of arrays of one shape at many places."""
    windows: dict[Any, dict[IndexOf, Cells]] = {}
    for equation in graph.equations:
        if equation.primitive is index_p:
            found = [(equation.params["index"], equation.operands[0].aval.shape)]
        elif equation.primitive is scatter_p:
            found = [(index, equation.params["shape"]) for index in equation.params["indices"]]
        else:
            continue
        for index, shape in found:
            cells = cells_of(index, shape, len(shape)) if has_slice(index) else None
            if cells is not None:
                windows.setdefault((tuple(shape), cells.form), {})[id(index), tuple(shape)] = cells
    moving: dict[IndexOf, Cells] = {}
    for found in windows.values():
        if len(found) >= _LEAST_WINDOWS and len({each.lows for each in found.values()}) >= _LEAST_WINDOWS:
            moving |= found
    return moving
