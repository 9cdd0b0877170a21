"""Arrays of numbers that say what each operand of a program reads, so that thousands of rounds are compared at once.

A *row read* is an equation that reads a row, such as ``x[t]``. Loops are looked for in the other equations. For these,
an operand is a result of an equation, or a row of an array at integers.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Operand, Var
from funcgrad._core.graph.repeats import Repeat, repeats
from funcgrad._ops.rolling.numbering import OUTSIDE, first_places
from funcgrad._ops.rolling.patterns import FULL_SLICE, HOLE, Key, MovingSlice, Pattern
from funcgrad._ops.rolling.rows import Row, Runs
from funcgrad._ops.rolling.table import Table


class RowReads:
    """The variables of a program that are rows of arrays. A row is made when it is first asked for.

    Args:
        table: the program.
    """

    def __init__(self, table: Table) -> None:
        reads = self._reads = table.reads
        numbers = self._numbers = table.windows()
        self._table = table
        # For each value of the table: the number of the array that it is a row of, and a number of its part of it.
        self.bases, self.parts = np.full((2, len(table.types)), OUTSIDE)
        is_row = (numbers != OUTSIDE) & ~table.is_weak(reads.equations * table.width) & table.is_variable(reads.bases)
        rows = np.flatnonzero(is_row)
        self.bases[reads.equations[rows] * table.width] = reads.bases[rows]
        self.parts[reads.equations[rows] * table.width] = numbers[rows]
        # The rows that were asked for.
        self._found: dict[Operand, Row] = {}
        # The arrays that the table does not have, such as stacks of loops. Their numbers come after those of the table.
        self._stacks: list[Operand] = []
        self._numbers_of_stacks: dict[Operand, int] = {}
        self._join(rows[self.bases[reads.bases[rows]] != OUTSIDE].tolist())
        values = reads.equations[rows] * table.width
        values = values[self.bases[values] != OUTSIDE]
        # A mask of the equations that are no row reads.
        self.others = np.ones(len(table.equations), bool)
        self.others[values // table.width] = False
        # The number of each of these in the table.
        self._places = np.flatnonzero(self.others)
        variables = [table.equations[i].results[0] for i in (values // table.width).tolist()]
        self._values = dict(zip(variables, values.tolist(), strict=True))
        # The first of the variables that are one row, for each of the others.
        first, places = first_places(self.bases[values] * (int(self.parts.max(initial=0)) + 1) + self.parts[values])
        again = np.flatnonzero(first[places] != np.arange(len(places)))
        firsts = first[places[again]].tolist()
        self.same: dict[Operand, Operand] = {
            variables[k]: variables[n] for k, n in zip(again.tolist(), firsts, strict=True)
        }

    def _join(self, nested: list[int]) -> None:
        """Make rows of rows rows of the array: ``x[i][j]`` is ``x[i, j]``, and ``x[:, i][j]`` is ``x[j, i]``.

        Args:
            nested: the reads of rows of rows, in the order of the program.
        """
        table = self._table
        for k in nested:
            value, outer = int(self._reads.equations[k]) * table.width, int(self._reads.bases[k])
            base = self.bases[outer]
            if base == OUTSIDE:
                continue
            part = table.parts[int(self.parts[outer])]
            found = joined(part, table.parts[self._numbers[k]], table.value(int(base)).aval.shape)
            number = OUTSIDE if found is None else table.parts.number(found)
            self.bases[value], self.parts[value] = (OUTSIDE if found is None else base), number

    def get(self, x: Operand) -> Row | None:
        """Return what row an operand is; ``None`` for no row."""
        found = self._found.get(x)
        if found is None:
            value = self._values.get(x)
            if value is None:
                return None
            table, number = self._table, int(self.bases[value])
            stack = number - len(table.types)
            base: Any = self._stacks[stack] if stack >= 0 else table.value(number)
            found = self._found[x] = Row(base, *table.parts[int(self.parts[value])])
        return found

    def __contains__(self, x: object) -> bool:
        return x in self._values

    def _numbers_of(self, operands: Sequence[Operand]) -> np.ndarray:
        """Return the number of each operand that is a row; `OUTSIDE` for others."""
        known = self._values.get
        return np.array([known(x, OUTSIDE) for x in operands], np.int64)

    def are_of_one(self, operands: Sequence[Operand]) -> bool:
        """Return whether operands are rows of one array."""
        numbers = self._numbers_of(operands)
        bases = self.bases[numbers]
        return bool((numbers != OUTSIDE).all() and (bases == bases[0]).all())

    def runs(self, operands: Sequence[Operand]) -> Runs:
        """Return where operands are rows."""
        numbers = self._numbers_of(operands)
        if (numbers == OUTSIDE).all():
            return Runs([OUTSIDE] * len(numbers), numbers.reshape(-1, 1), [*range(1, len(numbers) + 1)])
        parts = self.parts[numbers]
        patterns, keys = self._table.parts.places()
        kinds = self.bases[numbers] * len(patterns) + patterns[parts]
        kinds[numbers == OUTSIDE] = OUTSIDE
        keys = keys[parts]
        steps = keys[1:] - keys[:-1]
        # Whether each row and the next one are of one kind, and differ in one integer.
        moves = (kinds[1:] == kinds[:-1]) & (kinds[1:] != OUTSIDE) & (np.count_nonzero(steps, axis=1) == 1)
        goes_on = moves[1:] & moves[:-1] & (steps[1:] == steps[:-1]).all(1)
        last = np.append(np.flatnonzero(~goes_on) + 1, max(len(numbers) - 1, 0))
        ends = np.arange(1, len(numbers) + 1)
        first = np.flatnonzero(moves)
        ends[first] = last[np.searchsorted(last, first, "right")] + 1
        return Runs(kinds.tolist(), keys, ends.tolist())

    @functools.cached_property
    def _of(self) -> dict[int, list[int]]:
        """The rows of each array that an equation makes, by their numbers."""
        found: dict[int, list[int]] = {}
        values = np.array([*self._values.values()], np.int64)
        for value in values[self.bases[values] < self._table.size].tolist():
            found.setdefault(int(self.bases[value]), []).append(value)
        return found

    def _number_of(self, stack: Operand) -> int:
        """Return the number of an array that the table does not have."""
        number = self._numbers_of_stacks.setdefault(stack, len(self._stacks))
        if number == len(self._stacks):
            self._stacks.append(stack)
        return len(self._table.types) + number

    def add(self, stack: Operand, equations: np.ndarray, k: int, places: np.ndarray, key: Key = ()) -> None:
        """Note that results of equations are rows of a stack. Then the rows of these results are, too.

        Args:
            stack: the stack.
            equations: the equations, numbered as the others.
            k: the number of the result.
            places: the place of each result along the first axis of the stack.
            key: its places along the next axes.
        """
        table = self._table
        base = self._number_of(stack)
        found = self._places[equations]
        values = found * table.width + k
        holes = (HOLE,) * (1 + len(key))
        for value, r in zip(values.tolist(), places.tolist(), strict=True):
            for part in self._of.get(value, ()):
                pattern, own = table.parts[int(self.parts[part])]
                self.bases[part], self.parts[part] = base, table.parts.number(((*holes, *pattern), (r, *key, *own)))
                self._found.pop(table.equations[part // table.width].results[0], None)
        numbers = [table.parts.number((holes, (r, *key))) for r in places.tolist()] if key else table.parts.rows(places)
        self.bases[values], self.parts[values] = base, numbers
        variables = [table.equations[i].results[k] for i in found.tolist()]
        self._values.update(zip(variables, values.tolist(), strict=True))

    def add_rows(self, rows: Mapping[Var, Row]) -> None:
        """Note which rows of arrays new variables are."""
        bases = [self._number_of(row.base) for row in rows.values()]
        parts = [self._table.parts.number((row.pattern, row.key)) for row in rows.values()]
        self._values.update(zip(rows, range(len(self.bases), len(self.bases) + len(rows)), strict=True))
        self.bases, self.parts = np.append(self.bases, bases), np.append(self.parts, parts)


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
        read = self._numbers = table.operands[np.repeat(kept, lengths)]
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

    def numbers(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the number in the table of operand ``k`` of each of these equations."""
        return self._numbers[self._starts[equations] + k]

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
