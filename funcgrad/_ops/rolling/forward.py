"""Reads of what was just written: ``y[t] = v`` and then ``y[t]`` is v. Chains of writes become one write.

A program that fills an array row by row reads rows that it wrote. In a graph each write makes a new array, so a loop
would carry the whole array. This pass follows each element of a chain of updates: writes of rows (``scatter_set``), and
the sums of rows that reverse mode makes (``a + zeros with v at t``). Reads get the value itself. Updates that nothing
else reads are done at once, where the whole array is read.

Every value is the same to the last bit. An element that a sum of another row leaves alone is x + 0, which differs from
x where x is -0.0, so the 0 is added.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.join import stack_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.rolling.rows import (
    FIRST_AXIS,
    HOLE,
    Emitter,
    Key,
    Pattern,
    Row,
    entries_of,
    pattern_of,
    with_operands,
)
from funcgrad._types import Value

# Up to this many pending updates are made one by one; more are made at once.
_FEW = 2
# Several rows of an array of fewer elements are added as a whole array, such as the state of an equation of motion.
_SMALL = 9


class _Event(NamedTuple):
    """An update of one row.

    Args:
        depth: the number of updates of the chain up to this one.
        adds: whether the value is added to the row, or replaces it.
        value: the row.
        row_first: whether the row is the first operand of the sum.
    """

    depth: int
    adds: bool
    value: Operand
    row_first: bool


class _Chain:
    """The updates of an array at one pattern of integers."""

    def __init__(self, base: Operand, pattern: Pattern) -> None:
        self.base = base
        self.pattern = pattern
        self.depth = 0
        self.events: list[tuple[Key, _Event]] = []
        self.of: dict[Key, list[_Event]] = {}
        # The depths of the updates that add.
        self.sums: list[int] = []
        # Versions that exist as an array, by depth.
        self.made: dict[int, Operand] = {0: base}
        # Elements that were asked for.
        self.known: dict[Any, Operand] = {}

    def add(self, key: Key, value: Operand, row_first: bool = False, *, adds: bool) -> int:
        self.depth += 1
        event = _Event(self.depth, adds, value, row_first)
        self.events.append((key, event))
        self.of.setdefault(key, []).append(event)
        if adds:
            self.sums.append(self.depth)
        return self.depth

    def others(self, after: int, until: int, key: Key) -> bool:
        """Return whether another row was added to between two depths."""
        found = bisect_right(self.sums, until) - bisect_right(self.sums, after)
        mine = sum(event.adds and after < event.depth <= until for event in self.of.get(key, ()))
        return found > mine


class Forwarder(Emitter):
    """One pass over a program."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph
        self._versions: dict[Var, tuple[_Chain, int]] = {}
        self._replaced: dict[Operand, Operand] = {}
        self._rows: dict[Var, tuple[Equation, Pattern, dict[Key, list[Operand]]]] = {}
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

    def _chain(self, x: Operand, pattern: Pattern) -> _Chain | None:
        """Return the chain that an update of ``x`` continues."""
        if type(x) is not Var:
            return None
        known = self._versions.get(x)
        if known is not None and known[0].pattern == pattern and known[0].depth == known[1]:
            return known[0]
        return _Chain(self._whole(x), pattern)

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
        if type(v) is Literal and v.aval.shape == () == shape:
            value = _as_dtype(v.value, x.aval.dtype)
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

        It is read as a sum of rows, or else made where it is needed.
        """
        del operands
        (result,) = equation.results
        indices = equation.params["indices"]
        if len(indices) != len(equation.operands) or result.aval.dtype.kind not in "fiuc":
            return False
        rows: dict[Key, list[Operand]] = {}
        patterns: set[Pattern] = set()
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
        for x, row in ((a, b), (b, a)):
            if type(row) is not Var or row not in self._rows or type(x) is not Var or x in self._rows:
                continue
            _, pattern, found = self._rows[row]
            (result,) = equation.results
            if x.aval.shape != result.aval.shape or x.aval.dtype != result.aval.dtype or len(found) > _FEW:
                continue
            chain = self._chain(x, pattern)
            if chain is not None:
                for key, parts in found.items():
                    chain.add(key, self._added(parts), row is a, adds=True)
                self._versions[result] = chain, chain.depth
                self._pending.add(result)
                return True
        return False

    def _added(self, parts: list[Operand]) -> Operand:
        """Return what a scatter of several rows at one place gives: they are added to zeros, in order."""
        value = self._plus_zero(self._whole(parts[0]))
        for part in parts[1:]:
            value = self.emit(add_p, value, self._whole(part))
        return value

    def _read(self, equation: Equation, x: Operand, *arrays: Operand) -> bool:
        """Replace a read of a row that was written."""
        if arrays or type(x) is not Var or x not in self._versions:
            return False
        chain, depth = self._versions[x]
        found = pattern_of(equation.params["index"], x.aval.shape)
        if found is None or found[0] != chain.pattern:
            return False
        (result,) = equation.results
        self._replaced[result] = self._element(chain, found[1], depth)
        self._pending.add(result)
        return True

    def _element(self, chain: _Chain, key: Key, depth: int) -> Operand:
        """Return the row at ``key`` after the updates up to ``depth``."""
        events = chain.of.get(key, [])
        if events and not chain.sums and events[-1].depth <= depth:
            # All updates replace rows, so this is the last one of the row.
            return events[-1].value
        events = [event for event in events if event.depth <= depth]
        start = max((i for i, event in enumerate(events) if not event.adds), default=None)
        at, value = 0, None
        if start is not None:
            at, value = events[start].depth, events[start].value
            events = events[start + 1 :]
        entry = (
            key,
            at,
            events[-1].depth if events else at,
            chain.others(events[-1].depth if events else at, depth, key),
        )
        if entry in chain.known:
            return chain.known[entry]
        if value is None:
            value = self.part(chain.base, chain.pattern, key)
        for event in events:
            if chain.others(at, event.depth, key):
                value = self._plus_zero(value)
            value, at = self.emit(add_p, value, event.value), event.depth
        if chain.others(at, depth, key):
            value = self._plus_zero(value)
        chain.known[entry] = value
        return value

    def _plus_zero(self, x: Operand) -> Operand:
        """Return x + 0, once."""
        return x if type(x) is Literal else self.emit(add_p, x, Literal(x.aval.dtype.type(0)))

    def _made(self, x: Var, chain: _Chain, depth: int) -> Operand:
        """Return a version of an array. It is made from the last version that exists."""
        if depth in chain.made:
            return chain.made[depth]
        before = max(d for d in chain.made if d < depth)
        pending = [(key, event) for key, event in chain.events[before:depth]]
        y = chain.made[before]
        if len(pending) <= _FEW:
            for key, event in pending:
                y = self._updated(y, event, Index(entries_of(chain.pattern, key)))
        else:
            y = self._at_once(chain, y, list(dict.fromkeys(key for key, _ in pending)), before, depth)
        chain.made[depth] = y
        return y

    def _updated(self, y: Operand, event: _Event, index: Index) -> Operand:
        """Make one update."""
        if not event.adds:
            return self.emit(scatter_set_p, y, event.value, index=index)
        row = self.emit(scatter_p, event.value, shape=y.aval.shape, indices=(index,))
        return self.emit(add_p, *((row, y) if event.row_first else (y, row)))

    def _at_once(self, chain: _Chain, y: Operand, keys: list[Key], before: int, depth: int) -> Operand:
        """Write all rows that changed between two depths."""
        values = [self._element(chain, key, depth) for key in keys]
        if bisect_right(chain.sums, depth) > bisect_right(chain.sums, before):
            y = self._plus_zero(y)
        return self.written(y, chain.pattern, keys, values)

    def written(self, y: Operand, pattern: Pattern, keys: list[Key], values: list[Operand]) -> Operand:
        """Return an array with rows written at once where the integer is the first entry; else one after the other."""
        if len(keys) > 1 and pattern[0] == HOLE and pattern.count(HOLE) == 1 and None not in pattern:
            # Each integer occurs once here, so their order does not matter.
            order = sorted(range(len(keys)), key=lambda k: keys[k])
            first, last = keys[order[0]][0], keys[order[-1]][0]
            step = keys[order[1]][0] - first
            if all(keys[k][0] == first + step * n for n, k in enumerate(order)):
                cut = slice(first, last + 1, None if step == 1 else step)
                together = self.emit(stack_p, *[values[k] for k in order], axis=0)
                if pattern == FIRST_AXIS and len(keys) == y.aval.shape[0] and together.aval == y.aval:
                    # Nothing of the array before is left.
                    return together
                return self.emit(scatter_set_p, y, together, index=Index(entries_of(pattern, (cut,))))
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
