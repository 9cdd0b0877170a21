"""``Graph.roll()``: the same program with structured loops for stretches that repeat.

    filled.py    reads of rows that were written get the rows, where arrays are only filled row by row
    forward.py   the same for all updates; chains of writes become one write
    chains.py    the updates of one array, and its rows and windows after some of them
    cells.py     the rows that an index names
    table.py     the program as arrays of numbers; the kinds of equations, in which ``graph/repeats.py`` finds repeats
    reads.py     what each operand reads, as arrays of numbers
    rounds.py    what each round reads: the same value, the next of many, a result of a round before; the body of a loop
    roll.py      a `scan` for each stretch; results of rounds are rows of what it stacks

A program's own values decide: an equation is in a loop only where every round reads alike. What differs stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.collection import rare_collection
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.repeats import LEAST_EQUATIONS, LEAST_ROUNDS, Repeat, again, repeats
from funcgrad._core.graph.simplify import drop_dead, simplify
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.join import concatenate_p, stack_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.layout.shape import reshape_p, transpose_p
from funcgrad._ops.program.scan import Loop, scan_p
from funcgrad._ops.rolling.cells import axes_of, cells_of
from funcgrad._ops.rolling.filled import filled
from funcgrad._ops.rolling.forward import forwarded
from funcgrad._ops.rolling.reads import Reads, RowReads
from funcgrad._ops.rolling.rounds import (
    COPIED_BYTES,
    LARGE,
    AlikeRounds,
    Here,
    RoundBody,
    RoundReads,
)
from funcgrad._ops.rolling.rows import (
    HOLE,
    Gatherer,
    Key,
    pattern_of,
    with_operands,
)
from funcgrad._ops.rolling.table import Table

# How many rounds that look alike are tried as one.
_SEVERAL = (1, 2, 3, 4)
# Rows of which one is scattered more often than this are scattered in the order of the program.
_MOST_LAYERS = 8
# An operation on more operands than this that are rows of one array reads them at once.
_MANY = 3


class _Roller(Gatherer):
    """Rolls one program."""

    def __init__(self, graph: Graph, simplifies: bool, table: Table) -> None:
        super().__init__()
        self._simplifies = simplifies
        # The derivative of an index array would add the shares of rows in another order.
        self.gathers_rows = simplifies
        if not simplifies:
            # Fewer rows are read one by one, so that each stays one value, however often the program reads it.
            self.shortest_run = LEAST_ROUNDS
        self._graph = graph
        self._table = table
        # Row reads are not equations of the program here: each operand may be a row of an array. Windows are rows only
        # if the program is not differentiated later: their stack would add the shares of a place in another order.
        self._rows = RowReads(self._table, with_windows=simplifies)
        self._rest = [*compress(graph.equations, self._rows.others.tolist())]
        self._reads = Reads(self._table, self._rows)
        self.constants = list(graph.constants)
        self.loops = 0

    def run(self) -> Graph:
        """Return the program with loops; the given one if nothing repeats."""
        graph = self._graph
        rounds = RoundReads(self._rest, self._rows, self._reads)
        kinds = self._table.kinds(self._rows.others)
        found = [stretch for repeat in repeats(kinds) for stretch in self._stretches(rounds, repeat)]
        i = 0
        for stretch in found:
            for equation in self._rest[i : stretch.repeat.start]:
                self._straight(equation)
            self._loop(stretch)
            i = stretch.repeat.end
        for equation in self._rest[i:]:
            self._straight(equation)
        if not self.loops and not self.gathers:
            return graph
        outputs = [self.one(x, self._rows) for x in graph.outputs]
        rolled = trusted_graph(graph.inputs, self.constants, self.equations, outputs, graph.name, graph.trees)
        return drop_dead(rolled)

    def _stretches(self, rounds: RoundReads, repeat: Repeat) -> list[AlikeRounds]:
        """Return the parts of a repeated stretch whose rounds read alike, in order."""
        if repeat.rounds < LEAST_ROUNDS or repeat.rounds * repeat.period < LEAST_EQUATIONS:
            return []
        stretch = self._stretch(rounds, repeat)
        if stretch is None:
            half = repeat.rounds // 2
            cut = repeat.start + half * repeat.period
            first, last = repeat._replace(rounds=half), repeat._replace(start=cut, rounds=repeat.rounds - half)
            return [*self._stretches(rounds, first), *self._stretches(rounds, last)]
        before = (stretch.repeat.start - repeat.start) // repeat.period
        after = (repeat.end - stretch.repeat.end) // repeat.period
        first = repeat._replace(rounds=before)
        last = repeat._replace(start=stretch.repeat.end, rounds=after)
        return [*self._stretches(rounds, first), stretch, *self._stretches(rounds, last)]

    def _stretch(self, rounds: RoundReads, repeat: Repeat) -> AlikeRounds | None:
        """Return a part of a repeated stretch whose rounds read alike, the longest one that is tried."""
        best: AlikeRounds | None = None
        for several in (*_SEVERAL, None):
            # Rounds that look alike may read in turns, so several of them make one.
            count = several or self._reads.turns(repeat)
            found = rounds.of(Repeat(repeat.start, repeat.period * count, repeat.rounds // count))
            if found is None or not rounds.is_worth(found):
                continue
            length = found.repeat.end - found.repeat.start
            if best is None or length > best.repeat.end - best.repeat.start:
                best = found
            if 2 * length >= repeat.end - repeat.start:
                break
        return best

    def _straight(self, equation: Equation) -> None:
        """Keep an equation that is in no loop."""
        self.source = equation.source
        if len(equation.operands) > _MANY and equation.primitive is stack_p and self._of_rows(equation.operands):
            self._stack(equation)
        elif len(equation.operands) > _MANY and equation.primitive is scatter_p and self._of_rows(equation.operands):
            if not (self._scatter(equation) or self._scatter_windows(equation)):
                self._keep(equation)
        else:
            self._keep(equation)

    def _keep(self, equation: Equation) -> None:
        operands = tuple([self.one(x, self._rows) for x in equation.operands])
        self.equations.append(with_operands(equation, operands))

    def _of_rows(self, operands: Sequence[Operand]) -> bool:
        return sum(x in self._rows for x in operands) > len(operands) // 2

    def _stack(self, equation: Equation) -> None:
        (result,) = equation.results
        y = self.stacked(equation.operands, self._rows)
        axis = equation.params["axis"]
        order = (*range(1, axis + 1), 0, *range(axis + 1, result.aval.ndim))
        self.equations.append(Equation(transpose_p, (y,), {"permutation": order}, (result,), self.source))

    def _scatter(self, equation: Equation) -> bool:
        """Scatter many rows at once: each is added to zeros, at an integer.

        Several may be added at one integer. The first of each integer are scattered together, then the second ones, so
        that every sum keeps its order.
        """
        (result,) = equation.results
        layers = _layers_of(equation)
        if layers is None:
            return False
        if len(layers) > _MOST_LAYERS and self._scatter_windows(equation):
            return True
        operands: list[Operand] = []
        places: list[Index] = []
        for layer in layers:
            keys = sorted(layer)
            if keys == [(k,) for k in range(keys[0][0], keys[-1][0] + 1)]:
                operands.append(self.stacked([layer[key] for key in keys], self._rows))
                places.append(Index((slice(keys[0][0], keys[-1][0] + 1),)))
                continue
            # The keys of a layer differ, so their order changes no sum. Rows of one array come one after another.
            arrays_of: dict[Operand, int] = {}
            ranks: dict[Key, tuple[int, Key]] = {}
            for key in keys:
                row = self._rows.get(layer[key])
                rank = arrays_of.setdefault(layer[key] if row is None else row.base, len(arrays_of))
                ranks[key] = rank, () if row is None else row.key
            keys.sort(key=lambda key: ranks[key])
            arrays = self.index_arrays(np.array(keys, np.int64))
            operands += [self.stacked([layer[key] for key in keys], self._rows), *arrays]
            places.append(Index((SLOT,) * len(arrays), unique=True))
        self.gathers += 1
        if len(operands) == 1 and operands[0].aval == result.aval:
            # Every row is written: 0 is added to each, as a scatter does.
            zero = Literal(result.aval.dtype.type(0))
            self.equations.append(Equation(add_p, (operands[0], zero), {}, equation.results, equation.source))
            return True
        params = {**equation.params, "indices": tuple(places)}
        self.equations.append(Equation(scatter_p, tuple(operands), params, equation.results, equation.source))
        return True

    def _scatter_windows(self, equation: Equation) -> bool:
        """Scatter many windows and rows at once.

        The places of all rounds are one index array in the order of the operands, so that every sum keeps its order.
        """
        (result,), operands, indices = equation.results, equation.operands, equation.params["indices"]
        shape = result.aval.shape
        axes = max([axes_of(index, len(shape)) for index in indices])
        cells = [cells_of(index, shape, axes) for index in indices] if len(indices) == len(operands) else [None]
        known = [each for each in cells if each is not None]
        rest = shape[axes:]
        if not self.gathers_rows or len(known) < len(operands) or not axes:
            return False
        for x, each in zip(operands, known, strict=True):
            if x.aval.dtype != result.aval.dtype or x.aval.shape != (*each.lengths, *rest):
                return False
        size = sum(x.aval.size for x in operands)
        if size > LARGE * len(operands) or size * result.aval.dtype.itemsize > COPIED_BYTES:
            return False
        # Operands of one type may be rows of several stacks in turns.
        numbers: dict[Any, int] = {}
        rows = [self._rows.get(x) for x in operands]
        kinds = [(x.aval, None if row is None else row.base) for x, row in zip(operands, rows, strict=True)]
        found = repeats(np.array([numbers.setdefault(each, len(numbers)) for each in kinds]))
        if not found:
            return False
        pieces: list[Operand] = []
        into: list[Index] = []
        done = 0
        for repeat in [*found, Repeat(len(operands), 1, 0)]:
            pieces += [self.one(x, self._rows) for x in operands[done : repeat.start]]
            into += indices[done : repeat.start]
            done = repeat.end
            if repeat.rounds:
                count = sum(each.size for each in known[repeat.start : repeat.end])
                columns = []
                for j in range(repeat.start, repeat.start + repeat.period):
                    y = self.stacked(operands[j : repeat.end : repeat.period], self._rows)
                    columns.append(self.emit(reshape_p, y, shape=(repeat.rounds, known[j].size, *rest)))
                y = columns[0] if len(columns) == 1 else self.emit(concatenate_p, *columns, axis=1)
                at = np.concatenate([each.keys() for each in known[repeat.start : repeat.end]])
                pieces.append(self.emit(reshape_p, y, shape=(count, *rest)))
                pieces += [self.index_array(column) for column in np.ascontiguousarray(at.T)]
                into.append(Index((SLOT,) * axes))
        params = {**equation.params, "indices": tuple(into)}
        self.equations.append(Equation(scatter_p, tuple(pieces), params, equation.results, equation.source))
        self.gathers += 1
        return True

    def _loop(self, stretch: AlikeRounds) -> None:
        """Append a loop."""
        repeat = stretch.repeat
        self.source = self._rest[repeat.start].source
        self.loops += 1
        body = RoundBody(stretch, self._rest[repeat.start : repeat.start + repeat.period])
        # Results that something after the loop reads: the last ones of a carry, or rows of a stack.
        stacked: list[tuple[Here, Var]] = []
        last: dict[Var, Var] = {}
        for j in range(repeat.period):
            for k, local in enumerate(body.results[j]):
                equations = np.arange(repeat.start + j, repeat.end, repeat.period)
                needed = np.flatnonzero(self._reads.last(equations, k) >= repeat.end)
                if not len(needed):
                    continue
                carry = body.carries_of(Here(j, k))
                if all(repeat.rounds - r in carry for r in needed.tolist()):
                    last.update(
                        {carry[repeat.rounds - r]: self._rest[equations[r]].results[k] for r in needed.tolist()}
                    )
                    continue
                stack = Var(Aval((repeat.rounds, *local.aval.shape), local.aval.dtype))
                stacked.append((Here(j, k), stack))
                self._rows.add(stack, equations[needed], k, needed)
        graph = body.graph([here for here, _ in stacked], self._graph.name)
        graph = rolled(graph, simplifies=self._simplifies)
        graph = simplify(graph) if self._simplifies else graph
        operands = (
            *[self.one(x, self._rows) for x in body.constants],
            *[self._first(var, x) for var, x in body.carries],
            *[self._along_rounds(parts) for parts in body.rows],
        )
        loop = Loop(graph, len(body.constants), len(body.carries), repeat.rounds)
        results = [last.get(var) or Var(Aval(var.aval.shape, var.aval.dtype)) for var, _ in body.carries]
        results += [stack for _, stack in stacked]
        self.equations.append(Equation(scan_p, operands, {"loop": loop}, tuple(results), self.source))

    def _first(self, var: Var, x: Operand) -> Operand:
        """Return the first value of a carry."""
        x = self.one(x, self._rows)
        return Literal(var.aval.dtype.type(x.value)) if type(x) is Literal else x

    def _along_rounds(self, parts: Sequence[Operand]) -> Operand:
        """Return the array of which each round reads one row."""
        if all(type(x) is Literal for x in parts):
            dtype = parts[0].aval.dtype
            return self.constant(np.array([x.value for x in parts if type(x) is Literal], dtype))
        return self.stacked(parts, self._rows)


def _layers_of(equation: Equation) -> list[dict[Key, Operand]] | None:
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


def _stays(table: Table) -> np.ndarray:
    """Return a mask of the equations that forwarding leaves: all but reads and writes of rows, and sums of these.

    A loop has some of them, so nothing rolls if they do not repeat.
    """
    found = np.ones(len(table.equations), bool)
    found[table.of(index_p, scatter_set_p, scatter_p)] = False
    scattered = np.zeros(len(table.types), bool)
    scattered[table.of(scatter_p) * table.width] = True
    sums = table.of(add_p)
    starts = table.starts[sums]
    found[sums[scattered[table.operands[starts]] | scattered[table.operands[starts + 1]]]] = False
    return found


def has_repeats(kinds: np.ndarray) -> bool:
    """Return whether any equations repeat, be they few: equal runs that lie one round from the next.

    Args:
        kinds: a number for each equation, equal for equations of one kind.
    """
    for width, places, distances in again(kinds):
        ends = np.flatnonzero((np.diff(places, append=-1) != 1) | (np.diff(distances, append=-1) != 0))
        # Each of n equal runs in a row says that n + width - 1 equations are equal to those one round later.
        lengths = np.diff(ends, prepend=-1) + width - 1
        if (lengths >= (LEAST_ROUNDS - 1) * distances[ends]).any():
            return True
    return False


def rolled(graph: Graph, *, simplifies: bool = True, table: Table | None = None) -> Graph:
    """Return the same program with loops for what repeats; the given graph where nothing does.

    Args:
        graph: the program.
        simplifies: whether the bodies of loops are simplified. A program that is differentiated later is not: it would
            merge equal equations, and their cotangents would be added in another order.
        table: the program's table, if there is one.
    """
    if len(graph.equations) < LEAST_EQUATIONS:
        return graph
    with rare_collection():
        table = table or Table(graph.equations, graph.outputs)
        found = graph
        if len(table.of(scatter_set_p, scatter_p)):
            known = filled(graph, table)
            if known is not None:
                found, table = known
            elif not len(table.of(scan_p)) and not has_repeats(table.kinds(_stays(table))):
                return graph
            else:
                found = forwarded(graph)
                table = Table(found.equations, found.outputs)
        found = _Roller(found, simplifies, table).run()
    # Windows of arrays that are written take more equations where their rounds do not roll.
    is_shorter = len(found.equations) < len(graph.equations)
    return found if is_shorter and any(equation.primitive is scan_p for equation in found.equations) else graph
