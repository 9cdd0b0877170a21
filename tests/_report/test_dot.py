"""Graphs in Graphviz's language."""

import re
from pathlib import Path
from typing import Any

import numpy as np

import funcgrad as fg


@fg.named('a "block"')
def block(x: Any) -> Any:
    return np.tanh(x) * np.array([1.0, 2.0])


def test_every_equation_and_every_value_that_is_read_is_there() -> None:
    graph = fg.make_graph(fg.grad(lambda x: np.sum(block(block(x)))))(np.ones(2))
    text = graph.to_dot()
    assert len(re.findall(r"^  e\d+ \[", text, re.MULTILINE)) == len(graph.equations)
    made = [*graph.inputs, *[var for var, _ in graph.constants], *[v for e in graph.equations for v in e.results]]
    read = [x for e in graph.equations for x in e.operands] + list(graph.outputs)
    assert text.count(" -> ") == sum(x in made for x in read)
    assert text.count("{") == text.count("}")
    assert text.count(r'label="a \"block\""') == 2
    assert r'label="a \"block\" (backward)"' in text
    assert "#fbe3d4" in text


def test_a_guard_is_drawn_with_its_answer(tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return np.sum(x) if np.sum(x) > 5.0 and int(x[0]) == 1 else np.sum(x * x)

    graph = fg.make_graph(f, paths=True)(np.ones(3))
    assert 'label="guard c: False"' in graph.to_dot()
    graph.to_svg(tmp_path / "graph.svg")
    assert "> c: False<" in (tmp_path / "graph.svg").read_text()
    graph = fg.make_graph(f, paths=True)(np.array([1.0, 5.0]))
    assert 'label="guard int(d): 1"' in graph.to_dot()
    assert "guard int(d): 1" in str(graph.profile(np.array([1.0, 5.0])))
