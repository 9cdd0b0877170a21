"""All routes to a derivative agree: nested, staged, compiled, on both engines, inside JAX's transforms and in JAX."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.graph.ir import check_graph
from tests.laws._point import Together
from tests.laws._programs import PROGRAMS, Program
from tests.laws._together import result, run_together

Function = Callable[..., Any]


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> Program:
    return PROGRAMS[request.param]


def plain(program: Program) -> Function:
    return partial(program.loss, np)


def direction(tree: Any) -> Any:
    rng = np.random.default_rng(3)
    return fg.tree.map(lambda x: np.asarray(rng.normal(size=x.shape)), tree)


def inner(a: Any, b: Any) -> Any:
    return sum(np.sum(x * y) for x, y in zip(fg.tree.leaves(a), fg.tree.leaves(b), strict=True))


def assert_same(got: Any, expected: Any, tolerance: float = 1e-9) -> None:
    """Equal trees of float64 arrays."""
    assert fg.tree.structure(got) == fg.tree.structure(expected)
    for x, y in zip(fg.tree.leaves(got), fg.tree.leaves(expected), strict=True):
        assert x.dtype == np.float64
        assert np.shape(x) == np.shape(y)
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


def by_jax(program: Program) -> tuple[Any, Any, Any]:
    """JAX's value, gradient and Hessian-vector product of the same text with ``jax.numpy``."""
    gradient = jax.grad(partial(program.loss, jax.numpy))

    @jax.jit
    def everything(point: Any, x_dot: Any) -> tuple[Any, Any, Any]:
        pair = jax.jvp(gradient, (point,), (x_dot,))
        return partial(program.loss, jax.numpy)(point), *pair

    with jax.enable_x64(True):
        point = fg.tree.map(jax.numpy.asarray, program.point)
        return jax.device_get(everything(point, direction(program.point)))


def test_value_gradient_and_second_order_are_jaxs(program: Program) -> None:
    value, gradient, product = by_jax(program)
    f, x, x_dot = plain(program), program.point, direction(program.point)
    np.testing.assert_allclose(f(x), value, rtol=1e-12)
    got = fg.value_and_grad(f)(x)
    np.testing.assert_allclose(got[0], value, rtol=1e-12)
    assert_same(got[1], gradient)
    assert_same(fg.grad(f)(x), gradient)
    assert_same(fg.vjp(f, x)[1](1.0)[0], gradient)
    assert_same(fg.jvp(f, (x,), (x_dot,))[1], np.asarray(inner(gradient, x_dot)))
    forward_over_reverse = fg.jvp(fg.grad(f), (x,), (x_dot,))
    assert_same(forward_over_reverse[0], gradient)
    assert_same(forward_over_reverse[1], product)
    assert_same(fg.grad(lambda x: inner(fg.grad(f)(x), x_dot))(x), product)
    assert_same(fg.grad(lambda x: fg.jvp(f, (x,), (x_dot,))[1])(x), product)


def test_third_order_is_the_difference_of_the_second(program: Program) -> None:
    f, x, x_dot = plain(program), program.point, direction(program.point)

    def second(x: Any) -> Any:
        return fg.jvp(lambda x: fg.jvp(f, (x,), (x_dot,))[1], (x,), (x_dot,))[1]

    def at(t: float) -> Any:
        return second(fg.tree.map(lambda x, x_dot: np.asarray(x + t * 1e-3 * x_dot), x, x_dot))

    change = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * 1e-3)
    tolerance = 1e-5 * max(1.0, abs(change))
    np.testing.assert_allclose(fg.jvp(second, (x,), (x_dot,))[1], change, rtol=0, atol=tolerance)
    np.testing.assert_allclose(inner(fg.grad(second)(x), x_dot), change, rtol=0, atol=tolerance)


def test_checker_is_silent(program: Program) -> None:
    fg.check_grads(plain(program), (program.point,), order=2)


def test_staged_gradient(program: Program) -> None:
    f, x = plain(program), program.point
    gradient = fg.grad(f)(x)
    graph = check_graph(fg.make_graph(fg.grad(f))(x))
    assert_same(graph(x), gradient)
    assert_same(fg.grad(fg.make_graph(f)(x))(x), gradient)
    with jax.enable_x64(True):
        assert_same(jax.jit(lambda x: graph(x))(x), gradient)


def test_staged_second_order(program: Program) -> None:
    f, x, x_dot = plain(program), program.point, direction(program.point)
    product = fg.jvp(fg.grad(f), (x,), (x_dot,))[1]
    graph = check_graph(fg.make_graph(lambda x, x_dot: fg.jvp(fg.grad(f), (x,), (x_dot,))[1])(x, x_dot))
    assert_same(graph(x, x_dot), product)
    reverse = check_graph(fg.make_graph(fg.grad(lambda x: inner(fg.grad(f)(x), x_dot)))(x))
    assert_same(reverse(x), product)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_compiled(program: Program, engine: str) -> None:
    f, x, x_dot = plain(program), program.point, direction(program.point)
    jit = partial(fg.jit, engine=engine)
    gradient = fg.grad(f)(x)
    assert_same(jit(fg.grad(f))(x), gradient)
    assert_same(fg.grad(jit(f))(x), gradient)
    assert_same(jit(fg.grad(jit(f)))(x), gradient)
    product = fg.jvp(fg.grad(f), (x,), (x_dot,))[1]
    assert_same(fg.jvp(jit(fg.grad(jit(f))), (x,), (x_dot,))[1], product)
    assert_same(fg.grad(lambda x: inner(fg.grad(jit(f))(x), x_dot))(x), product)


@pytest.mark.long
def test_inside_jaxs_transforms(program: Program) -> None:
    f, x, x_dot = plain(program), program.point, direction(program.point)
    gradient = fg.grad(f)(x)
    points = fg.tree.map(lambda x, x_dot: np.stack([x, x + 0.01 * x_dot]), x, x_dot)
    other = fg.grad(f)(fg.tree.map(lambda points: points[1], points))
    both = fg.tree.map(lambda a, b: np.stack([a, b]), gradient, other)

    @jax.jit
    def everything(x: Any, x_dot: Any, points: Any) -> dict[str, Any]:
        """In one program, which takes far less time to compile than each of them."""
        return {
            "jit": jax.jit(fg.grad(f))(x),
            "vmap": jax.vmap(fg.grad(f))(points),
            "grad": jax.grad(partial(program.loss, fnp))(x),
            "grad of a graph": jax.grad(jax.jit(fg.make_graph(f)(program.point)))(x),
            "jvp": jax.jvp(fg.grad(f), (x,), (x_dot,))[1],
        }

    with jax.enable_x64(True):
        got = everything(x, x_dot, points)
    assert_same(got["vmap"], both)
    for name in ("jit", "grad", "grad of a graph"):
        assert_same(got[name], gradient)
    assert_same(got["jvp"], fg.jvp(fg.grad(f), (x,), (x_dot,))[1])


def first_and_second_order(program: Program, x: Any) -> Any:
    f, x_dot = plain(program), direction(program.point)
    return *fg.value_and_grad(f)(x), fg.grad(lambda x: inner(fg.grad(f)(x), x_dot))(x)


def check_orders(program: Program, found: Any) -> None:
    f, x, x_dot = plain(program), program.point, direction(program.point)
    value, gradient, product = found
    np.testing.assert_allclose(value, f(x), rtol=1e-9)
    assert_same(gradient, fg.grad(f)(x))
    assert_same(product, fg.jvp(fg.grad(f), (x,), (x_dot,))[1])


@pytest.mark.parametrize("name", list(PROGRAMS)[::5])
def test_eager_on_xla_arrays(name: str) -> None:
    """Outside JAX's 64-bit mode, which must not be needed nor touched."""
    program = PROGRAMS[name]
    with jax.enable_x64(True):
        arrays = fg.tree.map(jax.numpy.asarray, program.point)
    before = jax.config.read("jax_enable_x64")
    found = first_and_second_order(program, arrays)
    assert jax.config.read("jax_enable_x64") == before
    assert all(isinstance(leaf, jax.Array) for leaf in fg.tree.leaves(found))
    check_orders(program, found)


def test_as_on_xla_arrays() -> None:
    """Run all programs in a few XLA programs, which round each operation as eager code does."""
    flat = {name: fg.tree.flatten(program.point) for name, program in PROGRAMS.items()}

    def function(name: str) -> Any:
        program, treedef = PROGRAMS[name], flat[name][1]
        return lambda *xs: fg.tree.leaves(first_and_second_order(program, fg.tree.unflatten(treedef, xs)))

    found = run_together({name: (function(name), xs) for name, (xs, _) in flat.items()}, at_once=True)
    together = Together()
    for name, program in PROGRAMS.items():
        with together.named(name):
            treedef = fg.tree.structure((0.0, program.point, program.point))
            check_orders(program, fg.tree.unflatten(treedef, result(found, name)))
    together.settle()


def test_single_precision_stays(program: Program) -> None:
    f = plain(program)
    x = fg.tree.map(lambda x: np.asarray(x, np.float32), program.point)
    assert all(leaf.dtype == np.float32 for leaf in fg.tree.leaves(fg.grad(f)(x)))
    assert all(leaf.dtype == np.float32 for leaf in fg.tree.leaves(fg.jit(fg.grad(f))(x)))
