"""Check that the step of an elementwise rule is elementwise, and remove the shape from its staged graph.

Such a step is staged once and then runs on parameters of every shape, in blocks of them, and on several parameters that
were joined. That is right only if element ``i`` of each result depends on element ``i`` of the arrays and on numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.graph.ir import Equation, Graph, Literal, trusted_graph
from funcgrad._core.graph.key import params_key
from funcgrad._core.graph.simplify import simplify
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.elementwise.cast import cast_p, conj_p, fit_p, imag_p, real_p, weak_cast_p
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import FULL
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.layout.broadcast import broadcast_to_p
from funcgrad._ops.layout.copy import copy_p
from funcgrad._ops.layout.fill import full_like_p
from funcgrad._ops.layout.shape import reshape_p
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._transforms.base.stage import stage_flat
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import RuleError
from funcgrad.tree.extend import static_key

# The step is staged for both shapes. They have different sizes and ranks, and do not broadcast to each other.
SHAPES = ((2,), (3, 5))
# Primitives of one array that treat each element separately, although they are not declared elementwise.
_OF_EACH = frozenset({cast_p, weak_cast_p, fit_p, copy_p, full_like_p, stop_gradient_p, real_p, imag_p, conj_p})
# Primitives that keep the elements in their order, if they keep or fill their number.
_IN_ORDER = frozenset({reshape_p, broadcast_to_p})


def shape_free(name: str, stage: Callable[[tuple[int, ...]], Graph]) -> Graph:
    """Stage a step and return a graph that serves parameters of every shape.

    Args:
        name: the rule's name, for messages.
        stage: returns the graph of the step for parameters of a shape; its first input is the parameter.

    Raises:
        RuleError: the step mixes elements, or does something else for another shape.
    """
    first, second = SHAPES
    graphs = [stage(first)]
    try:
        graphs.append(stage(second))
    except RuleError:
        raise
    except (ValueError, IndexError) as error:
        raise RuleError(
            f"{name}: the step does not run on a parameter of f64{_text(second)}: {error}. It is declared "
            f"elementwise and needs to run on any shape. {_REMEDY}"
        ) from error
    freed = []
    for graph, shape in zip(graphs, SHAPES, strict=True):
        _check(name, graph, math.prod(shape))
        freed.append(_freed(graph))
    _check_same(name, *freed)
    return freed[0]


_REMEDY = "Write it with elementwise operations alone, or declare Rule(..., elementwise=False), which runs it whole."


def _text(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _where(equation: Equation) -> str:
    return "" if equation.source is None else f" in {equation.source.place}"


def _check(name: str, graph: Graph, size: int) -> None:
    """Refuse equations that read several elements for one result, and constant arrays."""
    for var, value in graph.constants:
        if var.aval.shape and not (var.aval.size == size and _is_uniform(value)):
            raise RuleError(
                f"{name}: the step reads an array {var.aval} that is neither parameter, gradient nor slot. It is "
                f"declared elementwise and runs on parameters of any shape. {_REMEDY}"
            )
    for equation in graph.equations:
        if not _is_elementwise(equation, size):
            raise RuleError(
                f"{name}: the step applies {equation.primitive.name}{_where(equation)}, of which a result may depend "
                "on several elements of an array. It is declared elementwise, which is the default, and is staged on "
                f"a sample of the parameter. {_REMEDY}"
            )


def _is_elementwise(equation: Equation, size: int) -> bool:
    primitive, operands = equation.primitive, equation.operands
    if not any(x.aval.shape for x in (*operands, *equation.results)):
        return True
    if primitive.multiple_results:
        return False
    (result,) = equation.results
    # No operand is repeated along an axis, so equal flat positions hold elements that belong together.
    aligned = all(x.aval.size in (1, result.aval.size) for x in operands) and result.aval.size in (1, size)
    if primitive is index_p or primitive is scatter_set_p:
        return aligned and all(entry is Ellipsis or entry == FULL for entry in equation.params["index"].entries)
    return aligned and (primitive.elementwise or primitive in _OF_EACH or primitive in _IN_ORDER)


def _is_uniform(value: Any) -> bool:
    """Return whether all elements are the same number, compared by bits."""
    flat = np.ravel(value)
    return all(x.tobytes() == flat[0].tobytes() for x in flat)


def _freed(graph: Graph) -> Graph:
    """Return the graph without shapes: constants with equal elements become numbers, and nothing is reshaped."""
    same: dict[Any, Any] = {var: Literal(np.ravel(value)[0]) for var, value in graph.constants if var.aval.shape}
    equations = []
    for e in graph.equations:
        operands = tuple([same.get(x, x) for x in e.operands])
        (result, *_), primitive, params = e.results, e.primitive, e.params
        if primitive in _IN_ORDER or (primitive is index_p and result.aval.shape):
            same[result] = operands[0]
            continue
        if primitive is scatter_set_p and result.aval.shape:
            primitive, operands, params = cast_p, operands[1:], {"dtype": result.aval.dtype}
        equations.append(Equation(primitive, operands, params, e.results, e.source))
    outputs = [same.get(x, x) for x in graph.outputs]
    constants = [(var, value) for var, value in graph.constants if var not in same]
    freed = trusted_graph(graph.inputs, constants, equations, outputs, graph.name)

    def run(*args: Any) -> list[Any]:
        pairs = zip(freed.evaluate(*args), graph.outputs, strict=True)
        return [_filled(y, args[0], x.aval.shape) for y, x in pairs]

    return simplify(stage_flat(run, [x.aval for x in graph.inputs], graph.name))


def _filled(y: Array, like: Array, shape: tuple[int, ...]) -> Array:
    """Return a result that is one number as an array. Adding -0.0 changes no number and no sign of a zero."""
    return add_p(full_like_p(like, value=-0.0), y) if shape and not aval_of(y).shape else y


def _check_same(name: str, graph: Graph, other: Graph) -> None:
    """Refuse a step whose program depends on the shape."""
    if _form(graph) == _form(other):
        return
    pairs = zip(_form(graph)[0], _form(other)[0], graph.equations, strict=False)
    place = next((_where(equation) for a, b, equation in pairs if a != b), "")
    raise RuleError(
        f"{name}: the step{place} computes something else for a parameter of f64{_text(SHAPES[0])} than for one of "
        f"f64{_text(SHAPES[1])}: it reads the shape or the size, or what changes from call to call. It is declared "
        f"elementwise, and is staged on a sample of the parameter. {_REMEDY}"
    )


def _form(graph: Graph) -> tuple[Any, ...]:
    """Return the parts of a graph that do not depend on shapes. Graphs with equal parts are the same program."""
    variables = [*graph.inputs, *[var for var, _ in graph.constants]]
    variables += [var for equation in graph.equations for var in equation.results]
    numbers = {var: i for i, var in enumerate(variables)}

    def place(x: Array) -> ArrayLike:
        return static_key(x.value) if type(x) is Literal else numbers[x]

    lines = [(e.primitive, *map(place, e.operands), params_key(e.params)) for e in graph.equations]
    constants = [static_key(value[()] if type(value) is np.ndarray else value) for _, value in graph.constants]
    return lines, constants, [*map(place, graph.outputs)]
