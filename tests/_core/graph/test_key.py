"""The key of a graph: graphs that differ in any field have different keys, so one never runs the other's program."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.aval import Aval
from funcgrad._core.bind import is_value
from funcgrad._core.graph import key as keys
from funcgrad._core.graph.equation import Equation, Literal, Var
from funcgrad._core.graph.ir import Graph, trusted_graph
from funcgrad._core.graph.key import canonical, graph_key
from funcgrad._core.graph.same import same_value
from funcgrad._core.primitive import primitives

X = np.arange(6.0).reshape(2, 3)
TABLE = np.array([1.0, np.nan, -0.0])


def looped(x: Any) -> Any:
    y, ys = fg.scan(lambda c, row: (np.tanh(c + row), 2.0 * c), x[0], x)
    return fg.cond(np.sum(y) > 0, np.sin, np.cos, y), fg.while_loop(lambda c: c[0] < 3, lambda c: c + 1.0, y), ys


def written(x: Any) -> Any:
    y = x * 1
    y[:, np.array([0, 2])] += 1.0
    return y[None, ..., ::-1] * TABLE


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "loops": looped,
    "writes": written,
    "gradient": fg.grad(lambda x: np.sum(np.where(x > 2, np.exp(x), 0.0) * TABLE[0])),
    "reductions": lambda x: (np.sort(x, axis=0), np.cumsum(x, axis=1), x.max(axis=0, keepdims=True), x.astype("f4")),
    "products": lambda x: (np.einsum("ij,kj->ik", x, x), np.linalg.solve(x @ x.T + np.eye(2), x), np.pad(x, 1)),
    "a call": lambda x: fg.jit(lambda y: np.sum(y**3))(x),
}


def changed_values(value: Any) -> Iterator[Any]:
    """Values that differ from a parameter or literal in one respect."""
    if isinstance(value, bool | np.bool_):
        yield from (not value, int(value))
    elif isinstance(value, int | float | complex | np.number):
        yield from (value + 1, np.float32(value.real) if isinstance(value, float) else float(value.real), str(value))
        if value == 0 and isinstance(value, float | np.floating):
            yield -value
    elif isinstance(value, tuple):
        yield (*value, 7)
        fields = [
            [*value[:i], other, *value[i + 1 :]] for i, each in enumerate(value) for other in changed_values(each)
        ]
        yield from (type(value)(*each) if hasattr(value, "_fields") else tuple(each) for each in fields)
    elif isinstance(value, Graph):
        yield from changed_graphs(value)
    else:
        yield "another value"


def changed_equations(equation: Equation, other: Var) -> Iterator[tuple[str, Equation]]:
    """Yield the equation with one field changed, for each field, and the name of the field."""

    def made(**fields: Any) -> Equation:
        names = ("primitive", "operands", "params", "results")
        return Equation(*[fields.get(name, getattr(equation, name)) for name in names])

    operands, params, results = equation.operands, equation.params, equation.results
    another = primitives["cos" if equation.primitive.name == "sin" else "sin"]
    yield "the primitive", made(primitive=another)
    yield "one operand more", made(operands=(*operands, Literal(1.0)))
    for i, x in enumerate(operands):
        if isinstance(x, Literal):
            for value in filter(is_value, changed_values(x.value)):
                yield f"literal {x} as {value!r}", made(operands=(*operands[:i], Literal(value), *operands[i + 1 :]))
        if x is not other:
            yield f"operand {i}", made(operands=(*operands[:i], other, *operands[i + 1 :]))
    yield "one parameter more", made(params={**params, "another": 1})
    for name, value in params.items():
        yield f"without {name}", made(params={key: params[key] for key in params if key != name})
        for each in changed_values(value):
            yield f"{name}={each!r}", made(params={**params, name: each})
    for i, var in enumerate(results):
        for aval in changed_types(var.aval):
            yield f"result {i} as {aval!r}", made(results=(*results[:i], Var(aval), *results[i + 1 :]))


def changed_types(aval: Aval) -> Iterator[Aval]:
    yield aval.with_shape((*aval.shape, 5))
    yield Aval(aval.shape, np.dtype("i1"))
    yield Aval(aval.shape, aval.dtype, not aval.weak)


def changed_graphs(graph: Graph) -> Iterator[Graph]:
    """Yield the graph with one field of one equation, the type of an input, a constant or an output changed."""
    inputs, constants, equations, outputs = graph.inputs, graph.constants, graph.equations, graph.outputs
    for i, equation in enumerate(equations):
        for what, another in changed_equations(equation, inputs[0]):
            after = _renamed(dict(zip(equation.results, another.results, strict=True)), equations[i + 1 :])
            names = dict(zip(equation.results, another.results, strict=True))
            changed = [*equations[:i], another, *after]
            results = [names.get(x, x) for x in outputs]  # pyright: ignore[reportArgumentType, reportCallIssue]  (literals)
            yield trusted_graph(inputs, constants, changed, results, f"{graph.name}: {what}")
    for i, (var, array) in enumerate(constants):
        others = [*constants[:i], (var, np.array(array) + 1), *constants[i + 1 :]]
        yield trusted_graph(inputs, others, equations, outputs, "another constant")
    yield trusted_graph(inputs, constants, equations, [*outputs, inputs[0]], "one output more")


def _renamed(names: dict[Any, Any], equations: Any) -> list[Equation]:
    return [Equation(e.primitive, tuple([names.get(x, x) for x in e.operands]), e.params, e.results) for e in equations]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_change_of_any_field_changes_the_key(name: str) -> None:
    graph = fg.make_graph(PROGRAMS[name])(X)
    plain = trusted_graph(graph.inputs, graph.constants, graph.equations, graph.outputs)
    count = 0
    for changed in changed_graphs(plain):
        what = changed.name
        again = trusted_graph(changed.inputs, changed.constants, changed.equations, changed.outputs)
        assert graph_key(again) != graph_key(plain), what
        assert again != plain, what
        count += 1
    assert count > 10


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_program_staged_again_has_the_same_key(name: str) -> None:
    first, second = (fg.make_graph(PROGRAMS[name])(X) for _ in range(2))
    assert first == second
    # A key compares constants by identity, so the second graph gets the first one's arrays.
    constants = [(var, array) for (var, _), (_, array) in zip(second.constants, first.constants, strict=True)]
    shared = trusted_graph(second.inputs, constants, second.equations, second.outputs, second.name)
    assert graph_key(shared) == graph_key(first)


@pytest.mark.parametrize("field", ["params", "operands", "primitive"])
def test_a_key_that_leaves_a_field_out_is_noticed(field: str, monkeypatch: pytest.MonkeyPatch) -> None:
    form = keys.graph_form

    def without(graph: Graph, constant: Any, value: Any) -> Any:
        blank = {"params": {}, "operands": (), "primitive": primitives["sin"]}
        kept = [
            Equation(
                *[blank[f] if f == field else getattr(e, f) for f in ("primitive", "operands", "params", "results")]
            )
            for e in graph.equations
        ]
        return form(trusted_graph(graph.inputs, graph.constants, kept, graph.outputs, graph.name), constant, value)

    monkeypatch.setattr(keys, "graph_form", without)
    graph = fg.make_graph(PROGRAMS["reductions"])(X)
    plain = trusted_graph(graph.inputs, graph.constants, graph.equations, graph.outputs)
    found = [trusted_graph(g.inputs, g.constants, g.equations, g.outputs) for g in changed_graphs(plain)]
    assert any(graph_key(each) == graph_key(plain) for each in found)


@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
def test_loops_whose_bodies_differ_in_a_parameter_run_their_own_programs(engine: str | None) -> None:
    def rolled(shift: int, axis: int, x: Any) -> Any:
        def run(x: Any) -> Any:
            return fg.scan(lambda c, _: (np.roll(np.cumsum(c, axis=axis), shift, axis), None), x, None, length=2)[0]

        return (run if engine is None else fg.jit(run, engine=engine))(x)

    for shift, axis in [(1, 0), (1, 1), (2, 1)]:
        expected = X
        for _ in range(2):
            expected = np.roll(np.cumsum(expected, axis=axis), shift, axis)
        np.testing.assert_array_equal(rolled(shift, axis, X), expected)


def test_a_graph_with_a_parameter_that_cannot_be_hashed_equals_no_other() -> None:
    (equation,) = fg.make_graph(np.sin)(X).equations
    listed = Equation(equation.primitive, equation.operands, {"axes": [0]}, equation.results)
    x = equation.operands[0]
    assert isinstance(x, Var)
    first, second = (trusted_graph([x], [], [listed], equation.results) for _ in range(2))
    assert canonical(first) is first
    assert canonical(second) is second


def test_functions_around_a_name_without_a_value_are_not_the_same() -> None:
    def make(bound: bool) -> Any:
        def function(x: Any) -> Any:
            return later(x)

        if bound:
            later = abs
        return function

    first = make(bound=False)
    assert same_value(first, first)
    assert same_value(make(bound=True), make(bound=True))
    assert not same_value(first, make(bound=False))
    assert not same_value(first, make(bound=True))
