"""Prepare a program for kernels.

Equations are expanded into basic operations, barriers are left out, and no vector is multiplied by a transposed matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Literal, Var, trusted_graph
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._engines.source.barriers import without_barriers


class Expanded(Equation):
    """An equation and the basic operations that compute the same result."""

    __slots__ = ("parts",)

    def __init__(self, equation: Equation, parts: Sequence[Equation]) -> None:
        super().__init__(equation.primitive, equation.operands, equation.params, equation.results, equation.source)
        self.parts = tuple(parts)


def prepared(graph: Graph) -> Graph:
    """Return the same program without barriers; equations whose primitives have an expansion hold it."""
    return with_expansions(_with_plain_matrices(without_barriers(graph)))


def _with_plain_matrices(graph: Graph) -> Graph:
    """Return the same program; ``x.T @ v`` becomes ``v @ x``, which a kernel adds up row by row of ``x``."""
    matrices: dict[Any, Any] = {}
    equations: list[Equation] = []
    for equation in graph.equations:
        basic, plain = equation.primitive.forms.basic, equation
        if basic is Basic.TRANSPOSE and equation.params["permutation"] == (1, 0):
            matrices[equation.results[0]] = equation.operands[0]
        elif basic is Basic.MATMUL and any(len(x.aval.shape) == 1 for x in equation.operands):
            a, b = equation.operands
            if a in matrices or b in matrices:
                turned = matrices.get(b, b), matrices.get(a, a)
                plain = Equation(equation.primitive, turned, equation.params, equation.results, equation.source)
        equations.append(plain)
    read = {x for each in equations for x in each.operands} | set(graph.outputs)
    equations = [each for each in equations if each.results[0] in read or each.results[0] not in matrices]
    return trusted_graph(graph.inputs, graph.constants, equations, graph.outputs, graph.name, graph.trees)


def with_expansions(graph: Graph) -> Graph:
    """Return the same program; equations whose primitives have an expansion hold it."""
    equations = [equation if (found := _expanded(equation)) is None else found for equation in graph.equations]
    return trusted_graph(graph.inputs, graph.constants, equations, graph.outputs, graph.name, graph.trees)


def parts_of(equation: Equation) -> Sequence[Equation]:
    """Return the basic operations that compute an equation; the equation itself where it has no expansion."""
    return equation.parts if isinstance(equation, Expanded) else (equation,)


def _expanded(equation: Equation) -> Expanded | None:
    expand = equation.primitive.forms.expand
    if expand is None:
        return None
    trace = StagingTrace("expand")
    given = [x.value if isinstance(x, Literal) else trace.input(x.aval) for x in equation.operands]
    program = trace.graph([expand(*given, **equation.params)], equation.primitive.name)
    (output,), (result,) = program.outputs, equation.results
    made = {var for part in program.equations for var in part.results}
    if output not in made or output.aval.shape != result.aval.shape or output.aval.dtype != result.aval.dtype:
        return None
    # The parts read the equation's own operands, and the last one makes its own result.
    own: dict[Any, Any] = dict(zip(program.inputs, [x for x in equation.operands if type(x) is Var], strict=True))
    own[output] = result
    parts = [
        Equation(
            part.primitive,
            tuple([own.get(x, x) for x in part.operands]),
            part.params,
            tuple([own.get(var, var) for var in part.results]),
            equation.source,
        )
        for part in program.equations
    ]
    return Expanded(equation, parts)
