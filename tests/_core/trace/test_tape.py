"""The tape as data: the contents of a node, its lifetime, and the order of the pass."""

import gc
import re
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy  # The traces made here need the operators.
from funcgrad._core.trace import tape
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.trace.reverse import ReverseTrace
from funcgrad._core.trace.tape import LEAF, kept_by, parents_of, primitive_of, pulled


def recorded(f: Any, *values: Any) -> tuple[Any, list[Any]]:
    """Return the tracers of a result and of the inputs."""
    trace = ReverseTrace()
    inputs = [trace.input(value) for value in values]
    with trace:
        return f(*inputs), inputs


def test_a_node_is_a_tuple_of_plain_parts() -> None:
    a, b = np.array([2.0, 3.0]), np.array([5.0, 7.0])
    y, (x, z) = recorded(lambda x, z: x * z, a, b)
    assert type(y._node) is tuple
    assert primitive_of(y._node).name == "mul"
    assert [parent is tracer._node for parent, tracer in zip(parents_of(y._node), (x, z), strict=True)] == [True, True]
    assert [value is array for value, array in zip(kept_by(y._node), (b, a), strict=True)] == [True, True]
    assert x._node[1] == LEAF
    np.testing.assert_array_equal(pulled(np.ones(2), y._node), [b, a])


def test_serial_numbers_order_the_tape() -> None:
    y, (x,) = recorded(lambda x: np.exp(np.sin(x)), np.ones(2))
    (parent,) = parents_of(y._node)
    assert y._node[0] > parent[0] > x._node[0]


def test_only_active_operands_are_parents() -> None:
    y, (x,) = recorded(lambda x: x * np.ones(2), np.ones(2))
    assert [parent is x._node for parent in parents_of(y._node)] == [True]


@pytest.mark.parametrize("twice", [lambda x: x * x, lambda x: (x + 1) * (x + 2), lambda x: np.sin(x) * x + np.exp(x)])
def test_a_value_that_is_used_several_times(twice: Any) -> None:
    x = np.array([0.5, -1.0])
    gradient = fg.grad(lambda x: np.sum(twice(x)))(x)
    step = 1e-6
    np.testing.assert_allclose(gradient, (twice(x + step) - twice(x - step)) / (2 * step), rtol=1e-8)


def test_a_long_chain_with_side_branches() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for _ in range(500):
            x = np.sin(x) + 0.1 * x
            total = total + x[0] * x[1]
        return total

    x = np.array([0.3, 0.4])
    step = 1e-6
    differences = [(f(x + step * row) - f(x - step * row)) / (2 * step) for row in np.eye(2)]
    np.testing.assert_allclose(fg.grad(f)(x), differences, rtol=1e-6)


def test_depth_needs_no_recursion() -> None:
    def f(x: Any) -> Any:
        for _ in range(50_000):
            x = x + 1.0
        return x

    assert float(fg.grad(f)(2.0)) == 1.0
    y, _ = recorded(f, np.float64(2.0))
    # Dropping the tape recurses as deep as the chain is long.
    del y


def test_what_is_dropped_is_freed_at_once() -> None:
    gc.disable()
    try:
        seen = []

        def f(x: Any) -> Any:
            branch = np.exp(x) * 2.0
            seen.append(weakref.ref(branch._value))
            del branch
            return np.sum(x)

        fg.grad(f)(np.ones(3))
        assert seen[0]() is None
    finally:
        gc.enable()


def test_the_pass_frees_as_it_goes() -> None:
    alive: list[Any] = []

    @fg.custom_vjp
    def probe(x: Any) -> Any:
        return x * 1.0

    def backward(_: Any, y_bar: Any) -> tuple[Any]:
        # The pass calls this after later nodes and before earlier nodes.
        counts.append(sum(ref() is not None for ref in alive))
        return (y_bar,)

    probe.defvjp(lambda x: (x * 1.0, ()), backward)
    counts: list[int] = []

    def f(x: Any) -> Any:
        for _ in range(4):
            x = np.exp(probe(x) * 0.1)
            alive.append(weakref.ref(x._value))
        return np.sum(x)

    fg.grad(f)(np.ones(3))
    # Each exp keeps its result, which is freed with its node.
    assert counts == [3, 2, 1, 0]


def test_a_seed_for_several_nodes() -> None:
    trace = ReverseTrace()
    x: Any = trace.input(np.array([1.0, 2.0]))
    with trace:
        y, z = x * 3.0, np.exp(x)
    bars = backward_pass([(y._node, np.ones(2)), (z._node, np.ones(2))])
    np.testing.assert_allclose(bars[x._node], 3 + np.exp([1.0, 2.0]))


def test_lines_of_a_staged_gradient_are_the_users() -> None:
    text = str(fg.make_graph(fg.grad(lambda x: np.sum(np.tanh(x) * x)))(np.ones(3)))
    lines = set(re.findall(r"# (\S+):\d+", text))
    assert lines == {"test_tape.py"}


def _shared(x: Any) -> Any:
    """Some cotangents of ``y`` depend on ``y`` and others do not: the pass adds bare arrays and traced ones."""
    y = np.exp(x)
    return np.sum(y * 3.0 + y * y + y * 2.0 + y * 5.0)


@pytest.mark.parametrize("outer", ["reverse", "forward", "batched", "staged"])
def test_a_buffer_that_became_a_tracer_is_left_alone(outer: str) -> None:
    x = np.array([0.5, 2.0, -1.0])
    gradient = fg.grad(_shared)
    compute = {
        "reverse": lambda x: fg.grad(lambda x: np.sum(gradient(x)))(x),
        "forward": lambda x: fg.jvp(gradient, (x,), (np.ones(3),))[1],
        "batched": lambda x: np.diag(fg.jacrev(gradient)(x)),
        "staged": lambda x: fg.jit(fg.grad(lambda x: np.sum(gradient(x))), engine="numpy")(x),
    }
    np.testing.assert_allclose(compute[outer](x), 10 * np.exp(x) + 4 * np.exp(2 * x), rtol=1e-14)


def test_a_buffer_is_written_to_only_while_the_pass_alone_has_it() -> None:
    """``a + b`` gives one cotangent to both operands, and further cotangents of each are added separately."""
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])

    def f(a: Any, b: Any) -> Any:
        a, b = np.sin(a), np.sin(b)
        both = a + b
        return np.sum(both * 2.0 + both * both + both + a * 3.0 + a + b)

    got = fg.grad(f, (0, 1))(a, b)
    both = 2 * (np.sin(a) + np.sin(b)) + 3
    np.testing.assert_allclose(got, [(both + 4) * np.cos(a), (both + 1) * np.cos(b)], rtol=1e-14)


KEPT = {
    "sqrt keeps its result": (lambda x: np.sqrt(x), 1, lambda x: [np.sqrt(x)]),
    "log keeps its operand": (lambda x: np.log(x), 1, lambda x: [x]),
    "a product with a constant keeps the constant": (lambda x: x * 3.0, 1, lambda x: [3.0]),
    "a product keeps both factors": (lambda x, y: x * y, 2, lambda x, y: [y, x]),
    "a sum keeps nothing": (lambda x, y: x + y, 2, lambda x, y: []),
    "negation keeps nothing": (lambda x: -x, 1, lambda x: []),
}


@pytest.mark.parametrize("name", KEPT)
def test_the_tape_keeps_what_rules_read(name: str, rng: np.random.Generator) -> None:
    f, count, expected = KEPT[name]
    values = [rng.uniform(1, 2, 3) for _ in range(count)]
    y, _ = recorded(f, *values)
    for kept, wanted in zip(kept_by(y._node), expected(*values), strict=True):
        np.testing.assert_array_equal(kept, wanted)


def test_kinds_made_by_several_threads_are_apart() -> None:
    def made_with(count: int) -> tuple[int, int, Any]:
        def pull(*_: Any) -> Any:
            return count

        return tape.new_kind(None, count, pull), count, pull

    before, interval = len(tape.pulls), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(made_with, range(2000)))
    finally:
        sys.setswitchinterval(interval)
    assert sorted(kind for kind, _, _ in made) == list(range(before, before + 4000, 2))
    for kind, count, pull in made:
        assert (tape.parent_counts[kind], tape.pulls[kind]) == (count, pull)


def test_a_kind_after_an_interrupted_one_has_its_own_entries() -> None:
    # An interruption between two lines of `new_kind` leaves entries without a pull.
    tape.parent_counts.extend((5, 5))
    tape.freed_kinds.append(None)
    kind = tape.new_kind(None, 2, lambda y_bar, node: (y_bar, y_bar))
    assert tape.parent_counts[kind] == 2
    assert tape.freed_kinds[kind] == kind + 1
    assert len(tape.parent_counts) == len(tape.freed_kinds) == len(tape.pulls) == kind + 2
