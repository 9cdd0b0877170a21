"""Graphs as straight-line NumPy code: one generated function without dispatch, tracing or trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._core.bind import is_foreign
from funcgrad._core.graph import Graph, Literal


def compile_numpy(graph: Graph) -> Callable[..., list]:
    """A function of flat NumPy arrays that runs the graph; each variable is dropped after its last use."""
    scope, source = numpy_source(graph)
    exec(compile(source, f"<funcgrad {graph.name}>", "exec"), scope)
    generated = scope["run"]

    def run(*operands: Any) -> list:
        if any(is_foreign(x) for x in operands):
            return graph.evaluate(*operands)
        return generated(*operands)

    return run


def numpy_source(graph: Graph) -> tuple[dict[str, Any], str]:
    """The names that the code uses, with their values, and the code."""
    names: dict[Any, str] = {}
    scope: dict[str, Any] = {}
    for i, (var, value) in enumerate(graph.constants):
        names[var] = f"c{i}"
        scope[f"c{i}"] = value
    for var in graph.inputs:
        names[var] = f"x{len(names)}"

    def operand(x: Any) -> str:
        if type(x) is not Literal:
            return names[x]
        name = f"l{len(scope)}"
        scope[name] = x.value
        return name

    last_use = _last_uses(graph)
    lines = []
    for i, equation in enumerate(graph.equations):
        function = f"p{i}"
        scope[function] = equation.primitive.numpy
        arguments = [operand(x) for x in equation.operands]
        for name, value in equation.params.items():
            scope[f"{function}_{name}"] = value
            arguments.append(f"{name}={function}_{name}")
        for var in equation.results:
            names[var] = f"v{len(names)}"
        results = ", ".join(names[var] for var in equation.results)
        comma = "," if equation.primitive.multiple_results and len(equation.results) == 1 else ""
        lines.append(f"    {results}{comma} = {function}({', '.join(arguments)})")
        dropped = [names[var] for var in last_use.get(i, ())]
        if dropped:
            lines.append(f"    del {', '.join(dropped)}")
    outputs = ", ".join(operand(x) for x in graph.outputs)
    inputs = ", ".join(names[var] for var in graph.inputs)
    return scope, "\n".join([f"def run({inputs}):", *lines, f"    return [{outputs}]"])


def _last_uses(graph: Graph) -> dict[int, list[Any]]:
    """The variables that may be dropped after each equation."""
    last: dict[Any, int] = {}
    for i, equation in enumerate(graph.equations):
        for var in (*equation.results, *equation.operands):
            if type(var) is not Literal:
                last[var] = i
    for x in (*graph.outputs, *[var for var, _ in graph.constants]):
        last.pop(x, None)
    found: dict[int, list[Any]] = {}
    for var, i in last.items():
        found.setdefault(i, []).append(var)
    return found
