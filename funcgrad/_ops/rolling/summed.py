"""Arrays to which many parts are added: ``K[i, j] += k`` for each entry of each element of a mesh.

Each update reads a part of an array, adds to it and writes it. A part that was added to before is another value than
one that was not, so rounds at the places of a table do not read alike. If nothing else reads the array between two
updates, their sums are one scatter after the last of them. The rounds only compute what is added, and read alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, trusted_graph
from funcgrad._core.graph.repeats import LEAST_EQUATIONS
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._ops.elementwise.arithmetic import add_p, neg_p, sub_p
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.index.scatter import scatter_add_p, scatter_set_p
from funcgrad._ops.layout.broadcast import broadcast_to_p
from funcgrad._ops.rolling.rounds import COPIED_BYTES, LARGE
from funcgrad._ops.rolling.rows import Emitter
from funcgrad._ops.rolling.table import Table


class _Part(NamedTuple):
    """What an update adds to an array, and where.

    Args:
        value: the value.
        is_negative: whether the update subtracts it.
        place: the index of the part.
        arrays: its index arrays.
        shape: the shape of the part.
    """

    value: Operand
    is_negative: bool
    place: Index
    arrays: tuple[Operand, ...]
    shape: tuple[int, ...]


class _Run(NamedTuple):
    """Updates that only add to an array, one after another.

    Args:
        last: the number of the last update.
        array: the array before the first one.
        parts: what they add.
    """

    last: int
    array: Operand
    parts: list[_Part]

    @property
    def is_worth(self) -> bool:
        """Whether there are many parts, and few bytes to keep until the end."""
        sizes = [x.value.aval.size for x in self.parts]
        size = sum(sizes)
        is_small = size <= LARGE * len(sizes) and size * self.array.aval.dtype.itemsize <= COPIED_BYTES
        return len(sizes) >= LEAST_EQUATIONS and is_small


class _Summer(Emitter):
    """One pass over a program."""

    def __init__(self, graph: Graph, table: Table) -> None:
        super().__init__()
        self._graph = graph
        # A read that nothing reads is no reader of the array.
        self._table = table.kept(table.live())
        self._uses = self._table.uses()

    def run(self) -> Graph:
        """Return the program; the given one if it has no long run of sums."""
        graph, table = self._graph, self._table
        runs = self._runs()
        if not runs:
            return graph
        done = 0
        for run in runs:
            self.equations += table.equations[done : run.last]
            self._add(table.equations[run.last], run)
            done = run.last + 1
        self.equations += table.equations[done:]
        return drop_dead(
            trusted_graph(graph.inputs, graph.constants, self.equations, graph.outputs, graph.name, graph.trees)
        )

    def _runs(self) -> list[_Run]:
        table, uses = self._table, self._uses
        # The runs by the number of their last result.
        found: dict[int, _Run] = {}
        for i in _that_may_add(table).tolist():
            parts = self._added(i)
            if parts is not None:
                # The read of a part and its update are the only ones that read the array between two updates.
                x, readers = table.operands[table.starts[i]], 1 if table.equations[i].primitive is scatter_add_p else 2
                before = found.pop(int(x), None) if uses[x] == readers else None
                if before is not None:
                    before.parts.extend(parts)
                array, parts = (table.value(int(x)), parts) if before is None else before[1:]
                found[i * table.width] = _Run(i, array, parts)
        return sorted([run for run in found.values() if run.is_worth], key=lambda run: run.last)

    def _added(self, i: int) -> list[_Part] | None:
        """Return what an update adds; ``None`` if it does not only add.

        ``K[1:3] += k`` writes the sum, and then writes the part that it has just written. This adds nothing.
        """
        update = self._table.equations[i]
        (x, value, *arrays), index = update.operands, update.params["index"]
        shape = index_p.aval(x.aval, *[each.aval for each in arrays], index=index).shape
        found: list[tuple[Operand, bool]] | None = None
        if update.primitive is scatter_add_p:
            found = [(value, False)]
        elif not arrays and value.aval.shape == shape:
            found = self._summands(i)
        if found is None or x.aval.dtype.kind not in "fic" or not all(_is_of(x, v) for v, _ in found):
            return None
        return [_Part(v, is_negative, index, tuple(arrays), shape) for v, is_negative in found]

    def _summands(self, i: int) -> list[tuple[Operand, bool]] | None:
        """Return what is added to the part that an update writes, and whether it is subtracted; ``None`` for no sum."""
        table = self._table
        found: list[tuple[Operand, bool]] = []
        number = int(table.operands[table.starts[i] + 1])
        while not self._is_part(number, i):
            equation = self._single(number)
            if equation is None or equation.primitive not in (add_p, sub_p):
                return None
            start, is_negative = int(table.starts[number // table.width]), equation.primitive is sub_p
            number, other = table.operands[start : start + 2].tolist()
            a, b = equation.operands
            if not is_negative and self._is_part(other, i):
                number, b = other, a
            found.append((b, is_negative))
        return found[::-1]

    def _single(self, number: int) -> Equation | None:
        """Return the equation that makes a value if the program reads the value once."""
        table = self._table
        return table.equations[number // table.width] if number < table.size and self._uses[number] == 1 else None

    def _is_part(self, number: int, i: int) -> bool:
        """Return whether a value is the part of the array that an update writes."""
        table, equation = self._table, self._single(number)
        if equation is None or equation.primitive is not index_p:
            return False
        array = table.operands[table.starts[number // table.width]]
        return array == table.operands[table.starts[i]] and equation.params == table.equations[i].params

    def _add(self, update: Equation, run: _Run) -> None:
        """Append the sum of an array and a scatter of all parts."""
        self.source = update.source
        array = run.array
        operands: list[Operand] = []
        for value, is_negative, _, arrays, shape in run.parts:
            x = Literal(array.aval.dtype.type(value.value)) if type(value) is Literal else value
            x = self.emit(neg_p, x) if is_negative else x
            operands += [x if x.aval.shape == shape else self.emit(broadcast_to_p, x, shape=shape), *arrays]
        indices = tuple([part.place for part in run.parts])
        sums = self.emit(scatter_p, *operands, shape=array.aval.shape, indices=indices)
        self.equations.append(Equation(add_p, (array, sums), {}, update.results, update.source))


def _that_may_add(table: Table) -> np.ndarray:
    """Return the updates that are sums, or write the part of an array that the program reads last."""
    updates = table.of(scatter_set_p, scatter_add_p)
    read = np.full(len(table.types), len(table.parts) + len(updates))
    read[table.reads.bases] = table.reads.numbers
    is_sum = np.array([each is scatter_add_p for each in table.primitives], bool)[table.primitive[updates]]
    return updates[is_sum | (read[table.operands[table.starts[updates]]] == table.parts_of(updates))]


def _is_of(x: Operand, value: Operand) -> bool:
    """Return whether a value that is added to an array has its type."""
    if type(value) is Literal and value.aval.weak:
        return value.aval.shape == () and np.result_type(x.aval.dtype, value.value) == x.aval.dtype
    return not value.aval.weak and value.aval.dtype == x.aval.dtype


def summed(graph: Graph, table: Table) -> Graph:
    """Return the same program, in which many sums of parts of one array are one scatter.

    Args:
        graph: the program.
        table: its table.
    """
    return _Summer(graph, table).run() if len(_that_may_add(table)) >= LEAST_EQUATIONS else graph


__all__ = ["summed"]
