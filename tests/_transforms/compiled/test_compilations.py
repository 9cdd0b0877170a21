"""Eager loops on ``jax.Array`` s compile once, and still read the current values of closures at each call."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.graph import key as structure
from funcgrad._core.graph.ir import Graph
from funcgrad._engines import XLA
from funcgrad.tree.extend import static_key

Count = Callable[[Callable[[], Any]], int]


class _Compilations(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith("Compiling "):
            self.names.append(record.getMessage())


@pytest.fixture
def count() -> Iterator[Count]:
    """Return how many programs XLA compiles for a call, according to JAX's log."""
    handler, logger = _Compilations(), logging.getLogger("jax")
    logger.addHandler(handler)

    def counted(call: Callable[[], Any]) -> int:
        handler.names.clear()
        with jax.log_compiles():
            call()
        return len(handler.names)

    yield counted
    logger.removeHandler(handler)


def on_xla(x: Any) -> Any:
    with XLA.scope():
        return jnp.asarray(x)


XS = on_xla(np.arange(1.0, 5.0))
YS = on_xla(np.array([0.5, 1.5, 2.5, 0.25]))


def scan(xs: Any) -> Any:
    return fg.scan(lambda c, x: (c * x, np.sin(c)), 1.0, xs)


def while_loop(xs: Any) -> Any:
    return fg.while_loop(lambda x: np.sum(x) < 100.0, lambda x: x * x + 1.0, xs)


def fori_loop(xs: Any) -> Any:
    return fg.fori_loop(0, 5, lambda i, x: np.cos(x) + i, xs)


def branches(xs: Any) -> Any:
    return fg.vmap(lambda x: fg.cond(x > 2.0, np.sin, np.cos, x))(xs)


def one_branch(xs: Any) -> Any:
    graph = fg.make_graph(lambda flag, x: fg.cond(flag, np.sin, np.cos, x))(True, np.float64(0))
    return fg.vmap(lambda x: graph(on_xla(False), x))(xs)


def nested(xs: Any) -> Any:
    return fg.scan(lambda c, x: (fg.fori_loop(0, 3, lambda i, y: np.sin(y) + x, c), None), 1.0, xs)[0]


def checkpointed(xs: Any) -> Any:
    return fg.grad(lambda xs: np.sum(fg.checkpoint(scan)(xs)[1]))(xs)


@pytest.mark.parametrize(
    "call",
    [
        scan,
        while_loop,
        fori_loop,
        branches,
        one_branch,
        nested,
        checkpointed,
        fg.grad(lambda xs: scan(xs)[0]),
        fg.hessian(lambda xs: scan(xs)[0]),
        fg.grad(nested),
        lambda xs: fg.jvp(while_loop, (xs,), (xs,)),
        lambda xs: fg.linearize(fori_loop, xs)[1](xs),
        lambda xs: fg.vmap(lambda s: scan(s * xs)[0])(on_xla(np.ones(2))),
    ],
)
def test_eager_loops_compile_once(call: Callable[[Any], Any], count: Count) -> None:
    call(XS)
    assert count(lambda: call(YS)) == 0


def test_what_is_compiled_is_counted(count: Count) -> None:
    """The count works: a loop of another length is another program."""
    assert count(lambda: scan(on_xla(np.ones(17)))) > 0


def test_closed_over_arrays_are_operands(count: Count) -> None:
    def call(weight: Any) -> Any:
        return fg.scan(lambda c, x: (c + np.sum(weight * weight * x), None), 0.0, XS)[0]

    weight = np.array([1.0, 2.0])
    assert float(call(weight)) == 50.0
    # The same array with other numbers, another array, and an array of XLA: one program, and the current numbers.
    weight *= 2
    assert count(lambda: np.testing.assert_equal(float(call(weight)), 200.0)) == 0
    assert count(lambda: np.testing.assert_equal(float(call(np.array([0.0, 3.0]))), 90.0)) == 0
    assert float(call(on_xla(weight))) == 200.0
    assert float(fg.grad(lambda scale: call(scale * weight))(1.0)) == 400.0


def test_numpys_scalars_are_data(count: Count) -> None:
    """The numbers are results of computations and differ in each call; a Python number is part of the program."""

    def call(scale: Any) -> Any:
        return fg.scan(lambda c, x: (c + scale * x, scale), 0.0, XS)

    assert float(call(np.float64(1.0))[0]) == 10.0
    for scale in (np.mean([2.0, 4.0]), np.sum(np.ones(7)), np.array(0.5)):
        assert count(lambda scale=scale: np.testing.assert_equal(float(call(scale)[0]), 10.0 * scale)) == 0
        np.testing.assert_array_equal(call(scale)[1], np.full(4, scale))
    # A number of another dtype compiles another program: float32 beside float64.
    assert call(np.float32(2.0))[1].dtype == np.float32
    assert float(call(2.0)[0]) == 20.0
    assert float(fg.grad(lambda s: call(s * np.float64(3.0))[0])(2.0)) == 30.0


def test_what_changed_since_the_last_call_is_seen(count: Count) -> None:
    """A rebound closure, a changed attribute and another Python number give a new program each, and none is stale."""
    settings = {"scale": 1.0, "negate": False}

    def step(c: Any, x: Any) -> Any:
        y = c + settings["scale"] * x
        return (-y if settings["negate"] else y), None

    def call() -> float:
        return float(fg.scan(step, 0.0, XS)[0])

    assert call() == 10.0
    settings["scale"] = 3.0
    assert call() == 30.0
    settings["negate"] = True
    assert call() == pytest.approx(3.0 * (1 - 2 + 3 - 4))
    settings.update(scale=1.0, negate=False)
    assert count(lambda: np.testing.assert_equal(call(), 10.0)) == 0


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, 1.0), (1, True), (2.0, np.float64(2.0)), (1.0, 1 + 0j)])
def test_numbers_that_compare_equal_are_told_apart(one: Any, other: Any) -> None:
    def staged(value: Any) -> Graph:
        graph = fg.make_graph(lambda x: np.full_like(x, value) * x)(np.ones(2, np.complex64))
        return structure.canonical(Graph(graph.inputs, [], graph.equations, graph.outputs, "f"))

    assert staged(one) is staged(one)
    assert static_key((value := one, 1)) == static_key((value, 1))
    assert static_key((one, 1)) != static_key((other, 1))


def test_negative_zero_is_no_constant_of_another_sign() -> None:
    graph = fg.make_graph(lambda x: (np.full_like(x, 0.0), np.full_like(x, -0.0)))(np.ones(2))
    positive, negative = fg.jit(graph, engine="numpy")(np.ones(2))
    np.testing.assert_array_equal(np.signbit(positive), [False, False])
    np.testing.assert_array_equal(np.signbit(negative), [True, True])


def test_graphs_of_different_programs_differ() -> None:
    def staged(f: Callable[..., Any], *args: Any) -> Graph:
        graph = fg.make_graph(f)(*args)
        return structure.canonical(Graph(graph.inputs, graph.constants, graph.equations, graph.outputs, "f"))

    x, y = np.ones(3), np.ones(3)
    first = staged(lambda x, y: x - y, x, y)
    assert staged(lambda x, y: x - y, x, y) is first
    assert staged(lambda x, y: y - x, x, y) is not first
    assert staged(lambda x, y: x + y, x, y) is not first
    assert staged(lambda x, y: (x - y, x), x, y) is not first
    assert staged(lambda x, y: x - y, x, np.ones(1)) is not first
    assert staged(lambda x, y: x - y, np.float32(x), np.float32(y)) is not first
    # A user may write to a constant array, so only the identical array counts as the same.
    held = np.ones(3)
    second = staged(lambda x: x - held, x)
    assert staged(lambda x: x - held, x) is second
    assert staged(lambda x: x - held.copy(), x) is not second


def test_few_programs_are_kept() -> None:
    for i in range(2 * structure._LIMIT):
        graph = fg.make_graph(lambda x, i=i: x + float(i))(1.0)
        structure.canonical(graph)
    assert len(structure._known) == structure._LIMIT


def test_a_custom_rule_in_the_body_is_the_one_of_the_call() -> None:
    """Rules read the closures of the user's functions at the call: two such bodies are different programs."""

    def call(factor: float) -> Any:
        @fg.custom_vjp
        def scaled(x: Any) -> Any:
            return x * 1.0

        scaled.defvjp(lambda x: (x * 1.0, None), lambda _, y_bar: (factor * y_bar,))
        return fg.grad(lambda xs: fg.scan(lambda c, x: (c + scaled(x), None), 0.0, xs)[0])(XS)

    np.testing.assert_array_equal(call(2.0), np.full(4, 2.0))
    np.testing.assert_array_equal(call(5.0), np.full(4, 5.0))
