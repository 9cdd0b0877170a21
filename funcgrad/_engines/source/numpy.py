"""Graphs as straight-line NumPy code: one generated function without dispatch, tracing or trees.

    def run(x0, x1):
        v2 = p0(x0, x1)
        v3 = p1(v2, out=v2)
        ...

Each variable is dropped after its last use, and a ufunc writes into the buffer of an operand that it is the last to
read, where that operand came fresh out of a ufunc itself: a chain of elementwise operations needs one buffer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.bind import NUMPY_TYPES, bind, is_foreign
from funcgrad._core.graph.ir import Equation, Graph, Literal
from funcgrad._engines.engine import NO_SCOPE, Engine


def compile_numpy(graph: Graph) -> Callable[..., list]:
    """A function of flat NumPy arrays that runs the graph."""
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
    writer = _Writer(graph)
    lines = [line for i, equation in enumerate(graph.equations) for line in writer.lines(i, equation)]
    inputs = ", ".join(writer.names[var] for var in graph.inputs)
    outputs = ", ".join(writer.name(x) for x in graph.outputs)
    return writer.scope, "\n".join([f"def run({inputs}):", *lines, f"    return [{outputs}]"])


class _Writer:
    """Writes one line for each equation, and keeps the books of names and buffers."""

    def __init__(self, graph: Graph) -> None:
        self.names: dict[Any, str] = {}
        self.scope: dict[str, Any] = {}
        self._last_uses = _last_uses(graph)
        # Variables whose buffer nothing else can see: results of ufuncs that only ufuncs have read.
        self._own: set[Any] = set()
        for var, value in graph.constants:
            self.scope[self._new_name(var, "c")] = value
        for var in graph.inputs:
            self._new_name(var, "x")

    def name(self, x: Any) -> str:
        """What stands for an operand in the code; a literal becomes a name with its value."""
        return self._given("l", x.value) if type(x) is Literal else self.names[x]

    def lines(self, i: int, equation: Equation) -> list[str]:
        """The code of equation number ``i``."""
        function = self._given("p", equation.primitive.numpy)
        arguments = [self.name(x) for x in equation.operands]
        arguments += [f"{name}={self._given(name, value)}" for name, value in equation.params.items()]
        dying = self._last_uses.get(i, [])
        if isinstance(equation.primitive.numpy, np.ufunc):
            buffer = self._reusable(equation, dying)
            if buffer is not None:
                arguments.append(f"out={self.names[buffer]}")
            self._own.update(var for var in equation.results if var.aval.shape)
        else:
            # The result may be a view of any operand.
            self._own.difference_update(equation.operands)
        results = "".join(f"{self._new_name(var, 'v')}, " for var in equation.results)
        target = results if equation.primitive.multiple_results else results[:-2]
        lines = [f"    {target} = {function}({', '.join(arguments)})"]
        if dying:
            lines.append(f"    del {', '.join(self.names[var] for var in dying)}")
        return lines

    def _reusable(self, equation: Equation, dying: list[Any]) -> Any:
        """An operand that dies here and whose buffer has the type of the result."""
        aval = equation.results[0].aval
        return next((x for x in equation.operands if x in dying and x in self._own and _same_type(x.aval, aval)), None)

    def _new_name(self, var: Any, kind: str) -> str:
        self.names[var] = f"{kind}{len(self.names)}"
        return self.names[var]

    def _given(self, kind: str, value: Any) -> str:
        name = f"{kind}_{len(self.scope)}"
        self.scope[name] = value
        return name


def _same_type(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype


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


NUMPY = Engine(
    name="numpy",
    owns=lambda x: type(x) in NUMPY_TYPES,
    # It runs them itself: the shortest way through it.
    run=bind,
    compile=compile_numpy,
    scope=lambda: NO_SCOPE,
    is_abstract=lambda x: False,
    place_beside=lambda value, x: value,
    lasting=lambda value, given: value,
    tracing=None,
)
