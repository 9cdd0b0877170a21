"""Values that a loop reads, carries or gives one by one, and that are the rows of one array, become that array.

A table that is filled cell by cell has a loop in a loop. The inner one takes the cells of the row before and gives
those of the next row, so the outer one carries and stacks each cell as a value of its own:

    for i: (c0, c1, c2, c3) = rows of inner([c0, c1, c2, c3])            ->            for i: c = inner(c)

The round reads the same values by index, so no number changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Equation, Graph, Operand, Var, trusted_graph
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import stack_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.rolling.patterns import FIRST_AXIS, FULL_SLICE, HOLE, Key, Pattern, entries_of, pattern_of
from funcgrad._ops.rolling.reads import RowReads
from funcgrad._ops.rolling.rounds import RoundBody
from funcgrad._ops.rolling.rows import Row

# At least this many values are joined.
_LEAST_VALUES = 8
# At most this many rounds read other values than the rows of an array that the others read.
_MOST_OTHERS = 4


class JoinedLoop:
    """The parts of a loop, with arrays in place of their rows.

    Args:
        graph: one round of the loop. Its outputs are the carries, then the results that are stacked.
        body: what the inputs of the round are.
        stacks: the stacks of the results.
        rows: the variables around the loop that are rows of arrays.
        joined: appends the equations that stack the first values of carries around the loop.
    """

    def __init__(
        self,
        graph: Graph,
        body: RoundBody,
        stacks: Sequence[Var],
        rows: RowReads,
        joined: Callable[[Sequence[tuple[Var, Operand]]], Operand],
    ) -> None:
        self._graph = graph
        self._rows = rows
        self._joined = joined
        self.constants = body.constants
        self.carries = body.carries
        self.rows = body.rows
        self.stacks = [*stacks]
        # The former carries, each with the array that is carried and its place there.
        self.carried: dict[Var, tuple[Var, int]] = {}
        # The former stacks, each as parts of a stack: the integers that come after the number of the round.
        self.stacked: dict[Var, tuple[Var, Key]] = {}
        self._outputs = [*graph.outputs]
        # The reads of rows at the begin of a round, and of parts at its end.
        self._first: list[Equation] = []
        self._last: list[Equation] = []
        self._parts: dict[Operand, Equation] = {
            each.results[0]: each for each in graph.equations if each.primitive is index_p
        }

    def joined(self) -> Graph:
        """Join what can be joined, and return a round; the given one if there is nothing."""
        parts = (self.stacks, self._join_stacks), (self.carries, self._join_carries)
        parts = (*parts, (self.constants, self._join_constants), (self.rows, self._join_rows))
        for values, join in parts:
            if len(values) >= _LEAST_VALUES:
                join()
        if not self._first and not self.stacked:
            return self._graph
        inputs = [*self.constants.values(), *[var for var, _ in self.carries], *self.rows.values()]
        equations = [*self._first, *self._graph.equations, *self._last]
        return trusted_graph(inputs, self._graph.constants, equations, self._outputs, self._graph.name)

    def _join_constants(self) -> None:
        """Read an array in place of its rows that all rounds read."""
        found: dict[tuple[Operand, Pattern], dict[Operand, Key]] = {}
        for x in self.constants:
            row = self._rows.get(x) if type(x) is Var else None
            if row is not None and set(row.pattern) == {HOLE}:
                found.setdefault((row.base, row.pattern), {})[x] = row.key
        for (base, pattern), keys in found.items():
            if len(keys) >= _LEAST_VALUES:
                array = self.constants.setdefault(base, _like(base))
                for x, key in keys.items():
                    self._read(self.constants.pop(x), array, pattern, key)

    def _join_rows(self) -> None:
        """Take rows of an array in place of parts of these rows.

        A few rounds at the ends may read other values. These are stacked, if they are all parts of such a row.
        """
        found: dict[Any, list[tuple[Key, tuple[Operand, ...]]]] = {}
        for parts in self.rows:
            start, rows = _alike([self._rows.get(x) if type(x) is Var else None for x in parts])
            if not rows or len(rows[0].key) < 2 or set(rows[0].pattern) != {HOLE}:
                continue
            base, pattern, key = rows[0]
            columns = [*zip(*[row.key for row in rows], strict=True)]
            moving = [k for k, column in enumerate(columns) if len(set(column)) > 1]
            if len(moving) == 1:
                (k,) = moving
                entry = base, len(pattern), k, start, columns[k]
                found.setdefault(entry, []).append(((*key[:k], *key[k + 1 :]), parts))
        for (base, holes, k, start, places), members in found.items():
            self._take_rows(Row(base, (HOLE,) * holes, places), k, start, dict(members))

    def _take_rows(self, row: Row, k: int, start: int, members: dict[Key, tuple[Operand, ...]]) -> None:
        """Take rows of an array in place of some of their parts, if these are most of them.

        Args:
            row: the array, and the place of the row in each round.
            k: the axis that the rows lie along.
            start: the first round that reads such a row.
            members: the parts by their place in a row.
        """
        base, pattern, places = row
        array = Var(Aval((*base.aval.shape[:k], *base.aval.shape[k + 1 :]), base.aval.dtype))
        rounds = len(next(iter(members.values())))
        is_whole = len(pattern) == 2 and sorted(members) == [(place,) for place in range(base.aval.shape[1 - k])]
        most = _MOST_OTHERS if is_whole else 0
        if rounds - len(places) > most or not _are_most([self.rows[parts] for parts in members.values()], array):
            return
        rows = {_like(array): Row(base, (*(FULL_SLICE,) * k, HOLE), (place,)) for place in places}
        self._rows.add_rows(rows)
        whole: list[Operand] = []
        for r in range(rounds):
            if 0 <= r - start < len(places):
                whole.append([*rows][r - start])
            else:
                values = [members[key] for key in sorted(members)]
                whole.append(self._joined([(self.rows[parts], parts[r]) for parts in values]))
        for key, parts in members.items():
            self._read(self.rows.pop(parts), array, pattern[1:], key)
        self.rows[tuple(whole)] = array

    def _join_carries(self) -> None:
        """Carry an array in place of rows of it that lie one after another.

        The rows of two rounds before are those of one round before, a round later. So they are joined after these.
        """
        count = 0
        while len(self.carries) != count:
            count = len(self.carries)
            self._join_rows_of_carries()

    def _join_rows_of_carries(self) -> None:
        found: dict[Var, dict[int, int]] = {}
        for c in range(len(self.carries)):
            row = self._part(self._outputs[c])
            if row is not None and row.pattern == FIRST_AXIS:
                found.setdefault(row.base, {}).setdefault(row.key[0], c)
        kept, ends = [*self.carries], self._outputs[: len(self.carries)]
        arrays: list[tuple[Var, Operand]] = []
        for base, rows in found.items():
            first, last = min(rows), max(rows) + 1
            others = self._between(rows) if _LEAST_VALUES <= len(rows) < last - first else {}
            places = rows | others
            if len(places) < _LEAST_VALUES or len(places) < last - first:
                continue
            end = base
            if last - first < base.aval.shape[0]:
                end = Var(Aval((last - first, *base.aval.shape[1:]), base.aval.dtype))
                self._last.append(Equation(index_p, (base,), {"index": Index((slice(first, last),))}, (end,), None))
            for place, c in others.items():
                operands, end = (end, self._outputs[c]), _like(end)
                self._last.append(Equation(scatter_set_p, operands, {"index": Index((place - first,))}, (end,), None))
            array = _like(end)
            members = [kept[places[place]] for place in range(first, last)]
            for k, (var, _) in enumerate(members):
                self.carried[var] = array, k
                self._read(var, array, FIRST_AXIS, (k,))
            arrays.append((array, self._joined(members)))
            ends.append(end)
        others = [c for c, (var, _) in enumerate(kept) if var not in self.carried]
        self._outputs[: len(kept)] = [*[ends[c] for c in others], *ends[len(kept) :]]
        self.carries = [*[kept[c] for c in others], *arrays]

    def _between(self, places: dict[int, int]) -> dict[int, int]:
        """Return a few other carries by their places between these, as the round stacks them."""
        place_of = {c: place for place, c in places.items()}
        aval = self.carries[next(iter(place_of))][0].aval
        carries: dict[Operand, int] = {var: c for c, (var, _) in enumerate(self.carries) if var.aval == aval}
        for equation in self._graph.equations if max(places) - min(places) < len(places) + _MOST_OTHERS else ():
            if equation.primitive is stack_p:
                found = [carries.get(x, -1) for x in equation.operands]
                offsets = {place_of[c] - i for i, c in enumerate(found) if c in place_of}
                if len(offsets) == 1 and not {*found} <= {*place_of}:
                    (offset,) = offsets
                    others = {i + offset: c for i, c in enumerate(found) if c not in place_of and c >= 0}
                    others = {place: c for place, c in others.items() if min(places) < place < max(places)}
                    if len({*others.values()}) + len(places) == max(places) - min(places) + 1:
                        return others
        return {}

    def _join_stacks(self) -> None:
        """Stack an array in place of the rows of it."""
        count, rounds = len(self.carries), [stack.aval.shape[:1] for stack in self.stacks]
        found: dict[Var, list[int]] = {}
        rows = [self._part(x) for x in self._outputs[count:]]
        for k, row in enumerate(rows):
            if row is not None and set(row.pattern) == {HOLE}:
                found.setdefault(row.base, []).append(k)
        arrays: list[tuple[Operand, Var]] = []
        for base, members in found.items():
            if not _are_most([self._outputs[count + k] for k in members], base):
                continue
            stack = Var(Aval((*rounds[0], *base.aval.shape), base.aval.dtype))
            arrays.append((base, stack))
            for k in members:
                row = rows[k]
                assert row is not None
                self.stacked[self.stacks[k]] = stack, row.key
        others = [k for k, stack in enumerate(self.stacks) if stack not in self.stacked]
        ends = [self._outputs[count + k] for k in others]
        self._outputs[count:] = [*ends, *[base for base, _ in arrays]]
        self.stacks = [*[self.stacks[k] for k in others], *[stack for _, stack in arrays]]

    def _part(self, x: Operand) -> Row | None:
        """Return which row of an array of this round a value is."""
        equation = self._parts.get(x) if type(x) is Var else None
        if equation is None or len(equation.operands) != 1:
            return None
        base = equation.operands[0]
        found = pattern_of(equation.params["index"], base.aval.shape)
        return Row(base, *found) if type(base) is Var and found is not None else None

    def _read(self, x: Var, array: Var, pattern: Pattern, key: Key) -> None:
        """Read a row of an array at the begin of a round."""
        index = Index(entries_of(pattern, key))
        self._parts[x] = Equation(index_p, (array,), {"index": index}, (x,), None)
        self._first.append(self._parts[x])


def _like(x: Operand) -> Var:
    """Return a new variable of the same type."""
    return Var(Aval(x.aval.shape, x.aval.dtype))


def _are_most(values: Sequence[Operand], array: Var) -> bool:
    """Return whether these rows of an array are many, and half of the array at least."""
    return len(values) >= _LEAST_VALUES and 2 * sum(x.aval.size for x in values) >= array.aval.size


def _alike(rows: Sequence[Row | None]) -> tuple[int, list[Row]]:
    """Return the rows of one array and pattern in the rounds around the middle one, and the first of these rounds."""
    middle = len(rows) // 2
    row = rows[middle]
    start, end = middle, middle
    while row is not None and start > 0 and _is_like(rows[start - 1], row):
        start -= 1
    while row is not None and end < len(rows) and _is_like(rows[end], row):
        end += 1
    return start, [each for each in rows[start:end] if each is not None]


def _is_like(x: Row | None, row: Row) -> bool:
    return x is not None and x.base is row.base and x.pattern == row.pattern
