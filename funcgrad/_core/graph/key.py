"""When two graphs are the same program: what is compiled for one then serves the other.

A body of a loop is staged anew in each eager call. Its function's identity would not do as a key for what is compiled:
what the function closes over may have changed since. The graph that it leaves says all.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Graph, Literal

# Programs are kept for this many graphs, those used last.
_LIMIT = 256
_known: OrderedDict[Any, Graph] = OrderedDict()
_lock = threading.Lock()
_NUMBERS = (bool, int, float, complex, np.generic)


def canonical(graph: Graph) -> Graph:
    """The first graph that was the same program: it holds what was compiled. Else this one, to be found from now on."""
    try:
        key = graph_key(graph)
        hash(key)
    except TypeError:
        # Something in it belongs to one call and compares with nothing.
        return graph
    with _lock:
        found = _known.setdefault(key, graph)
        _known.move_to_end(key)
        if len(_known) > _LIMIT:
            _known.popitem(last=False)
    return found


def graph_key(graph: Graph) -> Any:
    """What two graphs have in common that are the same program, source lines aside; made once for each graph."""
    return graph.made(_graph_key)


def _graph_key(graph: Graph) -> Any:
    variables = [*graph.inputs, *[var for var, _ in graph.constants]]
    variables += [var for equation in graph.equations for var in equation.results]
    numbers = {var: i for i, var in enumerate(variables)}

    def place(x: Any) -> Any:
        return value_key(x.value) if type(x) is Literal else numbers[x]

    return (
        graph.name,
        tuple([var.aval for var in variables]),
        tuple([_Same(value) for _, value in graph.constants]),
        tuple(
            [
                (equation.primitive, len(equation.results), *map(place, equation.operands), params_key(equation.params))
                for equation in graph.equations
            ]
        ),
        tuple(map(place, graph.outputs)),
    )


def params_key(params: dict[str, Any]) -> Any:
    """What makes the parameters of two equations the same."""
    return tuple([(name, value_key(value)) for name, value in params.items()])


def value_key(value: Any) -> Any:
    """What makes two static values the same: 1, 1.0 and True are not, nor are 0.0 and -0.0, which all compare equal."""
    if isinstance(value, _NUMBERS):
        return type(value), repr(value)
    if isinstance(value, tuple):
        return (type(value), *map(value_key, value))
    return graph_key(value) if isinstance(value, Graph) else value


class _Same:
    """An object that equals itself alone, and lives as long as it is remembered."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)
