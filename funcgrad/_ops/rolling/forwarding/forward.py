"""Forward what a program writes to the reads of it: after ``y[t] = v``, a read of ``y[t]`` becomes ``v``.

A program that fills an array row by row reads rows that it wrote. In a graph each write makes a new array, so a loop
would carry the whole array. After this pass it carries rows.

* An *update* writes a row (``scatter_set``) or adds to a row, as reverse mode does: ``a + zeros with v at t``.
* The updates of one array, one after another, are a *chain* (``chains.py``). The array between two updates is a
  *version* of it.
* A read of a row gets the row itself. A version is made as an array only if an equation reads it whole. The updates
  since the last version that was made are then one write.
* A moving window of such an array, ``y[t - 4 : t]``, is a stack of its rows, and a sum of a window adds to each row.

Every value is the same to the last bit. A sum of one row adds 0 to all other rows: x + 0 is 0.0 if x is -0.0. So this
pass adds the 0, too.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.layout.shape import reshape_p
from funcgrad._ops.rolling.forwarding.cells import (
    Cells,
    Filled,
    IndexOf,
    RowUpdate,
    WindowRow,
    WindowSum,
    cells_of,
    has_slice,
    moving_windows,
)
from funcgrad._ops.rolling.forwarding.chains import MOST_CELLS, Chain, ChainReader
from funcgrad._ops.rolling.forwarding.parts import with_whole_rows
from funcgrad._ops.rolling.patterns import FIRST_AXIS, FULL_SLICE, HOLE, Key, Pattern, entries_of, pattern_of
from funcgrad._ops.rolling.rows import Row, with_operands
from funcgrad._types import Value

# A version is made by one write for each update if there are at most this many; more updates are made at once.
_FEW = 2
# Several rows of an array of fewer elements are added as a whole array, such as the state of an equation of motion.
_SMALL = 9


class _Scattered(NamedTuple):
    """An equation that scatters rows or windows.

    Args:
        scatter: the equation.
        pattern: the pattern of all rows; ``None`` if they are no rows at one pattern of integers.
        rows: the rows at each key.
        moves: whether a part of it is a window that moves.
    """

    scatter: Equation
    pattern: Pattern | None
    rows: dict[Key, list[Operand]]
    moves: bool


class Forwarder(ChainReader):
    """One pass over a program. An equation is *pending* if the new program does not contain it, or not yet."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph
        self._versions: dict[Var, tuple[Chain, int]] = {}
        self._replaced: dict[Operand, Operand] = {}
        self._rows: dict[Var, _Scattered] = {}
        # The windows that move; found when the first window of an array that is written is read.
        self._moving: dict[IndexOf, Cells] | None = None
        # The results of equations that are not in the new program, or not yet.
        self._pending: set[Operand] = set()

    def run(self) -> Graph:
        """Return the program with reads forwarded."""
        graph, pending, equations = self._graph, self._pending, self.equations
        # A rule that is tried with an equation. It returns whether the equation is done. The table is no field: this
        # object would refer to itself, and the whole program would wait for a search for cycles.
        updates: dict[Primitive, Callable[..., bool]] = {
            scatter_set_p: self._set,
            scatter_p: self._is_row,
            add_p: self._summed,
            index_p: self._read,
        }
        for equation in graph.equations:
            # Most equations are neither updates nor reads of pending rows.
            update = updates.get(equation.primitive)
            if update is None and pending.isdisjoint(equation.operands):
                equations.append(equation)
            else:
                self.source = equation.source
                self._add(equation, update)
        outputs = [self._whole(x) for x in graph.outputs]
        constants = [*graph.constants, *self.constants]
        # Equations of the program that nothing reads any more stay until the rounds were compared: the last rounds,
        # whose results are not all read, are like the others. Only equations of this pass that nothing reads are
        # dropped.
        own = [x for equation in graph.equations for x in equation.results]
        found = drop_dead(trusted_graph(graph.inputs, constants, self.equations, [*outputs, *own]))
        return trusted_graph(graph.inputs, found.constants, found.equations, outputs, graph.name, graph.trees)

    def _now(self, x: Operand) -> Operand:
        return self._replaced.get(x, x) if type(x) is Var else x

    def _add(self, equation: Equation, update: Callable[..., bool] | None) -> None:
        if update is not None and update(equation, *map(self._now, equation.operands)):
            return
        if self._pending.isdisjoint(equation.operands):
            self.equations.append(equation)
        else:
            self.equations.append(with_operands(equation, tuple(map(self._whole, equation.operands))))

    def _whole(self, x: Operand) -> Operand:
        """Return an operand as an array that exists."""
        x = self._now(x)
        if type(x) is not Var:
            return x
        if x in self._rows:
            equation, *_ = self._rows.pop(x)
            self.equations.append(with_operands(equation, tuple(map(self._whole, equation.operands))))
            return x
        if x in self._versions:
            return self._made(x, *self._versions[x])
        return x

    def _chain(self, x: Operand, pattern: Pattern) -> Chain | None:
        """Return the chain that an update of ``x`` continues."""
        if type(x) is not Var:
            return None
        known = self._continued(x)
        return known if known is not None and known.pattern == pattern else Chain(self._whole(x), pattern)

    def _continued(self, x: Var) -> Chain | None:
        """Return the chain whose last version is ``x``."""
        chain, depth = self._versions.get(x, (None, 0))
        return chain if chain is not None and chain.depth == depth else None

    def _moved(self, index: Index, shape: Sequence[int]) -> Cells | None:
        """Return the rows of a window that moves, if rows of an array were written; else ``None``."""
        if not self._versions or not has_slice(index):
            return None
        if self._moving is None:
            self._moving = moving_windows(self._graph)
        return self._moving.get((id(index), tuple(shape)))

    def _cells(self, index: Index, shape: Sequence[int], axes: int) -> Cells | None:
        """Return the rows that an index names, each by ``axes`` integers. Those of moving windows are found once."""
        known = self._moved(index, shape) if axes == len(shape) else None
        return cells_of(index, shape, axes) if known is None else known

    def _set(self, equation: Equation, x: Operand, v: Operand, *arrays: Operand) -> bool:
        """Note a write of a row."""
        if arrays:
            return False
        found = pattern_of(equation.params["index"], x.aval.shape)
        (result,) = equation.results
        if found is None or result.aval.weak:
            return False
        pattern, key = found
        shape = _shape_of(x, pattern, key)
        value: Operand | Filled | None
        if type(v) is Literal and v.aval.shape == ():
            value = _as_dtype(v.value, x.aval.dtype)
            value = value if value is None or shape == () else Filled(value, shape)
        elif type(v) is Var and v.aval.shape == shape and v.aval.dtype == x.aval.dtype and not v.aval.weak:
            value = self._whole(v)
        else:
            return False
        chain = self._chain(x, pattern)
        if chain is None or value is None:
            return False
        self._versions[result] = chain, chain.add(key, value, adds=False)
        self._pending.add(result)
        return True

    def _is_row(self, equation: Equation, *operands: Operand) -> bool:
        """Return whether an equation scatters rows at one pattern of integers; note them by their integers.

        An addition of the result adds to these rows. Any other equation reads the result as an array, which is made
        then. The rows of windows are found when the result is added.
        """
        del operands
        (result,), indices = equation.results, equation.params["indices"]
        if len(indices) != len(equation.operands) or result.aval.dtype.kind not in "fiuc":
            return False
        moves = any(self._moved(index, result.aval.shape) is not None for index in indices)
        pattern, rows = self._rows_of(equation) or (None, {})
        if pattern is None and not moves:
            return False
        self._rows[result] = _Scattered(equation, pattern, rows, moves)
        self._pending.add(result)
        return True

    def _rows_of(self, scatter: Equation) -> tuple[Pattern, dict[Key, list[Operand]]] | None:
        """Return the pattern and the rows of a scatter at one pattern of integers; else ``None``."""
        (result,), indices = scatter.results, scatter.params["indices"]
        rows: dict[Key, list[Operand]] = {}
        patterns: set[Pattern] = set()
        for v, index in zip(scatter.operands, indices, strict=True):
            found = pattern_of(index, result.aval.shape)
            if found is None or v.aval.shape != _shape_of(result, *found) or v.aval.dtype != result.aval.dtype:
                return None
            patterns.add(found[0])
            rows.setdefault(found[1], []).append(v)
        if len(patterns) != 1 or (len(indices) > 1 and result.aval.size < _SMALL):
            return None
        return patterns.pop(), rows

    def _summed(self, equation: Equation, a: Operand, b: Operand) -> bool:
        """Note an addition of scattered rows to an array."""
        if not self._rows:
            return False
        (result,) = equation.results
        for x, row in ((a, b), (b, a)):
            if type(row) is not Var or row not in self._rows or type(x) is not Var or x in self._rows:
                continue
            if x.aval.shape != result.aval.shape or x.aval.dtype != result.aval.dtype:
                continue
            chain = self._chain_of_sum(x, self._rows[row], row is a)
            if chain is not None:
                self._versions[result] = chain, chain.depth
                self._pending.add(result)
                return True
        return False

    def _chain_of_sum(self, x: Var, scattered: _Scattered, row_first: bool) -> Chain | None:
        """Add what an equation scatters to the chain of ``x``, and return the chain; ``None`` if it has no chain.

        More rows than a few, and windows, are added only to an array that has a chain already.
        """
        known = self._continued(x)
        scatter, pattern, rows, moves = scattered
        # A column ``[:, t]`` is a window that moves, and a row of the pattern ``[:, i]`` as well.
        is_row = pattern is not None and all(each in (HOLE, FULL_SLICE) for each in pattern)
        if moves and not (is_row if known is None else known.pattern == pattern):
            pattern = None
        if pattern is None or len(rows) > _FEW:
            if known is None or len(rows) > MOST_CELLS or (pattern is not None and pattern != known.pattern):
                return None
            before = known.depth
            if pattern is None or pattern == FIRST_AXIS:
                found = self._window_added(known, scatter, row_first)
            else:
                found = True
                for key, parts in rows.items():
                    known.add(key, self._added(parts), row_first, adds=True)
            if found:
                known.sums_of_many[known.depth] = before, scatter, row_first
            return known if found else None
        chain = self._chain(x, pattern)
        if chain is not None:
            for key, parts in rows.items():
                chain.add(key, self._added(parts), row_first, adds=True)
        return chain

    def _window_added(self, chain: Chain, scatter: Equation, row_first: bool) -> bool:
        """Add a scattered window to a chain, as a sum of two small arrays; return whether this is possible.

        The arrays have all rows from the lowest to the highest one of the window. 0 is added to rows between them.
        """
        shape, operands, axes = scatter.params["shape"], tuple(map(self._whole, scatter.operands)), len(chain.pattern)
        (result,) = scatter.results
        found = [self._cells(index, shape, axes) for index in scatter.params["indices"]]
        cells = [each for each in found if each is not None]
        if set(chain.pattern) != {HOLE} or len(cells) < len(operands):
            return False
        for x, each in zip(operands, cells, strict=True):
            if x.aval.dtype != result.aval.dtype or x.aval.shape != (*each.lengths, *shape[axes:]):
                return False
        lows = [min(each) for each in zip(*[each.lows for each in cells], strict=True)]
        highs = [max(each) + 1 for each in zip(*[each.highs for each in cells], strict=True)]
        lengths = [high - low for low, high in zip(lows, highs, strict=True)]
        size, rest = math.prod(lengths), shape[axes:]
        box = tuple([slice(low, high) for low, high in zip(lows, highs, strict=True)])
        is_dense = sum(each.size for each in cells) >= size
        if size > MOST_CELLS and not (is_dense and chain.single_rows(box) <= MOST_CELLS):
            return False
        indices = tuple([each.moved(lows) for each in cells])
        if len(operands) == 1 and operands[0].aval.shape == (*lengths, *rest) and cells[0].is_upwards:
            rows = self.plus_zero(operands[0])
        else:
            rows = self.emit(scatter_p, *operands, shape=(*lengths, *rest), indices=indices)
        if axes > 1:
            rows = self.emit(reshape_p, rows, shape=(size, *rest))
        before = self.window_now(chain, box)
        chain.add_window(WindowSum(box, self.emit(add_p, *((rows, before) if row_first else (before, rows)))))
        return True

    def _added(self, parts: list[Operand]) -> Operand:
        """Return the sum that a scatter makes of several parts for one row: 0 plus each of them, in order."""
        value = self.plus_zero(self._whole(parts[0]))
        for part in parts[1:]:
            value = self.emit(add_p, value, self._whole(part))
        return value

    def _read(self, equation: Equation, x: Operand, *arrays: Operand) -> bool:
        """Replace a read of a row that was written."""
        if arrays or type(x) is not Var or x not in self._versions:
            return False
        chain, depth = self._versions[x]
        index, shape = equation.params["index"], x.aval.shape
        found = pattern_of(index, shape)
        (result,) = equation.results
        if found is not None and found[0] == chain.pattern:
            self._replaced[result] = self.element(chain, found[1], depth)
        elif set(chain.pattern) == {HOLE} and self._moved(index, shape) is not None:
            cells = self._cells(index, shape, len(chain.pattern))
            # Windows of rows along the first axis are slices of the window before.
            is_line = cells is None or (chain.pattern == FIRST_AXIS and cells.size <= MOST_CELLS)
            version = None if cells is None or is_line else chain.version_with(cells, depth)
            if version is not None:
                # No update concerns these rows.
                self.equations.append(with_operands(equation, (version,)))
                return True
            if cells is None or cells.size > MOST_CELLS:
                return False
            self._replaced[result] = self.window(chain, cells, depth)
        else:
            return False
        chain.is_read = True
        self._pending.add(result)
        return True

    def _made(self, x: Var, chain: Chain, depth: int) -> Operand:
        """Return a version of an array. It is made from the last version that exists."""
        if depth in chain.made:
            return chain.made[depth]
        before = chain.made_before(depth)
        if not chain.is_read:
            # The sums of many rows are made as the program makes them.
            sums = [*takewhile(lambda end: end > before, reversed(chain.sums_of_many))]
            for end in [each for each in reversed(sums) if each <= depth]:
                start, scatter, row_first = chain.sums_of_many[end]
                y, row = self._made(x, chain, start), self._whole(scatter.results[0])
                chain.note(end, self.emit(add_p, *((row, y) if row_first else (y, row))))
                before = end
            if depth in chain.made:
                return chain.made[depth]
        y = chain.made[before]
        if depth - before <= _FEW and not chain.has_windows(before, depth):
            for key, event in chain.events_between(before, depth):
                y = self._updated(y, event, Index(entries_of(chain.pattern, key)))
        else:
            y = self._at_once(chain, y, chain.changed_rows(before, depth), before, depth)
        chain.note(depth, y)
        return y

    def _updated(self, y: Operand, event: RowUpdate, index: Index) -> Operand:
        """Make one update."""
        value = event.value.number if isinstance(event.value, Filled) else event.value
        assert not isinstance(value, WindowRow)
        if not event.adds:
            return self.emit(scatter_set_p, y, value, index=index)
        row = self.emit(scatter_p, value, shape=y.aval.shape, indices=(index,))
        return self.emit(add_p, *((row, y) if event.row_first else (y, row)))

    def _at_once(self, chain: Chain, y: Operand, keys: list[Key], before: int, depth: int) -> Operand:
        """Write all rows that changed between two depths."""
        values = [self.element(chain, key, depth) for key in keys]
        if bisect_right(chain.sums, depth) > bisect_right(chain.sums, before):
            y = self.plus_zero(y)
        return self.written(y, chain.pattern, keys, values)


def _shape_of(x: Operand, pattern: Pattern, key: Key) -> tuple[int, ...]:
    if pattern == FIRST_AXIS:
        return x.aval.shape[1:]
    return index_p.aval(x.aval, index=Index(entries_of(pattern, key))).shape


def _as_dtype(value: Value, dtype: np.dtype) -> Literal | None:
    try:
        found = np.asarray(value).astype(dtype, casting="same_kind" if not isinstance(value, int) else "unsafe")[()]
    except TypeError:
        return None
    return Literal(found)


def forwarded(graph: Graph) -> Graph:
    """Return the same program, in which reads of rows that were written get the rows themselves."""
    return Forwarder(with_whole_rows(graph)).run()


__all__ = ["Row", "forwarded"]
