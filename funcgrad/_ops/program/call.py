"""The call primitive: a compiled graph inside a transform. Its derivatives are compiled graphs too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import bind, level_of
from funcgrad._core.graph.ir import Graph
from funcgrad._core.primitive import Primitive
from funcgrad._ops.program.batch import batched_graph, shared
from funcgrad._ops.program.derived import (
    chosen,
    linearized_graphs,
    moving_outputs,
    pulled_graphs,
    pushed_graph,
    spread_out,
    zeros_of,
)

# Turns a graph into a function of flat arrays that returns a flat list.
Compiler = Callable[[Graph], Callable[..., list]]


def call(graph: Graph, operands: Sequence[Any], compiler: Compiler) -> list[Any]:
    """Run a graph, compiled, on values of any kind: one operation on the tape, whatever its size."""
    return bind(call_p, tuple(operands), {"graph": graph, "compiler": compiler})


def _run(*operands: Any, graph: Graph, compiler: Compiler) -> list[Any]:
    return graph.made(compiler)(*operands)


class _CallDerivative:
    """Reverse mode runs a compiled forward, which returns residuals, and later a compiled backward."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        graph, compiler = params["graph"], params["compiler"]
        moving = tuple([bool(active >> i & 1) and is_inexact(var.aval.dtype) for i, var in enumerate(graph.inputs)])
        carried = moving_outputs(graph, moving)
        if not any(carried):
            return call(graph, primals, compiler), None, ()
        forward, backward = graph.made(pulled_graphs, moving, carried)
        results = call(forward, primals, compiler)
        count = len(graph.outputs)

        def pull(y_bars: list, *residuals: Any) -> list:
            pairs = chosen(list(zip(y_bars, graph.outputs, strict=True)), carried)
            seeds = [zeros_of(y.aval) if y_bar is None else y_bar for y_bar, y in pairs]
            return spread_out(call(backward, (*residuals, *seeds), compiler), moving)

        return results[:count], pull, tuple(results[count:])

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        graph, compiler = params["graph"], params["compiler"]
        moving = tuple([x_dot is not None for x_dot in tangents])
        carried = moving_outputs(graph, moving)
        x_dots, count = chosen(tangents, moving), len(graph.outputs)
        if level_of(x_dots) <= level_of(primals):
            results = call(graph.made(pushed_graph, moving, carried), (*primals, *x_dots), compiler)
            return results[:count], spread_out(results[count:], carried)
        # The tangents belong to an inner transform that has no primals: two calls keep the results out of it.
        first, second = graph.made(linearized_graphs, moving, carried)
        results = call(first, primals, compiler)
        return results[:count], spread_out(call(second, (*results[count:], *x_dots), compiler), carried)


def _call_batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    """A call of the graph of the batched function; it is compiled once for each set of batched operands and size."""
    graph, mapped = batched_graph(params["graph"], size, batched)
    return shared(call(graph, operands, params["compiler"]), mapped)


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
