"""The call primitive: a compiled graph inside a transform. Its derivatives are compiled graphs too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, is_inexact
from funcgrad._core.batch import BatchTrace, BatchTracer
from funcgrad._core.bind import bind, level_of
from funcgrad._core.forward import ForwardTrace, ForwardTracer
from funcgrad._core.graph import Graph
from funcgrad._core.primitive import Primitive
from funcgrad._core.reverse import ReverseTrace, ReverseTracer, backward_pass
from funcgrad._core.simplify import partition, simplify
from funcgrad._core.staging import StagingTrace
from funcgrad._ops.broadcast import with_batch
from funcgrad._ops.fill import zeros_like

# Turns a graph into a function of flat arrays that returns a flat list.
Compiler = Callable[[Graph], Callable[..., list]]


def call(graph: Graph, operands: Sequence[Any], compiler: Compiler) -> list[Any]:
    """Run a graph, compiled, on values of any kind: one operation on the tape, whatever its size."""
    return bind(call_p, tuple(operands), {"graph": graph, "compiler": compiler})


def _run(*operands: Any, graph: Graph, compiler: Compiler) -> list[Any]:
    compiled = graph.compiled.get(compiler)
    if compiled is None:
        compiled = graph.compiled[compiler] = compiler(graph)
    return compiled(*operands)


class _CallDerivative:
    """Reverse mode runs a compiled forward, which returns residuals, and later a compiled backward."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        graph, compiler = params["graph"], params["compiler"]
        key = ("reverse", active)
        if key not in graph.compiled:
            graph.compiled[key] = _reverse_graphs(graph, active)
        forward, backward, avals = graph.compiled[key]
        results = call(forward, primals, compiler)
        count = len(graph.outputs)
        if backward is None:
            return results, None, ()

        def pull(y_bars: list, *residuals: Any) -> list:
            seeds = [
                np.zeros(aval.shape, aval.dtype) if bar is None else bar
                for aval, bar in zip(avals, y_bars, strict=True)
                if aval is not None
            ]
            bars = iter(call(backward, (*residuals, *seeds), compiler))
            return [next(bars) if active >> i & 1 else None for i in range(len(primals))]

        return results[:count], pull, tuple(results[count:])

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        graph, compiler = params["graph"], params["compiler"]
        active = tuple(x_dot is not None for x_dot in tangents)
        key = ("forward", active)
        if key not in graph.compiled:
            graph.compiled[key] = _forward_graph(graph, active)
        pushed, carries = graph.compiled[key]
        x_dots = [x_dot for x_dot in tangents if x_dot is not None]
        ys, y_dots = _pushed(pushed, primals, x_dots, len(graph.outputs), compiler)
        dots = iter(y_dots)
        return ys, [next(dots) if carried else None for carried in carries]


def _pushed(pushed: Graph, primals: tuple, x_dots: list, count: int, compiler: Compiler) -> tuple[list, list]:
    """Results and tangents; in two calls where the tangents belong to an inner transform that has no primals."""
    if level_of(x_dots) <= level_of(primals):
        results = call(pushed, (*primals, *x_dots), compiler)
        return results[:count], results[count:]
    if "cut" not in pushed.compiled:
        pushed.compiled["cut"] = partition(pushed, len(primals), count)
    first, second = pushed.compiled["cut"]
    results = call(first, primals, compiler)
    return results[:count], call(second, (*results[count:], *x_dots), compiler)


def _reverse_graphs(graph: Graph, active: int) -> tuple[Graph, Graph | None, list[Aval | None]]:
    """The forward graph with residuals, the backward graph, and the avals of the results that carry a derivative."""
    staging = StagingTrace()
    with staging:
        values = [staging.input(var.aval) for var in graph.inputs]
        reverse = ReverseTrace()
        with reverse:
            xs = [reverse.input(x) if active >> i & 1 and is_inexact(x.dtype) else x for i, x in enumerate(values)]
            ys = graph.evaluate(*xs)
        mine = [type(y) is ReverseTracer and y.trace is reverse for y in ys]
        primal_ys = [y.value if is_mine else y for y, is_mine in zip(ys, mine, strict=True)]
        if not any(mine):
            return graph, None, []
        seeds = [
            (y.node, staging.input(Aval(y.shape, y.dtype))) for y, is_mine in zip(ys, mine, strict=True) if is_mine
        ]
        bars = backward_pass(seeds, free=True)
        x_bars = [
            zeros_like(x.value) if (bar := bars.get(x.node)) is None else bar
            for x in xs
            if isinstance(x, ReverseTracer)
        ]
        joint = simplify(staging.graph([*primal_ys, *x_bars], graph.name))
    forward, backward = partition(joint, len(graph.inputs), len(ys))
    avals = [var.aval if is_mine else None for var, is_mine in zip(graph.outputs, mine, strict=True)]
    return forward, backward, avals


def _forward_graph(graph: Graph, active: tuple[bool, ...]) -> tuple[Graph, list[bool]]:
    """The graph of results and tangents, and which results have a tangent."""
    staging = StagingTrace()
    with staging:
        values = [staging.input(var.aval) for var in graph.inputs]
        forward = ForwardTrace()
        with forward:
            xs = [
                forward.input(x, staging.input(x.aval)) if is_active else x
                for x, is_active in zip(values, active, strict=True)
            ]
            ys = graph.evaluate(*xs)
        mine = [type(y) is ForwardTracer and y.trace is forward for y in ys]
        primal_ys = [y.value if is_mine else y for y, is_mine in zip(ys, mine, strict=True)]
        y_dots = [y.tangent for y, is_mine in zip(ys, mine, strict=True) if is_mine]
        return simplify(staging.graph([*primal_ys, *y_dots], f"jvp_{graph.name}")), mine


def _call_batch(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> list[Any]:
    """A call of the graph of the batched function; it is compiled once for each set of batched operands and size."""
    graph = params["graph"]
    key = ("batch", size, batched)
    if key not in graph.compiled:
        graph.compiled[key] = batch_graph(graph, size, batched)
    return call(graph.compiled[key], operands, params["compiler"])


def batch_graph(graph: Graph, size: int, batched: tuple[bool, ...]) -> Graph:
    """The graph mapped over the inputs flagged in ``batched``; the batch leads in all its outputs."""
    staging = StagingTrace()
    with staging:
        trace = BatchTrace(size)
        with trace:
            xs = []
            for var, flag in zip(graph.inputs, batched, strict=True):
                shape = (size, *var.aval.shape) if flag else var.aval.shape
                x = staging.input(Aval(shape, var.aval.dtype, var.aval.weak and not flag))
                xs.append(trace.input(x) if flag else x)
            ys = graph.evaluate(*xs)
        mapped = [type(y) is BatchTracer and y.trace is trace for y in ys]
        results = [y.value if flag else with_batch(y, size, False) for y, flag in zip(ys, mapped, strict=True)]
        return simplify(staging.graph(results, f"vmap_{graph.name}"))


call_p = Primitive(
    "call",
    operands=("*xs",),
    numpy=_run,
    xla=lambda lax, *xs, graph, compiler: _run(*xs, graph=graph, compiler=compiler),
    aval=lambda *xs, graph, compiler: [x.aval for x in graph.outputs],
    derivative=_CallDerivative(),
    batch=_call_batch,
    cost=lambda y, *xs, graph, compiler: graph.flops,
    multiple_results=True,
)
