"""Reads of what was just written: ``y[t] = v`` and then ``y[t]`` is v. Chains of writes become one write.

A program that fills an array row by row reads rows that it wrote. In a graph each write makes a new array, so a loop
would carry the whole array. This pass follows each element of a chain of updates: writes of rows (``scatter_set``), and
the sums of rows that reverse mode makes (``a + zeros with v at t``). Reads get the value itself. Updates that nothing
else reads are done at once, where the whole array is read. A moving window of such an array, ``y[t - 4 : t]``, is a
stack of its rows, and a sum of a window adds to each row.

Every value is the same to the last bit. An element that a sum of another row leaves alone is x + 0, which differs from
x where x is -0.0, so the 0 is added.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import product, takewhile

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.join import stack_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.rolling.cells import (
    Cells,
    Filled,
    IndexOf,
    RowUpdate,
    WindowRow,
    WindowSum,
    cells_of,
    even_slice,
    has_slice,
    moving_windows,
)
from funcgrad._ops.rolling.chains import MOST_CELLS, Chain, ChainReader
from funcgrad._ops.rolling.rows import (
    FIRST_AXIS,
    HOLE,
    Key,
    Pattern,
    Row,
    entries_of,
    pattern_of,
    reshape_p,
    with_operands,
)
from funcgrad._types import Value

# Up to this many pending updates are made one by one; more are made at once.
_FEW = 2
# Several rows of an array of fewer elements are added as a whole array, such as the state of an equation of motion.
_SMALL = 9


class Forwarder(ChainReader):
    """One pass over a program."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph
        self._versions: dict[Var, tuple[Chain, int]] = {}
        self._replaced: dict[Operand, Operand] = {}
        self._rows: dict[Var, tuple[Equation, Pattern | None, dict[Key, list[Operand]]]] = {}
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
        found = trusted_graph(graph.inputs, graph.constants, self.equations, outputs, graph.name, graph.trees)
        return drop_dead(found)

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
        """Return the rows of a window with many places, if rows of an array were written; else ``None``."""
        if not self._versions or not has_slice(index):
            return None
        if self._moving is None:
            self._moving = moving_windows(self._graph)
        return self._moving.get((id(index), tuple(shape)))

    def _cells(self, index: Index, shape: Sequence[int], axes: int) -> Cells | None:
        """Return the rows at ``axes`` integers that an index names; those of a window that moves are known."""
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

        It is read as a sum of rows, or else made where it is needed. The rows of windows are found when it is read.
        """
        del operands
        (result,) = equation.results
        indices = equation.params["indices"]
        if len(indices) != len(equation.operands) or result.aval.dtype.kind not in "fiuc":
            return False
        rows: dict[Key, list[Operand]] = {}
        patterns: set[Pattern] = set()
        if any(self._moved(index, result.aval.shape) is not None for index in indices):
            self._rows[result] = equation, None, rows
            self._pending.add(result)
            return True
        for v, index in zip(equation.operands, indices, strict=True):
            found = pattern_of(index, result.aval.shape)
            if found is None or v.aval.shape != _shape_of(result, *found) or v.aval.dtype != result.aval.dtype:
                return False
            patterns.add(found[0])
            rows.setdefault(found[1], []).append(v)
        if len(patterns) != 1 or (len(indices) > 1 and result.aval.size < _SMALL):
            return False
        self._rows[result] = equation, patterns.pop(), rows
        self._pending.add(result)
        return True

    def _summed(self, equation: Equation, a: Operand, b: Operand) -> bool:
        """Note a sum of an array and rows."""
        if not self._rows:
            return False
        (result,) = equation.results
        for x, row in ((a, b), (b, a)):
            if type(row) is not Var or row not in self._rows or type(x) is not Var or x in self._rows:
                continue
            if x.aval.shape != result.aval.shape or x.aval.dtype != result.aval.dtype:
                continue
            chain = self._chain_of_sum(x, *self._rows[row], row is a)
            if chain is not None:
                self._versions[result] = chain, chain.depth
                self._pending.add(result)
                return True
        return False

    def _chain_of_sum(
        self, x: Var, scatter: Equation, pattern: Pattern | None, rows: dict[Key, list[Operand]], row_first: bool
    ) -> Chain | None:
        """Add what an equation scatters to the chain of ``x``, and return the chain; ``None`` if nothing is followed.

        More rows than a few, and windows, are followed only in an array of which rows were written or added to before.
        """
        known = self._continued(x)
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
        """Add what an equation scatters to a chain, as a sum of small arrays; return whether it is so.

        The sum contains all places between the first and the last one. 0 is added to those that nothing is added to.
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
        """Return what a scatter of several rows at one place gives: they are added to zeros, in order."""
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
            # The array is made as the program makes it.
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

    def written(self, y: Operand, pattern: Pattern, keys: list[Key], values: list[Operand]) -> Operand:
        """Return an array with rows written at once where the integers are the first entries; else one by one.

        Each key occurs once here, so their order does not matter.
        """
        holes = pattern.count(HOLE)
        is_first = set(pattern[:holes]) == {HOLE} and None not in pattern
        # The places along each axis; rows are written at once if they are all those of a grid.
        axes = [sorted(set(column)) for column in zip(*keys, strict=True)]
        grid = [even_slice(places) for places in axes]
        cuts = [each for each in grid if each is not None]
        if len(keys) > 1 and is_first and len(cuts) == holes and math.prod(map(len, axes)) == len(keys):
            value_of = dict(zip(keys, values, strict=True))
            together = self.emit(stack_p, *[value_of[key] for key in product(*axes)], axis=0)
            if holes > 1:
                together = self.emit(reshape_p, together, shape=(*map(len, axes), *together.aval.shape[1:]))
            if set(pattern) == {HOLE} and together.aval == y.aval:
                # The array before is not read any more.
                return together
            return self.emit(scatter_set_p, y, together, index=Index(entries_of(pattern, tuple(cuts))))
        for key, value in zip(keys, values, strict=True):
            y = self.emit(scatter_set_p, y, value, index=Index(entries_of(pattern, key)))
        return y


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
    return Forwarder(graph).run()


__all__ = ["Row", "forwarded"]
