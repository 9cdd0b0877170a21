"""The call primitive: a compiled graph inside a transform. Its derivatives are compiled graphs too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad._core.aval import Aval
from funcgrad._core.bind import bind
from funcgrad._core.forms import Forms
from funcgrad._core.graph.ir import Graph
from funcgrad._core.primitive import Primitive
from funcgrad._ops.program.batch import batched_graph, shared
from funcgrad._ops.program.depends import inside
from funcgrad._ops.program.derivative import Moves
from funcgrad._ops.program.derived import (
    Mask,
    linearized_graphs,
    moving_outputs,
    pulled_graphs,
    pushed_graph,
)
from funcgrad._ops.program.series import GraphDerivative
from funcgrad._types import Value

# Turns a graph into a function of flat arrays that returns a flat list.
Compiler = Callable[[Graph], Callable[..., list]]


def call(graph: Graph, operands: Sequence[Any], compiler: Compiler) -> list[Any]:
    """Run a compiled graph on values of any kind, as one operation on the tape."""
    return bind(call_p, tuple(operands), {"graph": graph, "compiler": compiler})


def _run(*operands: Value, graph: Graph, compiler: Compiler) -> list[Any]:
    return graph.made(compiler)(*operands)


class _CompiledPair(NamedTuple):
    """Reverse mode runs a compiled forward graph, which returns residuals, and later a compiled backward graph."""

    graph: Graph
    compiler: Compiler

    def __call__(self, *operands: Value) -> list[Any]:
        return call(self.graph, operands, self.compiler)

    @property
    def avals(self) -> list[Aval]:
        return [y.aval for y in self.graph.outputs]

    def moves(self, active: Mask) -> Moves:
        return Moves(active, moving_outputs(self.graph, active))

    def pulled(self, moves: Moves, primals: tuple) -> tuple[list, Callable[..., list], list]:
        forward, backward = self.graph.made(pulled_graphs, *moves)
        results, count = call(forward, primals, self.compiler), len(self.graph.outputs)
        return results[:count], self._replace(graph=backward), results[count:]

    def pushed(self, moves: Moves, primals: tuple, x_dots: list, separate: bool, order: int = 0) -> tuple[list, list]:
        count = len(self.graph.outputs)
        if not separate:
            results = call(self.graph.made(pushed_graph, *moves, order), (*primals, *x_dots), self.compiler)
            return results[:count], results[count:]
        first, second = self.graph.made(linearized_graphs, *moves)
        results = call(first, primals, self.compiler)
        return results[:count], call(second, (*results[count:], *x_dots), self.compiler)


def _call_batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    """Call the graph of the batched function. It is compiled once for each set of batched operands and size."""
    graph, mapped = batched_graph(params["graph"], size, batched)
    return shared(call(graph, operands, params["compiler"]), mapped)


call_p = Primitive(
    "call",
    operands=("*xs",),
    numpy=_run,
    xla=lambda lax, *xs, graph, compiler: _run(*xs, graph=graph, compiler=compiler),
    aval=lambda *xs, graph, compiler: [x.aval for x in graph.outputs],
    derivative=GraphDerivative(_CompiledPair),
    batch=_call_batch,
    cost=lambda y, *xs, graph, compiler: graph.flops,
    multiple_results=True,
    forms=Forms(depends=inside),
)
