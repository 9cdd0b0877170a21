"""Sides of a condition in a batch: operations that may raise see only numbers that do not make them raise.

All elements of a batch run a side together. NumPy would raise for the whole batch where one element that does not take
the side has an index out of bounds or a singular matrix. The results of such an element are not selected, so other
numbers may take the place of its own:

- Positions of arrays are moved to the nearest bound.
- If the side has another operation that may raise, or positions inside a loop or a call, the element runs the side on
  the operands of the first element that takes it.

Example: ``cond(ok, lambda i, a: x[i] * inv(a), lambda i, a: a, i, a)`` with three positions in ``x``, for
``ok = [False, True, True]``, ``i = [7, 1, 2]`` and ``a = [a0, a1, a2]`` computes ``x[[1, 1, 2]] * inv([a1, a1, a2])``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, is_integer
from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._ops.elementwise.logic import clip_p
from funcgrad._ops.elementwise.select import select, select_p
from funcgrad._ops.index.gather import index
from funcgrad._ops.index.named_axis import all_gather_p
from funcgrad._ops.index.plan import SLOT
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.program.derived import Mask, zeros_equation
from funcgrad._ops.reduce.reduce import argmax
from funcgrad._types import Value


def has_positions(graph: Graph) -> bool:
    """Return whether positions of arrays are operands of the graph's equations, or of those of its branches."""
    return graph.made(_has_positions)


def _has_positions(graph: Graph) -> bool:
    return any(_positions(each) or any(map(has_positions, _branches_of(each))) for each in graph.equations)


def _positions(equation: Equation) -> dict[int, int]:
    """Return which operands of an equation are positions that are not known, with the lengths of the axes."""
    if equation.primitive.positions is None:
        return {}
    lengths = equation.primitive.positions(*[x.aval for x in equation.operands], **equation.params)
    pairs = enumerate(zip(equation.operands, lengths, strict=True))
    return {k: n for k, (x, n) in pairs if n is not None and type(x) is Var and is_integer(x.aval.dtype)}


def _branches_of(equation: Equation) -> Sequence[Graph]:
    return equation.params["branches"][:2] if equation.primitive.forms.basic is Basic.COND else ()


def within_bounds(graph: Graph) -> Graph:
    """Return the graph that takes first whether it is reached; if it is not, positions stay within bounds."""
    return graph.made(_within_bounds)


def _within_bounds(graph: Graph) -> Graph:
    reached = Var(Aval((), np.dtype(bool)))
    equations: list[Equation] = []
    for equation in graph.equations:
        operands, params = [*equation.operands], equation.params
        for k, n in _positions(equation).items():
            operands[k] = _bounded(equations, reached, operands[k], n, equation)
        if any(map(has_positions, _branches_of(equation))):
            branches = params["branches"]
            params = {"branches": branches._replace(true=within_bounds(branches[0]), false=within_bounds(branches[1]))}
            operands.insert(1, reached)
        equations.append(Equation(equation.primitive, tuple(operands), params, equation.results, equation.source))
    return trusted_graph([reached, *graph.inputs], graph.constants, equations, graph.outputs, graph.name)


def _bounded(equations: list[Equation], reached: Var, x: Operand, n: int, of: Equation) -> Var:
    """Append equations that move positions to the nearest bound where the graph is not reached."""
    limits = np.iinfo(x.aval.dtype)
    ends = [Literal(x.aval.dtype.type(end)) for end in (max(-n, limits.min), min(n - 1, limits.max))]
    clipped, found = [Var(Aval(x.aval.shape, x.aval.dtype)) for _ in range(2)]
    equations.append(Equation(clip_p, (x, *ends), {}, (clipped,), of.source))
    equations.append(Equation(select_p, (reached, x, clipped), {}, (found,), of.source))
    return found


def deciding_inputs(graph: Graph) -> Mask:
    """Return which inputs decide whether an operation of the graph raises, but for those that decide by positions."""
    return graph.made(_deciding_inputs, False)


def _deciding_inputs(graph: Graph, by_positions: bool) -> Mask:
    # An operation across the batch reads what each element computes from its own numbers.
    wanted: set[Operand] = set()
    if not graph.made(_reads_across):
        for equation in reversed(graph.equations):
            if not wanted.isdisjoint(equation.results):
                wanted.update(equation.operands)
            wanted.update(_deciding_operands(equation, by_positions))
    return tuple([var in wanted for var in graph.inputs])


def _reads_across(graph: Graph) -> bool:
    return any(
        equation.primitive is all_gather_p or any(inner.made(_reads_across) for inner in _programs(equation.params))
        for equation in graph.equations
    )


def _deciding_operands(equation: Equation, by_positions: bool) -> Sequence[Operand]:
    """Return the operands that decide whether an equation raises: matrices, exponents, and positions if asked."""
    primitive, operands = equation.primitive, equation.operands
    if primitive.fails:
        return operands
    if primitive.forms.requires is not None:
        return operands[-1:]
    if by_positions and primitive.positions is not None:
        return [operands[k] for k in _positions(equation)]
    is_cond = primitive.forms.basic is Basic.COND
    masks = [graph.made(_deciding_inputs, by_positions or not is_cond) for graph in _programs(equation.params)]
    if not is_cond:
        return operands if any(map(any, masks)) else ()
    flags = [any(each) for each in zip(*masks, strict=True)]
    return [operands[0], *[x for x, flag in zip(operands[1:], flags, strict=True) if flag]] if any(flags) else ()


def _programs(params: Any) -> Iterator[Graph]:
    """Yield the programs in the parameters of an equation, and in records among these."""
    for param in params.values() if isinstance(params, dict) else params:
        if isinstance(param, Graph):
            yield param
        elif isinstance(param, tuple):
            yield from _programs(param)


def replaced(reached: Value, xs: Sequence[Any], chosen: Sequence[bool]) -> list[Any]:
    """Return operands; the chosen ones are those of the first element that takes a side where one does not.

    Args:
        reached: bool[size]: which elements take the side; if none does, the side must not run.
        xs: the operands.
        chosen: which of them to replace. They have the batch leading.
    """
    first = argmax(reached, 0)
    return [_replaced(reached, x, first) if flag else x for x, flag in zip(xs, chosen, strict=True)]


def _replaced(reached: Value, x: Value, first: Value) -> Value:
    mask = reshape(reached, (*reached.shape, *[1] * (len(x.shape) - 1)))
    return select(mask, x, stop_gradient_p(index(x, (SLOT,), (first,))))


def zeros_instead(graph: Graph) -> Graph:
    """Return the graph that returns zeros of the types of the results."""
    equations = [zeros_equation(x.aval) for x in graph.outputs]
    return trusted_graph(graph.inputs, (), equations, [each.results[0] for each in equations], graph.name)
