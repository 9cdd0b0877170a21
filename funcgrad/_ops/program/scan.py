"""A loop whose body is a graph: it carries state along and maps over leading axes.

Operands are constants (the same in each round), the initial carry, and arrays of which each round takes one row. The
body takes constants, carry and rows; it returns the new carry and one row of each stacked result.

The derivatives are scans too. In forward mode the body carries tangents with the primals. In reverse mode a forward
scan stacks the values that the backward body reads, and a scan in the other direction runs that body. Values that do
not change from round to round are computed once.

Example: ``h = tanh(w @ h + x)``, with constant weights, carried state and a row of the inputs in each round:

    first loop    w; h; rows of x       ->  the last h; a stack of h, and of the values that tanh's derivative reads
    second loop   w; h_bar; rows of both stacks, from the last round to the first
                                        ->  h_bar of the round before; a stack of x_bar
    afterwards    the stacks of x_bar and h   ->  w_bar, by one product

If the loop is small, or if the round's share of w_bar is no product, the second loop carries w_bar instead
(`_ops/contract/late.py`). A value that no round changes (w) is passed to the second loop directly, or computed once
before it. A residual that is a row of an operand or of a stacked result is read there and not stacked again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.graph.ir import Equation, Graph, Literal, Var, trusted_graph
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._core.primitive import Primitive
from funcgrad._engines import NUMPY
from funcgrad._ops.contract.late import LateSums
from funcgrad._ops.layout.broadcast import with_batch
from funcgrad._ops.layout.copy import unshared
from funcgrad._ops.layout.shape import transpose
from funcgrad._ops.program.batch import batched_graph, shared
from funcgrad._ops.program.depends import scanned
from funcgrad._ops.program.derivative import Moves
from funcgrad._ops.program.derived import (
    Mask,
    chosen,
    invariants,
    linearized_graphs,
    moving_carry,
    permuted,
    pulled_graphs,
    pushed_graph,
    split,
    staged_graph,
    zeros_of,
)
from funcgrad._ops.program.series import GraphDerivative
from funcgrad._types import Array, Lax, Value

T = TypeVar("T")


class Loop(NamedTuple):
    """The parameters of a scan: the body, and how many of its inputs are constants and carry."""

    body: Graph
    constants: int
    carry: int
    length: int
    reverse: bool = False
    unroll: int = 1

    def __call__(self, *operands: Value) -> list[Any]:
        return scan_p(*operands, loop=self)

    @property
    def name(self) -> str:
        direction = ", reverse" if self.reverse else ""
        return f"({self.body.name}, length={self.length}, constants={self.constants}, carry={self.carry}{direction})"

    def parts(self, operands: tuple[T, ...]) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
        """Return constants, carry, and the arrays that are mapped over."""
        split = self.constants + self.carry
        return operands[: self.constants], operands[self.constants : split], operands[split:]

    @property
    def avals(self) -> list[Aval]:
        """The types of the results: the carry, then the stacks."""
        avals = [x.aval for x in self.body.outputs]
        stacks = [Aval((self.length, *aval.shape), aval.dtype) for aval in avals[self.carry :]]
        return [*avals[: self.carry], *stacks]

    def moves(self, active: Mask) -> Moves:
        constants, carry, xs = self.parts(active)
        carry, outputs = moving_carry(self.body, constants, carry, xs)
        return Moves((*constants, *carry, *xs), (*carry, *outputs[self.carry :]))

    def moving_parts(self, moves: Moves, values: Sequence[Any]) -> list[Sequence[Any]]:
        """Split values, one per active operand, into those of constants, carry, and arrays that are mapped over."""
        constants, carry, _ = self.parts(moves.operands)
        return split(values, sum(constants), sum(carry))

    def pulled(self, moves: Moves, primals: tuple) -> tuple[list, Callable[..., list], list]:
        """Return a loop that stacks values for the backward body, and a loop in the other direction that runs it."""
        cut, backward = self.body.made(_reverse_loops, self, moves)
        ys, once, rows = cut.run(primals, len(self.body.outputs))
        return ys, backward, [*once, *rows]

    def pushed(self, moves: Moves, primals: tuple, x_dots: list, separate: bool, order: int = 0) -> tuple[list, list]:
        dots = self.moving_parts(moves, x_dots)
        if separate:
            return _pushed_in_two(self, moves, primals, dots)
        return _pushed_at_once(self, moves, primals, dots, order)


def _run_numpy(*operands: Array, loop: Loop) -> list[Any]:
    if loop.length == 0:
        stacks = [np.empty(aval.shape, aval.dtype) for aval in loop.avals[loop.carry :]]
        return [*unshared(loop.parts(operands)[1]), *stacks]
    results = loop.body.made(_written, loop)(*operands)
    return [*unshared(results[: loop.carry]), *results[loop.carry :]]


def _written(body: Graph, loop: Loop) -> Callable[..., list]:
    """Return the loop as a program of the NumPy engine, which writes it as a ``for`` with the lines of the body."""
    inputs, results = [Var(x.aval) for x in body.inputs], [Var(aval) for aval in loop.avals]
    for k in range(loop.constants + loop.carry, len(inputs)):
        aval = inputs[k].aval
        inputs[k] = Var(Aval((loop.length, *aval.shape), aval.dtype))
    equation = Equation(scan_p, tuple(inputs), {"loop": loop}, tuple(results), None)
    return NUMPY.compile(trusted_graph(inputs, (), [equation], results, body.name))


def _run_xla(lax: Lax, *operands: Array, loop: Loop) -> list[Any]:
    if any(lax.is_traced(x) for x in operands):
        return _lower(lax, operands, loop)
    return loop.body.made(_compiled, lax, loop)(*operands)


def _compiled(body: Graph, lax: Lax, loop: Loop) -> Callable[..., list]:
    """Compile the loop as a program, for calls outside any program."""
    return lax.compiled(lambda *operands: _lower(lax, operands, loop))


def _lower(lax: Lax, operands: tuple, loop: Loop) -> list[Any]:
    constants, carry, xs = loop.parts(operands)
    avals = [x.aval for x in loop.body.outputs]
    # XLA puts a single round, and the rounds of an unrolled loop, into the program around it.
    carried = range(len(constants), len(constants) + len(carry)) if loop.length > 1 and loop.unroll == 1 else ()
    body = lax.with_writes_in_place(loop.body, carried)

    def step(carry: list, rows: list) -> tuple[list, list]:
        ys = [lax.strong(y, aval) for y, aval in zip(body.evaluate(*constants, *carry, *rows), avals, strict=True)]
        return ys[: loop.carry], ys[loop.carry :]

    init = [lax.strong(x, aval) for x, aval in zip(carry, avals, strict=False)]
    last, stacks = lax.scan(step, init, list(xs), loop.length, loop.reverse, loop.unroll)
    return [*last, *stacks]


class Cut(NamedTuple):
    """A derived body cut in two at its residuals.

    ``sources`` says for each residual where the second loop finds it: computed once from the constants, as a row of an
    operand or of a result, or stacked by the first loop.
    """

    first: Loop
    hoisted: Graph
    second: Graph
    sources: tuple[tuple[str, int], ...]

    @property
    def counts(self) -> tuple[int, int]:
        """The number of residuals that are computed once, and of those with a row for each round."""
        once = sum(kind == "once" for kind, _ in self.sources)
        return once, len(self.sources) - once

    def run(self, operands: tuple, results: int) -> tuple[list, list, list]:
        """Return the first loop's results, the residuals that are constant, and the residuals with a row per round."""
        ys = self.first(*operands)
        xs = self.first.parts(operands)[2]
        once = self.hoisted.evaluate(*operands[: self.first.constants])
        places = {"operand": xs, "result": ys, "stacked": ys[results:]}
        rows = [places[kind][i] for kind, i in self.sources if kind != "once"]
        return ys[:results], once, rows


def cut_at_residuals(loop: Loop, first: Graph, second: Graph) -> Cut:
    """Make the first loop from a body with residuals; the second body reads them."""
    body, count = loop.body, len(loop.body.outputs)
    fixed = invariants(first, loop.constants)
    places: dict[Any, tuple[str, int]] = {}
    # If a residual is available in several places, the last of these assignments counts.
    for i, var in enumerate(first.outputs[loop.carry : count]):
        places[var] = ("result", loop.carry + i)
    for i, var in enumerate(first.inputs[loop.constants + loop.carry :]):
        places[var] = ("operand", i)
    residuals = first.outputs[count:]
    once = [var for var in residuals if type(var) is Literal or var in fixed]
    places.update({var: ("once", i) for i, var in enumerate(once)})
    stacked = list(dict.fromkeys(var for var in residuals if var not in places))
    places.update({var: ("stacked", i) for i, var in enumerate(stacked)})
    sources = tuple([places[var] for var in residuals])
    outputs = [*first.outputs[:count], *stacked]
    kept = drop_dead(trusted_graph(first.inputs, first.constants, first.equations, outputs, body.name))
    hoisted = drop_dead(
        trusted_graph(first.inputs[: loop.constants], first.constants, _before(first, fixed), once, f"once_{body.name}")
    )
    # The second body takes constant residuals before residuals with rows, as a loop takes constants before rows.
    order = [i for i, source in enumerate(sources) if source[0] == "once"]
    order += [i for i, source in enumerate(sources) if source[0] != "once"]
    rest = range(len(sources), len(second.inputs))
    second = permuted(second, [*order, *rest], range(len(second.outputs)))
    return Cut(loop._replace(body=kept), hoisted, second, sources)


def _before(graph: Graph, fixed: set) -> list:
    """Return the equations that can be computed once; an equation with an effect must run in each round."""
    return [equation for equation in graph.equations if equation.results[0] in fixed and not equation.has_effect]


def _pushed_at_once(loop: Loop, moves: Moves, primals: tuple, dots: list, order: int) -> tuple[list, list]:
    """Run one loop of primals and tangents."""
    constants, carry, _ = map(len, dots)
    body = loop.body.made(_pushed_body, loop, moves, order)
    pushed = loop._replace(body=body, constants=loop.constants + constants, carry=loop.carry + carry)
    parts = zip(loop.parts(primals), dots, strict=True)
    results = pushed(*[x for part, part_dots in parts for x in (*part, *part_dots)])
    stacks = len(loop.body.outputs) - loop.carry
    last, last_dots, rows, row_dots = split(results, loop.carry, carry, stacks)
    return [*last, *rows], [*last_dots, *row_dots]


def _pushed_body(body: Graph, loop: Loop, moves: Moves, order: int) -> Graph:
    """Return the body with constants, carry and rows, each followed by its tangents; results likewise."""
    joint = pushed_graph(body, *moves, order)
    total = len(body.inputs)
    parts, dots = loop.parts(tuple(range(total))), loop.moving_parts(moves, range(total, len(joint.inputs)))
    inputs = [i for part, part_dots in zip(parts, dots, strict=True) for i in (*part, *part_dots)]
    stacks = len(body.outputs) - loop.carry
    last, rows, last_dots, row_dots = split(range(len(joint.outputs)), loop.carry, stacks, len(dots[1]))
    return permuted(joint, inputs, [*last, *last_dots, *rows, *row_dots])


def _pushed_in_two(loop: Loop, moves: Moves, primals: tuple, dots: list) -> tuple[list, list]:
    """Run a loop of primals and a loop of tangents, if the tangents belong to an inner transform without primals."""
    cut, second = loop.body.made(_linearized_loops, loop, moves)
    ys, once, rows = cut.run(primals, len(loop.body.outputs))
    return ys, second(*once, *dots[0], *dots[1], *rows, *dots[2])


def _linearized_loops(body: Graph, loop: Loop, moves: Moves) -> tuple[Cut, Loop]:
    """Return two loops; the second takes constant residuals, rows, and the tangents of constants, carry and rows."""
    cut = cut_at_residuals(loop, *linearized_graphs(body, *moves))
    second = cut.second
    once, rows, dots = split(range(len(second.inputs)), *cut.counts)
    constants, carry, xs = loop.moving_parts(moves, dots)
    second = permuted(second, [*once, *constants, *carry, *rows, *xs], range(len(second.outputs)))
    return cut, loop._replace(body=second, constants=len(once) + len(constants), carry=len(carry))


class _TransposedLoop(NamedTuple):
    """The loop in the other direction: it carries the carry's cotangents, and sums those of the constants.

    Some sums are computed after the loop, from stacks of values of ``body``, one round without sums.

    It is called with the residuals and the cotangents of the results. ``counts`` are the numbers of residuals computed
    once, of residuals with rows, and of active carries.
    """

    loop: Loop
    counts: tuple[int, int, int]
    sums: list[Aval]
    late: LateSums
    body: Graph

    def __call__(self, *values: Value) -> list[Any]:
        fixed, carry, late = self.counts[0], self.counts[2], self.late.late
        once, rows, carry_bars, stack_bars = split(values, *self.counts)
        sums = [zeros_of(aval) for aval, is_late in zip(self.sums, late, strict=True) if not is_late]
        found = self.loop(*once, *carry_bars, *sums, *rows, *stack_bars)
        new_carry, sums, stacks = split(found, carry, len(sums))
        # Rows of the round: residuals, cotangents of stacks, and what the loop stacks.
        own = self.body.inputs[fixed:]
        given: dict[Any, Any] = dict(
            zip([*own[: len(rows)], *own[len(rows) + carry :]], [*rows, *stack_bars], strict=True)
        )
        given.update(zip([*self.body.outputs[len(late) + carry :], *self.late.stacked], stacks, strict=True))
        totals, rest = iter(self.late.totals(given)), iter(sums)
        all_sums = [next(totals if is_late else rest) for is_late in late]
        return [*all_sums, *new_carry, *stacks[: len(stacks) - len(self.late.stacked)]]


def _reverse_loops(body: Graph, loop: Loop, moves: Moves) -> tuple[Cut, _TransposedLoop]:
    cut = cut_at_residuals(loop, *pulled_graphs(body, *moves))
    once, rows = cut.counts
    moving, carried, _ = loop.moving_parts(moves, [x.aval for x in chosen(body.inputs, moves.operands)])
    sums, constants, carry = [Aval(aval.shape, aval.dtype) for aval in moving], len(moving), len(carried)
    own, outputs = cut.second.inputs[once:], cut.second.outputs
    stacks = [*own[:rows], *own[rows + carry :], *outputs[constants + carry :]]
    late = LateSums(cut.second, constants, stacks, own, loop.length)
    second = trusted_graph(
        cut.second.inputs, cut.second.constants, cut.second.equations, [*outputs, *late.stacked], body.name
    )
    kept = [not is_late for is_late in late.late]

    def step(*values: Value) -> list[Any]:
        fixed, carry_bars, sums, residuals, stack_bars = split(values, once, carry, sum(kept), rows)
        bars = second.evaluate(*fixed, *residuals, *carry_bars, *stack_bars)
        more, new_carry, stacks = split(bars, constants, carry)
        return [*new_carry, *[a + b for a, b in zip(sums, chosen(more, kept), strict=True)], *stacks]

    fixed, row_avals, carry_avals, stack_avals = split([x.aval for x in second.inputs], once, rows, carry)
    avals = [*fixed, *carry_avals, *chosen(sums, kept), *row_avals, *stack_avals]
    graph = staged_graph(step, avals, f"transpose_{body.name}")
    backward = Loop(graph, once, carry + sum(kept), loop.length, not loop.reverse, loop.unroll)
    return cut, _TransposedLoop(backward, (once, rows, carry), sums, late, cut.second)


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    """Scan the mapped body; a carry that becomes batched in some round is batched from the start."""
    loop: Loop = params["loop"]
    body, flags, mapped = _batched_body(loop, size, batched)
    before, after = loop.parts(batched)[1], loop.parts(flags)[1]
    constants, carry, xs = loop.parts(operands)
    triples = zip(carry, before, after, strict=True)
    init = [with_batch(x, size, had) if needed else x for x, had, needed in triples]
    rows = [_swapped(x) if flag else x for x, flag in zip(xs, loop.parts(batched)[2], strict=True)]
    results = loop._replace(body=body)(*constants, *init, *rows)
    stacks = [_swapped(y) if flag else y for y, flag in zip(results[loop.carry :], mapped[loop.carry :], strict=True)]
    return shared([*results[: loop.carry], *stacks], mapped)


def _batched_body(loop: Loop, size: int, batched: Mask) -> tuple[Graph, Mask, Mask]:
    """Return the mapped body, and which of its inputs and outputs are batched."""
    constants, carry, xs = loop.parts(batched)
    # A batched carry may make another one batched in the next round. Repeat until no more are found.
    while True:
        flags = (*constants, *carry, *xs)
        wanted = (*carry, *[False] * (len(loop.body.outputs) - loop.carry))
        body, mapped = batched_graph(loop.body, size, flags, wanted)
        if mapped[: loop.carry] == tuple(carry):
            return body, flags, mapped
        carry = mapped[: loop.carry]


def _swapped(x: Value) -> Value:
    """Exchange the axes of batch and rounds."""
    return transpose(x, (1, 0, *range(2, len(x.shape))))


scan_p = Primitive(
    "scan",
    operands=("*xs",),
    numpy=_run_numpy,
    xla=_run_xla,
    aval=lambda *xs, loop: loop.avals,
    derivative=GraphDerivative(lambda loop: loop),
    batch=_batch,
    cost=lambda y, *xs, loop: loop.length * loop.body.flops,
    multiple_results=True,
    forms=Forms(basic=Basic.SCAN, depends=scanned),
)
