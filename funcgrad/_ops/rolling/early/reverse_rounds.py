"""The derivative of one loop that was rolled before it is differentiated: a loop forward and a loop backward.

`reverse.py` explains the order of sums that both keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Graph, Literal, Operand
from funcgrad._core.graph.simplify import partition, simplify
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._ops.index.gather import index, index_p
from funcgrad._ops.index.join import concatenate, stack
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.program.derived import chosen, split, staged_graph
from funcgrad._ops.program.scan import Cut, Loop, cut_at_residuals, scan_p
from funcgrad._types import Value

# A loop in which more of the last rounds lack a cotangent is differentiated equation by equation.
_MOST_PEELED = 4
# ``run(trace, graph, args, later)`` runs a program under a reverse trace. Equations after it read the inputs with the
# numbers ``later``. It returns the outputs, and the inputs as these equations read them.
Run = Callable[[ReverseTrace, Graph, Sequence[Any], Sequence[int]], tuple[list[Any], list[Any]]]


class OrderError(Exception):
    """The order of a sum cannot be kept."""


class _Seeds(NamedTuple):
    """The cotangents that one round backward takes. Numbers say which operands, carries and results they belong to.

    Args:
        constants: values that all rounds read; their sums come in and go out.
        rows: arrays of which each round reads a row, and which later equations read too.
        shifted: carries that hold an older row of a stack, with the number of the stack.
        carry: the carries after the round.
        stacks: results that are stacked and not carried.
    """

    constants: list[int]
    rows: list[int]
    shifted: list[tuple[int, int]]
    carry: list[int]
    stacks: list[int]


class ReverseRounds:
    """The rounds of one loop, forward and backward.

    Args:
        loop: the loop.
        active: which operands have a node.
        later: which operands are read after the loop.
        run: runs the body.
    """

    def __init__(self, loop: Loop, active: tuple[bool, ...], later: Sequence[bool], run: Run) -> None:
        self.loop = loop
        self._run = run
        self._later = later
        self.moves = moves = loop.moves(active)
        body, begin, rows = loop.body, loop.constants, loop.constants + loop.carry
        flags = moves.operands
        # For each stacked result, the carries that hold it with a delay of one round, two rounds, ...
        self._delays = {k: self._delayed(k) for k in range(loop.carry, len(body.outputs)) if moves.results[k]}
        carried = {p for delayed in self._delays.values() for p in delayed}
        self.seeds = _Seeds(
            [k for k in range(begin) if flags[k]],
            [k for k in range(rows, len(flags)) if flags[k] and later[k]],
            [(delayed[-1], k) for k, delayed in self._delays.items() if delayed],
            [p for p in range(loop.carry) if moves.results[p]],
            [k for k, delayed in self._delays.items() if not delayed],
        )
        # The first values of delayed carries that later equations read.
        self._firsts = [begin + p for delayed in self._delays.values() for p in delayed if active[begin + p]]
        self._firsts = [k for k in self._firsts if later[k]]
        self.threaded = [*self.seeds.constants, *self.seeds.rows, *self._firsts]
        self._carried = carried

    def _delayed(self, k: int) -> list[int]:
        """Return the carries that hold stacked result ``k``, of one round before, two rounds before, and so on."""
        outputs, inputs = self.loop.body.outputs, self.loop.body.inputs
        delayed: list[int] = []
        x = outputs[k]
        while True:
            found = [p for p in range(self.loop.carry) if outputs[p] is x]
            if len(found) > 1:
                raise OrderError
            if not found or found[0] in delayed:
                return delayed
            delayed += found
            x = inputs[self.loop.constants + found[0]]

    def check(self, active: Sequence[bool]) -> None:
        """Refuse a loop whose sums would be added in another order."""
        loop, body = self.loop, self.loop.body
        outputs = body.outputs[: loop.carry]
        if len({id(x) for x in outputs if type(x) is not Literal}) < len(outputs):
            raise OrderError
        for k, x in enumerate(body.inputs[: loop.constants]):
            reads = _are_reads(body, x)
            if active[k] and any(reads) and (not all(reads) or self._later[k]):
                raise OrderError
        for k, x in enumerate(body.inputs[loop.constants : loop.constants + loop.carry], loop.constants):
            others = active[k] and self._later[k] and k not in self._firsts
            if others and (uses_of(body, x) > 1 or x in outputs):
                raise OrderError

    def check_distinct(self, nodes: Sequence[Any]) -> None:
        """Refuse a value that the loop takes several times, unless it is two first values that a round reads once."""
        loop, found = self.loop, {}
        for k, node in enumerate(nodes):
            if node is not None:
                found.setdefault(id(node), []).append(k)
        for same in found.values():
            if len(same) == 1:
                continue
            firsts = all(loop.constants <= k < loop.constants + loop.carry and not self._later[k] for k in same)
            if len(same) > 2 or not firsts or any(uses_of(loop.body, loop.body.inputs[k]) > 1 for k in same):
                raise OrderError

    def summed(self) -> list[int]:
        """Return the numbers of the constants whose cotangents are sums over rounds, in the order of the rounds."""
        body = self.loop.body
        return [k for k in self.seeds.constants if not any(_are_reads(body, body.inputs[k]))]

    def check_peeled(self, later: Sequence[bool]) -> None:
        """Refuse results and rows that several equations of a round read and equations after the loop too."""
        inputs = self.loop.body.inputs
        for k in range(self.loop.constants + self.loop.carry, len(inputs)):
            if self.moves.operands[k] and later[k] and uses_of(self.loop.body, inputs[k]) > 1:
                raise OrderError
        for delayed in self._delays.values():
            if delayed and any(
                uses_of(self.loop.body, self.loop.body.inputs[self.loop.constants + p]) > 1 for p in delayed
            ):
                raise OrderError

    def peeled(self, read: Sequence[bool]) -> int:
        """Return how many of the last rounds lack a cotangent of a carry."""
        loop = self.loop
        if not all(read[k] for k in self._delays):
            raise OrderError
        given = {p for p in self.seeds.carry if read[p] or p in self._carried}
        count = 0
        while len(given) < len(self.seeds.carry):
            before, given = given, self._given_before(given) | self._carried
            count += 1
            if given == before or count == _MOST_PEELED:
                raise OrderError
        if loop.length - count < max(_MOST_PEELED, loop.carry + 1):
            raise OrderError
        return count

    def _given_before(self, given: set[int]) -> set[int]:
        """Return which carries have a cotangent before a round, if these have one after it."""
        graph, found = _round_back(self._run, self.loop, self.moves.operands, self.seeds, given)
        del graph
        constants = len(self.seeds.constants)
        return {p for p, has in zip(self.seeds.carry, found[constants:], strict=False) if has}

    def forward(self, primals: list[Any]) -> tuple[list[Any], tuple[Any, ...]]:
        """Run the loop. Return its results and what the loop backward reads."""
        loop, seeds = self.loop, self.seeds
        pulled, has = _round_back(self._run, loop, self.moves.operands, seeds, set(seeds.carry))
        if not all(has[: len(seeds.constants) + len(seeds.carry)]):
            raise OrderError
        self._rows_with_bars = has[len(seeds.constants) + len(seeds.carry) :]
        cut = cut_at_residuals(loop, *partition(pulled, len(loop.body.inputs), len(loop.body.outputs)))
        self._cut: Cut = cut
        ys, once, rows = cut.run(tuple(primals), len(loop.body.outputs))
        return ys, (*once, *rows)

    def pull(self, y_bars: list[Any], *kept: Any) -> list[Any]:
        """Run the loop backward. Return a cotangent or ``None`` for each operand."""
        loop, seeds, count = self.loop, self.seeds, len(self.loop.body.outputs)
        passed = dict(zip(self.threaded, y_bars[count:], strict=True))
        sums = [_or_nothing(passed[k], loop.body.inputs[k].aval) for k in seeds.constants]
        carry = self._last_bars(y_bars)
        once, rows = split(kept, self._cut.counts[0])
        stacked = [
            *[_or_nothing(passed[k], loop.body.inputs[k].aval, loop.length) for k in seeds.rows],
            *[self._shifted(k, y_bars[k], passed) for _, k in seeds.shifted],
            *[_needed(y_bars[k]) for k in seeds.stacks],
        ]
        found = self._backward(len(rows))(*once, *carry, *sums, *rows, *stacked)
        carry_bars, sum_bars, row_bars = split(found, len(carry), len(sums))
        x_bars: list[Any] = [None] * len(self.moves.operands)
        for k, bar in zip(seeds.constants, sum_bars, strict=True):
            x_bars[k] = bar
        for p, bar in zip(seeds.carry, carry_bars, strict=True):
            x_bars[loop.constants + p] = bar
        begin = loop.constants + loop.carry
        moving = [k for k in range(begin, len(x_bars)) if self.moves.operands[k]]
        with_bars = [k for k, has in zip(moving, self._rows_with_bars, strict=True) if has]
        for k, bar in zip(with_bars, row_bars, strict=True):
            x_bars[k] = bar
        return x_bars

    def _last_bars(self, y_bars: Sequence[Any]) -> list[Any]:
        """Return the cotangents of the carries after the last round."""
        loop, bars = self.loop, list(y_bars[: self.loop.carry])
        for k, delayed in self._delays.items():
            for lag, p in enumerate(delayed):
                row = index(_needed(y_bars[k]), (loop.length - 1 - lag,))
                bars[p] = row if bars[p] is None else row + bars[p]
        return [_needed(bars[p]) for p in self.seeds.carry]

    def _shifted(self, k: int, stack_bar: Value, passed: dict[int, Any]) -> Any:
        """Return the cotangents of a stack, each in the round in which the last carry that holds the row is read."""
        delayed, begin = self._delays[k], self.loop.constants
        aval = self.loop.body.outputs[k].aval
        # The first rounds read the first values of the carries.
        firsts = stack([_or_nothing(passed.get(begin + p), aval) for p in reversed(delayed)], 0)
        return concatenate([firsts, index(_needed(stack_bar), (slice(0, self.loop.length - len(delayed)),))], 0)

    def _backward(self, rows: int) -> Loop:
        """Return the loop in the other direction."""
        loop, seeds, second = self.loop, self.seeds, self._cut.second
        once, constants, carry = self._cut.counts[0], len(seeds.constants), len(seeds.carry)
        shifts = len(seeds.rows) + len(seeds.shifted)

        def step(*values: Any) -> list[Any]:
            fixed, bars, sums, residuals, shifted, stacks = split(values, once, carry, constants, rows, shifts)
            found = second.evaluate(*fixed, *residuals, *sums, *shifted, *bars, *stacks)
            sums, bars, row_bars = split(found, constants, carry)
            return [*bars, *sums, *row_bars]

        fixed, row_avals, sum_avals, shift_avals, carry_avals, stack_avals = split(
            [x.aval for x in second.inputs], once, rows, constants, shifts, carry
        )
        avals = [*fixed, *carry_avals, *sum_avals, *row_avals, *shift_avals, *stack_avals]
        graph = staged_graph(step, avals, f"transpose_{loop.body.name}")
        return Loop(graph, once, carry + constants, loop.length, not loop.reverse, loop.unroll)


def _round_back(
    run: Run, loop: Loop, active: Sequence[bool], seeds: _Seeds, given: set[int]
) -> tuple[Graph, list[bool]]:
    """Return one round forward and backward, as a graph, and which active operands get a cotangent.

    Cotangents of operands that get none are left out of the graph's outputs if they belong to rows.
    """
    body, staging = loop.body, StagingTrace()
    with staging:
        values = [staging.input(var.aval) for var in body.inputs]
        reverse = ReverseTrace()
        with reverse:
            xs = [reverse.input(x) if flag else x for x, flag in zip(values, active, strict=True)]
            leaves = [*seeds.constants, *seeds.rows, *[loop.constants + p for p, _ in seeds.shifted]]
            # If a round reads a constant by index, all its reads are by index (`check`). Their order does not matter.
            later = [k for k in leaves if not any(_are_reads(body, body.inputs[k]))]
            ys, after = run(reverse, body, xs, later)
        pairs: list[tuple[Any, Any]] = []
        for x in [*[after[k] for k in leaves], *[ys[p] for p in seeds.carry], *[ys[k] for k in seeds.stacks]]:
            seed = staging.input(Aval(x.shape, x.dtype))
            pairs.append((x, seed))
        absent = {len(leaves) + i for i, p in enumerate(seeds.carry) if p not in given}
        bars = backward_pass(
            [(x._node, seed) for i, (x, seed) in enumerate(pairs) if i not in absent and moves(x, reverse)]
        )
        moving = chosen(range(len(active)), tuple(active))
        has = [xs[k]._node in bars for k in moving]
        begin = loop.constants + loop.carry
        x_bars = [bar_of(xs[k], bars) for k, found in zip(moving, has, strict=True) if found or k < begin]
        graph = simplify(staging.graph([*[value_of(y, reverse) for y in ys], *x_bars], body.name))
    return graph, has


def bar_of(x: ReverseTracer, bars: dict[Any, Any]) -> Any:
    x_bar = bars.get(x._node)
    return zeros_like(x._value) if x_bar is None else x_bar


def moves(y: Value, trace: ReverseTrace) -> bool:
    return type(y) is ReverseTracer and y._owner is trace and y._node is not None


def value_of(y: Value, trace: ReverseTrace) -> Any:
    return y._value if type(y) is ReverseTracer and y._owner is trace else y


def _are_reads(graph: Graph, x: Operand) -> list[bool]:
    """Return for each use of a value in a program, and in its loops, whether it is a read by index."""
    found: list[bool] = []
    for equation in graph.equations:
        if equation.primitive is not scan_p:
            found += [equation.primitive is index_p] * (x in equation.operands)
            continue
        loop: Loop = equation.params["loop"]
        for k, each in enumerate(equation.operands):
            if each is x:
                found += _are_reads(loop.body, loop.body.inputs[k]) if k < loop.constants else [False]
    return found


def uses_of(graph: Graph, x: Operand) -> int:
    """Return how often a program reads a value. A loop in it reads it many times."""
    found = 0
    for equation in graph.equations:
        count = sum(each is x for each in equation.operands)
        found += 2 * count if equation.primitive is scan_p else count
    return found


def _needed(bar: Value) -> Any:
    if bar is None:
        raise OrderError
    return bar


def _or_nothing(bar: Value, aval: Aval, *length: int) -> Any:
    return _nothing((*length, *aval.shape), aval.dtype) if bar is None else bar


def _nothing(shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Return negative zeros: adding a number to them gives the number."""
    zero = dtype.type(complex(-0.0, -0.0) if dtype.kind == "c" else -0.0)
    return broadcast_to(zero, shape) if shape else zero
