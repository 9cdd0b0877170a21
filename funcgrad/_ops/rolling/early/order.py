"""Decide whether a program may be rolled before it is differentiated: cotangents must be added in the same order.

The cotangent of a value is the sum of its *shares*: each use of the value adds one. A sum of two shares is the same in
either order. A sum of three or more may differ in the last bit.

The unrolled program adds the shares of all reads by index first, those of later rounds too. The rolled program adds the
shares of each round. It also reads a row once that the program reads several times. The rules of this file look at
loops, and those of ``elements.py`` at reads and writes by index. Where they see three shares in another order, the
program is differentiated equation by equation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import chain
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Operand
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate_p, stack_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.program.scan import Loop, scan_p
from funcgrad._ops.rolling.early.elements import elements_keep_order, shares_of
from funcgrad._ops.rolling.early.reverse_rounds import uses_of
from funcgrad._ops.rolling.table import Table

# These operations join rows, or take them in another order.
_JOINING = (stack_p, concatenate_p, index_p)


def keeps_order(table: Table, rolled: Graph, active: np.ndarray) -> bool:
    """Return whether the sums of cotangents have the same order before and after rolling.

    Args:
        table: the program.
        rolled: the rolled program.
        active: a mask of the values that depend on what is differentiated.
    """
    inputs = {x for x, is_active in zip(table.outside, active[table.size :], strict=True) if is_active}
    return _joined_keep_order(rolled, inputs) and elements_keep_order(table, rolled, active)


def _joined_keep_order(graph: Graph, active: Collection[Operand], summed: Collection[Operand] = ()) -> bool:
    """Return whether active values that are joined to an array have their shares added in the same order.

    A loop reads rows of the array. The rolled program adds the shares of each row to a cotangent of the array, and then
    takes this apart. The unrolled program adds them in the rounds, to the shares of later equations.

    Args:
        graph: the rolled program, or a round of it.
        active: the inputs that depend on what is differentiated.
        summed: the inputs whose shares are added to those of later rounds.
    """
    moving = _moving(graph, active)
    uses = _Uses(graph)
    # How often later equations read a value. A loop reads it many times.
    later = Counter(graph.outputs)
    # How often loops read each row of an array.
    rows: dict[Operand, int] = {}
    for equation in reversed(graph.equations):
        primitive, operands = equation.primitive, equation.operands
        if primitive is scan_p:
            if not (_loop_keeps_order(equation, moving) and _carries_keep_order(equation, moving, uses)):
                return False
            _count_rows(equation, rows)
        count = rows.get(equation.results[0], 0) if primitive in _JOINING else 0
        if not _shares_keep_order(equation, [x for x in operands if x in moving], count, later, summed):
            return False
        for x in operands:
            later[x] += 2 if primitive is scan_p else max(count, 1)
            if count:
                rows[x] = rows.get(x, 0) + count
    return not summed or _slices_keep_order(graph, moving, rows)


def _shares_keep_order(
    equation: Equation, joined: list[Operand], count: int, later: Counter[Operand], summed: Collection[Operand]
) -> bool:
    """Return whether the values that an equation joins have few enough shares.

    Args:
        equation: the equation.
        joined: the active values that it reads.
        count: how often loops read each row of the result.
        later: how often later equations read a value.
        summed: the inputs whose shares are added to those of later rounds.
    """
    if not (equation.primitive is stack_p or (equation.primitive is concatenate_p and count)):
        return True
    if len(set(joined)) < len(joined):
        return False
    for x in joined:
        if count > 1 and x in summed:
            return False
        if count and later[x] and later[x] + count + (x in summed) > 2:
            return False
    return True


def _slices_keep_order(graph: Graph, moving: Collection[Operand], rows: dict[Operand, int]) -> bool:
    """Return whether each element that an inner loop reads has at most two shares, or one read."""
    uses = Counter(chain(graph.outputs, chain.from_iterable([each.operands for each in graph.equations])))
    reads: dict[Operand, list[Equation]] = {}
    for equation in graph.equations:
        if equation.primitive is index_p and equation.operands[0] in moving:
            reads.setdefault(equation.operands[0], []).append(equation)
    for base, found in reads.items():
        if len(found) < 2 or not any(each.results[0] in rows for each in found):
            continue
        by_loops = np.zeros(base.aval.shape, bool)
        counts, shares = np.zeros((2, *base.aval.shape), np.int64)
        for each in found:
            x = each.results[0]
            place: Any = each.params["index"].filled(()) if len(each.operands) == 1 else ...
            by_loops[place] |= x in rows
            counts[place] += 1
            shares[place] += max(uses[x], rows.get(x, 0))
        if (by_loops & (counts > 1) & (shares > 2)).any():
            return False
    return True


def _loop_keeps_order(equation: Equation, moving: Collection[Operand]) -> bool:
    loop: Loop = equation.params["loop"]
    flags = loop.moves(tuple([x in moving for x in equation.operands])).operands
    inputs = [x for x, flag in zip(loop.body.inputs, flags, strict=True) if flag]
    return _joined_keep_order(loop.body, inputs, inputs)


def _carries_keep_order(equation: Equation, moving: Collection[Operand], around: _Uses) -> bool:
    """Return whether the shares of each carried value are added in the same order if it is read by index.

    Args:
        equation: a loop.
        moving: the values around the loop that depend on what is differentiated.
        around: the uses in the program around the loop.
    """
    loop: Loop = equation.params["loop"]
    inner, flags = _Uses(loop.body), loop.moves(tuple([x in moving for x in equation.operands])).operands
    carries = range(loop.carry)
    inputs, ends = loop.body.inputs[loop.constants :], loop.body.outputs
    for c in carries:
        if not flags[loop.constants + c]:
            continue
        later = _later(loop, inputs[c])
        rounds = [inner.of(inputs[d]) for d in [c, *later]]
        first = around.of(equation.operands[loop.constants + c], without=equation)
        after = [around.of(equation.results[d]) for d in [c, *later]]
        if not (_is_ordered([first, *rounds]) and _is_ordered([inner.of(ends[c]), *rounds])):
            return False
        if not _is_ordered([inner.of(ends[c]), *rounds[:-1], *after]):
            return False
    for k in range(loop.constants):
        count, indexed = inner.of(loop.body.inputs[k])
        outside = around.of(equation.operands[k], without=equation)
        # The unrolled program adds share by share, the rolled one the sum of a round's reads by index.
        if flags[k] and (indexed > 1 or not _is_ordered([(2 * count, 2 * indexed), outside])):
            return False
    # A value of one round that is read after the loop is a row of a stack.
    for y, stack in zip(ends[loop.carry :], equation.results[loop.carry :], strict=True):
        rounds = [inner.of(y), *[inner.of(inputs[c]) for c in _later(loop, y)]]
        if not all(_is_ordered([*rounds, found]) for found in _uses_of_rounds(stack, around)):
            return False
    return True


def _later(loop: Loop, y: Operand) -> list[int]:
    """Return the carries that hold a value of a round in later rounds. A carry may hand it on to another carry."""
    inputs, ends = loop.body.inputs[loop.constants :], loop.body.outputs[: loop.carry]
    found = [c for c, end in enumerate(ends) if end is y]
    for c in found:
        found += [d for d, end in enumerate(ends) if end is inputs[c] and d not in found]
    return found


def _uses_of_rounds(stack: Operand, around: _Uses) -> list[tuple[int, int]]:
    """Return for each row of a stack that is read after the loop: how often, and how often of that by index."""
    parts = around.parts_of(stack)
    found = [around.of(row) for _, row in parts]
    by_round: dict[int, tuple[int, int]] = {}
    for (index, _), (count, indexed) in zip(parts, found, strict=True):
        first, *rest = index.entries if len(index.entries) else (None,)
        if type(first) is int:
            r = first % stack.aval.shape[0]
            before = by_round.get(r, (0, 0))
            # A part of a value is a read of it by index.
            by_round[r] = before[0] + max(count, 1), before[1] + (max(count, 1) if rest else indexed)
    return [*found, *by_round.values()]


def _is_ordered(uses: list[tuple[int, int]]) -> bool:
    """Return whether shares are added in the same order.

    Args:
        uses: for each round, the number of shares, and how many of them are of reads by index.
    """
    if sum(count > 0 for count, _ in uses) < 2 or sum(count for count, _ in uses) < 3:
        return True
    by_index = sum(indexed > 0 for _, indexed in uses)
    # The shares of reads by index in one round are one number in both programs.
    return by_index == 0 or (by_index == 1 and sum(count - indexed for count, indexed in uses) < 2)


class _Uses:
    """How often the equations of a program read each value, and how often by index.

    A read that may select an element several times counts as two.
    """

    def __init__(self, graph: Graph) -> None:
        self._counts = Counter(chain.from_iterable([each.operands for each in graph.equations]))
        reads = [each for each in graph.equations if each.primitive is index_p]
        self._indexed: Counter[Operand] = Counter()
        for each in reads:
            shares = shares_of(each)
            self._indexed[each.operands[0]] += shares
            self._counts[each.operands[0]] += shares - 1
        self._parts: dict[Operand, list[tuple[Index, Operand]]] = {}
        for each in reads:
            self._parts.setdefault(each.operands[0], []).append((each.params["index"], each.results[0]))

    def of(self, x: Operand, without: Equation | None = None) -> tuple[int, int]:
        """Return how often a value is read, besides once by an equation, and how often of that by index."""
        return self._counts[x] - (without is not None), self._indexed[x]

    def parts_of(self, x: Operand) -> list[tuple[Index, Operand]]:
        """Return the parts of an array that are read by index, each with its index."""
        return self._parts.get(x, [])


def _moving(graph: Graph, active: Collection[Operand]) -> set[Operand]:
    """Return the variables that depend on the active inputs."""
    found: set[Operand] = {x for x in graph.inputs if x in active}
    for equation in graph.equations:
        if not found.isdisjoint(equation.operands):
            found.update(equation.results)
    return found


def _count_rows(equation: Equation, rows: dict[Operand, int]) -> None:
    """Count how often a loop reads the rows of each array."""
    loop: Loop = equation.params["loop"]
    for k in range(loop.constants + loop.carry, len(equation.operands)):
        x = equation.operands[k]
        rows[x] = rows.get(x, 0) + uses_of(loop.body, loop.body.inputs[k])
