"""Cells: the rows of an array that an index names, such as those of a window ``y[t - 4 : t]`` or ``y[i, j : j + 3]``.

``y[t - 4 : t]`` has four cells, ``y[t - 4]`` to ``y[t - 1]``. A cell has one integer for each axis up to the last one
that the index cuts. So the cells of ``y[i, j : j + 3]`` are the numbers ``y[i, j]``, ``y[i, j + 1]``, ``y[i, j + 2]``.

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
from funcgrad._ops.index.plan import FULL, SLOT, Index, expand_ellipsis, flat_places
from funcgrad._ops.rolling.patterns import HOLE, Key, pattern_of
from funcgrad._ops.rolling.rounds import COPIED_BYTES, LARGE

# Scatters of at most this many elements in all are added element by element.
_MOST_PLACES = 1 << 20
# Windows of one form move if they have at least this many different positions.
_LEAST_WINDOWS = 8


class Cells(NamedTuple):
    """The cells that an index of integers and slices names: those of a grid.

    Args:
        places: for each axis the positions of the cells, in the order of the result.
        is_kept: for each axis whether the result has it. An integer of the index drops its axis.
    """

    places: tuple[range, ...]
    is_kept: tuple[bool, ...]

    @property
    def form(self) -> tuple[tuple[int, int, bool], ...]:
        """The lengths and steps. They are equal for two positions of one moving window."""
        return tuple([(len(each), each.step, kept) for each, kept in zip(self.places, self.is_kept, strict=True)])

    @property
    def lows(self) -> Key:
        """The lowest position along each axis."""
        return tuple([min(each[0], each[-1]) for each in self.places])

    @property
    def highs(self) -> Key:
        """The highest position along each axis."""
        return tuple([max(each[0], each[-1]) for each in self.places])

    @property
    def is_upwards(self) -> bool:
        """Whether each axis goes up by 1 from cell to cell."""
        return all(each.step == 1 for each in self.places)

    def moved(self, lows: Sequence[int]) -> Index:
        """Return the index of these cells in a part of the array that begins at ``lows``."""
        entries: list[int | slice] = []
        for each, is_kept, low in zip(self.places, self.is_kept, lows, strict=True):
            start, stop = each[0] - low, each[-1] - low + (1 if each.step > 0 else -1)
            entries.append(slice(start, stop if stop >= 0 else None, each.step) if is_kept else start)
        return Index(tuple(entries))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The first lengths of the result: how many cells it has along each axis that it keeps."""
        return tuple([len(each) for each, is_kept in zip(self.places, self.is_kept, strict=True) if is_kept])

    def keys(self) -> np.ndarray:
        """Return the integers of each cell, in the order of the result."""
        columns = np.meshgrid(*[np.array(each, np.int64) for each in self.places], indexing="ij")
        return np.stack([each.reshape(-1) for each in columns], axis=1)

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(map(len, self.places))


class WindowRow(NamedTuple):
    """Row number ``place`` of an array that holds the rows of a window."""

    window: Operand
    place: int


class Filled(NamedTuple):
    """A row whose elements are all one number."""

    number: Literal
    shape: tuple[int, ...]


class RowUpdate(NamedTuple):
    """An update of one row.

    Args:
        depth: the number of the update in its chain.
        adds: whether the update adds the value to the row; else the value replaces the row.
        value: a row.
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
        places = [k - each.start for k, each in zip(key, self.box, strict=True)]
        place = flat_places(places, [each.stop - each.start for each in self.box])
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


def without_new_axes(index: Index) -> Index:
    """Return an index of the same elements, without ``None``: the result lacks these axes of length 1."""
    return Index(tuple([each for each in index.entries if each is not None])) if None in index.entries else index


def axes_of(index: Index, ndim: int) -> int:
    """Return the number of axes up to the last one that an index cuts. A full slice does not cut its axis."""
    if SLOT in index.entries:
        return ndim
    entries = expand_ellipsis(without_new_axes(index).entries, ndim)
    return max([k + 1 for k, each in enumerate(entries) if each != FULL], default=0)


def cells_of(index: Index, shape: Sequence[int], axes: int) -> Cells | None:
    """Return the cells that an index names, each by ``axes`` integers.

    ``None`` if the index cuts a later axis, has index arrays or new axes, or names no cell.
    """
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


def cells_of_scatter(equation: Equation) -> list[Cells] | None:
    """Return the rows at which each operand of a scatter is added; ``None`` if these are not known, or too many.

    Rows are taken apart into elements if these are not too many: NumPy adds elements in a quarter of the time of rows.
    """
    (result,), operands, indices = equation.results, equation.operands, equation.params["indices"]
    shape = result.aval.shape
    size = sum(x.aval.size for x in operands)
    if len(indices) < len(operands) or not shape or size > LARGE * len(operands):
        return None
    axes = max([1, *[axes_of(index, len(shape)) for index in indices]])
    if size <= _MOST_PLACES:
        axes = len(shape)
    found: list[Cells] = []
    for x, index in zip(operands, indices, strict=True):
        cells = cells_of(without_new_axes(index), shape, axes)
        # Axes of length 1 make no difference: `None` makes some.
        if cells is None or _longer(x.aval.shape) != _longer((*cells.lengths, *shape[axes:])):
            return None
        found.append(cells)
    is_alike = all(x.aval.dtype == result.aval.dtype for x in operands)
    return found if is_alike and size * result.aval.dtype.itemsize <= COPIED_BYTES else None


def _longer(shape: Sequence[int]) -> list[int]:
    """Return the lengths of axes that are longer than 1."""
    return [n for n in shape if n != 1]


def has_slice(index: Index) -> bool:
    """Return whether an index has slices."""
    entries = index.entries
    # The most frequent index is one integer.
    return not (len(entries) == 1 and type(entries[0]) is int) and any(isinstance(each, slice) for each in entries)


def layers_of(equation: Equation) -> list[dict[Key, Operand]] | None:
    """Return the layers of a scatter: each has one operand for each key. ``None`` if an index is not integers alone."""
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


# An index of a program, by its ``id``, and the shape of the array that it is an index of.
IndexOf = tuple[int, tuple[int, ...]]


def moving_windows(graph: Graph) -> dict[IndexOf, Cells]:
    """Return the cells of each window that moves: slices of one form at many positions in arrays of one shape."""
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
