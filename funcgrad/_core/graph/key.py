"""Keys of graphs: two graphs with one key are the same program, and share what was compiled.

Each eager call of a loop stages the loop's body again. The identity of the function is not a key for the compiled
program, because the values that the function closes over may have changed. The staged graph contains all of them.

`graph_form` in ``same.py`` lists what makes two graphs the same. The key is this form with constants compared by
identity.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.same import graph_form
from funcgrad._types import Value
from funcgrad.tree.extend import set_key, static_key

# Programs are kept for this many graphs, the most recently used ones.
_LIMIT = 256
_known: OrderedDict[Any, Graph] = OrderedDict()
_lock = threading.Lock()


def canonical(graph: Graph) -> Graph:
    """Return the first graph that was the same program, with its compiled programs; else the graph itself."""
    try:
        key = graph_key(graph)
        hash(key)
    except TypeError:
        # A parameter that cannot be hashed belongs to one call, so the graph equals no other.
        return graph
    with _lock:
        found = _known.setdefault(key, graph)
        _known.move_to_end(key)
        if len(_known) > _LIMIT:
            _known.popitem(last=False)
    return found


def graph_key(graph: Graph) -> Any:
    """Return a key that two graphs share if one compiled program serves both. Source lines do not count."""
    return graph.made(_graph_key)


def _graph_key(graph: Graph) -> Any:
    return graph.name, graph_form(graph, _OnlyItself, static_key)


def params_key(params: dict[str, Any]) -> Any:
    """Return a key that the parameters of two equations share if they are the same."""
    return tuple([(name, static_key(value)) for name, value in params.items()])


set_key(Graph, graph_key)


class _OnlyItself:
    """Equals only itself, as long as the key that holds it is kept."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _OnlyItself and other._value is self._value

    def __hash__(self) -> int:
        return id(self._value)
