"""Graphs compare by what they compute, and can be pickled."""

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TreeMismatchError

X = np.arange(6.0).reshape(2, 3)
TABLE = np.array([1.0, np.nan, -0.0])


def written(x: Any) -> Any:
    y = x * 1
    y[:, np.array([0, 2])] += 1.0
    return y[None, ..., ::-1], np.where(y > 1, y, 0.0)


def looped(x: Any) -> Any:
    y, ys = fg.scan(lambda c, row: (np.tanh(c + row), c), x[0], x)
    return fg.cond(np.sum(y) > 0, np.sin, np.cos, y), ys


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "writes": written,
    "gradient": fg.grad(lambda x: np.sum(np.exp(x) * TABLE[0])),
    "loops": looped,
    "an open loop": lambda x: fg.while_loop(lambda c: c[0] < 3, lambda c: c + 1.0, x[0]),
    "loops, transposed": fg.grad(lambda x: np.sum(looped(x)[0])),
    "constants": lambda x: x * TABLE,
    "trees": lambda x: {"a": x, "b": [np.linalg.inv(x @ x.T + np.eye(2)), 2.0]},
    "compiled": lambda x: fg.grad(fg.jit(lambda y: np.sum(y**3)))(x),
    "reductions": lambda x: (np.argsort(x), np.cumsum(x, axis=1), x.max(axis=0), x.astype(np.float32)),
    "a dictionary": lambda x: np.sum(x) * 0.0,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_that_is_made_again_or_pickled_is_equal_and_computes_the_same(name: str) -> None:
    graph = fg.make_graph(PROGRAMS[name])(X)
    again = fg.make_graph(PROGRAMS[name])(X)
    loaded = pickle.loads(pickle.dumps(graph))
    for other in (again, loaded, copy.deepcopy(graph)):
        assert other is not graph
        assert other == graph
        assert hash(other) == hash(graph)
        assert fg.tree.structure(other(X)) == fg.tree.structure(graph(X))
        for a, b in zip(fg.tree.leaves(graph(X)), fg.tree.leaves(other(X)), strict=True):
            np.testing.assert_array_equal(a, b)
    assert str(loaded) == str(graph)
    assert {graph: 1}[loaded] == 1


DIFFERENT: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "a number": (lambda x: x * 2.0, lambda x: x * 3.0),
    "the sign of zero": (lambda x: x + 0.0, lambda x: x + -0.0),
    "the type of a number": (lambda x: (x, 1.0), lambda x: (x, 1)),
    "a constant": (lambda x: x * TABLE, lambda x: x * np.array([1.0, np.nan, 0.0])),
    "an operand": (lambda x: x - x.T.T * 2, lambda x: x.T.T * 2 - x),
    "a primitive": (np.sin, np.cos),
    "a parameter": (lambda x: x.sum(axis=0), lambda x: x.sum(axis=-2, keepdims=True)[0]),
    "an output": (lambda x: (x, x + 1), lambda x: (x + 1, x)),
    "a tree": (lambda x: (x, x), lambda x: [x, x]),
    "a body": (
        lambda x: fg.scan(lambda c, row: (c + row, None), x[0], x)[0],
        lambda x: fg.scan(lambda c, row: (c - row, None), x[0], x)[0],
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_programs_that_differ_are_not_equal(name: str) -> None:
    f, g = DIFFERENT[name]
    assert fg.make_graph(f)(X) == fg.make_graph(f)(X)
    assert fg.make_graph(f)(X) != fg.make_graph(g)(X)


def test_names_and_lines_do_not_count_and_types_do() -> None:
    def f(x: Any) -> Any:
        return np.sin(x)

    assert fg.make_graph(f)(X) == fg.make_graph(np.sin)(X)
    assert fg.make_graph(f)(X) != fg.make_graph(f)(X.astype(np.float32))
    assert fg.make_graph(f)(X) != "graph"


def test_a_loaded_graph_checks_its_arguments() -> None:
    with pytest.raises(TreeMismatchError, match="argument 0"):
        pickle.loads(pickle.dumps(fg.make_graph(np.sin)(X)))(np.ones(4))


def test_what_cannot_be_pickled_is_named() -> None:
    lock = threading.Lock()

    def outside(x: Any) -> Any:
        with lock:
            return np.sin(x)

    graph = fg.make_graph(lambda x: fg.call_numpy(outside, fg.ShapeDtype((2, 3), float), x))(X)
    with pytest.raises(pickle.PicklingError, match="needed functions that a module defines"):
        pickle.dumps(graph)
    kept = []
    fg.grad(lambda x: (kept.append(fg.make_graph(lambda y: y * x)(X)), np.sum(x))[1])(X)
    with pytest.raises(pickle.PicklingError, match="traced by a running grad"):
        pickle.dumps(kept[0])


def test_an_unknown_primitive_is_named() -> None:
    data = pickle.dumps(fg.make_graph(np.sin)(X)).replace(b"\x8c\x03sin", b"\x8c\x03sii")
    with pytest.raises(pickle.UnpicklingError, match="Import the module that declares it"):
        pickle.loads(data)


def test_a_long_graph_has_a_short_repr() -> None:
    def long(x: Any) -> Any:
        for _ in range(100):
            x = x * 0.5
        return x

    graph = fg.make_graph(long)(X)
    assert len(repr(graph).splitlines()) == 41
    assert "62 more lines" in repr(graph)
    assert len(str(graph).splitlines()) == 102
    assert repr(graph.simplify()) == repr(graph)


def test_text_has_the_bodies_below() -> None:
    text = str(fg.make_graph(looped)(X))
    heads = [line for line in text.splitlines() if line.startswith("graph ")]
    assert [head.split("(")[0] for head in heads] == ["graph looped", "graph <lambda>", "graph sin", "graph cos"]
    # Each operation once, however often it runs.
    body = fg.make_graph(np.sin)(X)
    twice = str(fg.make_graph(lambda x: fg.checkpoint(body)(fg.checkpoint(body)(x)))(X))
    assert twice.count("graph sin") <= 2
