"""A loop whose body is a graph: it carries state along and maps over leading axes.

Operands are constants (the same in each step), the initial carry, and the arrays of which each step takes one row. The
body takes constants, carry and rows, and returns the new carry and one row of each stacked result.

The derivatives are scans too. Forward, the body carries tangents beside the primals. In reverse, a forward scan stacks
what the backward body reads, and a scan in the other direction runs that body; what does not change from step to step
is computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval, is_inexact
from funcgrad._core.bind import level_of
from funcgrad._core.graph.ir import Graph, Literal
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._core.primitive import Primitive
from funcgrad._engines.source.numpy import compile_numpy
from funcgrad._ops.layout.broadcast import with_batch
from funcgrad._ops.layout.shape import transpose
from funcgrad._ops.program.batch import batched_graph, shared
from funcgrad._ops.program.derived import (
    Mask,
    chosen,
    invariants,
    linearized_graphs,
    moving_outputs,
    permuted,
    pulled_graphs,
    pushed_graph,
    spread_out,
    staged_graph,
    zeros_of,
)


class Loop(NamedTuple):
    """What a scan is beside its operands: the body, and how many of its inputs are constants and carry."""

    body: Graph
    constants: int
    carry: int
    length: int
    reverse: bool = False
    unroll: int = 1

    def __call__(self, *operands: Any) -> list[Any]:
        return scan_p(*operands, loop=self)

    @property
    def name(self) -> str:
        direction = ", reverse" if self.reverse else ""
        return f"({self.body.name}, length={self.length}, constants={self.constants}, carry={self.carry}{direction})"

    def parts(self, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Constants, carry, and what is mapped over."""
        split = self.constants + self.carry
        return operands[: self.constants], operands[self.constants : split], operands[split:]

    def results(self) -> list[Aval]:
        """The types of the results: the carry, then the stacks."""
        avals = [x.aval for x in self.body.outputs]
        stacks = [Aval((self.length, *aval.shape), aval.dtype) for aval in avals[self.carry :]]
        return [*avals[: self.carry], *stacks]


def _run_numpy(*operands: Any, loop: Loop) -> list[Any]:
    step = loop.body.made(compile_numpy)
    constants, carry, xs = loop.parts(operands)
    count = loop.carry
    stacks = [np.empty(aval.shape, aval.dtype) for aval in loop.results()[count:]]
    times = range(loop.length)
    for t in reversed(times) if loop.reverse else times:
        ys = step(*constants, *carry, *[x[t] for x in xs])
        carry = ys[:count]
        for stack, y in zip(stacks, ys[count:], strict=True):
            stack[t] = y
    return [*carry, *stacks]


def _run_xla(lax: Any, *operands: Any, loop: Loop) -> list[Any]:
    if any(lax.is_traced(x) for x in operands):
        return _lower(lax, operands, loop)
    return loop.body.made(_compiled, lax, loop)(*operands)


def _compiled(body: Graph, lax: Any, loop: Loop) -> Callable[..., list]:
    """The loop as a program, for where none is around it."""
    return lax.compiled(lambda *operands: _lower(lax, operands, loop))


def _lower(lax: Any, operands: Sequence[Any], loop: Loop) -> list[Any]:
    constants, carry, xs = loop.parts(operands)
    avals = [x.aval for x in loop.body.outputs]

    def step(carry: list, rows: list) -> tuple[list, list]:
        ys = [lax.strong(y, aval) for y, aval in zip(loop.body.evaluate(*constants, *carry, *rows), avals, strict=True)]
        return ys[: loop.carry], ys[loop.carry :]

    init = [lax.strong(x, aval) for x, aval in zip(carry, avals, strict=False)]
    last, stacks = lax.scan(step, init, list(xs), loop.length, loop.reverse, loop.unroll)
    return [*last, *stacks]


class _Moves(NamedTuple):
    """Which parts of a scan carry derivatives: by operand, and by result."""

    constants: Mask
    carry: Mask
    xs: Mask
    stacks: Mask

    @property
    def inputs(self) -> Mask:
        return (*self.constants, *self.carry, *self.xs)

    @property
    def outputs(self) -> Mask:
        return (*self.carry, *self.stacks)


def _moves(loop: Loop, active: Sequence[bool]) -> _Moves:
    """What moves when these operands do: a carry that moves once moves from then on."""
    return loop.body.made(_find_moves, loop, tuple(active))


def _find_moves(body: Graph, loop: Loop, active: Mask) -> _Moves:
    flags = [flag and is_inexact(var.aval.dtype) for flag, var in zip(active, body.inputs, strict=True)]
    constants, carry, xs = loop.parts(flags)
    while True:
        outputs = moving_outputs(body, (*constants, *carry, *xs))
        grown = [a or b for a, b in zip(carry, outputs[: loop.carry], strict=True)]
        if grown == list(carry):
            return _Moves(tuple(constants), tuple(carry), tuple(xs), outputs[loop.carry :])
        carry = grown


class _Cut(NamedTuple):
    """A derived body cut in two at its residuals.

    Each residual stands in ``sources`` with where the second loop finds it: computed once from the constants, as a row
    of an operand or of a result that is there anyway, or stacked by the first loop for the purpose.
    """

    first: Loop
    hoisted: Graph
    second: Graph
    sources: tuple[tuple[str, int], ...]

    def run(self, operands: Sequence[Any], results: int) -> tuple[list, list, list]:
        """The first loop's results; and the residuals: those that are constant, and those with a row per step."""
        ys = self.first(*operands)
        xs = self.first.parts(operands)[2]
        once = self.hoisted.evaluate(*operands[: self.first.constants])
        places = {"operand": xs, "result": ys, "stacked": ys[results:]}
        rows = [places[kind][i] for kind, i in self.sources if kind != "once"]
        return ys[:results], once, rows


def _cut(loop: Loop, first: Graph, second: Graph) -> _Cut:
    """Make a first loop of a body with residuals; the other body reads them."""
    body, count = loop.body, len(loop.body.outputs)
    fixed = invariants(first, loop.constants)
    places: dict[Any, tuple[str, int]] = {}
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
    kept = drop_dead(Graph(first.inputs, first.constants, first.equations, outputs, body.name))
    hoisted = drop_dead(
        Graph(first.inputs[: loop.constants], first.constants, _before(first, fixed), once, f"once_{body.name}")
    )
    order = [i for i, source in enumerate(sources) if source[0] == "once"]
    order += [i for i, source in enumerate(sources) if source[0] != "once"]
    rest = range(len(sources), len(second.inputs))
    second = permuted(second, [*order, *rest], range(len(second.outputs)))
    return _Cut(loop._replace(body=kept), hoisted, second, sources)


def _before(graph: Graph, fixed: set) -> list:
    return [equation for equation in graph.equations if equation.results[0] in fixed]


class _ScanDerivative:
    """Forward mode scans the body with tangents; reverse mode scans forward with residuals, then backward."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        loop: Loop = params["loop"]
        moves = _moves(loop, [bool(active >> i & 1) for i in range(len(primals))])
        if not any(moves.outputs):
            return loop(*primals), None, ()
        cut, backward = loop.body.made(_reverse_loops, loop, moves)
        avals = loop.results()
        ys, once, rows = cut.run(primals, len(avals))
        rows_count = len(once)
        constant_avals = chosen([x.aval for x in loop.body.inputs[: loop.constants]], moves.constants)

        def pull(y_bars: list, *kept: Any) -> list:
            pairs = chosen(list(zip(y_bars, avals, strict=True)), moves.outputs)
            bars = [zeros_of(aval) if y_bar is None else y_bar for y_bar, aval in pairs]
            carry_bars, stack_bars = bars[: sum(moves.carry)], bars[sum(moves.carry) :]
            sums = [zeros_of(aval) for aval in constant_avals]
            once, rows = kept[:rows_count], kept[rows_count:]
            found = backward(*once, *carry_bars, *sums, *rows, *stack_bars)
            carry_end = len(carry_bars)
            sums_end = carry_end + len(sums)
            in_order = [*found[carry_end:sums_end], *found[:carry_end], *found[sums_end:]]
            return [bar if active >> i & 1 else None for i, bar in enumerate(spread_out(in_order, moves.inputs))]

        return ys, pull, (*once, *rows)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        loop: Loop = params["loop"]
        moves = _moves(loop, [x_dot is not None for x_dot in tangents])
        x_dots = [
            zeros_of(var.aval) if x_dot is None and i < loop.constants + loop.carry else x_dot
            for i, (x_dot, var) in enumerate(zip(tangents, loop.body.inputs, strict=True))
        ]
        dots = [chosen(part, mask) for part, mask in zip(loop.parts(x_dots), moves[:3], strict=True)]
        push = _pushed_in_two if level_of(tangents) > level_of(primals) else _pushed_at_once
        ys, y_dots = push(loop, moves, primals, dots)
        return ys, spread_out(y_dots, moves.outputs)


def _pushed_at_once(loop: Loop, moves: _Moves, primals: tuple, dots: list[list]) -> tuple[list, list]:
    """One loop of primals and tangents."""
    moving, count = sum(moves.carry), len(loop.body.outputs)
    body = loop.body.made(_pushed_body, loop, moves)
    pushed = loop._replace(body=body, constants=loop.constants + len(dots[0]), carry=loop.carry + moving)
    parts = zip(loop.parts(primals), dots, strict=True)
    results = pushed(*[x for part, part_dots in parts for x in (*part, *part_dots)])
    carry_end = loop.carry + moving
    stacks_end = carry_end + count - loop.carry
    ys = [*results[: loop.carry], *results[carry_end:stacks_end]]
    return ys, [*results[loop.carry : carry_end], *results[stacks_end:]]


def _pushed_body(body: Graph, loop: Loop, moves: _Moves) -> Graph:
    """Constants, carry and rows, each with tangents behind; the same of the results."""
    count = len(body.outputs)
    joint = pushed_graph(body, moves.inputs, moves.outputs)
    fixed, carry, xs = loop.parts(range(len(body.inputs)))
    fixed_dots, carry_dots, x_dots = _runs(len(body.inputs), map(sum, moves[:3]))
    _, out_carry_dots, out_dots = _runs(0, [count, sum(moves.carry), sum(moves.stacks)])
    inputs = [*fixed, *fixed_dots, *carry, *carry_dots, *xs, *x_dots]
    return permuted(joint, inputs, [*range(loop.carry), *out_carry_dots, *range(loop.carry, count), *out_dots])


def _pushed_in_two(loop: Loop, moves: _Moves, primals: tuple, dots: list[list]) -> tuple[list, list]:
    """A loop of primals, and one of tangents: where those belong to an inner transform that has no primals."""
    cut, second = loop.body.made(_linearized_loops, loop, moves)
    ys, once, rows = cut.run(primals, len(loop.body.outputs))
    return ys, second(*once, *dots[0], *dots[1], *rows, *dots[2])


def _linearized_loops(body: Graph, loop: Loop, moves: _Moves) -> tuple[_Cut, Loop]:
    cut = _cut(loop, *linearized_graphs(body, moves.inputs, moves.outputs))
    return cut, _tangent_loop(loop, cut, list(map(sum, moves[:3])))


def _tangent_loop(loop: Loop, cut: _Cut, counts: list[int]) -> Loop:
    """The second body takes what is constant, what has rows, and the tangents of constants, carry and rows."""
    once = sum(kind == "once" for kind, _ in cut.sources)
    fixed, rows, fixed_dots, carry_dots, x_dots = _runs(0, [once, len(cut.sources) - once, *counts])
    order = [*fixed, *fixed_dots, *carry_dots, *rows, *x_dots]
    body = permuted(cut.second, order, range(len(cut.second.outputs)))
    return loop._replace(body=body, constants=once + counts[0], carry=counts[1])


def _runs(start: int, counts: Iterable[int]) -> list[range]:
    """Consecutive ranges of these lengths."""
    ends = list(accumulate(counts, initial=start))
    return [range(a, b) for a, b in pairwise(ends)]


def _reverse_loops(body: Graph, loop: Loop, moves: _Moves) -> tuple[_Cut, Loop]:
    cut = _cut(loop, *pulled_graphs(body, moves.inputs, moves.outputs))
    return cut, _backward_loop(loop, cut, moves)


def _backward_loop(loop: Loop, cut: _Cut, moves: _Moves) -> Loop:
    """The loop in the other direction: it carries the carry's cotangents and sums those of the constants."""
    once = sum(kind == "once" for kind, _ in cut.sources)
    rows = len(cut.sources) - once
    carried, constants = sum(moves.carry), sum(moves.constants)
    avals = [var.aval for var in cut.second.inputs]
    constant_avals = chosen([var.aval for var in loop.body.inputs[: loop.constants]], moves.constants)

    def body(*values: Any) -> list[Any]:
        fixed, rest = values[:once], values[once:]
        carry_bars, rest = rest[:carried], rest[carried:]
        sums, rest = rest[:constants], rest[constants:]
        residuals, stack_bars = rest[:rows], rest[rows:]
        bars = cut.second.evaluate(*fixed, *residuals, *carry_bars, *stack_bars)
        more, new_carry, row_bars = bars[:constants], bars[constants : constants + carried], bars[constants + carried :]
        return [*new_carry, *[a + b for a, b in zip(sums, more, strict=True)], *row_bars]

    carry_avals = avals[once + rows : once + rows + carried]
    sums_avals = [Aval(aval.shape, aval.dtype) for aval in constant_avals]
    order = [*avals[:once], *carry_avals, *sums_avals, *avals[once : once + rows], *avals[once + rows + carried :]]
    graph = staged_graph(body, order, f"transpose_{loop.body.name}")
    return Loop(graph, once, carried + constants, loop.length, not loop.reverse, loop.unroll)


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    """A scan of the mapped body; a carry that becomes batched on the way is batched from the start."""
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
    """The body mapped; which of its inputs and outputs are batched then."""
    constants, carry, xs = loop.parts(batched)
    while True:
        flags = (*constants, *carry, *xs)
        wanted = (*carry, *[False] * (len(loop.body.outputs) - loop.carry))
        body, mapped = batched_graph(loop.body, size, flags, wanted)
        if mapped[: loop.carry] == tuple(carry):
            return body, flags, mapped
        carry = mapped[: loop.carry]


def _swapped(x: Any) -> Any:
    """The batch and the steps change places."""
    return transpose(x, (1, 0, *range(2, len(x.shape))))


scan_p = Primitive(
    "scan",
    operands=("*xs",),
    numpy=_run_numpy,
    xla=_run_xla,
    aval=lambda *xs, loop: loop.results(),
    derivative=_ScanDerivative(),
    batch=_batch,
    cost=lambda y, *xs, loop: loop.length * loop.body.flops,
    multiple_results=True,
)
