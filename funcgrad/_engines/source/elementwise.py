"""Elementwise graphs as code that writes its results to given memory, and graphs of numbers as code of Python floats.

    def run(x0, x1, x2, x3, x4, y0, y1, w0=None):
        v7 = multiply(x2, x4, y1)
        v8 = add(v7, x1, y1)
        v9 = multiply(v8, x3, w0)
        v10 = subtract(x0, v9, y0)

``x`` are the operands, ``y`` the memory of the results, ``w`` memory for intermediate values. Memory of a result also
holds intermediate values that are not read after the result is made. The lines are those of `Writer`, and serve arrays
of every length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.choose import choose
from funcgrad._core.graph.ir import Graph, Literal, Operand, Var
from funcgrad._engines.source.code import function_of
from funcgrad._engines.source.operators import OPERATORS
from funcgrad._engines.source.writer import Writer


class InMemory(NamedTuple):
    """A function of operands, memory for the results, and memory for intermediate values.

    Args:
        run: ``run(*operands, *results, *scratch)``; without ``scratch`` it allocates this memory.
        source: its source.
        scratch: the dtypes of the memory for intermediate values, which is as long as the arrays.
    """

    run: Callable[..., None]
    source: str
    scratch: tuple[np.dtype, ...]


def in_memory(graph: Graph, aliases: Sequence[int | None]) -> InMemory:
    """Return the function that writes the results of a graph to given memory.

    Args:
        graph: elementwise operations on arrays of one length and on numbers, which are passed as arrays without axes.
        aliases: for each output, the number of the input whose memory its memory may be; ``None`` if it is that of no
            input.
    """
    writer = Writer(graph)
    writer.scratch = []
    # A number is passed as an array without axes, so that no line converts it.
    writer.numbers.clear()
    places = [Var(x.aval) for x in graph.outputs]
    for k, (place, x, alias) in enumerate(zip(places, graph.outputs, aliases, strict=True)):
        writer.names[place] = f"y{k}"
        writer.buffers.reserve(place, x, None if alias is None else graph.inputs[alias])
    lines = [*writer.body(), *_copies(writer, places)] or ["pass"]
    scratch = [f"w{k}=None" for k in range(len(writer.scratch))]
    head = f"def run({', '.join([*writer.inputs.values(), *[writer.names[place] for place in places], *scratch])}):"
    source = "\n    ".join([head, *lines]) + "\n"
    return InMemory(function_of(source, writer.scope, graph.name), source, tuple(writer.scratch))


def _copies(w: Writer, places: Sequence[Var]) -> list[str]:
    """Return the lines that copy outputs that are not in their memory yet."""
    missing = [
        (place, x)
        for place, x in zip(places, w.graph.outputs, strict=True)
        if type(x) is Literal or w.buffers.root(x) is not place
    ]
    copy, first, lines = w.numpy(np.copyto), [], []
    for place, x in missing:
        name = w.name(x)
        if len(missing) > 1 and not _is_apart(w, x, places):
            # Another copy may write over this memory before it is read.
            first.append(f"{name}_ = {name}.copy()")
            name = f"{name}_"
        lines.append(f"{copy}({w.names[place]}, {name})")
    return [*dict.fromkeys(first), *lines]


def _is_apart(w: Writer, x: Operand, places: Sequence[Var]) -> bool:
    """Return whether an output is a number, or lies in memory that is not that of any result."""
    return type(x) is Literal or (w.buffers.is_own(x) and w.buffers.root(x) not in places)


# The same for Python floats. The two extrema must return NaN if an operand is NaN, which Python's do not.
_OF_FLOATS = {
    **OPERATORS,
    choose: "({1} if {0} else {2})",
    np.power: "pow({}, {})",
    np.absolute: "abs({})",
    np.sqrt: "sqrt({})",
    np.maximum: "({0} if {0} >= {1} or {0} != {0} else {1})",
    np.minimum: "({0} if {0} <= {1} or {0} != {0} else {1})",
}


def float_program(graph: Graph) -> Callable[..., tuple[Any, ...]] | None:
    """Return the function of Python floats for a graph of scalars; ``None`` if an equation has no form for floats.

    If NumPy would warn (division by zero, overflow), it raises ``ArithmeticError`` or ``ValueError``. For twenty
    equations it takes a tenth of NumPy's time.
    """
    names: dict[Any, str] = {x: f"s{i}" for i, x in enumerate(graph.inputs)}
    lines = []
    for i, equation in enumerate(graph.equations):
        form = _OF_FLOATS.get(equation.primitive.numpy)
        known = all(math.isfinite(x.value) if type(x) is Literal else x in names for x in equation.operands)
        if form is None or equation.params or not known:
            return None
        operands = [f"({float(x.value)!r})" if type(x) is Literal else names[x] for x in equation.operands]
        names[equation.results[0]] = f"v{i}"
        lines.append(f"v{i} = {form.format(*operands)}")
    if any(type(x) is Literal or x not in names for x in graph.outputs):
        return None
    results = "".join([f"{names[x]}, " for x in graph.outputs])
    head = f"def run({', '.join([names[x] for x in graph.inputs])}):"
    source = "\n    ".join([head, *lines, f"return ({results})"])
    return function_of(source, {"sqrt": math.sqrt, "pow": math.pow}, graph.name)
