"""The table of a program says what walking its equations says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.aval import is_inexact
from funcgrad._core.graph.ir import Graph, Literal, Operand
from funcgrad._core.graph.key import params_key
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.rolling.table import Table

X = np.linspace(0.1, 0.9, 12)


def unused(x: Any, a: Any) -> Any:
    y = np.sin(x)
    for k in range(5):
        y = y * (k + 1.0)
    return np.cos(x) * a, x


def inactive(x: Any, a: Any) -> Any:
    steps = a * 2.0
    for _ in range(4):
        steps = np.floor(steps * a)
    return x * steps + np.sign(x)


def many_operands(x: Any, a: Any) -> Any:
    rows = [x[k] * a for k in range(12)]
    return np.stack(rows) + np.stack(rows[::-1]) + np.stack([*rows[:11], a])


def several_results(x: Any, a: Any) -> Any:
    m = np.outer(x, x) + a * np.eye(12)
    (sign, log), (w, v) = np.linalg.slogdet(m), np.linalg.eigh(m)
    return log + sign, w[0] * v[1]


def writes(x: Any, a: Any) -> Any:
    y = np.zeros(12, like=x)
    for k in range(1, 12):
        y[k] = y[k - 1] * a + x[k] + x[[k, 0]][1]
    return y[2:], y[-1]


def numbers(x: Any, a: Any) -> Any:
    return x * 2.0 + x**2 + x**3 + (x * 1e-3).astype(np.float32) + a * 2.0


PROGRAMS = (unused, inactive, many_operands, several_results, writes, numbers)


def graph_of(f: Callable[..., Any]) -> Graph:
    return fg.make_graph(f)(X, 0.5)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_operands_and_their_uses(f: Callable[..., Any]) -> None:
    graph = graph_of(f)
    table = Table(graph.equations, graph.outputs)
    for i, equation in enumerate(graph.equations):
        read = [table.value(number) for number in table.operands[table.starts[i] : table.starts[i + 1]].tolist()]
        assert all(x is y for x, y in zip(read, equation.operands, strict=True))
    assert all(table.value(k) is x for k, x in zip(table.outputs.tolist(), graph.outputs, strict=True))
    uses = Counter(chain(graph.outputs, *[equation.operands for equation in graph.equations]))
    counts = table.uses()
    values = [*chain(*[equation.results for equation in graph.equations]), *table.outside]
    numbers = [i * table.width + k for i, each in enumerate(graph.equations) for k in range(len(each.results))]
    numbers += range(table.size, table.size + len(table.outside))
    assert [counts[k] for k in numbers] == [uses[x] for x in values]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_equations_that_something_depends_on(f: Callable[..., Any]) -> None:
    graph = graph_of(f)
    table = Table(graph.equations, graph.outputs)
    short = table.kept(table.live())
    expected = drop_dead(graph)
    assert tuple(short.equations) == expected.equations
    again = Table(expected.equations, expected.outputs)
    for equation, a, b in zip(expected.equations, short.starts, again.starts, strict=False):
        for k, x in enumerate(equation.operands):
            assert short.value(int(short.operands[a + k])) is again.value(int(again.operands[b + k])) is x
    np.testing.assert_array_equal(_same(short.kinds(np.ones(len(short.equations), bool))), _same(_kinds(expected)))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("number", [0, 1])
def test_values_with_a_derivative(f: Callable[..., Any], number: int) -> None:
    graph = graph_of(f)
    table = Table(graph.equations, graph.outputs)
    given = {graph.inputs[number]}
    active: set[Operand] = set(given)
    for equation in graph.equations:
        if equation.primitive.derivative is not CONSTANT and not active.isdisjoint(equation.operands):
            active.update(x for x in equation.results if is_inexact(x.aval.dtype))
    found = table.active(given)
    assert {table.value(k) for k in np.flatnonzero(found).tolist()} == active - (given - {*table.outside})


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_kinds(f: Callable[..., Any]) -> None:
    graph = graph_of(f)
    table = Table(graph.equations, graph.outputs)
    np.testing.assert_array_equal(_same(table.kinds(np.ones(len(graph.equations), bool))), _same(_kinds(graph)))


def test_effects_are_like_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any, a: Any) -> Any:
        for _ in range(3):
            fg.debug_print("{}", x[0])
        return x * a

    graph = graph_of(f)
    table = Table(graph.equations, graph.outputs)
    effects = [equation.has_effect for equation in graph.equations]
    assert table.effects.tolist() == effects
    assert sum(effects) == 3
    assert table.live()[np.array(effects)].all()
    kinds = table.kinds(np.ones(len(effects), bool))[np.array(effects)]
    assert len({*kinds.tolist()}) == 3
    assert capsys.readouterr().out == ""


def _same(kinds: Any) -> np.ndarray:
    """Return which equations are of one kind."""
    kinds = np.asarray(kinds)
    return kinds[:, None] == kinds


def _kinds(graph: Graph) -> np.ndarray:
    known: dict[Any, int] = {}

    def type_of(x: Operand) -> Any:
        return (type(x.value), x.aval) if type(x) is Literal and x.aval.weak else x.aval

    found = []
    for each in graph.equations:
        types = *map(type_of, each.operands), None, *map(type_of, each.results)
        found.append(known.setdefault((each.primitive, params_key(each.params), *types), len(known)))
    return np.array(found)
