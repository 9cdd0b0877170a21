"""Rows and windows of arrays (``patterns.py``), and the equations that read one or many of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Equation, Operand, Var
from funcgrad._core.primitive import Primitive
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate_p, stack_p
from funcgrad._ops.index.plan import FULL, SLOT, Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.layout.shape import reshape_p, transpose_p
from funcgrad._ops.rolling.patterns import (
    FIRST_AXIS,
    FULL_SLICE,
    HOLE,
    Key,
    MovingSlice,
    Pattern,
    axis_of_arrays,
    entries_of,
    even_slice,
)
from funcgrad._ops.rolling.turns import rows_in_turns

# This many rows, or more, are written by one index array where their places are no grid.
_MANY = 9
# Parts of windows that are shorter than this are read element by element.
_SHORT = 16
# The rows of one array form runs, whose integers go up or down evenly. Each run is one slice of the array. Rows in more
# runs than this are read by index arrays instead.
_MOST_RUNS = 8


class Row(NamedTuple):
    """A part of an array at integers: ``base[pattern]`` with the integers of ``key`` in the pattern's holes."""

    base: Var
    pattern: Pattern
    key: Key


def with_operands(equation: Equation, operands: tuple[Operand, ...]) -> Equation:
    """Return an equation with other operands; the equation itself if they are the same ones."""
    if all(map(operator.is_, operands, equation.operands)):
        return equation
    return Equation(equation.primitive, operands, equation.params, equation.results, equation.source)


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

    def __init__(self) -> None:
        self.equations: list[Equation] = []
        self.source: Any = None
        self._parts: dict[Any, Operand] = {}

    def emit(self, primitive: Primitive, *operands: Operand, **params: Any) -> Var:
        """Append an equation and return its result."""
        result = Var(primitive.aval(*[x.aval for x in operands], **params))
        self.equations.append(Equation(primitive, operands, params, (result,), self.source))
        return result

    def reshaped(self, x: Operand, shape: tuple[int, ...]) -> Operand:
        """Return an operand with another shape."""
        return x if x.aval.shape == shape else self.emit(reshape_p, x, shape=shape)

    def part(self, base: Operand, pattern: Pattern, key: tuple[Any, ...]) -> Operand:
        """Return ``base[pattern]`` with a key. Equal parts are read by one equation."""
        entry = base, pattern, tuple([("slice", k.start, k.stop, k.step) if isinstance(k, slice) else k for k in key])
        if entry not in self._parts:
            self._parts[entry] = self.emit(index_p, base, index=Index(entries_of(pattern, key)))
        return self._parts[entry]

    def _to_front(self, x: Operand, axis: int) -> Operand:
        """Return an operand whose first axis is this one."""
        if not axis:
            return x
        return self.emit(transpose_p, x, permutation=(axis, *[i for i in range(x.aval.ndim) if i != axis]))

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
        return self._to_front(rows, axis)

    def one(self, x: Operand, rows: KnownRows) -> Operand:
        """Return an operand. If it is a row, the equation that reads it is appended when it is first needed."""
        row = rows.get(x) if type(x) is Var else None
        return x if row is None else self.part(*row)


class Gatherer(Emitter):
    """Appends equations to a program. Many rows of one array are read at once, by slices or by index arrays."""

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
        """Return an index array for each hole: the integers that the keys have there."""
        return [self.index_array(column.copy()) for column in keys.T]

    def index_array(self, places: np.ndarray) -> Operand:
        """Return a constant array of integers."""
        entry = places.shape, places.tobytes()
        if entry not in self._indices:
            self._indices[entry] = self.constant(places)
        return self._indices[entry]

    def stacked(self, parts: Sequence[Operand], rows: KnownRows) -> Operand:
        """Return operands stacked along a new first axis. Rows of one array, one after another, are read at once."""
        pieces: list[Operand] = []
        start = 0
        runs = rows.runs(parts)
        while start < len(parts):
            piece, start = self._piece(parts, rows, runs, start)
            pieces.append(piece)
        return pieces[0] if len(pieces) == 1 else self.emit(concatenate_p, *pieces, axis=0)

    def _piece(self, parts: Sequence[Operand], rows: KnownRows, runs: Runs, start: int) -> tuple[Operand, int]:
        """Return a stack of the operands from ``start`` on that are read in one way, and their end."""
        first = rows.get(parts[start])
        end = self._end_of_rows(first, runs, start)
        piece = None if first is None or end == start else self.gathered(first, runs.keys_of(first, start, end))
        if piece is None:
            end = runs.ends[start]
            if first is not None and end - start > 1:
                piece = self.along(first.base, first.pattern, runs.keys_of(first, start, end))
        if piece is not None:
            return piece, end
        arrays, end = rows_in_turns(parts, rows, start)
        if arrays:
            return self._interleaved(parts[start:end], arrays, rows), end
        x, end = self.one(parts[start], rows), start + 1
        while end < len(parts) and runs.ends[end] == end + 1 and not rows_in_turns(parts, rows, end)[0]:
            end += 1
        return self.emit(stack_p, x, *[self.one(each, rows) for each in parts[start + 1 : end]], axis=0), end

    def _interleaved(self, parts: Sequence[Operand], arrays: int, rows: KnownRows) -> Operand:
        """Return a stack of rows that several arrays have in turns."""
        columns = self.emit(stack_p, *[self.stacked(parts[k::arrays], rows) for k in range(arrays)], axis=1)
        return self.emit(reshape_p, columns, shape=(len(parts), *columns.aval.shape[2:]))

    def _end_of_rows(self, first: Row | None, runs: Runs, start: int) -> int:
        """Return the end of the rows of one array from ``start`` on; ``start`` if they form few runs."""
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
        if None in pattern and not is_window(first):
            return None
        self.gathers += 1
        if is_window(first):
            return self._windows(base, pattern, keys)
        axes, cuts = _grid_of(keys.T.tolist(), len(keys))
        if set(pattern) == {HOLE} and cuts is not None and (keys == np.array([*product(*axes)])).all():
            # The rows of a grid, in its order, are a part of the array.
            is_whole = [*cuts] == [slice(0, n) for n in base.aval.shape[: len(key)]]
            grid = base if is_whole else self.part(base, pattern, cuts)
            return self.reshaped(grid, (len(keys), *base.aval.shape[len(key) :]))
        entries = entries_of(pattern, [SLOT] * len(key))
        is_unique = len(np.unique(keys, axis=0)) == len(keys)
        arrays = self.index_arrays(keys)
        found = self.emit(index_p, base, *arrays, index=Index(entries, unique=is_unique))
        return self._to_front(found, axis_of_arrays(pattern))

    def _windows(self, base: Operand, pattern: Pattern, keys: np.ndarray) -> Operand:
        """Return windows of one array, stacked along a new first axis.

        All positions from the lowest to the highest one of a window are gathered, in the order of memory. A slice with
        the step of the windows then reads the stack. So NumPy finds the same distances in memory as in the array, and
        adds in the same order. A window of several axes has a gap after each of its rows; one more position makes it.
        """
        shape = base.aval.shape
        rest = len(shape) - sum(each is not None for each in pattern)
        if math.prod(shape[len(shape) - rest :]) <= _SHORT:
            pattern, rest = (*pattern, *(FULL_SLICE,) * rest), 0
        columns = iter(keys.T)
        lines: list[np.ndarray] = []
        entries: list[int | slice | None] = []
        # The integers of each axis, and the axis of the result that it is.
        axes: list[tuple[np.ndarray | None, int | None]] = []
        lengths = iter(shape)
        for entry in pattern:
            if entry is None:
                entries.append(None)
                continue
            n = next(lengths)
            column = None if entry == FULL_SLICE else next(columns)
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
        # Windows of several axes keep the order of the axes in memory, which is another one in Fortran order.
        index = Index((SLOT,) * len(arrays), windows=len(lines) + rest > 1)
        found = self.emit(index_p, base, *arrays, index=index)
        if entries != [slice(0, len(line), 1) for line in lines]:
            found = self.emit(index_p, found, index=Index((FULL, *entries)))
        return found

    def written(self, y: Operand, pattern: Pattern, keys: list[Key], values: list[Operand]) -> Operand:
        """Return an array with rows written at once if their places are those of a grid, or many; else one by one.

        Each key occurs once here, so their order does not matter.
        """
        # The places along each axis.
        axes, cuts = _grid_of(zip(*keys, strict=True), len(keys))
        if None in pattern or len(keys) < (_MANY if cuts is None else 2):
            for key, value in zip(keys, values, strict=True):
                y = self.emit(scatter_set_p, y, value, index=Index(entries_of(pattern, key)))
            return y
        if cuts is None:
            together = self.emit(stack_p, *values, axis=0)
            axis = axis_of_arrays(pattern)
            if axis:
                order = (*range(1, axis + 1), 0, *range(axis + 1, together.aval.ndim))
                together = self.emit(transpose_p, together, permutation=order)
            index = Index(entries_of(pattern, [SLOT] * len(axes)), unique=True)
            return self.emit(scatter_set_p, y, together, *self.index_arrays(np.array(keys, np.int64)), index=index)
        value_of = dict(zip(keys, values, strict=True))
        together = self.emit(stack_p, *[value_of[key] for key in product(*axes)], axis=0)
        if len(axes) > 1:
            together = self.emit(reshape_p, together, shape=(*map(len, axes), *together.aval.shape[1:]))
        if set(pattern) == {HOLE} and together.aval == y.aval:
            # The array before is not read any more.
            return together
        order = _order_of(pattern, together.aval.ndim)
        if order != (*range(len(order)),):
            together = self.emit(transpose_p, together, permutation=order)
        return self.emit(scatter_set_p, y, together, index=Index(entries_of(pattern, cuts)))


def _grid_of(columns: Iterable[Iterable[int]], count: int) -> tuple[list[list[int]], tuple[slice, ...] | None]:
    """Return the places of keys along each axis, and the slices that give a grid, if the keys are one."""
    axes = [sorted({*column}) for column in columns]
    cuts = tuple([each for each in map(even_slice, axes) if each is not None])
    return axes, cuts if len(cuts) == len(axes) and math.prod(map(len, axes)) == count else None


def _order_of(pattern: Pattern, ndim: int) -> tuple[int, ...]:
    """Return the order in which the axes of rows, which begin with those of the integers, are those of their array."""
    holes = pattern.count(HOLE)
    first, rest = iter(range(holes)), iter(range(holes, ndim))
    return (*[next(first if each == HOLE else rest) for each in pattern], *rest)


def _reached(span: int, step: int) -> slice:
    """Return the slice with a step of the first ``span`` positions of an axis."""
    return slice(span - 1, None, step) if step < 0 else slice(0, span, step)
