"""Reads and writes at integers, such as ``x[t]`` and ``x[2, :, t]``: the fixed part of an index, and its integers.

A window such as ``x[t : t + 4]`` or ``x[i : i + 3, j : j + 3]`` has integers too: the lowest place of each slice.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Equation, Literal, Operand, Var
from funcgrad._core.primitive import Primitive
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate_p, stack_p
from funcgrad._ops.index.plan import FULL, SLOT, Index, expand_ellipsis
from funcgrad._ops.layout.shape import reshape_p, transpose_p

# Stands in a pattern where an index has an integer.
HOLE = "i"
_FULL = ("slice", None, None, None)
# Rows of one array that lie in more runs than this are read by index arrays.
_MOST_RUNS = 8
Pattern = tuple[Any, ...]
Key = tuple[int, ...]


class MovingSlice(NamedTuple):
    """Stands in a pattern where an index has a slice, whose lowest place is in the key.

    Args:
        length: the number of places of the slice.
        step: the distance from one place to the next; negative if they go down.
    """

    length: int
    step: int

    @property
    def span(self) -> int:
        """The number of places from the lowest to the highest one."""
        return (self.length - 1) * abs(self.step) + 1

    def at(self, low: int) -> slice:
        """Return the slice with this lowest place."""
        if self.step > 0:
            return slice(low, low + self.span, self.step)
        return slice(low + self.span - 1, low - 1 if low else None, self.step)


class Row(NamedTuple):
    """A part of an array at integers: ``base[pattern]`` with the integers of ``key`` in the pattern's holes."""

    base: Var
    pattern: Pattern
    key: Key


FIRST_AXIS: Pattern = (HOLE,)


def pattern_of(index: Index, shape: Sequence[int]) -> tuple[Pattern, Key] | None:
    """Return the pattern of an index and its integers, from 0 on; ``None`` if it has none, or index arrays."""
    if len(index.entries) == 1 and type(index.entries[0]) is int:
        # The most frequent index, at an eighth of the time.
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
        if pattern[-1] != _FULL:
            end = len(pattern)
    # A full slice at the end says nothing.
    return (tuple(pattern[:end]), tuple(key)) if key else None


def window_of(index: Index, shape: Sequence[int]) -> tuple[Pattern, Key] | None:
    """Return the pattern of a window and its integers; ``None`` if an index has no slices, or other entries."""
    if SLOT in index.entries or None in index.entries or 0 in shape:
        return None
    pattern: list[Any] = []
    key: list[int] = []
    end = 0
    for entry, n in zip(expand_ellipsis(index.entries, len(shape)), shape, strict=True):
        if isinstance(entry, slice):
            places = range(*entry.indices(n))
            if not places:
                return None
            is_whole = len(places) == n and (places.step == 1 or n == 1)
            step = places.step if len(places) > 1 else 1
            pattern.append(_FULL if is_whole else MovingSlice(len(places), step))
            key += [] if is_whole else [min(places[0], places[-1])]
        else:
            assert type(entry) is int
            pattern.append(HOLE)
            key.append(entry % n)
        if pattern[-1] != _FULL:
            end = len(pattern)
    # A full slice at the end says nothing.
    found = tuple(pattern[:end])
    return (found, tuple(key)) if any(type(each) is MovingSlice for each in found) else None


def lows_of(pattern: Pattern, key: Key) -> Key:
    """Return the lowest places of a window's slices."""
    moving = [each for each in pattern if each != _FULL]
    return tuple([low for each, low in zip(moving, key, strict=True) if each != HOLE])


def with_operands(equation: Equation, operands: tuple[Operand, ...]) -> Equation:
    """Return an equation with other operands; the equation itself if they are the same ones."""
    if all(map(operator.is_, operands, equation.operands)):
        return equation
    return Equation(equation.primitive, operands, equation.params, equation.results, equation.source)


def entries_of(pattern: Pattern, key: Sequence[Any]) -> tuple[Any, ...]:
    """Return the entries of an index: the pattern with these in its holes."""
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


def is_window(row: Row | None) -> bool:
    """Return whether a part of an array is a window."""
    return row is not None and any(type(each) is MovingSlice for each in row.pattern)


class Runs(NamedTuple):
    """The rows that several operands are, as numbers.

    Args:
        kinds: a number for each operand, equal for rows of one array and pattern; -1 for what is no row.
        keys: the integers of each row, with zeros after them.
        ends: for each operand, the end of the longest run of rows from there on that move evenly.
    """

    kinds: list[int]
    keys: np.ndarray
    ends: list[int]

    def keys_of(self, first: Row, start: int, end: int) -> np.ndarray:
        """Return the integers of rows of one array and pattern."""
        return self.keys[start:end, : len(first.key)]


class KnownRows(Protocol):
    """The variables of a program that are rows of arrays."""

    def get(self, x: Operand) -> Row | None:
        """Return what row an operand is; ``None`` for no row."""
        ...

    def runs(self, operands: Sequence[Operand]) -> Runs:
        """Return where operands are rows."""
        ...


class Emitter:
    """Appends equations to a program.

    Args:
        equations: the program so far.
    """

    # The least number of rows, at even distances in one array, that are read at once.
    shortest_run = 2

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.source: Any = None
        self._parts: dict[Any, Operand] = {}

    def emit(self, primitive: Primitive, *operands: Operand, **params: Any) -> Var:
        """Append an equation and return its result."""
        result = Var(primitive.aval(*[x.aval for x in operands], **params))
        self.equations.append(Equation(primitive, operands, params, (result,), self.source))
        return result

    def part(self, base: Operand, pattern: Pattern, key: tuple[Any, ...]) -> Operand:
        """Return ``base[pattern]`` with a key, read once."""
        entry = base, pattern, tuple([("slice", k.start, k.stop, k.step) if isinstance(k, slice) else k for k in key])
        if entry not in self._parts:
            self._parts[entry] = self.emit(index_p, base, index=Index(entries_of(pattern, key)))
        return self._parts[entry]

    def knows(self, row: Row, x: Operand) -> None:
        """Note which variable a row is."""
        self._parts.setdefault((row.base, row.pattern, row.key), x)

    def along(self, base: Operand, pattern: Pattern, keys: np.ndarray) -> Operand | None:
        """Return rows at keys that move evenly in one integer, stacked along a new first axis; else ``None``."""
        moving = np.flatnonzero(keys[0] != keys[-1]).tolist()
        if len(moving) != 1 or len(keys) < 2 or any(type(each) is MovingSlice for each in pattern):
            return None
        (k,) = moving
        steps = np.diff(keys, axis=0)
        if (steps != steps[0]).any():
            return None
        first, step = int(keys[0, k]), int(steps[0, k])
        stop = first + step * len(keys)
        cut = slice(first, stop if stop >= 0 else None, step)
        holes = [i for i, each in enumerate(pattern) if each == HOLE]
        axis = sum(each != HOLE for each in pattern[: holes[k]])
        whole = axis == 0 and pattern == FIRST_AXIS and (first, step, len(keys)) == (0, 1, base.aval.shape[0])
        key = keys[0].tolist()
        rows = base if whole else self.part(base, pattern, (*key[:k], cut, *key[k + 1 :]))
        if axis:
            order = (axis, *[i for i in range(rows.aval.ndim) if i != axis])
            rows = self.emit(transpose_p, rows, permutation=order)
        return rows

    def one(self, x: Operand, rows: KnownRows) -> Operand:
        """Return an operand; a row is read where it is first needed."""
        row = rows.get(x) if type(x) is Var else None
        return x if row is None else self.part(*row)


class Gatherer(Emitter):
    """Appends equations to a program. It reads many rows of one array by index arrays."""

    # Whether it does so.
    gathers_rows = True

    def __init__(self) -> None:
        super().__init__()
        self.constants: list[tuple[Var, Any]] = []
        # How many reads and writes of many rows became one.
        self.gathers = 0
        self._indices: dict[tuple[tuple[int, ...], bytes], Var] = {}

    def constant(self, value: np.ndarray) -> Var:
        """Return a variable for a known array."""
        var = Var(Aval(value.shape, value.dtype))
        value.flags.writeable = False
        self.constants.append((var, value))
        return var

    def index_arrays(self, keys: np.ndarray) -> list[Operand]:
        """Return an array of integers for each place of the keys."""
        return [self.index_array(column.copy()) for column in keys.T]

    def index_array(self, places: np.ndarray) -> Operand:
        """Return a constant array of integers."""
        entry = places.shape, places.tobytes()
        if entry not in self._indices:
            self._indices[entry] = self.constant(places)
        return self._indices[entry]

    def stacked(self, parts: Sequence[Operand], rows: KnownRows) -> Operand:
        """Return operands stacked along a new first axis; rows of one array that move evenly are read at once."""
        pieces: list[Operand] = []
        start = 0
        runs = rows.runs(parts)
        while start < len(parts):
            first = rows.get(parts[start])
            end = self._end_of_rows(first, runs, start)
            piece = None if first is None or end == start else self.gathered(first, runs.keys_of(first, start, end))
            if piece is None:
                end = runs.ends[start]
                if first is not None and end - start >= self.shortest_run:
                    piece = self.along(first.base, first.pattern, runs.keys_of(first, start, end))
            if piece is None:
                end = start + 1
                x = self.one(parts[start], rows)
                while end < len(parts) and runs.ends[end] == end + 1:
                    end += 1
                ones = [x, *[self.one(each, rows) for each in parts[start + 1 : end]]]
                piece = self.emit(stack_p, *ones, axis=0)
            pieces.append(piece)
            start = end
        return pieces[0] if len(pieces) == 1 else self.emit(concatenate_p, *pieces, axis=0)

    def _end_of_rows(self, first: Row | None, runs: Runs, start: int) -> int:
        """Return the end of the rows of one array from here on; ``start`` if these are few runs of integers."""
        end, count, kinds = start, 0, runs.kinds
        while end < len(kinds) and first is not None and kinds[end] == kinds[start]:
            end, count = runs.ends[end], count + 1
        return end if count > _MOST_RUNS or (is_window(first) and end - start > 1) else start

    def gathered(self, first: Row, keys: np.ndarray) -> Operand | None:
        """Return rows of one array and pattern, stacked along a new first axis; else ``None``.

        Args:
            first: the first row.
            keys: the integers of all rows.
        """
        base, pattern, key = first
        if not self.gathers_rows or None in pattern:
            return None
        self.gathers += 1
        if is_window(first):
            return self._windows(base, pattern, keys)
        entries = entries_of(pattern, [SLOT] * len(key))
        is_unique = len(np.unique(keys, axis=0)) == len(keys)
        arrays = self.index_arrays(keys)
        found = self.emit(index_p, base, *arrays, index=Index(entries, unique=is_unique))
        holes = [i for i, each in enumerate(pattern) if each == HOLE]
        # NumPy puts the axis of index arrays where they stand next to each other; else first.
        axis = holes[0] if holes == [*range(holes[0], holes[-1] + 1)] else 0
        if axis:
            found = self.emit(transpose_p, found, permutation=(axis, *[i for i in range(found.aval.ndim) if i != axis]))
        return found

    def _windows(self, base: Operand, pattern: Pattern, keys: np.ndarray) -> Operand:
        """Return windows of one array, stacked along a new first axis.

        The places between the first and the last one of a window are gathered in the order of memory. The stack is then
        read with the step of the windows, so that NumPy finds the same distances in memory and adds in the same order.
        A window of several axes has a gap after each row, which is one more place here.
        """
        columns = iter(keys.T)
        lines: list[np.ndarray] = []
        entries: list[int | slice] = []
        # The integers of each axis, and the axis of the result that it is.
        axes: list[tuple[np.ndarray | None, int | None]] = []
        for entry, n in zip(pattern, base.aval.shape, strict=False):
            column = None if entry == _FULL else next(columns)
            span = entry.span if type(entry) is MovingSlice else 1 if entry == HOLE else n
            if entry == HOLE and not lines:
                axes.append((column, None))
                continue
            line = np.arange(span)
            axes.append((column, len(lines)))
            lines.append(np.append(line, 0) if lines and span < n else line)
            step = entry.step if type(entry) is MovingSlice else 1
            entries.append(0 if entry == HOLE else _reached(span, step))
        arrays: list[Operand] = []
        for column, axis in axes:
            places = np.zeros((len(keys) if column is not None else 1, *[1] * len(lines)), np.int64)
            if column is not None:
                places += column.reshape(places.shape)
            if axis is not None:
                places = places + lines[axis].reshape(-1, *[1] * (len(lines) - 1 - axis))
            arrays.append(self.index_array(places))
        found = self.emit(index_p, base, *arrays, index=Index((SLOT,) * len(arrays)))
        if entries != [slice(0, len(line), 1) for line in lines]:
            found = self.emit(index_p, found, index=Index((FULL, *entries)))
        return found


def _reached(span: int, step: int) -> slice:
    """Return the slice with a step of the first places of an axis."""
    return slice(span - 1, None, step) if step < 0 else slice(0, span, step)


def is_number(x: Operand) -> bool:
    """Return whether an operand is a literal."""
    return type(x) is Literal


__all__ = [
    "FIRST_AXIS",
    "HOLE",
    "Emitter",
    "Gatherer",
    "Key",
    "MovingSlice",
    "Pattern",
    "Row",
    "entries_of",
    "is_number",
    "is_window",
    "lows_of",
    "pattern_of",
    "reshape_p",
    "window_of",
    "with_operands",
]
