"""Rematerialisation: a graph of which only the operands are kept; it runs again when its derivative is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._core.aval import Aval, is_inexact
from funcgrad._core.bind import level_of
from funcgrad._core.graph.ir import Graph
from funcgrad._core.primitive import Primitive
from funcgrad._engines.source.numpy import compile_numpy
from funcgrad._ops.program.batch import batched_graph, shared
from funcgrad._ops.program.derived import (
    Mask,
    chosen,
    moving_outputs,
    permuted,
    pulled_graph,
    pushed_graph,
    spread_out,
    zeros_of,
)


class _BarrierDerivative:
    """The identity in both directions."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        return primitive(*primals), list, ()

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return primitive(*primals), tangents


# The identity, which keeps a compiler from computing what comes after together with what came before.
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
)


class _CheckpointDerivative:
    """The derivative starts from the operands again, behind a barrier that waits for the cotangents or tangents."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        graph: Graph = params["graph"]
        moving = tuple([bool(active >> i & 1) and is_inexact(var.aval.dtype) for i, var in enumerate(graph.inputs)])
        carried = moving_outputs(graph, moving)
        ys = checkpointed(graph, primals)
        if not any(carried):
            return ys, None, ()

        def pull(y_bars: list, *kept: Any) -> list:
            pairs = chosen(list(zip(y_bars, graph.outputs, strict=True)), carried)
            seeds = [zeros_of(y.aval) if y_bar is None else y_bar for y_bar, y in pairs]
            return spread_out(checkpointed(graph.made(_cotangents, moving, carried), barrier_p(*kept, *seeds)), moving)

        return ys, pull, primals

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        graph: Graph = params["graph"]
        moving = tuple([x_dot is not None for x_dot in tangents])
        carried = moving_outputs(graph, moving)
        x_dots, count = chosen(tangents, moving), len(graph.outputs)
        if level_of(x_dots) > level_of(primals):
            y_dots = checkpointed(graph.made(_tangents, moving, carried), barrier_p(*primals, *x_dots))
            return checkpointed(graph, primals), spread_out(y_dots, carried)
        results = checkpointed(graph.made(pushed_graph, moving, carried), (*primals, *x_dots))
        return results[:count], spread_out(results[count:], carried)


def _cotangents(graph: Graph, moving: Mask, carried: Mask) -> Graph:
    """Operands and cotangents to the cotangents of the operands alone."""
    return _last(pulled_graph(graph, moving, carried), len(graph.outputs))


def _tangents(graph: Graph, moving: Mask, carried: Mask) -> Graph:
    """Operands and tangents to the tangents of the results alone."""
    return _last(graph.made(pushed_graph, moving, carried), len(graph.outputs))


def _last(joint: Graph, count: int) -> Graph:
    return permuted(joint, range(len(joint.inputs)), range(count, len(joint.outputs)))


def _run(*xs: Any, graph: Graph) -> list[Any]:
    return graph.made(compile_numpy)(*xs)


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
    derivative=_CheckpointDerivative(),
    batch=_batch,
    cost=lambda y, *xs, graph: graph.flops,
    multiple_results=True,
)


def checkpointed(graph: Graph, operands: Sequence[Any]) -> list[Any]:
    """Run a graph of whose insides nothing is kept."""
    return checkpoint_p(*operands, graph=graph)
