"""Reads and writes at integers, such as ``x[t]`` and ``x[2, :, t]``: the fixed part of an index, and its integers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad._core.graph.ir import Equation, Literal, Operand, Var
from funcgrad._core.primitive import Primitive
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate_p, stack_p
from funcgrad._ops.index.plan import SLOT, Index, expand_ellipsis
from funcgrad._ops.layout.shape import reshape_p, transpose_p
from funcgrad._types import Value

# Stands in a pattern where an index has an integer.
HOLE = "i"
_FULL = ("slice", None, None, None)
Pattern = tuple[Any, ...]
Key = tuple[int, ...]


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


def with_operands(equation: Equation, operands: tuple[Operand, ...]) -> Equation:
    """Return an equation with other operands; the equation itself if they are the same ones."""
    if all(map(operator.is_, operands, equation.operands)):
        return equation
    return Equation(equation.primitive, operands, equation.params, equation.results, equation.source)


def entries_of(pattern: Pattern, key: Sequence[Any]) -> tuple[Any, ...]:
    """Return the entries of an index: the pattern with these in its holes."""
    rest = iter(key)
    return tuple(
        [next(rest) if each == HOLE else slice(*each[1:]) if type(each) is tuple else each for each in pattern]
    )


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

    def along(self, base: Operand, pattern: Pattern, keys: Sequence[Key]) -> Operand | None:
        """Return rows at keys that move evenly in one integer, stacked along a new first axis; else ``None``."""
        moving = [k for k in range(len(keys[0])) if keys[0][k] != keys[-1][k]]
        if len(moving) != 1 or len(keys) < 2:
            return None
        (k,) = moving
        first, step = keys[0][k], keys[1][k] - keys[0][k]
        if step == 0 or any(key != _moved(keys[0], k, first + step * r) for r, key in enumerate(keys)):
            return None
        stop = first + step * len(keys)
        cut = slice(first, stop if stop >= 0 else None, step)
        holes = [i for i, each in enumerate(pattern) if each == HOLE]
        axis = sum(each != HOLE for each in pattern[: holes[k]])
        whole = axis == 0 and pattern == FIRST_AXIS and (first, step, len(keys)) == (0, 1, base.aval.shape[0])
        rows = base if whole else self.part(base, pattern, _replaced(keys[0], k, cut))
        if axis:
            order = (axis, *[i for i in range(rows.aval.ndim) if i != axis])
            rows = self.emit(transpose_p, rows, permutation=order)
        return rows

    def stacked(self, parts: Sequence[Operand], rows: dict[Operand, Row]) -> Operand:
        """Return operands stacked along a new first axis; rows of one array that move evenly are read at once."""
        pieces: list[Operand] = []
        start = 0
        while start < len(parts):
            end = _end_of_run(parts, rows, start)
            piece = None
            if end - start >= self.shortest_run:
                run = [rows[x] for x in parts[start:end]]
                piece = self.along(run[0].base, run[0].pattern, [row.key for row in run])
            if piece is None:
                end = start + 1
                x = self.one(parts[start], rows)
                while end < len(parts) and _end_of_run(parts, rows, end) == end + 1:
                    end += 1
                ones = [x, *[self.one(each, rows) for each in parts[start + 1 : end]]]
                piece = self.emit(stack_p, *ones, axis=0)
            pieces.append(piece)
            start = end
        return pieces[0] if len(pieces) == 1 else self.emit(concatenate_p, *pieces, axis=0)

    def one(self, x: Operand, rows: dict[Operand, Row]) -> Operand:
        """Return an operand; a row is read where it is first needed."""
        row = rows.get(x) if type(x) is Var else None
        return x if row is None else self.part(*row)


def _end_of_run(parts: Sequence[Operand], rows: dict[Operand, Row], start: int) -> int:
    """Return the end of the longest run of rows from here on that move evenly."""
    first = rows.get(parts[start])
    end = start + 1
    step: Key | None = None
    while end < len(parts) and first is not None:
        before, row = rows[parts[end - 1]], rows.get(parts[end])
        if row is None or row.base is not first.base or row.pattern != first.pattern:
            break
        moved = tuple([b - a for a, b in zip(before.key, row.key, strict=True)])
        if sum(map(bool, moved)) != 1 or (step is not None and moved != step):
            break
        step, end = moved, end + 1
    return end


def _replaced(key: Key, k: int, value: Value) -> tuple[Any, ...]:
    return (*key[:k], value, *key[k + 1 :])


def _moved(key: Key, k: int, value: int) -> Key:
    return (*key[:k], value, *key[k + 1 :])


def is_number(x: Operand) -> bool:
    """Return whether an operand is a literal."""
    return type(x) is Literal


__all__ = [
    "FIRST_AXIS",
    "HOLE",
    "Emitter",
    "Key",
    "Pattern",
    "Row",
    "entries_of",
    "is_number",
    "pattern_of",
    "reshape_p",
    "with_operands",
]
