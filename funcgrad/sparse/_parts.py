"""Split the factors of a product into parts: arrays that the program only pads with zeros and adds to known numbers.

In a chain of variables, such as Rosenbrock's function, a factor is a sum of padded arrays. The elements of the matrix
are read from the arrays before they are padded. Rosenbrock's Hessian then takes three quarters of the time.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Var
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.gather import scatter_p
from funcgrad._ops.layout.shape import reshape_p


class Part(NamedTuple):
    """A variable of the program with elements of a factor.

    Args:
        factor: the number of the factor.
        places: for each element of the variable, in C order, its number among the elements of the factor.
    """

    factor: int
    places: np.ndarray


class Parts(NamedTuple):
    """The factors of a program, without the numbers that it fixes.

    Args:
        graph: the program, with the parts as its outputs.
        parts: a part for each output.
        fixed: for each factor, the summand that is known, a flat array.
    """

    graph: Graph
    parts: list[Part]
    fixed: list[np.ndarray]


def parts_of(graph: Graph, *, in_parts: bool) -> Parts:
    """Return the parts of the outputs: their summands if they are padded sums, and otherwise the outputs themselves."""
    makers = {var: equation for equation in graph.equations for var in equation.results}
    known: dict[Any, Any] = {
        var: value for var, value in graph.constants if issubclass(type(value), np.ndarray | np.generic)
    }
    fixed = [np.zeros(var.aval.size, var.aval.dtype) for var in graph.outputs]
    found: list[tuple[Any, Part]] = []
    left = [(var, Part(i, np.arange(var.aval.size))) for i, var in enumerate(graph.outputs)]
    while left:
        x, part = left.pop()
        value = x.value if type(x) is Literal else known.get(x)
        if value is not None:
            np.add.at(fixed[part.factor], part.places, np.ravel(value))
            continue
        inside = _inside(x, part.places, makers, known) if in_parts else None
        if inside is None:
            found.append((x, part))
        else:
            left += [(operand, Part(part.factor, places)) for operand, places in inside]
    found.reverse()
    outputs = [x for x, _ in found]
    taken = Graph(graph.inputs, graph.constants, graph.equations, outputs, graph.name)
    return Parts(drop_dead(taken), [part for _, part in found], fixed)


def _inside(
    x: Any, places: np.ndarray, makers: dict[Any, Equation], known: dict[Any, Any]
) -> list[tuple[Any, np.ndarray]] | None:
    """Return the variables that ``x`` is a padded sum of; ``None`` if it must be computed."""
    equation = makers.get(x)
    if equation is None or any(type(operand) is not Var for operand in equation.operands):
        return None
    operands, primitive = equation.operands, equation.primitive
    if primitive is reshape_p:
        return [(operands[0], places)]
    if primitive is add_p:
        same = all(operand.aval.shape == x.aval.shape for operand in operands)
        ends = any(operand in known or _placed(makers.get(operand)) is not None for operand in operands)
        return [(operand, places) for operand in operands] if same and ends else None
    chosen = _placed(equation)
    return None if chosen is None else [(operands[0], places[chosen])]


def _placed(equation: Equation | None) -> np.ndarray | None:
    """Return the places of the operand's elements in a result that is zero elsewhere; ``None`` for other equations."""
    if equation is None or equation.primitive is not scatter_p or len(equation.operands) != 1:
        return None
    shape, (index,) = equation.params["shape"], equation.params["indices"]
    numbers = np.arange(math.prod(shape)).reshape(shape)
    chosen = numbers[index.entries]
    return chosen.ravel() if chosen.shape == equation.operands[0].aval.shape else None
