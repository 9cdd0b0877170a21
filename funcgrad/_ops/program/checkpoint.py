"""Rematerialisation: a graph that keeps only its operands and runs again when its derivative is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Forms
from funcgrad._core.graph.ir import Graph
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import LinearTogether
from funcgrad._engines import NUMPY
from funcgrad._ops.layout.copy import unshared
from funcgrad._ops.layout.depends import same
from funcgrad._ops.program.batch import batched_graph, shared
from funcgrad._ops.program.depends import inside
from funcgrad._ops.program.derivative import Moves, ProgramDerivative
from funcgrad._ops.program.derived import (
    Mask,
    moving_outputs,
    permuted,
    pulled_graph,
    pushed_graph,
)


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


class _Checkpointed(NamedTuple):
    """The derivative starts from the operands again, behind a barrier that waits for the cotangents or tangents."""

    graph: Graph

    def __call__(self, *operands: Any) -> list[Any]:
        return checkpointed(self.graph, operands)

    @property
    def avals(self) -> list[Aval]:
        return [y.aval for y in self.graph.outputs]

    def moves(self, active: Mask) -> Moves:
        return Moves(active, moving_outputs(self.graph, active))

    def pulled(self, moves: Moves, primals: tuple) -> tuple[list, Callable[..., list], tuple]:
        def backward(*values: Any) -> list:
            return checkpointed(self.graph.made(_cotangents, *moves), barrier_p(*values))

        return self(*primals), backward, primals

    def pushed(self, moves: Moves, primals: tuple, x_dots: list, separate: bool) -> tuple[list, list]:
        if separate:
            y_dots = checkpointed(self.graph.made(_tangents, *moves), barrier_p(*primals, *x_dots))
            return self(*primals), y_dots
        results, count = checkpointed(self.graph.made(pushed_graph, *moves), (*primals, *x_dots)), len(self.avals)
        return results[:count], results[count:]


def _cotangents(graph: Graph, moving: Mask, carried: Mask) -> Graph:
    """Return the graph of operands and cotangents to the cotangents of the operands alone."""
    return _last(pulled_graph(graph, moving, carried), len(graph.outputs))


def _tangents(graph: Graph, moving: Mask, carried: Mask) -> Graph:
    """Return the graph of operands and tangents to the tangents of the results alone."""
    return _last(graph.made(pushed_graph, moving, carried), len(graph.outputs))


def _last(joint: Graph, count: int) -> Graph:
    return permuted(joint, range(len(joint.inputs)), range(count, len(joint.outputs)))


def _run(*xs: Any, graph: Graph) -> list[Any]:
    return unshared(graph.made(NUMPY.compile)(*xs))


def _run_xla(lax: Any, *xs: Any, graph: Graph) -> list[Any]:
    return (lax.checkpoint(graph.evaluate) if any(lax.is_traced(x) for x in xs) else graph.evaluate)(*xs)


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    graph, mapped = batched_graph(params["graph"], size, batched)
    return shared(checkpointed(graph, operands), mapped)


checkpoint_p = Primitive(
    "checkpoint",
    operands=("*xs",),
    numpy=_run,
    xla=_run_xla,
    aval=lambda *xs, graph: [x.aval for x in graph.outputs],
    derivative=ProgramDerivative(_Checkpointed),
    batch=_batch,
    cost=lambda y, *xs, graph: graph.flops,
    multiple_results=True,
    forms=Forms(depends=inside),
)


def checkpointed(graph: Graph, operands: Sequence[Any]) -> list[Any]:
    """Run a graph without keeping its intermediate values."""
    return checkpoint_p(*operands, graph=graph)
