"""Arrays that grow: ``ys = np.append(ys, y)`` and ``path = np.hstack((path, x))`` in each round of a loop.

The array has another shape in each round, so no loop could carry it. If only the next round reads it, to append to it,
its parts are joined once, after the loop. Reverse mode takes such an array apart in the same way: it cuts the last part
off, then the last part of the rest, and so on. A cut of a cut is a cut of the array here, so each round reads its own
part of the whole array. A read of what was appended last, ``ys[-1]``, reads that part.

All values are the same: arrays are joined and cut, and nothing is computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.repeats import LEAST_ROUNDS
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate_p, stack_p
from funcgrad._ops.index.plan import FULL, SLOT, Index, expand_ellipsis
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.layout.broadcast import broadcast_to_p
from funcgrad._ops.layout.shape import reshape_p
from funcgrad._ops.rolling.rows import Emitter, with_operands


class PartOfResult(NamedTuple):
    """A part of an array: the places from ``low`` on along one axis."""

    base: Operand
    axis: int
    low: int


class _Grower(Emitter):
    """One pass over a program."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph
        # The arrays that are joined from parts, by their equations.
        self._joins: dict[Operand, Equation] = {each.results[0]: each for each in graph.equations if _is_join(each)}
        # Joined arrays are pending until something reads them as a whole.
        self._pending: set[Operand] = set()
        self._cuts: dict[Operand, PartOfResult] = {}

    def run(self) -> Graph:
        """Return the program; the given one if no array grows in several rounds."""
        graph, joins = self._graph, self._joins
        if sum(any(x in joins for x in each.operands) for each in joins.values()) < LEAST_ROUNDS:
            return graph
        self._pending = set(joins) - self._read_as_a_whole()
        if not self._pending:
            return graph
        for equation in graph.equations:
            self.source = equation.source
            self._add(equation)
        found = trusted_graph(graph.inputs, graph.constants, self.equations, graph.outputs, graph.name, graph.trees)
        return drop_dead(found)

    def _read_as_a_whole(self) -> set[Operand]:
        """Return the joined arrays that something reads, other than by appending to them or by reading a new part."""
        found = {x for x in self._graph.outputs if x in self._joins}
        for equation in self._graph.equations:
            for k, x in enumerate(equation.operands):
                join = self._joins.get(x) if type(x) is Var else None
                if join is None or (k == 0 and self._part_read(equation, join) is not None):
                    continue
                if not (equation.results[0] in self._joins and join.params["axis"] == equation.params["axis"]):
                    found.add(x)
        return found

    def _part_read(self, equation: Equation, join: Equation) -> tuple[Operand, Index] | None:
        """Return what an equation reads if it reads at an integer in a part that was just appended."""
        if equation.primitive is not index_p or len(equation.operands) > 1:
            return None
        axis, shape = join.params["axis"], join.results[0].aval.shape
        entries = equation.params["index"].entries
        if None in entries or SLOT in entries:
            return None
        entries = expand_ellipsis(entries, len(shape))
        if type(entries[axis]) is not int:
            return None
        place = entries[axis] % shape[axis]
        for x in join.operands:
            if place < x.aval.shape[axis]:
                return None if x in self._joins else (x, Index((*entries[:axis], place, *entries[axis + 1 :])))
            place -= x.aval.shape[axis]
        return None

    def _add(self, equation: Equation) -> None:
        result, operands = equation.results[0], equation.operands
        if result in self._joins:
            if result not in self._pending:
                self._join(equation)
            return
        if equation.primitive is index_p:
            read = self._part_read(equation, self._joins[operands[0]]) if operands[0] in self._pending else None
            equation = self._cut(equation if read is None else _reading(equation, *read))
        self.equations.append(equation)

    def _cut(self, equation: Equation) -> Equation:
        """Note a cut of an array. A cut of a cut is returned as a cut of the array."""
        (result,), x = equation.results, equation.operands[0]
        found = _range_of(equation)
        if found is None:
            return equation
        axis, low, high = found
        base = self._cuts.get(x)
        if base is None or base.axis != axis:
            self._cuts[result] = PartOfResult(x, axis, low)
            return equation
        self._cuts[result] = PartOfResult(base.base, axis, base.low + low)
        entries = (*[FULL] * axis, slice(base.low + low, base.low + high))
        return _reading(equation, base.base, Index(entries))

    def _join(self, equation: Equation) -> None:
        """Append the equations that join all parts of an array."""
        (result,), axis = equation.results, equation.params["axis"]
        parts: list[Operand] = []
        rest = list(reversed(equation.operands))
        while rest:
            x = rest.pop()
            if x in self._pending and self._joins[x].params["axis"] == axis:
                rest += reversed(self._joins[x].operands)
            else:
                parts.append(x)
        if len(parts) == len(equation.operands):
            self.equations.append(equation)
            return
        pieces: list[Operand] = []
        for _, group in groupby(parts, key=lambda x: x.aval):
            pieces += self._piece([*group], axis)
        if math.prod(result.aval.shape[:axis]) > 1:
            self._write(equation, pieces, axis)
        elif len(pieces) > 1:
            self.equations.append(with_operands(equation, tuple(pieces)))
        else:
            params = {"shape": result.aval.shape}
            self.equations.append(Equation(reshape_p, (pieces[0],), params, (result,), equation.source))

    def _write(self, equation: Equation, pieces: Sequence[Operand], axis: int) -> None:
        """Write pieces into an array, so that its memory has the order of the axes, as that of joined arrays has.

        A stack of rounds has the axis of the rounds first, and NumPy would join it in this order.
        """
        (result,), low = equation.results, 0
        y: Operand = self.emit(broadcast_to_p, Literal(result.aval.dtype.type(0)), shape=result.aval.shape)
        for x in pieces:
            high = low + x.aval.shape[axis]
            y = self.emit(scatter_set_p, y, x, index=Index((*[FULL] * axis, slice(low, high))))
            low = high
        last = self.equations[-1]
        self.equations[-1] = Equation(scatter_set_p, last.operands, last.params, (result,), equation.source)

    def _piece(self, parts: Sequence[Operand], axis: int) -> list[Operand]:
        """Return parts of one type as one array, if these are many."""
        if len(parts) < LEAST_ROUNDS:
            return [*parts]
        shape = parts[0].aval.shape
        together = self.emit(stack_p, *parts, axis=axis)
        return [self.emit(reshape_p, together, shape=(*shape[:axis], len(parts) * shape[axis], *shape[axis + 1 :]))]


def _is_join(equation: Equation) -> bool:
    """Return whether an equation joins variables of one type of numbers."""
    if equation.primitive is not concatenate_p:
        return False
    dtype = equation.results[0].aval.dtype
    return all(type(x) is not Literal and x.aval.dtype == dtype for x in equation.operands)


def _reading(equation: Equation, x: Operand, index: Index) -> Equation:
    """Return an equation that reads the same result by another index."""
    return Equation(index_p, (x,), {"index": index}, equation.results, equation.source)


def _range_of(equation: Equation) -> tuple[int, int, int] | None:
    """Return the axis that an index cuts, and the first place and the end; ``None`` for other indices."""
    shape, entries = equation.operands[0].aval.shape, equation.params["index"].entries
    if None in entries or SLOT in entries or len(equation.operands) > 1:
        return None
    cuts = [(k, each) for k, each in enumerate(expand_ellipsis(entries, len(shape))) if each != FULL]
    axis, cut = cuts[0] if len(cuts) == 1 else (0, None)
    if not isinstance(cut, slice):
        return None
    low, high, step = cut.indices(shape[axis])
    return (axis, low, high) if step == 1 and low < high else None


def grown(graph: Graph) -> Graph:
    """Return the same program, in which arrays that grow round by round are joined once."""
    return _Grower(graph).run()


__all__ = ["grown"]
