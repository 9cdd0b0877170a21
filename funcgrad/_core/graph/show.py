"""Graphs as text: one line per equation, with types, parameters and source lines."""

from __future__ import annotations

import itertools
import string
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from funcgrad._core.graph.ir import Equation, Graph, Operand


def show(graph: Graph) -> str:
    """The graph as text; variables are lettered in the order in which they are assigned."""
    names = _Names()
    inputs = ", ".join(f"{names(var)}: {var.aval}" for var in graph.inputs)
    lines = [f"graph {graph.name}({inputs}):"]
    for var, value in graph.constants:
        lines.append(f"  {names(var)}: {var.aval} = constant {type(value).__name__}")
    rows = [(_equation(equation, names), equation.source) for equation in graph.equations]
    width = max((len(text) for text, _ in rows if len(text) <= 72), default=0)
    for text, source in rows:
        lines.append(f"  {text:<{width}}  # {source}" if source else f"  {text}")
    lines.append(f"  return {', '.join(names(x) for x in graph.outputs)}")
    return "\n".join(lines)


def _equation(equation: Equation, names: _Names) -> str:
    operands = " ".join(names(x) for x in equation.operands)
    params = ", ".join(f"{name}={_param(value)}" for name, value in equation.params.items())
    results = ", ".join(f"{names(var)}: {var.aval}" for var in equation.results)
    return f"{results} = {equation.primitive.name}{f'[{params}]' if params else ''} {operands}".rstrip()


def _param(value: Any) -> str:
    if isinstance(value, np.dtype):
        return value.name
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else repr(value)


class _Names:
    """A letter for each variable, and the number for a literal."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._letters = _letters()

    def __call__(self, x: Operand) -> str:
        value = getattr(x, "value", None)
        if value is not None:
            return repr(value.item() if isinstance(value, np.generic | np.ndarray) else value)
        if x not in self._names:
            self._names[x] = next(self._letters)
        return self._names[x]


def _letters() -> Iterator[str]:
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            yield "".join(letters)
