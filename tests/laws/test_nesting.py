"""Transforms inside transforms, closures, threads, and what is left after an error."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.bind import active_trace
from funcgrad.errors import UnexpectedTracerError

Function = Callable[..., Any]


def reverse(f: Function) -> Function:
    return fg.grad(f)


def forward(f: Function) -> Function:
    return lambda x: fg.jvp(f, (x,), (np.float64(1.0),))[1]


def compiled(f: Function) -> Function:
    return fg.jit(fg.grad(f), engine="numpy")


def on_xla(f: Function) -> Function:
    return fg.jit(fg.grad(f))


DERIVATIVES = [reverse, forward, compiled, on_xla]

# In each, a derivative inside another must not take the outer variable for its own (Siskind and Pearlmutter, 2005).
CONFUSIONS = {
    "outer variable in the inner sum": (lambda d, e: d(lambda x: x * e(lambda y: x + y)(1.0))(1.0), 1.0),
    "outer variable in the inner product": (lambda d, e: d(lambda x: x * e(lambda y: x * y)(2.0))(3.0), 6.0),
    "the inner point is the outer variable": (lambda d, e: d(lambda x: e(lambda y: x * y * y)(x))(3.0), 12.0),
    "three levels": (
        lambda d, e: d(lambda x: x * e(lambda y: y * d(lambda z: x * y * z)(2.0))(3.0))(2.0),
        6.0 * 2.0 * 2.0,
    ),
    "an inner constant function": (lambda d, e: d(lambda x: x * e(lambda y: 2.0 * x)(1.0))(1.0), 0.0),
    "the inner result is dropped": (lambda d, e: d(lambda x: x * x + 0.0 * e(lambda y: x * y)(1.0))(3.0), 6.0),
}


@pytest.mark.parametrize("name", CONFUSIONS)
@pytest.mark.parametrize("outer", DERIVATIVES)
@pytest.mark.parametrize("inner", DERIVATIVES)
def test_no_perturbation_confusion(name: str, outer: Function, inner: Function) -> None:
    f, expected = CONFUSIONS[name]
    np.testing.assert_allclose(f(outer, inner), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "orders", [(reverse,) * 5, (forward,) * 5, (reverse, forward) * 2 + (reverse,), (compiled,) * 5]
)
def test_fifth_derivative(orders: tuple[Function, ...]) -> None:
    f = lambda x: x**5 * np.float64(2.0)
    for derivative in orders:
        f = derivative(f)
    np.testing.assert_allclose(f(np.float64(1.5)), 240.0)


def test_an_inner_optimization_is_differentiated() -> None:
    """The gradient through gradient steps, whose loss closes over the outer variable."""
    target = np.array([1.0, -2.0, 0.5])

    def learned(rate: Any) -> Any:
        w = np.zeros(3)
        for _ in range(3):
            w = w - rate * fg.grad(lambda w: np.sum((w * rate - target) ** 2))(w)
        return np.sum((w - target) ** 2)

    fg.check_grads(learned, (0.1,), order=2)
    expected = fg.grad(learned)(0.1)
    np.testing.assert_allclose(fg.jit(fg.grad(learned), engine="numpy")(0.1), expected, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.grad(learned))(0.1), expected, rtol=1e-12)
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(fg.grad(learned))(0.1), expected, rtol=1e-12)


def test_a_jitted_function_closes_over_an_outer_tracer() -> None:
    def outer(x: Any) -> Any:
        inner = fg.jit(lambda y: np.sum(x * y * y))
        return inner(np.array([1.0, 2.0])) * x

    np.testing.assert_allclose(fg.grad(outer)(3.0), 30.0)
    np.testing.assert_allclose(fg.grad(fg.grad(outer))(3.0), 10.0)
    np.testing.assert_allclose(fg.jit(fg.grad(outer))(3.0), 30.0)


X, Y = np.array([1.0, 2.0]), np.array([3.0, -1.0])


def test_a_pullback_may_be_called_again() -> None:
    y, pullback = fg.vjp(lambda x: x * x * x, X)
    for _ in range(3):
        np.testing.assert_allclose(pullback(np.ones(2))[0], 3 * X * X)
    bar = np.ones(2)
    pullback(bar)
    np.testing.assert_array_equal(bar, np.ones(2))
    np.testing.assert_allclose(fg.grad(lambda b: np.sum(pullback(b)[0] * b))(bar), 6 * X * X)
    np.testing.assert_allclose(y, X**3)


def test_eight_threads_at_once() -> None:
    """Each thread nests its own transforms; all start together."""
    barrier = threading.Barrier(8)

    def work(k: int) -> list[float]:
        barrier.wait(timeout=30)

        def f(x: Any) -> Any:
            return np.sum(x**3) * fg.grad(lambda y: y * y * k)(x[0])

        return [float(fg.grad(lambda x: np.sum(fg.grad(f)(x) * x))(X + i)[0]) for i in range(20)]

    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(work, range(1, 9)))
    once = got[0]
    for k, row in enumerate(got, 1):
        np.testing.assert_allclose(row, np.array(once) * k, rtol=1e-12)
    assert active_trace() is None


def test_a_tracer_works_in_another_context_of_its_own_transform() -> None:
    """An executor runs code in another context, where no trace is active. The tracer itself knows its trace."""

    def f(x: Any) -> Any:
        return Context().run(lambda: np.sum(x * x))

    np.testing.assert_allclose(fg.grad(f)(X), 2 * X)


class PlannedError(Exception):
    pass


RUNS = {
    "grad": lambda f: fg.grad(f)(X),
    "grad of grad": lambda f: fg.grad(lambda x: np.sum(fg.grad(f)(x)))(X),
    "vjp": lambda f: fg.vjp(f, X),
    "jvp": lambda f: fg.jvp(f, (X,), (X,)),
    "make_graph": lambda f: fg.make_graph(f)(X),
    "jit numpy": lambda f: fg.jit(f, engine="numpy")(X),
    "jit xla": lambda f: fg.jit(f)(X),
    "grad of jit": lambda f: fg.grad(fg.jit(f))(X),
    "jit of grad": lambda f: fg.jit(fg.grad(f))(X),
    "jax.jit": lambda f: jax.jit(fg.grad(f))(X),
}


@pytest.mark.parametrize("name", RUNS)
def test_an_exception_passes_through_and_state_is_restored(name: str) -> None:
    error = PlannedError("mine")

    def f(x: Any) -> Any:
        np.sum(x * x)
        raise error

    with pytest.raises(PlannedError) as caught:
        RUNS[name](f)
    assert caught.value is error
    if name not in {"jit xla", "jax.jit", "jit of grad", "grad of jit"}:
        # JAX chains an exception of its own to what passes through jax.jit.
        assert error.__cause__ is None
        assert error.__context__ is None
    assert active_trace() is None
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(x * x))(X), 2 * X)


@pytest.mark.parametrize("name", [name for name in RUNS if name != "jax.jit"])
def test_a_leaked_tracer_is_refused(name: str) -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x * 2.0)
        return np.sum(x * x)

    RUNS[name](f)
    uses = [
        lambda x: x + 1.0,
        np.sum,
        lambda x: np.ones(2) * x,
        lambda x: x[0],
        lambda x: fg.grad(lambda y: np.sum(y * x))(X),
    ]
    for use in uses:
        with pytest.raises(UnexpectedTracerError, match="has ended"):
            use(kept[0])


def test_a_tracer_leaked_into_another_transforms_run_is_refused() -> None:
    kept: list[Any] = []
    fg.grad(lambda x: kept.append(x) or np.sum(x * x))(X)
    with pytest.raises(UnexpectedTracerError, match="has ended"):
        fg.grad(lambda x: np.sum(x * kept[0]))(X)
    assert active_trace() is None


def test_a_generator_that_is_left_running_leaves_no_state() -> None:
    def steps(x: Any) -> Any:
        while True:
            x = x * 2.0
            yield x

    def f(x: Any) -> Any:
        running = steps(x)
        next(running)
        return np.sum(next(running))

    np.testing.assert_allclose(fg.grad(f)(X), [4.0, 4.0])
    assert active_trace() is None


def test_a_long_chain_needs_no_recursion() -> None:
    def chain(x: Any) -> Any:
        for _ in range(100_000):
            x = x * 1.00001 + 0.0
        return x

    np.testing.assert_allclose(fg.grad(chain)(1.0), 1.00001**100_000, rtol=1e-8)


def test_a_loop_over_rows() -> None:
    xs = np.random.default_rng(0).normal(size=(50, 3))

    def loop(xs: Any) -> Any:
        state = np.zeros(3)
        for t in range(len(xs)):
            state = 0.9 * state + xs[t] * xs[t - 1]
        return np.sum(state)

    fg.check_grads(loop, (xs,), order=2)


def test_iteration_gives_rows() -> None:
    def loop(xs: Any) -> Any:
        return sum(np.sum(x * k) for k, x in enumerate(xs))

    np.testing.assert_allclose(fg.grad(loop)(np.ones((3, 2))), [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])


def test_a_result_that_does_not_depend_on_the_argument() -> None:
    np.testing.assert_array_equal(fg.grad(lambda x: 3.0)(X), np.zeros(2))
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(Y))(X), np.zeros(2))
    value, dot = fg.jvp(lambda x: Y, (X,), (X,))
    np.testing.assert_array_equal(value, Y)
    np.testing.assert_array_equal(dot, np.zeros(2))
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.sign(x)))(X), np.zeros(2))


def test_the_argument_itself_is_the_result() -> None:
    assert float(fg.grad(lambda x: x)(2.0)) == 1.0
    np.testing.assert_array_equal(fg.vjp(lambda x: (x, x), X)[1]((X, Y))[0], X + Y)
    np.testing.assert_array_equal(fg.jvp(lambda x: x, (X,), (Y,))[1], Y)


def test_branches_follow_the_numbers() -> None:
    def f(x: Any) -> Any:
        while x < 100.0:
            x = x * x if x > 2.0 else x * 3.0
        return x

    fg.check_grads(f, (1.5,), order=2)
    fg.check_grads(f, (2.5,), order=2)
