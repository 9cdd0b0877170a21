"""Graphs as text: one line per equation, with types, parameters and source lines; of long loops one round."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._core.graph.repeats import Repeat, repeats

if TYPE_CHECKING:
    from funcgrad._core.graph.ir import Equation, Graph, Operand
    from funcgrad._core.graph.line import Line

# A program of fewer equations is shown whole, and so are stretches that would hide fewer equations than the second.
_LONG = 200
_FOLDED = 100
# If there are more operands than this, or more parts of a parameter, only some of them are shown.
_MANY = 12


def show(graph: Graph, most: int | None = None) -> str:
    """Return the graph as text. Variables get letters in the order in which they are assigned.

    The programs inside it, such as bodies of loops and branches, follow below. If there are more lines than ``most``,
    only the first and the last ones are shown.
    """
    lines = [line for each in programs_of(graph) for line in [*_lines(each), ""]][:-1]
    if most is not None and len(lines) > most:
        hidden = len(lines) - most
        lines[most // 2 : -most // 2] = [f"  ... {hidden:,} more lines, which print(graph) shows ..."]
    return "\n".join(lines)


def programs_of(graph: Graph) -> list[Graph]:
    """Return a graph and the graphs inside its equations, each once."""
    found, known = [graph], {id(graph)}
    for each in found:
        for equation in each.equations:
            for held in graphs_in(equation.params.values()):
                if id(held) not in known:
                    known.add(id(held))
                    found.append(held)
    return found


def graphs_in(values: Iterable[Any]) -> Iterator[Graph]:
    """Yield the graphs among parameters, or inside records of parameters."""
    for value in values:
        if hasattr(value, "equations"):
            yield value
        elif isinstance(value, tuple):
            yield from graphs_in(value)


def _lines(graph: Graph) -> list[str]:
    names = Names()
    inputs = ", ".join(f"{names(var)}: {var.aval}" for var in graph.inputs)
    lines = [f"graph {graph.name}({inputs}):"]
    for var, value in graph.constants:
        lines.append(f"  {names(var)}: {var.aval} = constant {type(value).__name__}")
    rows: list[tuple[str, Line | None]] = []
    start = 0
    for fold in _folds(graph.equations):
        end = fold.start + fold.period
        rows += [(equation_text(equation, names), equation.source) for equation in graph.equations[start:end]]
        rounds = f"{fold.rounds - 1:,} more rounds of {fold.period} equations like these"
        rows.append((f"... {rounds} ...", None))
        start = fold.end
    rows += [(equation_text(equation, names), equation.source) for equation in graph.equations[start:]]
    width = max((len(text) for text, _ in rows if len(text) <= 72), default=0)
    for text, source in rows:
        lines.append(f"  {text:<{width}}  # {_origin(source)}" if source else f"  {text}")
    lines.append(f"  return {', '.join(names(x) for x in graph.outputs)}")
    return lines


def _folds(equations: Sequence[Equation]) -> list[Repeat]:
    """Return the stretches of a long program of which one round is shown: they repeat by lines, primitives and types.

    Parameters do not count: the rounds of a loop over rows differ in their index.
    """
    if len(equations) < _LONG:
        return []
    numbers: dict[Any, int] = {}
    kinds = [
        (each.primitive.name, each.source, tuple([type_text(x.aval.shape, x.aval.dtype) for x in each.results]))
        for each in equations
    ]
    found = repeats(np.array([numbers.setdefault(kind, len(numbers)) for kind in kinds], np.int64))
    return [each for each in found if (each.rounds - 1) * each.period >= _FOLDED]


def _origin(source: Line) -> str:
    """Return the line and the named blocks around it."""
    blocks = "/".join(block.name for block in source.blocks)
    return f"{source} {blocks}" if blocks else str(source)


def equation_text(equation: Equation, names: Names) -> str:
    """Return an equation as text."""
    if equation.primitive.guards:
        asked, answer = equation.params["asked"], equation.params["answer"]
        value = names(equation.operands[0])
        return f"guard {value if asked == 'bool' else f'{asked}({value})'}: {answer}"
    operands = " ".join(_shortened(equation.operands, names))
    params = ", ".join(f"{name}={param_text(value)}" for name, value in equation.params.items())
    results = ", ".join(f"{names(var)}: {var.aval}" for var in equation.results)
    return f"{results} = {equation.primitive.name}{f'[{params}]' if params else ''} {operands}".rstrip()


def _shortened(parts: Sequence[Any], text: Callable[[Any], str]) -> list[str]:
    """Return the texts of some parts; of many only the first ones and the last one."""
    if len(parts) <= _MANY:
        return list(map(text, parts))
    return [*map(text, parts[:3]), f"... {len(parts) - 4:,} more ...", text(parts[-1])]


def param_text(value: Any) -> str:
    """Return a parameter as text."""
    if isinstance(value, np.dtype):
        return value.name
    if type(value) is tuple and len(value) > _MANY:
        return f"({', '.join(_shortened(value, param_text))})"
    name = getattr(value, "name", None)
    return name if isinstance(name, str) else repr(value)


class Names:
    """Gives each variable a letter, and each literal its number."""

    def __init__(self) -> None:
        self._names: dict[Any, str] = {}
        self._letters = _letters()

    def __call__(self, x: Operand) -> str:
        value = getattr(x, "value", None)
        if value is not None:
            return repr(value.item() if issubclass(type(value), np.generic | np.ndarray) else value)
        if x not in self._names:
            self._names[x] = next(self._letters)
        return self._names[x]


def _letters() -> Iterator[str]:
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_lowercase, repeat=length):
            yield "".join(letters)
