"""Graphs as straight-line NumPy code: one generated function without dispatch, tracing or trees.

    graph --writer.py--> lines: a form for each equation (forms.py), memory from buffers.py
          --numpy.py---> a function of flat arrays, for bodies of loops and calls under a transform
          --call.py----> a function of the user's arguments: a guard, these lines, and the result as a pytree

A ufunc writes into the memory of an operand that is not read again, so a chain of elementwise operations needs one
buffer. Numbers are computed with Python's operators. The source is registered where tracebacks look for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._core.bind import is_engine_value
from funcgrad._core.graph.ir import Graph
from funcgrad._engines.source.clusters import clustered
from funcgrad._engines.source.code import function_of
from funcgrad._engines.source.writer import Writer
from funcgrad._types import Value


def compile_numpy(graph: Graph, donated: Sequence[int] = ()) -> Callable[..., list]:
    """Return a function of flat NumPy arrays that runs the graph; it may write to the memory of donated inputs."""
    return compile_source(graph, clustered, donated)


def compile_source(
    graph: Graph, prepared: Callable[[Graph], Graph], donated: Sequence[int] = ()
) -> Callable[..., list]:
    """Return the same function for a graph whose operations ``prepared`` groups first."""
    scope, source = numpy_source(graph, donated, prepared)
    generated = function_of(source, scope, graph.name)

    def run(*operands: Value) -> list:
        if any(map(is_engine_value, operands)):
            return graph.evaluate(*operands)
        return generated(*operands)

    return run


def numpy_source(
    graph: Graph, donated: Sequence[int] = (), prepared: Callable[[Graph], Graph] = clustered
) -> tuple[dict[str, Any], str]:
    """Return the values of the names that the code uses, and the code."""
    writer = Writer(prepared(graph), [graph.inputs[i] for i in donated], prepared=prepared)
    lines = writer.body()
    outputs = ", ".join([writer.inputs.get(x) or writer.name(x) for x in graph.outputs])
    head = f"def run({', '.join(writer.inputs.values())}):"
    return writer.scope, "\n    ".join([head, *lines, f"return [{outputs}]"])
