"""Follow which inputs each value of a program depends on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import Tracer
from funcgrad._core.graph.ir import Graph, Literal
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._engines import is_abstract
from funcgrad._ops.layout.depends import Application, Read, Rule, dense, elementwise
from funcgrad._ops.layout.fill import full_like_p
from funcgrad._types import ArrayLike
from funcgrad.sparse._pattern import Pattern, each, nothing


def pattern_of(graph: Graph, number: int, limit: int) -> Pattern:
    """Return which elements of one input of a graph each element of its only output depends on.

    The other inputs are arrays of any numbers.
    """
    moving = graph.inputs[number].aval
    space = _Inputs(moving.size, limit)
    reads = [Read(x.aval, None, space.nothing(x.aval.size)) for x in graph.inputs]
    reads[number] = Read(moving, None, each(moving.shape, limit))
    return space.run(graph, reads)[0].pattern


class _Inputs:
    """The inputs that patterns refer to, and the most entries of a pattern."""

    def __init__(self, width: int, limit: int) -> None:
        self.width = width
        self.limit = limit

    def nothing(self, size: int) -> Pattern:
        return nothing(size, self.width, self.limit)

    def known(self, value: ArrayLike) -> Read:
        """Return an operand that the program fixes. The numbers of a traced constant are not known."""
        aval = aval_of(value)
        fixed = not isinstance(value, Tracer) and not is_abstract(value)
        return Read(aval, np.asarray(value) if fixed else None, self.nothing(aval.size))

    def run(self, graph: Graph, reads: Sequence[Read]) -> list[Read]:
        """Return the values or the patterns of a graph's outputs, for these inputs."""
        found: dict[Any, Read] = {var: self.known(value) for var, value in graph.constants}
        found.update(zip(graph.inputs, reads, strict=True))

        def read(x: ArrayLike) -> Read:
            return self.known(x.value) if type(x) is Literal else found[x]

        last = {x: i for i, equation in enumerate(graph.equations) for x in equation.operands}
        kept = {*graph.outputs, *graph.inputs}
        for i, equation in enumerate(graph.equations):
            results = self._applied(equation, [read(x) for x in equation.operands])
            found.update(zip(equation.results, results, strict=True))
            # Patterns of large arrays are dropped as soon as nothing reads them.
            for x in equation.operands:
                if last[x] == i and x not in kept:
                    found.pop(x, None)
        return [read(x) for x in graph.outputs]

    def alone(self, graph: Graph, reads: Sequence[Read], counted: Sequence[bool]) -> list[Pattern]:
        """Return the patterns of the outputs of a graph by the inputs that are counted."""
        sizes = [read.aval.size if count else 0 for read, count in zip(reads, counted, strict=True)]
        space = _Inputs(sum(sizes), self.limit)
        ends = np.cumsum(sizes)
        inner = []
        for read, size, end in zip(reads, sizes, ends, strict=True):
            moves = bool(size) and is_inexact(read.aval.dtype)
            own = Pattern(np.arange(size + 1), np.arange(end - size, end), space.width, self.limit) if moves else None
            inner.append(read._replace(pattern=space.nothing(read.aval.size) if own is None else own))
        return [read.pattern for read in space.run(graph, inner)]

    def _applied(self, equation: Any, reads: list[Read]) -> list[Read]:
        primitive, avals = equation.primitive, [var.aval for var in equation.results]
        if all(read.pattern.empty for read in reads):
            values = _values(equation, reads)
            return [Read(aval, y, self.nothing(aval.size)) for aval, y in zip(avals, values, strict=True)]
        rule = _rule(primitive)
        if rule is None:
            return [Read(aval, None, self.nothing(aval.size)) for aval in avals]
        patterns = rule(Application(primitive, reads, avals, equation.params, self.run, self.alone))
        return [
            Read(aval, None, pattern if is_inexact(aval.dtype) else self.nothing(aval.size))
            for aval, pattern in zip(avals, patterns, strict=True)
        ]


def _rule(primitive: Any) -> Rule | None:
    """Return how the results of a primitive depend on its operands; ``None`` if they carry no derivative."""
    if primitive.forms.depends is not None:
        return primitive.forms.depends
    if primitive.derivative is CONSTANT:
        return None
    return elementwise if primitive.elementwise else dense


def _values(equation: Any, reads: Sequence[Read]) -> list[Any]:
    """Return the numbers of results that the program fixes, such as a shifted array of indices."""
    primitive, operands = equation.primitive, [read.value for read in reads]
    if primitive is full_like_p:
        value = np.asarray(equation.params["value"], reads[0].aval.dtype)
        return [np.broadcast_to(value, reads[0].aval.shape)]
    if not reads or equation.has_effect or any(x is None for x in operands):
        return [None] * len(equation.results)
    results = primitive.numpy(*operands, **equation.params)
    return list(map(np.asarray, results if primitive.multiple_results else [results]))
