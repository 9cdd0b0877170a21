"""Leave out barriers, which keep operations or devices apart on other engines."""

from __future__ import annotations

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Operand, trusted_graph


def without_barriers(graph: Graph) -> Graph:
    """Return the same program without barriers, so that the operations around one can run together."""
    if not any(e.primitive.forms.basic is Basic.BARRIER for e in graph.equations):
        return graph
    known: dict[Operand, Operand] = {}
    kept: list[Equation] = []
    # The engine copies an argument that is a result at such an equation, so the equation stays.
    made: set[Operand] = set()
    for e in graph.equations:
        operands = tuple([known.get(x, x) for x in e.operands])
        needs_copy = any(var in graph.outputs and x not in made for var, x in zip(e.results, operands, strict=False))
        made.update(e.results)
        if e.primitive.forms.basic is Basic.BARRIER and not needs_copy:
            known.update(zip(e.results, operands, strict=False))
        else:
            kept.append(Equation(e.primitive, operands, e.params, e.results, e.source))
    outputs = [known.get(x, x) for x in graph.outputs]
    return trusted_graph(graph.inputs, graph.constants, kept, outputs, graph.name, graph.trees)
