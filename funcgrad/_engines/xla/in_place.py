"""Find the writes of a program that XLA may fuse with the computation of the written value.

Each other write of a part first stores the written value (``separate.py`` says why). Loops over stencils then take up
to three times as long. A write may be fused if its array is one of these, because then no other operation reads the
memory of the array under another shape:

* A value that the loop carries. XLA gives it a buffer of its own, in its own shape.
* An array made of no input, such as zeros, if the written value is not made of it.
* A copy of such an array, or the result of such a write.
"""

from __future__ import annotations

from collections.abc import Iterable

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Operand, trusted_graph


def with_writes_in_place(graph: Graph, carry: Iterable[int] = ()) -> Graph:
    """Return the graph with ``in_place=True`` in the parameters of writes that XLA may fuse with their value.

    Args:
        graph: a program, or the body of a loop of at least two rounds.
        carry: the positions of the inputs that the loop carries.
    """
    inputs = frozenset(graph.inputs)
    held: set[Operand] = {graph.inputs[i] for i in carry}
    # The inputs, constants, and arrays of one number that a value is made of. Sets of them are bits of an integer.
    made_of: dict[Operand, int] = {x: 1 << i for i, x in enumerate((*graph.inputs, *[x for x, _ in graph.constants]))}
    given = (1 << len(inputs)) - 1
    equations: list[Equation] = []
    for equation in graph.equations:
        basic = equation.primitive.forms.basic
        sources = 0 if basic is Basic.FILL else _joined(equation.operands, made_of)
        made_of.update((y, sources or 1 << len(made_of)) for y in equation.results)
        if basic is Basic.COPY and equation.operands[0] in held:
            held.update(equation.results)
        if basic is Basic.WRITE and len(equation.operands) == 2:
            x, v = equation.operands
            if x in held or not (_joined([x], made_of) & (given | _joined([v], made_of))):
                held.update(equation.results)
                equations.append(_in_place(equation))
                continue
        equations.append(equation)
    return trusted_graph(graph.inputs, graph.constants, equations, graph.outputs, graph.name, graph.trees)


def _in_place(equation: Equation) -> Equation:
    params = {**equation.params, "in_place": True}
    return Equation(equation.primitive, equation.operands, params, equation.results, equation.source)


def _joined(operands: Iterable[Operand], made_of: dict[Operand, int]) -> int:
    found = 0
    for x in operands:
        found |= made_of.get(x, 0)
    return found
