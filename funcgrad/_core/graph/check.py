"""Checks of a graph: each variable is assigned once, before it is read, and each result has the inferred type."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import is_engine_value, is_value
from funcgrad._core.graph.equation import Equation, Literal, Var
from funcgrad._core.graph.line import Line
from funcgrad._core.graph.program import GraphMethods
from funcgrad._core.primitive import Primitive
from funcgrad._core.words import shown
from funcgrad._types import Value
from funcgrad.errors import GraphError
from funcgrad.tree import TreeDef

if TYPE_CHECKING:
    from funcgrad._core.graph.ir import Graph


def check_graph(graph: Graph) -> Graph:
    """Check that a graph is a valid program, and return it.

    Each variable is assigned once, before it is read. Each constant has the type of its variable, and each result has
    the type that its primitive's rule infers. `fg.Graph` runs this check when a graph is made. Nothing runs it again:
    a pass makes new equations and variables, and leaves those of the graph as they are.

    Args:
        graph: the graph to check.

    Returns:
        The same graph.

    Raises:
        GraphError: the graph is not valid. The message names the equation.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad import extend
        >>> cosine_p = fg.make_graph(np.cos)(1.0).equations[0].primitive
        >>> def turned(equation):
        ...     if equation.primitive.name != "sin":
        ...         return equation
        ...     return extend.Equation(cosine_p, equation.operands, {}, equation.results, equation.source)
        >>> graph = fg.make_graph(lambda x: 2 * np.sin(x))(np.zeros(2))
        >>> edited = fg.Graph(graph.inputs, graph.constants, [*map(turned, graph.equations)], graph.outputs)
        >>> edited(np.zeros(2))
        [array([2., 2.])]
        >>> extend.check_graph(edited) is edited
        True
    """
    if not isinstance(graph, GraphMethods):
        raise GraphError(
            f"check_graph: the graph is {shown(graph)}; needed a funcgrad.Graph. Make one with fg.make_graph."
        )
    defined: set[Var] = set()
    _check_all(graph, "input", graph.inputs, Var)
    for var in graph.inputs:
        _define(graph, defined, var, "its inputs")
    for each in graph.constants:
        if not isinstance(each, tuple | list) or len(each) != 2:
            raise GraphError(f"graph {graph.name}: one constant is {shown(each)}; needed a pair (variable, value).")
        var, value = each
        _check_all(graph, "constant", (var,), Var)
        _check_constant(graph, var, value)
        _define(graph, defined, var, "its constants")
    for i, equation in enumerate(graph.equations):
        _check_all(graph, "equation", (equation,), Equation)
        _check_all(graph, "primitive", (equation.primitive,), Primitive)
        if not isinstance(equation.source, Line | None):
            raise GraphError(
                f"graph {graph.name}: the source of {equation.primitive.name} is {shown(equation.source)}; needed that "
                "of another equation, or None. Leave it out."
            )
        where = f"equation {i} ({equation.primitive.name})"
        _check_parts(graph, where, equation)
        _check_operands(graph, defined, where, equation.operands)
        for var, aval in zip(equation.results, _inferred(graph, where, equation), strict=True):
            if (var.aval.shape, var.aval.dtype) != (aval.shape, aval.dtype):
                raise GraphError(
                    f"graph {graph.name}: a result of {where} is {var.aval}; needed {aval}, which the primitive's rule "
                    "infers of the operands. Make a variable of that type."
                )
            _define(graph, defined, var, where)
    _check_operands(graph, defined, "its outputs", graph.outputs)
    _check_trees(graph)
    return graph


def check_sequences(name: str, **parts: Any) -> None:
    """Refuse a part of a graph, such as None, that has no elements."""
    for part, given in parts.items():
        if not isinstance(given, Iterable):
            raise GraphError(f"graph {name}: its {part} are {shown(given)}; needed a list or a tuple. Pass one.")


def _check_parts(graph: Graph, where: str, equation: Equation) -> None:
    """Refuse parts of an equation that are no tuples, and parameters that are no dict."""
    for part, needed in (("operands", tuple | list), ("results", tuple | list), ("params", dict)):
        given = getattr(equation, part)
        if not isinstance(given, needed):
            text = "a dict" if needed is dict else "a tuple"
            raise GraphError(f"graph {graph.name}: the {part} of {where} are {shown(given)}; needed {text}. Pass one.")


def _check_all(graph: Graph, kind: str, given: Sequence[Any], needed: type) -> None:
    for x in given:
        if not isinstance(x, needed) or (type(x) is Var and type(x.aval) is not Aval):
            text = "Var(funcgrad.extend.aval_of(x))" if needed is Var else needed.__name__
            raise GraphError(
                f"graph {graph.name}: one {kind} is {shown(x)}; needed a funcgrad.extend.{text}. Make one."
            )


def _define(graph: Graph, defined: set[Var], var: Var, where: str) -> None:
    if var in defined:
        raise GraphError(
            f"graph {graph.name}: {where} assign a variable {var.aval} that is assigned before; needed one assignment "
            "for each. Make a new variable."
        )
    defined.add(var)


def _check_operands(graph: Graph, defined: set[Var], where: str, operands: Sequence[Any]) -> None:
    for x in operands:
        if type(x) is Literal and (x.aval.shape or x.aval.dtype.kind in "OSUMm"):
            raise GraphError(
                f"graph {graph.name}: {where} read a literal {x.aval}; needed a number. Make the array a constant."
            )
        if type(x) is not Literal and (type(x) is not Var or x not in defined):
            arrived = f"a variable {x.aval} that nothing assigns before" if type(x) is Var else shown(x)
            raise GraphError(
                f"graph {graph.name}: {where} read {arrived}; needed inputs, constants, earlier results or literals. "
                "Put the equation that assigns it first, or make it an input."
            )


def _check_constant(graph: Graph, var: Var, value: Value) -> None:
    if not is_value(value) or not has_type(value, var.aval):
        arrived = aval_of(value) if is_value(value) else f"a {type(value).__name__}"
        raise GraphError(
            f"graph {graph.name}: a constant is {arrived}; needed {var.aval}, the type of its variable. Convert it."
        )


def _inferred(graph: Graph, where: str, equation: Equation) -> Sequence[Aval]:
    """Return the inferred types of the results. Their number must be that of the equation's variables."""
    _check_all(graph, "result", equation.results, Var)
    names = equation.primitive.operands
    try:
        if len(names) != len(equation.operands) and not any(each.startswith("*") for each in names):
            raise TypeError(f"it takes {', '.join(names)}")
        if equation.primitive.elementwise and equation.params:
            _check_params(equation)
        found = equation.primitive.aval(*[x.aval for x in equation.operands], **equation.params)
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        operands = ", ".join(str(x.aval) for x in equation.operands)
        raise GraphError(
            f"graph {graph.name}: the primitive's rule refuses {where} of {operands or 'no operands'} ({error}); "
            "needed operands and parameters that the primitive takes. Compare them with an equation of fg.make_graph."
        ) from error
    avals = found if equation.primitive.multiple_results else [found]
    if len(avals) != len(equation.results):
        raise GraphError(
            f"graph {graph.name}: {where} assigns {len(equation.results)} variables; needed {len(avals)}, one for each "
            "result of the primitive. Give it that many."
        )
    return avals


def _check_params(equation: Equation) -> None:
    """Refuse a parameter that an elementwise primitive does not take: its rule of types takes any."""
    numpy = equation.primitive.numpy
    if isinstance(numpy, np.ufunc):
        raise TypeError("it takes no parameters")
    inspect.signature(numpy).bind(*equation.operands, **equation.params)


def _check_trees(graph: Graph) -> None:
    if graph.trees is None:
        return
    if type(graph.trees) is not tuple or [type(each) for each in graph.trees] != [TreeDef] * 2:
        raise GraphError(
            f"graph {graph.name}: its trees are {shown(graph.trees)}; needed two, those of the arguments and "
            "of the result. Take them from another graph, or leave trees out."
        )
    needed, given = [tree.num_leaves for tree in graph.trees], [len(graph.inputs), len(graph.outputs)]
    if needed != given:
        raise GraphError(
            f"graph {graph.name}: it has {given[0]} inputs and {given[1]} outputs; needed {needed[0]} and {needed[1]}, "
            "the numbers of leaves of its trees. Pass other trees, or leave trees out."
        )


def has_type(x: Value, needed: Aval) -> bool:
    """Return whether an argument has the type of an input.

    JAX's mode decides between 32 and 64 bits for JAX's values.
    """
    if not is_value(x):
        return False
    arrived = aval_of(x)
    same = arrived.dtype == needed.dtype or (is_engine_value(x) and arrived.dtype.kind == needed.dtype.kind)
    return arrived.shape == needed.shape and same and (arrived.weak or not needed.weak)
