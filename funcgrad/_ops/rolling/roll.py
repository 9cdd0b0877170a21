"""``Graph.roll()``: the same program with structured loops for stretches that repeat.

`README.md` lists the steps and their files. This file runs them and writes a `scan` for each stretch. A result of a
round that is read after the loop is a row of a stack that the `scan` returns.

A stretch becomes a loop only if all its rounds read alike. The other equations stay as they are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.collection import rare_collection
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.repeats import LEAST_EQUATIONS, LEAST_ROUNDS, Repeat, has_repeats, repeats
from funcgrad._core.graph.simplify import drop_dead, simplify
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.join import concatenate_p, stack_p
from funcgrad._ops.index.plan import SLOT, Index, flat_places
from funcgrad._ops.index.scatter import scatter_add_p, scatter_set_p
from funcgrad._ops.layout.shape import reshape_p, transpose_p
from funcgrad._ops.program.scan import Loop, scan_p
from funcgrad._ops.rolling.forwarding.cells import cells_of_scatter, layers_of
from funcgrad._ops.rolling.forwarding.filled import filled
from funcgrad._ops.rolling.forwarding.forward import forwarded
from funcgrad._ops.rolling.grown import grown
from funcgrad._ops.rolling.joined import JoinedLoop
from funcgrad._ops.rolling.labels import labelled, unlabelled
from funcgrad._ops.rolling.patterns import Key
from funcgrad._ops.rolling.reads import Reads, RowReads
from funcgrad._ops.rolling.rounds import (
    LEAST_WITH_COPIES,
    AlikeRounds,
    Here,
    RoundBody,
    RoundReads,
)
from funcgrad._ops.rolling.rows import Gatherer, with_operands
from funcgrad._ops.rolling.summed import summed
from funcgrad._ops.rolling.table import Table

# Rounds whose equations are of the same kinds may read in turns, as odd and even rounds. So these numbers of rounds are
# tried as one round of the loop.
_SEVERAL = (1, 2, 3, 4)
# If more parts than this are scattered to one row, all parts are scattered at one index array. So are parts of fewer
# layers that are not at all integers of a range.
_MOST_LAYERS = 8
# Rounds that are in no loop are searched for inner loops if they have at least this many equations.
_LEAST_PEELED = 64
# A stack or a scatter of more operands than this reads the rows among them at once.
_MANY = 3


class _Roller(Gatherer):
    """Rolls one program."""

    def __init__(self, graph: Graph, table: Table, copies: bool = True) -> None:
        super().__init__()
        self._copies = copies
        self._graph = graph
        self._table = table
        # Row reads are not equations here: an operand may be a row of an array.
        self._rows = RowReads(self._table)
        self._rest = [*compress(graph.equations, self._rows.others.tolist())]
        self._reads = Reads(self._table, self._rows)
        self.constants = list(graph.constants)
        self.loops = 0

    @functools.cached_property
    def _kinds(self) -> np.ndarray:
        return self._table.kinds(self._rows.others)

    def run(self) -> Graph | None:
        """Return the program with loops, and with reads and writes of many rows at once; ``None`` if it has none."""
        rounds = RoundReads(self._rest, self._rows, self._reads, () if self._copies else self._graph.inputs)
        found = [stretch for repeat in repeats(self._kinds) for stretch in self._stretches(rounds, repeat)]
        i = 0
        for stretch in found:
            for equation in self._rest[i : stretch.repeat.start]:
                self._straight(equation)
            self._loop(stretch)
            i = stretch.repeat.end
        for equation in self._rest[i:]:
            self._straight(equation)
        return self._program() if self.loops or self.gathers else None

    def straight(self) -> Graph:
        """Return the program without new loops; rows of one array are read at once."""
        for equation in self._rest:
            self._straight(equation)
        return self._program()

    def _program(self) -> Graph:
        graph = self._graph
        outputs = [self.one(x, self._rows) for x in graph.outputs]
        rolled = trusted_graph(graph.inputs, self.constants, self.equations, outputs, graph.name, graph.trees)
        return drop_dead(rolled)

    def _stretches(self, rounds: RoundReads, repeat: Repeat) -> list[AlikeRounds]:
        """Return the parts of a repeated stretch whose rounds read alike, in order."""
        if repeat.rounds < LEAST_ROUNDS or repeat.rounds * repeat.period < LEAST_EQUATIONS:
            return self._inner(rounds, repeat)
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

    def _inner(self, rounds: RoundReads, repeat: Repeat) -> list[AlikeRounds]:
        """Return the loops inside of rounds that are too few for a loop, or that do not read alike."""
        if repeat.end - repeat.start < _LEAST_PEELED:
            return []
        found = repeats(self._kinds[repeat.start : repeat.end])
        inner = [each._replace(start=repeat.start + each.start) for each in found]
        return [stretch for each in inner for stretch in self._stretches(rounds, each)]

    def _stretch(self, rounds: RoundReads, repeat: Repeat) -> AlikeRounds | None:
        """Return a part of a repeated stretch whose rounds read alike, the longest one that is tried."""
        best: AlikeRounds | None = None
        for several in (*_SEVERAL, None):
            # `None` stands for the number of rounds after which the reads repeat.
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
        """Replace a scatter of many rows, each at integers, by a scatter of few stacks.

        Several operands may be added to one row. A *layer* has one operand for each row: the first layer has the first
        ones, the second layer the second ones. Layers are scattered one after another, so every sum keeps its order.
        """
        (result,) = equation.results
        layers = layers_of(equation)
        if layers is None:
            return False
        lines = [_is_line(layer) for layer in layers]
        if len(layers) > (_MOST_LAYERS if all(lines) else 1) and self._scatter_windows(equation):
            return True
        operands: list[Operand] = []
        places: list[Index] = []
        for layer, is_line in zip(layers, lines, strict=True):
            keys = sorted(layer)
            if is_line:
                operands.append(self.stacked([layer[key] for key in keys], self._rows))
                places.append(Index((slice(keys[0][0], keys[-1][0] + 1),)))
                continue
            # The keys of a layer differ, so their order changes no sum. They are sorted by the arrays that the operands
            # are rows of, so that each array is read at once.
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
            # One operand covers all rows. A scatter adds it to zeros.
            zero = Literal(result.aval.dtype.type(0))
            self.equations.append(Equation(add_p, (operands[0], zero), {}, equation.results, equation.source))
            return True
        params = {**equation.params, "indices": tuple(places)}
        self.equations.append(Equation(scatter_p, tuple(operands), params, equation.results, equation.source))
        return True

    def _scatter_windows(self, equation: Equation) -> bool:
        """Replace a scatter of many windows and rows by a scatter of few arrays.

        The cells of all rounds are one index array in the order of the operands, so that every sum keeps its order.
        """
        (result,), operands = equation.results, equation.operands
        shape = result.aval.shape
        known = cells_of_scatter(equation)
        if known is None:
            return False
        axes = len(known[0].places)
        rest = shape[axes:]
        # The operands may be rows of several stacks in turns. `repeats` finds the turns.
        numbers: dict[Any, int] = {}
        rows = [self._rows.get(x) for x in operands]
        kinds = [(x.aval, None if row is None else row.base) for x, row in zip(operands, rows, strict=True)]
        found = repeats(np.array([numbers.setdefault(each, len(numbers)) for each in kinds]))
        if not found:
            return False
        pieces: list[Operand] = []
        done = 0
        for repeat in [*found, Repeat(len(operands), 1, 0)]:
            for x, each in zip(operands[done : repeat.start], known[done : repeat.start], strict=True):
                y = self.reshaped(self.one(x, self._rows), (each.size, *rest))
                pieces += [y, self.index_array(flat_places([*each.keys().T], shape[:axes]))]
            done = repeat.end
            if repeat.rounds:
                columns = []
                j, last = repeat.start, repeat.start + repeat.period
                while j < last:
                    # Rows of one array that lie next to each other in a round are read together.
                    width = next((k for k in range(1, last - j) if kinds[j + k] != kinds[j]), last - j)
                    parts = [operands[i + k] for i in range(j, repeat.end, repeat.period) for k in range(width)]
                    y = self.stacked(parts, self._rows)
                    cells = sum(each.size for each in known[j : j + width])
                    columns.append(self.reshaped(y, (repeat.rounds, cells, *rest)))
                    j += width
                y = columns[0] if len(columns) == 1 else self.emit(concatenate_p, *columns, axis=1)
                at = np.concatenate([each.keys() for each in known[repeat.start : repeat.end]])
                pieces.append(self.reshaped(y, (len(at), *rest)))
                pieces.append(self.index_array(flat_places([*at.T], shape[:axes])))
        # NumPy adds at one index array in a tenth of the time of several.
        flat = (math.prod(shape[:axes]), *rest)
        params = {"shape": flat, "indices": (Index((SLOT,)),) * (len(pieces) // 2)}
        y = result if flat == shape else Var(Aval(flat, result.aval.dtype))
        self.equations.append(Equation(scatter_p, tuple(pieces), params, (y,), self.source))
        if y is not result:
            self.equations.append(Equation(reshape_p, (y,), {"shape": shape}, (result,), self.source))
        self.gathers += 1
        return True

    def _loop(self, stretch: AlikeRounds) -> None:
        """Append a loop."""
        repeat = stretch.repeat
        self.source = self._rest[repeat.start].source
        self.loops += 1
        body = RoundBody(stretch, self._rest[repeat.start : repeat.start + repeat.period])
        last, stacks = self._results(body, repeat)
        graph = body.graph([here for here, *_ in stacks.values()], self._graph.name)
        graph = rolled(graph, copies=True)
        parts = JoinedLoop(graph, body, [*stacks], self._rows, self._firsts)
        joined = parts.joined()
        graph = simplify(
            graph if joined is graph else _Roller(joined, Table(joined.equations, joined.outputs)).straight()
        )
        operands = (
            *[self.one(x, self._rows) for x in parts.constants],
            *[self._first(var, x) for var, x in parts.carries],
            *[self._along_rounds(each) for each in parts.rows],
        )
        ends = {var: self._rest[i].results[k] for var, (i, k) in last.items()}
        results = {var: ends.get(var) or Var(Aval(var.aval.shape, var.aval.dtype)) for var, _ in parts.carries}
        for var, (i, k) in last.items():
            if var in parts.carried:
                array, place = parts.carried[var]
                self._rows.add(results[array], np.array([i]), k, np.array([place]))
        for var, (here, equations, read) in stacks.items():
            stack, key = parts.stacked.get(var, (var, ()))
            self._rows.add(stack, equations[read], here.number, read, key)
        loop = Loop(graph, len(parts.constants), len(parts.carries), repeat.rounds)
        found = (*results.values(), *parts.stacks)
        self.equations.append(Equation(scan_p, operands, {"loop": loop}, found, self.source))

    def _results(
        self, body: RoundBody, repeat: Repeat
    ) -> tuple[dict[Var, tuple[int, int]], dict[Var, tuple[Here, np.ndarray, np.ndarray]]]:
        """Return the results of a loop that are read after it: last values of carries if possible, else rows of stacks.

        Each carry has the equation of its last value and the number of the result. Each stack has the result of a
        round, its equations in all rounds, and the rounds whose results are read.
        """
        last: dict[Var, tuple[int, int]] = {}
        stacks: dict[Var, tuple[Here, np.ndarray, np.ndarray]] = {}
        for j in range(repeat.period):
            for k, local in enumerate(body.results[j]):
                equations = np.arange(repeat.start + j, repeat.end, repeat.period)
                needed = np.flatnonzero(self._reads.last(equations, k) >= repeat.end)
                if not len(needed):
                    continue
                carry = body.carries_of(Here(j, k))
                if all(repeat.rounds - r in carry for r in needed.tolist()):
                    last.update({carry[repeat.rounds - r]: (int(equations[r]), k) for r in needed.tolist()})
                    continue
                stack = Var(Aval((repeat.rounds, *local.aval.shape), local.aval.dtype))
                stacks[stack] = Here(j, k), equations, needed
        return last, stacks

    def _first(self, var: Var, x: Operand) -> Operand:
        """Return the first value of a carry."""
        x = self.one(x, self._rows)
        return Literal(var.aval.dtype.type(x.value)) if type(x) is Literal else x

    def _firsts(self, carries: Sequence[tuple[Var, Operand]]) -> Operand:
        """Return the first values of carries as one array."""
        return self._along_rounds([self._first(var, x) if type(x) is Literal else x for var, x in carries])

    def _along_rounds(self, parts: Sequence[Operand]) -> Operand:
        """Return the array of which each round reads one row."""
        if all(type(x) is Literal for x in parts):
            dtype = parts[0].aval.dtype
            return self.constant(np.array([x.value for x in parts if type(x) is Literal], dtype))
        return self.stacked(parts, self._rows)


def _is_line(layer: dict[Key, Operand]) -> bool:
    """Return whether the keys of a layer are integers one after another."""
    keys = sorted(layer)
    return keys == [(k,) for k in range(keys[0][0], keys[-1][0] + 1)]


def _stays(table: Table) -> np.ndarray:
    """Return a mask of the equations that forwarding cannot remove: all but reads and updates of arrays.

    Each loop contains such equations. So nothing can be rolled if these do not repeat.
    """
    found = np.ones(len(table.equations), bool)
    found[table.of(index_p, scatter_set_p, scatter_p)] = False
    scattered = np.zeros(len(table.types), bool)
    scattered[table.of(scatter_p) * table.width] = True
    sums = table.of(add_p)
    starts = table.starts[sums]
    found[sums[scattered[table.operands[starts]] | scattered[table.operands[starts + 1]]]] = False
    return found


def rolled(graph: Graph, *, table: Table | None = None, copies: bool | None = None, growth: int = 1) -> Graph:
    """Return the same program with loops for stretches that repeat; the given graph if there is none.

    Args:
        graph: the program.
        table: the program's table, if there is one.
        copies: whether loops may copy inputs; ``None`` if the length of the program decides it.
        growth: how many times as long the program will be when it is differentiated.
    """
    if len(graph.equations) < LEAST_EQUATIONS:
        return graph
    if copies is None:
        copies = growth * _unrolled_length(graph) >= LEAST_WITH_COPIES
    with rare_collection():
        table = table or Table(graph.equations, graph.outputs)
        found = grown(graph) if len(table.of(concatenate_p)) else graph
        if found is graph and len(table.of(scatter_set_p, scatter_add_p)):
            found = summed(graph, table)
        if found is not graph:
            short = rolled(found, copies=copies)
            return graph if short is found else short
        if len(table.of(scatter_set_p, scatter_p)):
            known = filled(graph, table)
            if known is not None:
                found, table = known
            elif not (
                # An equation of many operands may read them at once.
                int(np.diff(table.starts).max()) >= LEAST_EQUATIONS
                or len(table.of(scan_p))
                or has_repeats(table.kinds(_stays(table)))
            ):
                return graph
            else:
                found = forwarded(graph)
                table = table if found is graph else Table(found.equations, found.outputs)
        short = _Roller(found, table, copies).run()
    # Forwarding windows adds equations. If their rounds are not rolled, the given program is shorter.
    short = graph if short is None or len(short.equations) >= len(graph.equations) else short
    return _with_labels(graph, short, copies) if 2 * len(short.equations) > len(graph.equations) else short


def _unrolled_length(graph: Graph) -> int:
    """Return the number of equations, where each round of a loop counts."""
    loops = [equation.params["loop"] for equation in graph.equations if equation.primitive is scan_p]
    return len(graph.equations) + sum(loop.length * len(loop.body.equations) for loop in loops)


def _with_labels(graph: Graph, short: Graph, copies: bool) -> Graph:
    """Return a program that did not roll with places that differ by round as operands, if this is much shorter."""
    labels = labelled(graph)
    found = short if labels is None else rolled(labels, copies=copies)
    return unlabelled(found) if found is not labels and 2 * len(found.equations) < len(short.equations) else short
