"""Equality of graphs: the same equations on the same types and constants, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from types import CellType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.bind import Tracer, engine_of
from funcgrad._types import Value
from funcgrad.tree.extend import static_key

if TYPE_CHECKING:
    from funcgrad._core.graph.ir import Graph

NUMBERS = (bool, int, float, complex, np.generic)


def graph_form(graph: Graph, constant: Callable[[Any], Any], value: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return everything of a graph that decides what it computes, as a tuple with numbers for variables.

    Args:
        graph: the graph.
        constant: the form of a constant's array.
        value: the form of a literal's number and of a parameter's value. It may not be an integer.
    """
    variables = [*graph.inputs, *[var for var, _ in graph.constants]]
    variables += [var for equation in graph.equations for var in equation.results]
    numbers = {var: i for i, var in enumerate(variables)}

    def operand(x: Value) -> Any:
        return numbers[x] if x in numbers else value(x.value)

    return (
        len(graph.inputs),
        tuple([var.aval for var in variables]),
        tuple([constant(array) for _, array in graph.constants]),
        tuple(
            [
                (
                    equation.primitive,
                    len(equation.results),
                    tuple(map(operand, equation.operands)),
                    tuple([(name, value(equation.params[name])) for name in sorted(equation.params)]),
                )
                for equation in graph.equations
            ]
        ),
        tuple(map(operand, graph.outputs)),
    )


def same_program(a: Graph, b: Graph) -> bool:
    """Return whether two graphs compute the same from the same arguments. Names and source lines do not count."""
    if a is b:
        return True
    counts = [(len(g.inputs), len(g.constants), len(g.equations), len(g.outputs)) for g in (a, b)]
    return counts[0] == counts[1] and static_key(a.trees) == static_key(b.trees) and _compared(a) == _compared(b)


def _compared(graph: Graph) -> tuple[Any, ...]:
    return graph_form(graph, _Bits, _Bits)


class _Bits:
    """Equals another value with the same bits."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Bits and same_value(self.value, other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))


def same_value(a: Value, b: Value) -> bool:
    """Return whether two constants, numbers or parameters are the same to the last bit."""
    return a is b or (type(a) is type(b) and not isinstance(a, Tracer) and _same_of_a_kind(a, b))


def _same_of_a_kind(a: Value, b: Value) -> bool:
    if issubclass(type(a), NUMBERS):
        # 0.0 and -0.0 compare equal, but differ. Two NaNs compare unequal, but are the same.
        return repr(a) == repr(b)
    if isinstance(a, MethodType):
        a, b = (a.__func__, a.__self__), (b.__func__, b.__self__)
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict):
        return same_value(tuple(a), tuple(b)) and all(same_value(a[key], b[key]) for key in a)
    if hasattr(a, "equations"):
        return same_program(a, b)
    engine = engine_of(a)
    if not isinstance(a, np.ndarray) and engine is None:
        return (
            _same_function(a, b, frozenset()) if isinstance(a, FunctionType) else bool(static_key(a) == static_key(b))
        )
    return not (engine and (engine.is_abstract(a) or engine.is_abstract(b))) and _same_array(a, b)


def _same_function(a: FunctionType, b: FunctionType, within: frozenset[tuple[int, int]]) -> bool:
    """Return whether one line made both functions, in two calls, around the same values."""
    if a is b or (id(a), id(b)) in within:
        return True
    if a.__code__ is not b.__code__ or a.__globals__ is not b.__globals__:
        return False
    within |= {(id(a), id(b))}
    return all(
        _same_function(x, y, within) if type(x) is type(y) is FunctionType else same_value(x, y)
        for x, y in zip(_held(a), _held(b), strict=True)
    )


def _held(f: FunctionType) -> list[Any]:
    """Return the defaults of a function and the values that it closes over."""
    return [f.__defaults__, f.__kwdefaults__, *map(_content, f.__closure__ or ())]


def _content(cell: CellType) -> Any:
    """Return the value of a name that a function closes over. One without a value may get any later: it equals none."""
    try:
        return cell.cell_contents
    except ValueError:
        return object()


def _same_array(a: Value, b: Value) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype or a.dtype.hasobject:
        return False
    return np.asarray(a).tobytes() == np.asarray(b).tobytes()


def program_hash(graph: Graph) -> int:
    """Return a hash of the types and primitives, which equal graphs share."""
    avals = [tuple([x.aval for x in xs]) for xs in (graph.inputs, graph.outputs)]
    return hash((*avals, *[equation.primitive.name for equation in graph.equations]))
