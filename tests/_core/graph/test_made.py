"""A value that is derived from a graph is computed once."""

from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad._core.graph.ir import Graph


def test_what_is_made_of_a_graph_is_made_once_for_each_key() -> None:
    calls = []

    def make(graph: Graph, *key: Any) -> Any:
        calls.append((graph, *key))
        # ``None`` is a result too, and is kept.
        return None

    graph = fg.make_graph(np.sin)(np.ones(2))
    for _ in range(2):
        assert graph.made(make) is None
        assert graph.made(make, 1, "forward") is None
    assert calls == [(graph,), (graph, 1, "forward")]


def test_what_was_made_first_stays_where_two_make_it_at_once() -> None:
    graph = fg.make_graph(np.sin)(np.ones(2))

    answers: list[list[str]] = []

    def make(graph: Graph) -> list[str]:
        if answers:
            return ["the other's"]
        # Another thread calls the function while this call runs.
        answers.append(["a placeholder"])
        answers[0] = graph.made(make)
        return ["mine"]

    assert graph.made(make) is answers[0] is graph.made(make)
