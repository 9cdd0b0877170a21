"""Arrays of numbers that say what each operand of a program reads, so that thousands of rounds are compared at once.

A *row read* is an equation that reads a row, such as ``x[t]``. Loops are looked for in the other equations. For these,
an operand is a result of an equation, or a row of an array at integers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Operand, Var
from funcgrad._core.graph.repeats import Repeat, repeats
from funcgrad._ops.rolling.rows import FULL_SLICE, HOLE, Key, MovingSlice, Pattern, Row
from funcgrad._ops.rolling.table import OUTSIDE, Table, first_places


class RowReads(Mapping[Operand, Row]):
    """The variables of a program that are rows of arrays. A row is made when it is first asked for.

    Args:
        table: the program.
        with_windows: whether moving windows count as rows.
    """

    def __init__(self, table: Table, *, with_windows: bool) -> None:
        reads = self._reads = table.reads
        numbers = self._numbers = table.windows() if with_windows else reads.numbers
        self._table = table
        # For each value of the table: the number of the array that it is a row of, and a number of its part of it.
        self.bases, self.parts = np.full((2, len(table.types)), OUTSIDE)
        is_row = (numbers != OUTSIDE) & ~table.is_weak(reads.equations * table.width) & table.is_variable(reads.bases)
        rows = np.flatnonzero(is_row)
        self.bases[reads.equations[rows] * table.width] = reads.bases[rows]
        self.parts[reads.equations[rows] * table.width] = numbers[rows]
        # The rows that were asked for, and those of stacks.
        self._found: dict[Operand, Row] = {}
        self._join(rows[self.bases[reads.bases[rows]] != OUTSIDE].tolist(), with_windows)
        values = reads.equations[rows] * table.width
        values = values[self.bases[values] != OUTSIDE]
        # A mask of the equations that are no row reads.
        self.others = np.ones(len(table.equations), bool)
        self.others[values // table.width] = False
        variables = [table.equations[i].results[0] for i in (values // table.width).tolist()]
        self._values = dict(zip(variables, values.tolist(), strict=True))
        # The first of the variables that are one row, for each of the others.
        first, places = first_places(self.bases[values] * (int(self.parts.max(initial=0)) + 1) + self.parts[values])
        again = np.flatnonzero(first[places] != np.arange(len(places)))
        firsts = first[places[again]].tolist()
        self.same: dict[Operand, Operand] = {
            variables[k]: variables[n] for k, n in zip(again.tolist(), firsts, strict=True)
        }

    def _join(self, nested: list[int], with_slices: bool) -> None:
        """Make rows of rows rows of the array: ``x[i][j]`` is ``x[i, j]``, and ``x[:, i][j]`` is ``x[j, i]``.

        Args:
            nested: the reads of rows of rows, in the order of the program.
            with_slices: whether rows of parts that have slices are joined too.
        """
        table = self._table
        for k in nested:
            value, outer = int(self._reads.equations[k]) * table.width, int(self._reads.bases[k])
            base = self.bases[outer]
            if base == OUTSIDE:
                continue
            part = table.parts[self.parts[outer]]
            found = None
            if with_slices or all(each == HOLE for each in part[0]):
                found = joined(part, table.parts[self._numbers[k]], table.value(int(base)).aval.shape)
            self.bases[value], self.parts[value] = (OUTSIDE, OUTSIDE) if found is None else (base, table.part(found))

    def __getitem__(self, x: Operand) -> Row:
        found = self.get(x)
        if found is None:
            raise KeyError(x)
        return found

    def get(self, x: Operand, default: Any = None) -> Any:
        found = self._found.get(x)
        if found is None:
            value = self._values.get(x)
            if value is None:
                return default
            base: Any = self._table.value(int(self.bases[value]))
            found = self._found[x] = Row(base, *self._table.parts[self.parts[value]])
        return found

    def __contains__(self, x: object) -> bool:
        return x in self._values or x in self._found

    def __iter__(self) -> Iterator[Operand]:
        return iter({**self._values, **self._found})

    def __len__(self) -> int:
        return len({**self._values, **self._found})

    @functools.cached_property
    def _of(self) -> dict[Operand, list[Operand]]:
        """For each array that an equation makes: the variables that are rows of it."""
        found: dict[Operand, list[Operand]] = {}
        for x, value in self._values.items():
            if self.bases[value] < self._table.size:
                found.setdefault(self[x].base, []).append(x)
        return found

    def add(self, x: Var, row: Row) -> None:
        """Note that a variable is a row of a stack. Then the rows of the variable are rows of the stack, too."""
        self._found[x] = row
        for part in self._of.get(x, ()):
            _, pattern, key = self[part]
            self._found[part] = Row(row.base, (*row.pattern, *pattern), (*row.key, *key))


class Reads:
    """The results that operands read. Result ``k`` of equation ``i`` has the number ``i * width + k``.

    Args:
        table: the program with its row reads.
        rows: its row reads.
    """

    def __init__(self, table: Table, rows: RowReads) -> None:
        kept, bases, parts = rows.others, rows.bases, rows.parts
        self.width = width = table.width
        lengths = np.diff(table.starts)
        read = table.operands[np.repeat(kept, lengths)]
        # The operands of equation i begin at starts[i].
        self._starts = np.cumsum(np.concatenate(([0], lengths[kept])))[:-1]
        # The numbers of values in the program without row reads.
        numbers = np.full(len(bases) + 1, OUTSIDE)
        places = np.flatnonzero(np.repeat(kept, width))
        numbers[places] = np.arange(len(places))
        self._made = numbers[read]
        self._bases = numbers[bases[read]]
        self._parts = parts[read]
        count = len(lengths[kept])
        self._last = self._last_reads(count)
        shown = numbers[np.concatenate((table.outputs, bases[table.outputs]))]
        self._last[shown[shown != OUTSIDE]] = count

    def _last_reads(self, count: int) -> np.ndarray:
        readers = np.repeat(np.arange(count), np.diff(self._starts, append=len(self._made)))
        last = np.full((2, count * self.width), -1)
        for found, read in zip(last, (self._made, self._bases), strict=True):
            # The readers ascend, and NumPy keeps the last value that is written to a position.
            found[read[read != OUTSIDE]] = readers[read != OUTSIDE]
        return last.max(0)

    def turns(self, repeat: Repeat) -> int:
        """Return after how many rounds the rounds of a stretch read alike again: 2 for odd and even rounds."""
        equations = np.arange(repeat.start, repeat.end)
        ends = np.append(self._starts, len(self._made))
        readers = np.repeat(equations, np.diff(ends[repeat.start : repeat.end + 1]))
        found = []
        for read in (self._made, self._bases):
            part = read[ends[repeat.start] : ends[repeat.end]]
            inside = part >= repeat.start * self.width
            found.append(
                np.where(inside, part - readers * self.width, part.size * self.width).reshape(repeat.rounds, -1)
            )
        _, kinds = np.unique(np.concatenate(found, 1), axis=0, return_inverse=True)
        best = max(repeats(kinds.reshape(-1)), key=lambda each: each.rounds * each.period, default=None)
        return 1 if best is None else best.period

    def made(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the number that operand ``k`` of each of these equations reads."""
        return self._made[self._starts[equations] + k]

    def bases(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the number of the array of which operand ``k`` of each of these equations is a row."""
        return self._bases[self._starts[equations] + k]

    def parts(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the number of the part of an array that operand ``k`` of each of these equations is."""
        return self._parts[self._starts[equations] + k]

    def last(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the last equation that reads result ``k`` of each of these equations; the count if an output does."""
        return self._last[equations * self.width + k]


def joined(outer: tuple[Pattern, Key], inner: tuple[Pattern, Key], shape: Sequence[int]) -> tuple[Pattern, Key] | None:
    """Return a part of a part of an array of this shape as a part of the array; ``None`` if it cannot be written so."""
    (pattern, key), (inner_pattern, inner_key) = outer, inner
    if any(each is None or type(each) is MovingSlice for each in (*pattern, *inner_pattern)):
        return None
    keys, inner_keys, rest = iter(key), iter(inner_key), iter(inner_pattern)
    found: list[Any] = []
    places: list[int] = []
    for each, n in zip((*pattern, *[FULL_SLICE] * (len(shape) - len(pattern))), shape, strict=True):
        inside = HOLE if each == HOLE else next(rest, FULL_SLICE)
        if each == HOLE:
            places.append(next(keys))
        elif inside == HOLE:
            places.append(range(*slice(*each[1:]).indices(n))[next(inner_keys)])
        elif inside == FULL_SLICE:
            inside = each
        elif each != FULL_SLICE:
            return None
        found.append(inside)
    while found[-1] == FULL_SLICE:
        # A full slice at the end says nothing.
        found.pop()
    return tuple(found), tuple(places)
