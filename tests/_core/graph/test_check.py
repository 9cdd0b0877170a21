"""Graphs that users edit are checked when they are made. Each fault raises an error that names it."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import extend
from funcgrad.errors import GraphError

X = np.array([0.5, 2.0])
GRAPH = fg.make_graph(lambda x: np.sum(np.sin(x) * np.array([1.0, 3.0])) + 1)(X)


def edited(**parts: Any) -> fg.Graph:
    """Return the graph with other parts."""
    kept = {name: getattr(GRAPH, name) for name in ("inputs", "constants", "equations", "outputs")}
    return fg.Graph(**{**kept, **parts})


def changed(i: int, **parts: Any) -> list[extend.Equation]:
    """Return the equations, with other parts in one of them."""
    found = list(GRAPH.equations)
    old = found[i]
    kept = {name: getattr(old, name) for name in ("primitive", "operands", "params", "results", "source")}
    found[i] = extend.Equation(**{**kept, **parts})
    return found


def var(*shape: int, dtype: Any = float) -> extend.Var:
    return extend.Var(extend.aval_of(np.zeros(shape, dtype)))


SINC = fg.make_graph(np.sinc)(1.0).equations[0].primitive
SINE, PRODUCT, *_ = GRAPH.equations
DECOMPOSED = fg.make_graph(np.linalg.qr)(np.eye(2))
FAULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "a variable that nothing assigns": (
        lambda: edited(equations=changed(0, operands=(var(2),))),
        r"equation 0 \(sin\) read a variable f64\[2\] that nothing assigns before; needed inputs, .* Put the equation",
    ),
    "another order": (
        lambda: edited(equations=GRAPH.equations[::-1]),
        r"equation 0 \(add\) read a variable f64\[\] that nothing assigns before",
    ),
    "a bare number": (lambda: edited(equations=changed(0, operands=(2.0,))), r"read 2\.0; needed inputs, constants, "),
    "an output that nothing assigns": (
        lambda: edited(outputs=[var()]),
        r"its outputs read a variable f64\[\] that nothing",
    ),
    "assigned twice": (
        lambda: edited(equations=[*GRAPH.equations, SINE]),
        r"equation 4 \(sin\) assign a variable f64\[2\] that is assigned before; .* Make a new variable",
    ),
    "one input twice": (lambda: edited(inputs=GRAPH.inputs * 2), "its inputs assign a variable"),
    "a result of another shape": (
        lambda: edited(equations=changed(0, results=(var(3),))),
        r"a result of equation 0 \(sin\) is f64\[3\]; needed f64\[2\], which the primitive's rule infers",
    ),
    "a result of another dtype": (
        lambda: edited(equations=changed(0, results=(var(2, dtype=np.float32),))),
        r"a result of equation 0 \(sin\) is f32\[2\]; needed f64\[2\]",
    ),
    "an operand too many": (
        lambda: edited(equations=changed(2, operands=(*PRODUCT.results, *PRODUCT.results))),
        r"the primitive's rule refuses equation 2 \(reduce_sum\) of f64\[2\], f64\[2\] \(.*\); needed operands and",
    ),
    "shapes that do not broadcast": (
        lambda: fg.Graph(
            [x := var(2), y := var(3)], (), [extend.Equation(PRODUCT.primitive, (x, y), {}, (z := var(2),))], [z]
        ),
        r"refuses equation 0 \(mul\) of f64\[2\], f64\[3\] \(shape mismatch.*\); needed operands",
    ),
    "a parameter that is missing": (
        lambda: edited(equations=changed(2, params={})),
        r"refuses equation 2 \(reduce_sum\)",
    ),
    "too few results": (
        lambda: fg.Graph(DECOMPOSED.inputs, (), [without_last_result(DECOMPOSED.equations[0])], DECOMPOSED.outputs[:1]),
        r"equation 0 \(qr\) assigns 1 variables; needed 2, one for each result",
    ),
    "a constant of another type": (
        lambda: edited(constants=[(GRAPH.constants[0][0], np.zeros(3))]),
        r"a constant is f64\[3\]; needed f64\[2\], the type of its variable",
    ),
    "a constant that is text": (
        lambda: edited(constants=[(GRAPH.constants[0][0], "3")]),
        r"a constant is a str; needed f64\[2\]",
    ),
    "an input that is no variable": (
        lambda: edited(inputs=[2.0]),
        r"one input is 2\.0; needed a funcgrad\.extend\.Var\(",
    ),
    "an equation that is none": (
        lambda: edited(equations=["sin"]),
        r"one equation is 'sin'; needed a funcgrad\.extend\.Equ",
    ),
    "an operand too many for an elementwise primitive": (
        lambda: edited(equations=changed(0, operands=SINE.operands * 2)),
        r"refuses equation 0 \(sin\) of f64\[2\], f64\[2\] \(it takes x\)",
    ),
    "a primitive that is text": (
        lambda: edited(equations=changed(0, primitive="sin")),
        r"one primitive is 'sin'; needed a funcgrad\.extend\.Primitive\.",
    ),
    "a source that is text": (lambda: edited(equations=changed(0, source="me")), r"the source of sin is 'me'; needed"),
    "a literal with axes": (
        lambda: edited(equations=changed(0, operands=(extend.Literal(X),))),
        r"equation 0 \(sin\) read a literal f64\[2\]; needed a number\. Make the array a constant",
    ),
    "an output that is an object": (
        lambda: edited(outputs=[extend.Literal(np.array(object()))]),
        r"its outputs read a literal .*; needed a number",
    ),
    "a variable without a type": (
        lambda: fg.Graph([unused := extend.Var((2,))], (), (), [unused]),  # pyright: ignore[reportArgumentType]  (refused)
        r"one input is Var\(\(2,\)\); needed a funcgrad\.extend\.Var\(funcgrad\.extend\.aval_of\(x\)\)",
    ),
    "a parameter that an elementwise primitive does not know": (
        lambda: edited(equations=changed(0, params={"axis": 3})),
        r"refuses equation 0 \(sin\) of f64\[2\] \(it takes no parameters\); needed operands and parameters",
    ),
    "a parameter that a written elementwise primitive does not know": (
        lambda: edited(equations=changed(0, primitive=SINC, params={"axis": 3})),
        r"refuses equation 0 \(sinc\) of f64\[2\] \(got an unexpected keyword argument 'axis'\)",
    ),
    "parameters that are none": (
        lambda: edited(equations=changed(0, params=None)),
        r"the params of equation 0 \(sin\) are None; needed a dict",
    ),
    "operands that are none": (
        lambda: edited(equations=changed(0, operands=None)),
        r"the operands of equation 0 \(sin\) are None; needed a tuple",
    ),
    "no equations": (lambda: edited(equations=None), r"^graph graph: its equations are None; needed a list or a tuple"),
    "a constant that is no pair": (
        lambda: edited(constants=[GRAPH.constants[0][0]]),
        r"one constant is Var\(f64\[2\]\); needed a pair",
    ),
    "no graph": (
        lambda: extend.check_graph(None),  # pyright: ignore[reportArgumentType]  (refused)
        r"^check_graph: the graph is None; needed a funcgrad\.Graph\. Make",
    ),
    "trees that are text": (lambda: edited(trees="ab"), r"its trees are 'ab'; needed two, those"),
    "trees of other leaves": (
        lambda: edited(trees=fg.make_graph(lambda x, y: x + y)(1.0, 2.0).trees),
        r"it has 1 inputs and 1 outputs; needed 2 and 1, the numbers of leaves of its trees",
    ),
}


def without_last_result(equation: extend.Equation) -> extend.Equation:
    return extend.Equation(equation.primitive, equation.operands, equation.params, equation.results[:-1])


@pytest.mark.parametrize("name", FAULTS)
def test_a_graph_that_is_no_program_is_refused(name: str) -> None:
    make, said = FAULTS[name]
    with pytest.raises(GraphError, match=said):
        make()


def test_a_graph_is_fixed() -> None:
    graph = edited()
    expected = graph(X)
    with pytest.raises(AttributeError, match=r"^graph graph: equations was to be changed; a graph is fixed\. Make"):
        graph.equations = ()
    np.testing.assert_array_equal(graph(X), expected)


def test_a_pass_makes_a_graph_that_runs_under_transforms() -> None:
    cosine = fg.make_graph(np.cos)(X).equations[0].primitive
    turned = edited(equations=changed(0, primitive=cosine), trees=GRAPH.trees)
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(turned, engine=engine)(X), np.cos(0.5) + 3 * np.cos(2.0) + 1)
    np.testing.assert_allclose(fg.grad(turned)(X), -np.sin(X) * [1, 3])
    assert extend.check_graph(turned) is turned
    assert pickle.loads(pickle.dumps(turned)) == turned
    doubled = var()
    plus = GRAPH.equations[-1]
    longer = edited(
        equations=[
            *GRAPH.equations,
            extend.Equation(plus.primitive, (plus.results[0], extend.Literal(2.0)), {}, (doubled,)),
        ],
        outputs=[doubled],
    )
    np.testing.assert_allclose(longer(X)[0], GRAPH(X) + 2)


def test_graphs_of_the_librarys_own_passes_are_programs() -> None:
    def f(x: Any) -> Any:
        y, _ = fg.scan(lambda c, row: (np.tanh(c + row), c), x[0], x)
        return np.sum(fg.cond(np.sum(y) > 0, np.sin, np.cos, y)) + fg.checkpoint(np.linalg.det)(x @ x.T)

    x = np.arange(6.0).reshape(2, 3)
    for made, at in ((fg.grad(f), x), (fg.hessian(f), x), (fg.vmap(fg.grad(f)), x[None])):
        graph = fg.make_graph(made)(at)
        assert extend.check_graph(graph) is graph
        np.testing.assert_allclose(extend.check_graph(graph.simplify())(at), made(at))
