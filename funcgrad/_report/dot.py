"""Write graphs in Graphviz's language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from funcgrad._core.graph.ir import Equation, Graph, Var
from funcgrad._core.graph.line import Line
from funcgrad._core.graph.show import Names, equation_text

_FORWARD, _BACKWARD, _VALUE = "#dbe9f9", "#fbe3d4", "#eeeeee"


def to_dot(graph: Graph) -> str:
    """Return the text of a directed graph, drawn from the inputs at the top to the outputs at the bottom."""
    names = Names()
    makers: dict[Any, str] = {}
    lines = [f"digraph {quoted(graph.name)} {{", '  node [shape=box, style="rounded,filled", fontname="Helvetica"];']
    for i, var in enumerate(graph.inputs):
        lines.append(_node(makers, var, f"i{i}", f"{names(var)}\n{var.aval}", _VALUE))
    for i, (var, _) in enumerate(graph.constants):
        lines.append(_node(makers, var, f"c{i}", f"constant {names(var)}\n{var.aval}", _VALUE))
    path: tuple[Any, ...] = ()
    edges = []
    for i, equation in enumerate(graph.equations):
        new = cluster_path(equation.source)
        lines += _moved(path, new, i)
        path = new
        lines.append(_equation(f"e{i}", equation, names))
        edges += [f"  {makers[x]} -> e{i};" for x in equation.operands if x in makers]
        makers.update(dict.fromkeys(equation.results, f"e{i}"))
    lines += _moved(path, (), len(graph.equations))
    for i, x in enumerate(graph.outputs):
        lines.append(f"  o{i} [label={quoted(f'output {i}: {names(x)}')}, shape=ellipse, fillcolor={quoted(_VALUE)}];")
        edges += [f"  {makers[x]} -> o{i};"] if x in makers else []
    return "\n".join([*lines, *edges, "}"]) + "\n"


def cluster_path(source: Line | None) -> tuple[Any, ...]:
    """Return the blocks around an equation; blocks of the backward pass differ from those of the forward pass."""
    return () if source is None else tuple([(block, source.backward) for block in source.blocks])


def _moved(old: tuple[Any, ...], new: tuple[Any, ...], i: int) -> Iterator[str]:
    """Return the lines that close some clusters and open others. A block that is entered twice becomes two clusters."""
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    yield from ["  }"] * (len(old) - same)
    for depth, (block, backward) in enumerate(new[same:], same):
        label = f"{block.name} (backward)" if backward else block.name
        yield f'  subgraph cluster_{i}_{depth} {{ label={quoted(label)}; fontname="Helvetica";'


def _node(makers: dict[Any, str], var: Var, name: str, label: str, color: str) -> str:
    makers[var] = name
    return f"  {name} [label={quoted(label)}, shape=ellipse, fillcolor={quoted(color)}];"


def _equation(name: str, equation: Equation, names: Names) -> str:
    text, source = equation_text(equation, names), equation.source
    results, _, rest = text.partition(" = ")
    label = f"{results.split(':')[0]} = {rest}" if len(equation.results) == 1 else rest
    types = ", ".join(str(var.aval) for var in equation.results)
    color = _BACKWARD if source is not None and source.backward else _FORWARD
    about = f"{source}  {source.text}" if source else ""
    # A guard has no result that anything reads; its text is the question and the answer.
    shown = quoted(text if equation.primitive.guards else f"{label}\n{types}")
    return f"  {name} [label={shown}, fillcolor={quoted(color)}, tooltip={quoted(about)}];"


def quoted(text: str) -> str:
    """Quote a string for Graphviz."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
