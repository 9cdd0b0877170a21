"""Loops and branches compared with JAX's: all transforms and pairs of them, both engines, trees and edge cases."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.graph.ir import Var, check_graph
from funcgrad.errors import NotDifferentiableError, TracerBoolConversionError, TreeMismatchError

RNG = np.random.default_rng(5)


class _Ours(NamedTuple):
    scan: Any = fg.scan
    fori_loop: Any = fg.fori_loop
    while_loop: Any = fg.while_loop
    cond: Any = fg.cond


def rnn(np: Any, lax: Any, params: Any) -> Any:
    def step(carry: Any, x: Any) -> Any:
        h, total = carry
        h = np.tanh(params["w"] @ h + np.exp(params["u"]) * x)
        return (h, total + np.sum(h * x)), {"squares": h**2, "total": total}

    (h, total), ys = lax.scan(step, (params["h"], 0.0), params["xs"])
    return np.sum(ys["squares"]) * total + np.sum(ys["total"]) + np.sum(h)


def reversed_scan(np: Any, lax: Any, params: Any) -> Any:
    last, ys = lax.scan(lambda c, x: (np.sin(c * x), c * x), params["h"], params["xs"], reverse=True)
    return np.sum(last * params["u"]) + np.sum(ys[0] * ys[1] * params["u"])


def nested_scans(np: Any, lax: Any, params: Any) -> Any:
    def outer(c: Any, x: Any) -> Any:
        inner = lax.scan(lambda d, _: (np.tanh(params["w"] @ d + c * x), np.sum(d)), c, None, length=3)
        return inner[0], np.sum(inner[1])

    c, ys = lax.scan(outer, params["h"], params["xs"])
    return np.sum(c) + np.sum(ys**2)


def ode(np: Any, lax: Any, params: Any) -> Any:
    def euler(i: Any, y: Any) -> Any:
        return y + 0.1 * np.sin(params["w"] @ y + i * params["u"])

    return np.sum(lax.fori_loop(0, 6, euler, params["h"]) ** 2)


def branches(np: Any, lax: Any, params: Any) -> Any:
    def step(c: Any, x: Any) -> Any:
        c = lax.cond(np.sum(x) > 0, lambda c: np.sin(c) * params["u"], lambda c: np.exp(-(c**2)) + x, c)
        return c, lax.cond(np.sum(c) > 1, lambda: np.sum(params["w"]), lambda: np.sum(c * x))

    c, ys = lax.scan(step, params["h"], params["xs"])
    return np.sum(c**2) + np.sum(ys**2)


def newton(np: Any, lax: Any, params: Any) -> Any:
    """Return the square root, computed by a loop of unknown length."""
    target = np.sum(params["u"] ** 2)

    def improve(state: Any) -> Any:
        y, count = state
        return 0.5 * (y + target / y), count + 1

    y, count = lax.while_loop(lambda state: abs(state[0] ** 2 - target) > 1e-13, improve, (1.0, 0))
    return y**3 + 0 * count


POINT = {
    "w": RNG.normal(size=(3, 3)),
    "u": RNG.normal(size=3),
    "h": RNG.normal(size=3),
    "xs": RNG.normal(size=(4, 3)),
}
PROGRAMS = {f.__name__: f for f in (rnn, reversed_scan, nested_scans, ode, branches, newton)}
REVERSIBLE = [name for name in PROGRAMS if name != "newton"]
DIRECTION = fg.tree.map(lambda x: np.asarray(RNG.normal(size=x.shape)), POINT)


def ours(name: str) -> Callable[[Any], Any]:
    return partial(PROGRAMS[name], np, _Ours())


class Wanted(NamedTuple):
    value: Any
    tangent: Any
    gradient: Any
    product: Any


@pytest.fixture(scope="module")
def wanted() -> dict[str, Wanted]:
    """Compare value, directional derivative, gradient and Hessian-vector product of each program with JAX's."""
    found = {}
    with jax.enable_x64(True):
        for name, program in PROGRAMS.items():
            f = partial(program, jax.numpy, jax.lax)
            value, tangent = jax.jit(partial(jax.jvp, f))((POINT,), (DIRECTION,))
            gradient = product = None
            if name in REVERSIBLE:
                gradient, product = jax.jit(partial(jax.jvp, jax.grad(f)))((POINT,), (DIRECTION,))
            found[name] = jax.device_get(Wanted(value, tangent, gradient, product))
    return found


def assert_same(got: Any, expected: Any, tolerance: float = 1e-9) -> None:
    assert fg.tree.structure(got) == fg.tree.structure(expected)
    for x, y in zip(fg.tree.leaves(got), fg.tree.leaves(expected), strict=True):
        assert np.shape(x) == np.shape(y)
        assert x.dtype == y.dtype
        np.testing.assert_allclose(np.asarray(x), y, rtol=tolerance, atol=tolerance)


def inner(a: Any, b: Any) -> Any:
    return sum(np.sum(x * y) for x, y in zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_eager_and_forward(name: str, wanted: dict[str, Wanted]) -> None:
    f = ours(name)
    assert_same(f(POINT), wanted[name].value)
    assert_same(fg.jvp(f, (POINT,), (DIRECTION,))[1], wanted[name].tangent)
    assert_same(fg.linearize(f, POINT)[1](DIRECTION), wanted[name].tangent)
    second = fg.jvp(lambda x: fg.jvp(f, (x,), (DIRECTION,))[1], (POINT,), (DIRECTION,))[1]
    if name in REVERSIBLE:
        assert_same(second, np.asarray(inner(wanted[name].product, DIRECTION)))


@pytest.mark.parametrize("name", REVERSIBLE)
def test_reverse_and_second_order(name: str, wanted: dict[str, Wanted]) -> None:
    f = ours(name)
    assert_same(fg.grad(f)(POINT), wanted[name].gradient)
    assert_same(fg.hvp(f, (POINT,), (DIRECTION,)), wanted[name].product)
    assert_same(fg.grad(lambda x: inner(fg.grad(f)(x), DIRECTION))(POINT), wanted[name].product)
    assert_same(fg.grad(lambda x: fg.jvp(f, (x,), (DIRECTION,))[1])(POINT), wanted[name].product)
    assert_same(fg.grad(lambda x: fg.linearize(f, x)[1](DIRECTION))(POINT), wanted[name].product)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled(name: str, engine: str, wanted: dict[str, Wanted]) -> None:
    f, jit = ours(name), partial(fg.jit, engine=engine)
    assert_same(jit(f)(POINT), wanted[name].value)
    assert_same(jit(lambda x, d: fg.jvp(f, (x,), (d,)))(POINT, DIRECTION)[1], wanted[name].tangent)
    assert_same(fg.jvp(jit(f), (POINT,), (DIRECTION,))[1], wanted[name].tangent)
    if name in REVERSIBLE:
        assert_same(jit(fg.grad(f))(POINT), wanted[name].gradient)
        assert_same(fg.grad(jit(f))(POINT), wanted[name].gradient)
        assert_same(jit(lambda x, d: fg.hvp(f, (x,), (d,)))(POINT, DIRECTION), wanted[name].product)
        assert_same(fg.hvp(jit(f), (POINT,), (DIRECTION,)), wanted[name].product)


@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs_and_jaxs_transforms(name: str, wanted: dict[str, Wanted]) -> None:
    f = ours(name)
    graph = check_graph(fg.make_graph(f)(POINT))
    assert_same(graph(POINT), wanted[name].value)
    with jax.enable_x64(True):
        assert_same(jax.jvp(graph, (POINT,), (DIRECTION,))[1], wanted[name].tangent)
        if name in REVERSIBLE:
            assert_same(jax.grad(graph)(POINT), wanted[name].gradient)
            assert_same(jax.jit(fg.grad(f))(POINT), wanted[name].gradient)
            assert_same(check_graph(fg.make_graph(fg.grad(f))(POINT))(POINT), wanted[name].gradient)
            assert_same(jax.grad(partial(PROGRAMS[name], fnp, _Ours()))(POINT), wanted[name].gradient)


@pytest.mark.parametrize("name", REVERSIBLE)
def test_on_xla_arrays(name: str, wanted: dict[str, Wanted]) -> None:
    with jax.enable_x64(True):
        arrays = jax.tree.map(jax.numpy.asarray, POINT)
    got = fg.grad(ours(name))(arrays)
    assert all(isinstance(leaf, jax.Array) for leaf in fg.tree.leaves(got))
    assert_same(got, wanted[name].gradient)


def test_single_precision_stays() -> None:
    point = fg.tree.map(lambda x: x.astype(np.float32), POINT)
    for name in REVERSIBLE:
        assert all(leaf.dtype == np.float32 for leaf in fg.tree.leaves(fg.grad(ours(name))(point))), name
        assert all(leaf.dtype == np.float32 for leaf in fg.tree.leaves(fg.jit(fg.grad(ours(name)))(point))), name


def test_body_is_staged_once() -> None:
    calls = []

    def step(c: Any, x: Any) -> Any:
        calls.append(1)
        return c + x, c

    fg.grad(lambda x: fg.scan(step, np.float64(0), x)[0])(np.ones(100))
    assert len(calls) == 1


def test_lengths_and_empty_parts() -> None:
    assert_same(fg.scan(lambda c, _: (c + 1, None), 0, None, length=5), (np.int64(5), None))
    carry, ys = fg.scan(lambda c, x: (c, x * 2), np.ones(2), np.zeros((0, 3)))
    np.testing.assert_array_equal(carry, np.ones(2))
    assert ys.shape == (0, 3)
    carry, ys = fg.scan(lambda c, x: (c, {"y": x}), (), np.arange(3.0))
    assert carry == ()
    np.testing.assert_array_equal(ys["y"], np.arange(3.0))
    gradient = fg.grad(lambda x: np.sum(fg.scan(lambda c, _: (np.sin(c), c), x, None, length=0)[0]))(np.ones(2))
    np.testing.assert_array_equal(gradient, np.ones(2))
    with pytest.raises(ValueError, match=r"scan: .* lengths \[2, 3\]"):
        fg.scan(lambda c, x: (c, x), 0.0, (np.ones(2), np.ones(3)))
    with pytest.raises(ValueError, match=r"neither xs nor length"):
        fg.scan(lambda c, x: (c, x), 0.0)
    with pytest.raises(ValueError, match=r"scan: length is -1; needed an integer that is not negative"):
        fg.scan(lambda c, _: (c, None), 0.0, length=-1)
    with pytest.raises(TypeError, match=r"scan: length is a float; needed an integer"):
        fg.scan(lambda c, _: (c, None), 0.0, length=cast(Any, 3.0))
    with pytest.raises(TypeError, match=r"scan: the initial carry at \['a'\] is a str; needed arrays"):
        fg.scan(lambda c, _: (c, None), {"a": "text"}, length=3)
    with pytest.raises(ValueError, match=r"needed an array with a leading axis"):
        fg.scan(lambda c, x: (c, x), 0.0, np.float64(1))


def test_types_of_the_carry() -> None:
    """A carry that starts as a Python number gets the dtype of the loop's result; any other change is refused."""
    xs = np.ones(3, np.float32)
    assert fg.scan(lambda c, x: (c + x, c), 0.0, xs)[0].dtype == np.float32
    assert fg.scan(lambda c, x: (c + x, c), 0, xs)[1].dtype == np.float32
    assert fg.scan(lambda c, x: (0.0, c), np.float32(1), xs)[0].dtype == np.float32
    assert fg.fori_loop(0, 3, lambda i, c: c * i, np.ones(2, np.float32)).dtype == np.float32
    with pytest.raises(TypeError, match=r"scan: the carry goes into .* as f32\[\] and comes out as f64\[\]"):
        fg.scan(lambda c, x: (c + np.float64(1), None), np.float32(0), xs)
    with pytest.raises(TypeError, match=r"scan: the carry at \['a'\] goes"):
        fg.scan(lambda c, x: ({"a": np.stack([x, x])}, None), {"a": np.float32(1)}, xs)
    with pytest.raises(TreeMismatchError, match="carry that"):
        fg.scan(lambda c, x: ((c, c), None), 0.0, xs)
    with pytest.raises(TypeError, match=r"needed a pair \(carry, y\)"):
        fg.scan(lambda c, x: c, 0.0, xs)


def test_branches_on_values_are_refused_in_bodies() -> None:
    def step(c: Any, x: Any) -> Any:
        return (c + x if x > 0 else c), None

    with pytest.raises(TracerBoolConversionError, match=r"test_loops.py:\d+, and under scan"):
        fg.scan(step, 0.0, np.ones(3))
    with pytest.raises(TracerBoolConversionError):
        fg.while_loop(lambda c: bool(c < 3), lambda c: c + 1, 0.0)


def test_cond_runs_one_branch_where_the_value_is_known() -> None:
    seen = []

    def doubled(x: Any) -> Any:
        seen.append(fg.is_traced(x))
        return 2 * x

    for x in (1.0, 2.0, -1.0):
        assert fg.cond(x > 0, doubled, np.negative, x) == (2 * x if x > 0 else 1.0)
    # The comparison is staged once. The program then runs for both numbers.
    assert seen == [True, False, False]
    assert fg.grad(lambda x: fg.cond(x > 0, doubled, np.negative, x))(3.0) == 2.0
    assert fg.cond(0.0, lambda: 1, lambda: 2) == 2


REFUSED: dict[str, tuple[type[Exception], str, Any]] = {
    "structure": (TreeMismatchError, r"<lambda> \(test_loops.py:\d+\) returned", lambda x: (x,)),
    "shape": (TypeError, r"f64\[2\] \(made at test_loops.py:\d+\)", lambda x: np.stack([x, x])),
    "dtype": (TypeError, r"f32\[\] \(made at test_loops.py:\d+\)", lambda x: x.astype("f")),
    "branch on a number": (TracerBoolConversionError, "bool", lambda x: x if x > 0 else -x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_cond_refuses_alike_eagerly_and_compiled(name: str) -> None:
    error, message, other = REFUSED[name]
    for f in (
        lambda x: fg.cond(x > 0, np.sin, other, x),
        lambda x: fg.cond(x > 0, other, np.sin, x),
        lambda x: fg.switch(2 * (x > 0), [np.sin, np.cos, other], x),
    ):
        for transformed in (f, fg.jit(f), fg.grad(f)):
            with pytest.raises(error, match=message):
                transformed(np.float64(2.0))


def test_cond_results_are_unified_or_refused() -> None:
    staged = fg.jit(lambda x: fg.cond(x > 0, lambda: x, lambda: 0.0), engine="numpy")
    assert staged(np.float32(2)).dtype == staged(np.float32(-2)).dtype == np.float32
    with pytest.raises(TypeError, match=r"cond: .* f64\[2\] where .* f64\[\]"):
        fg.make_graph(lambda x: fg.cond(x > 0, lambda: np.stack([x, x]), lambda: x))(1.0)
    with pytest.raises(TreeMismatchError):
        fg.make_graph(lambda x: fg.cond(x > 0, lambda: (x,), lambda: x))(1.0)
    with pytest.raises(TypeError, match="boolean scalar"):
        fg.cond(np.ones(2), lambda: 1, lambda: 2)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_traced_bounds_make_a_while_loop(engine: str) -> None:
    def power(n: Any, x: Any) -> Any:
        return fg.fori_loop(0, n, lambda i, y: y * x, 1.0)

    compiled = fg.jit(power, engine=engine)
    assert float(compiled(3, 2.0)) == 8.0
    assert float(fg.jvp(lambda x: compiled(3, x), (2.0,), (1.0,))[1]) == 12.0
    with pytest.raises(NotDifferentiableError, match="fori_loop with integer bounds"):
        fg.grad(compiled, argnums=1)(3, 2.0)
    assert float(fg.grad(lambda x: power(3, x))(2.0)) == 12.0
    with pytest.raises(TypeError, match="integer scalar"):
        fg.fori_loop(0, 2.5, lambda i, y: y, 1.0)


@pytest.mark.parametrize("dtype", ["float64", "int8", "bfloat16"])
@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_a_number_is_true_where_it_is_not_zero(engine: str, dtype: str) -> None:
    def f(x: Any) -> Any:
        n, y = fg.while_loop(lambda s: s[0].astype(dtype), lambda s: (s[0] - 1, 2 * s[1]), (x, 1))
        return y + fg.cond(n.astype(dtype), lambda: 0, lambda: 100)

    assert f(np.float64(3.0)) == fg.jit(f, engine=engine)(np.float64(3.0)) == 108


def test_while_loop_without_derivative_passes_through_reverse_mode() -> None:
    def f(x: Any) -> Any:
        count = fg.while_loop(lambda n: n < np.sum(x), lambda n: n + 1, 0)
        return np.sum(x) * count

    np.testing.assert_array_equal(fg.grad(f)(np.array([1.0, 1.5])), np.full(2, 3.0))
    with pytest.raises(NotDifferentiableError, match=r"while_loop: reverse mode .* fg.jvp"):
        fg.grad(ours("newton"))(POINT)


def test_constants_are_not_stacked() -> None:
    """The part of the weights that the backward body reads is kept once, and not once per round."""
    w = np.eye(50)
    _, pullback = fg.vjp(
        lambda w, x: fg.scan(lambda c, x: (np.tanh(np.exp(w) @ c + x), None), x[0], x)[0], w, np.ones((20, 50))
    )
    constants = [value for _, value in pullback.graph.constants]
    assert max(np.size(x) for x in constants) == 50 * 50
    assert sum(np.size(x) for x in constants) < 3 * 50 * 50


@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
@pytest.mark.parametrize("unroll", [1, 2, 5, 100, True, False])
def test_unrolled_loops(unroll: Any, engine: str | None) -> None:
    def total(x: Any) -> Any:
        by_scan = fg.scan(lambda c, x: (c + x, c), 0.0, x, unroll=unroll)[0]
        return by_scan + fg.fori_loop(0, 5, lambda i, c: c + i, 0.0, unroll=unroll)

    f = total if engine is None else fg.jit(total, engine=engine)
    assert (float(f(np.arange(5.0))), float(f(np.arange(0.0)))) == (20.0, 10.0)


def test_unroll_is_checked() -> None:
    for unroll in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match=r"scan: unroll is .* needed an integer from 1 on, or a bool"):
            fg.scan(lambda c, x: (c, x), 0.0, np.ones(3), unroll=unroll)  # pyright: ignore[reportArgumentType]  (refused)
    with pytest.raises(ValueError, match="fori_loop: unroll is 2, and a bound is known only when the program runs"):
        fg.jit(lambda n: fg.fori_loop(0, n, lambda i, c: c + i, 0, unroll=2), engine="numpy")(3)


def test_a_branch_reads_operands_again_in_place_of_residuals() -> None:
    """A loop around the branches stacks the value that both read once, and does not stack what no round changes."""

    def f(a: Any, x: Any) -> Any:
        def body(h: Any, row: Any) -> Any:
            h = fg.cond(row[0] > 0, lambda h: np.sin(h * a) * h, lambda h: h * a * h, h)
            return 0.5 * h + row, None

        return np.sum(fg.scan(body, np.ones(3), x)[0])

    x = np.linspace(-1, 1, 30).reshape(10, 3)
    graph = fg.make_graph(fg.grad(f))(0.5, x)
    first, second = [each.params["loop"] for each in graph.equations if each.primitive.name == "scan"]
    stacks = first.body.outputs[first.carry :]
    assert sum(y is first.body.inputs[first.constants] for y in stacks) == 1
    assert all(type(y) is not Var or y.aval.shape == (3,) or y.aval.dtype == bool for y in stacks)
    assert second.constants > 1
    h = 1e-6
    expected = (f(0.5 + h, x) - f(0.5 - h, x)) / (2 * h)
    np.testing.assert_allclose(fg.grad(f)(0.5, x), expected, 1e-7)
    rows = np.stack([x, -x])
    second_order = fg.vmap(fg.grad(fg.grad(f)), in_axes=(None, 0))(0.5, rows)
    expected = [(fg.grad(f)(0.5 + h, each) - fg.grad(f)(0.5 - h, each)) / (2 * h) for each in rows]
    np.testing.assert_allclose(second_order, expected, 1e-6)
