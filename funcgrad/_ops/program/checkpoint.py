"""Rematerialisation: a graph that keeps only its operands and runs again when its derivative is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Forms
from funcgrad._core.graph.ir import Equation, Graph, Var, trusted_graph
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._core.numbers import weak_where
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import LinearTogether
from funcgrad._engines import NUMPY
from funcgrad._ops.layout.copy import unshared
from funcgrad._ops.layout.depends import same
from funcgrad._ops.program.batch import batched_graph, shared
from funcgrad._ops.program.depends import inside
from funcgrad._ops.program.derivative import Moves
from funcgrad._ops.program.derived import (
    Mask,
    moving_outputs,
    permuted,
    pulled_graph,
    pushed_graph,
    split,
)
from funcgrad._ops.program.series import GraphDerivative
from funcgrad._types import Array, Lax, Value


class _BarrierDerivative(LinearTogether):
    """The identity in both directions."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        return primitive(*primals), list, ()

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return primitive(*primals), tangents


# The identity. It prevents a compiler from merging computations before it with computations after it.
barrier_p = Primitive(
    "optimization_barrier",
    operands=("*xs",),
    numpy=lambda *xs: list(xs),
    xla=lambda lax, *xs: list(lax.optimization_barrier(list(xs))),
    aval=lambda *xs: [Aval(x.shape, x.dtype) for x in xs],
    derivative=_BarrierDerivative(),
    batch=lambda primitive, size, operands, batched, params: shared(primitive(*operands), batched),
    cost=lambda y, *xs: 0,
    multiple_results=True,
    forms=Forms(depends=same),
)


# Returns whether the results of an equation are kept for the backward pass.
Policy = Callable[[Equation], bool]


class _CheckpointDerivative(NamedTuple):
    """The derivative starts from the operands again, behind a barrier that waits for the cotangents or tangents.

    With a policy, reverse mode also starts from the values that the policy keeps.
    """

    graph: Graph
    policy: Policy | None = None

    def __call__(self, *operands: Value) -> list[Any]:
        return weak_where(checkpointed(self.graph, operands, self.policy), self.avals)

    @property
    def avals(self) -> list[Aval]:
        return [y.aval for y in self.graph.outputs]

    def moves(self, active: Mask) -> Moves:
        return Moves(active, moving_outputs(self.graph, active))

    def pulled(self, moves: Moves, primals: tuple) -> tuple[list, Callable[..., list], tuple]:
        if self.policy is not None:
            first, second = self.graph.made(_cut, self.policy, *moves)
            results, count = checkpointed(first, primals, self.policy), len(self.avals)
            kept = (*results[count:], *primals)
            ys = weak_where(results[:count], self.avals)
            return ys, lambda *values: checkpointed(second, barrier_p(*values), self.policy), kept

        def backward(*values: Value) -> list:
            return checkpointed(self.graph.made(_cotangents, *moves), barrier_p(*values))

        return self(*primals), backward, primals

    def pushed(self, moves: Moves, primals: tuple, x_dots: list, separate: bool, order: int = 0) -> tuple[list, list]:
        if separate:
            y_dots = checkpointed(self.graph.made(_tangents, *moves), barrier_p(*primals, *x_dots))
            return self(*primals), y_dots
        results = checkpointed(self.graph.made(pushed_graph, *moves, order), (*primals, *x_dots))
        count = len(self.avals)
        return weak_where(results[:count], self.avals), results[count:]


def _cut(graph: Graph, policy: Policy, moving: Mask, carried: Mask) -> tuple[Graph, Graph]:
    """Return two graphs: operands to results and kept values; kept values, operands and cotangents to cotangents."""
    saved = [var for equation in graph.equations if policy(equation) for var in equation.results]
    longer = trusted_graph(graph.inputs, graph.constants, graph.equations, [*graph.outputs, *saved], graph.name)
    joint = pulled_graph(longer, moving, (*carried, *[False] * len(saved)))
    count = len(graph.outputs)
    outputs, found, bars = split(joint.outputs, count, len(saved))
    # A value that turned out to be an operand or a number is known anyway.
    kept = [x for x in dict.fromkeys(found) if type(x) is Var and x not in joint.inputs]
    first = drop_dead(
        trusted_graph(
            joint.inputs[: len(graph.inputs)], joint.constants, joint.equations, [*outputs, *kept], graph.name
        )
    )
    again = [_without(equation, kept) for equation in joint.equations if not set(equation.results) <= set(kept)]
    second = drop_dead(trusted_graph([*kept, *joint.inputs], joint.constants, again, bars, f"transpose_{graph.name}"))
    return first, second


def _without(equation: Equation, kept: Sequence[Var]) -> Equation:
    """Return the equation without those of its results that are kept."""
    results = tuple([Var(y.aval) if y in kept else y for y in equation.results])
    return Equation(equation.primitive, equation.operands, equation.params, results, equation.source)


def _cotangents(graph: Graph, moving: Mask, carried: Mask) -> Graph:
    """Return the graph of operands and cotangents to the cotangents of the operands alone."""
    return _last(pulled_graph(graph, moving, carried), len(graph.outputs))


def _tangents(graph: Graph, moving: Mask, carried: Mask) -> Graph:
    """Return the graph of operands and tangents to the tangents of the results alone."""
    return _last(graph.made(pushed_graph, moving, carried), len(graph.outputs))


def _last(joint: Graph, count: int) -> Graph:
    return permuted(joint, range(len(joint.inputs)), range(count, len(joint.outputs)))


def _run(*xs: Value, graph: Graph, policy: Policy | None = None) -> list[Any]:
    del policy
    return unshared(graph.made(NUMPY.compile)(*xs))


def _run_xla(lax: Lax, *xs: Array, graph: Graph, policy: Policy | None = None) -> list[Any]:
    del policy
    return (lax.checkpoint(graph.evaluate) if any(lax.is_traced(x) for x in xs) else graph.evaluate)(*xs)


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    graph, mapped = batched_graph(params["graph"], size, batched)
    return shared(checkpointed(graph, operands, params.get("policy")), mapped)


checkpoint_p = Primitive(
    "checkpoint",
    operands=("*xs",),
    numpy=_run,
    xla=_run_xla,
    aval=lambda *xs, graph, policy=None: [x.aval for x in graph.outputs],
    derivative=GraphDerivative(_CheckpointDerivative),
    batch=_batch,
    cost=lambda y, *xs, graph, policy=None: graph.flops,
    multiple_results=True,
    forms=Forms(depends=inside),
)


def checkpointed(graph: Graph, operands: Sequence[Any], policy: Policy | None = None) -> list[Any]:
    """Run a graph without keeping its intermediate values, except those of equations that a policy names."""
    if policy is None:
        return checkpoint_p(*operands, graph=graph)
    return checkpoint_p(*operands, graph=graph, policy=policy)
