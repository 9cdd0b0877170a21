"""The gradient of a rolled program: loops forward and loops backward, without the equations of single rounds.

A cotangent is a sum of shares (``order.py``). The derivative of `scan` adds the shares of a round first, and then adds
their sum to the cotangent. The unrolled program adds share by share. These rules do what the unrolled program does, so
the numbers are the same but for the sign of a zero:

* The cotangent of a value that all rounds read is carried through the rounds. It begins with the shares of later
  equations, or with -0.0, because -0.0 + x is x for every x. The forward loop *threads* such a value: the loop returns
  it, and later equations read what the loop returned. So their shares reach the backward loop first.
* A result that is carried and stacked gets the share of the stack before the shares of the next rounds.
* In the last rounds some carries have no cotangent yet. These rounds stay equations, because 0 times infinity is NaN.

`pulled_program` returns ``None`` if the order of a sum cannot be kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._core.aval import Aval, is_inexact
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand
from funcgrad._core.graph.simplify import partition, simplify
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.trace.joint import component, hub
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._ops.index.gather import index, index_p
from funcgrad._ops.index.join import concatenate, stack
from funcgrad._ops.program.derived import moving_outputs
from funcgrad._ops.program.scan import Loop, scan_p
from funcgrad._ops.rolling.early.reverse_rounds import OrderError, ReverseRounds, bar_of, moves, uses_of, value_of


def pulled_program(graph: Graph, active: Sequence[bool], seeded: Sequence[bool]) -> tuple[Graph, Graph] | None:
    """Return the forward and the backward program of a rolled program; ``None`` if the order of sums cannot be kept.

    Args:
        graph: the rolled program.
        active: which inputs get cotangents.
        seeded: which outputs have a cotangent.

    Returns:
        ``first`` takes the inputs and returns the outputs and the values that are kept. ``second`` takes these values
        and the cotangents of the seeded outputs, and returns the cotangents of the active inputs.
    """
    staging = StagingTrace()
    try:
        with staging:
            values = [staging.input(var.aval) for var in graph.inputs]
            reverse = ReverseTrace()
            with reverse:
                pairs = zip(values, active, strict=True)
                xs = [reverse.input(x) if is_active else x for x, is_active in pairs]
                ys, _ = _Tape(reverse).run(graph, xs)
            seeds = []
            for y, is_seeded in zip(ys, seeded, strict=True):
                if is_seeded:
                    seed = staging.input(Aval(y.shape, y.dtype))
                    if moves(y, reverse):
                        seeds.append((y._node, seed))
            bars = backward_pass(seeds)
            x_bars = [bar_of(x, bars) for x in xs if type(x) is ReverseTracer]
            outputs = [*[value_of(y, reverse) for y in ys], *x_bars]
            pulled = simplify(staging.graph(outputs, graph.name))
    except OrderError:
        return None
    return partition(pulled, len(graph.inputs), len(graph.outputs))


class _Tape:
    """Runs programs under a reverse trace; loops get nodes of their own.

    Args:
        trace: the trace, which is running.
    """

    def __init__(self, trace: ReverseTrace) -> None:
        self._trace = trace

    def run(self, graph: Graph, args: Sequence[Any], later: Sequence[int] = ()) -> tuple[list[Any], list[Any]]:
        """Return the outputs of a program, and its inputs as later equations read them.

        A loop returns the values that it threads, and later equations read these.

        Args:
            graph: the program.
            args: its inputs.
            later: the numbers of the inputs that equations after the program read.
        """
        env: dict[Operand, Any] = dict(graph.constants)
        env.update(zip(graph.inputs, args, strict=True))
        last: dict[Operand, int] = {x: i for i, equation in enumerate(graph.equations) for x in equation.operands}
        last.update(dict.fromkeys([*graph.outputs, *[graph.inputs[k] for k in later]], len(graph.equations)))
        stacks: dict[Operand, int] = {}
        for i, equation in enumerate(graph.equations):
            operands = [x.value if type(x) is Literal else env[x] for x in equation.operands]
            if equation.primitive is scan_p and any(moves(x, self._trace) for x in operands):
                _check_slices(graph, equation, stacks)
                ys = self._loop(equation, operands, env, [last[x] > i for x in equation.operands], last)
                loop: Loop = equation.params["loop"]
                stacks.update(dict.fromkeys(equation.results[loop.carry :], i))
            else:
                found = equation.primitive(*operands, **equation.params)
                ys = found if equation.primitive.multiple_results else [found]
            env.update(zip(equation.results, ys, strict=True))
        outputs = [x.value if type(x) is Literal else env[x] for x in graph.outputs]
        return outputs, [env[x] for x in graph.inputs]

    def _loop(
        self,
        equation: Equation,
        operands: list[Any],
        env: dict[Operand, Any],
        later: Sequence[bool],
        last: dict[Operand, int],
    ) -> list[Any]:
        """Run a loop. The last rounds that lack a cotangent run as equations."""
        loop: Loop = equation.params["loop"]
        active = tuple(
            [
                moves(x, self._trace) and is_inexact(x.dtype) and (k >= loop.constants or _reaches_results(loop, k))
                for k, x in enumerate(operands)
            ]
        )
        rounds = ReverseRounds(loop, active, later, _run)
        rounds.check(active)
        read = [var in last for var in equation.results]
        peeled = rounds.peeled(read)
        if not peeled:
            return self._record(rounds, equation, operands, env)
        short = loop._replace(length=loop.length - peeled)
        constants, carry, xs = loop.parts(tuple(operands))
        first = [index(x, (slice(0, short.length),)) for x in xs]
        begin = loop.constants + loop.carry
        rounds = ReverseRounds(short, active, [*later[:begin], *[False] * len(xs)], _run)
        rounds.check_peeled(later)
        ys = self._record(rounds, equation, [*constants, *carry, *first], env)
        constants = [env[x] if moves(y, self._trace) else y for x, y in zip(equation.operands, constants, strict=False)]
        rows: list[list[Any]] = []
        now = ys[: loop.carry]
        for r in range(short.length, loop.length):
            results, after = self.run(loop.body, [*constants, *now, *[index(x, (r,)) for x in xs]], rounds.summed())
            constants, now = after[: loop.constants], results[: loop.carry]
            rows.append(results[loop.carry :])
        env.update((x, y) for x, y in zip(equation.operands, constants, strict=False) if moves(y, self._trace))
        stacks = [
            concatenate([y, stack([row[k] for row in rows], 0)], 0) if is_read else y
            for k, (y, is_read) in enumerate(zip(ys[loop.carry :], read[loop.carry :], strict=True))
        ]
        return [*now, *stacks]

    def _record(
        self, rounds: ReverseRounds, equation: Equation, operands: Sequence[Any], env: dict[Operand, Any]
    ) -> list[Any]:
        """Run a loop and make its node. Later equations read the values that it threads from its results."""
        trace = self._trace
        primals = [value_of(x, trace) for x in operands]
        flags = rounds.moves.operands
        nodes = [x._node if moves(x, trace) and flag else None for x, flag in zip(operands, flags, strict=True)]
        rounds.check_distinct(nodes)
        results, kept = rounds.forward(primals)
        whole = hub(scan_p, nodes, rounds.pull, kept, None)
        threaded = rounds.threaded
        count = len(results) + len(threaded)
        for place, k in enumerate(threaded, len(results)):
            env[equation.operands[k]] = ReverseTracer(trace, primals[k], component(scan_p, whole, place, count))
        return [
            ReverseTracer(trace, y, component(scan_p, whole, k, count)) if moves else y
            for k, (y, moves) in enumerate(zip(results, rounds.moves.results, strict=True))
        ]


def _reaches_results(loop: Loop, k: int) -> bool:
    """Return whether a constant of a loop has a share in each round: rounds may read it for its value alone."""
    return any(moving_outputs(loop.body, tuple([k == i for i in range(len(loop.body.inputs))])))


def _check_slices(graph: Graph, equation: Equation, stacks: dict[Operand, int]) -> None:
    """Refuse a loop that reads slices of another loop's results in several ways: their order is not kept."""
    loop: Loop = equation.params["loop"]
    rows = loop.parts(equation.operands)[2]
    for each in graph.equations:
        if each.primitive is index_p and each.operands[0] in stacks and each.results[0] in rows:
            uses = sum(each.operands[0] in other.operands for other in graph.equations)
            k = loop.constants + loop.carry + rows.index(each.results[0])
            if uses + (each.operands[0] in graph.outputs) > 1 and uses_of(loop.body, loop.body.inputs[k]) > 1:
                raise OrderError


def _run(trace: ReverseTrace, graph: Graph, args: Sequence[Any], later: Sequence[int]) -> tuple[list[Any], list[Any]]:
    return _Tape(trace).run(graph, args, later)
