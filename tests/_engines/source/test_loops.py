"""Loops and branches in written programs: right numbers, and writes only to memory that nobody else sees."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

ENGINES = ("numpy", "numba")
X = np.linspace(-1.0, 1.0, 12).reshape(4, 3)


def _plain(step: Callable[..., Any], carry: Any, xs: Any) -> Any:
    """Run a scan as a Python loop."""
    stack = []
    for x in xs:
        carry, y = step(carry, x)
        stack.append(y)
    return carry, fg.tree.map(lambda *ys: np.stack(ys), stack[0], *stack[1:])


def _added(x: Any, i: Any, value: Any) -> Any:
    y = x.copy()
    y[i] += value
    return y


def _swap(c: Any, x: Any) -> Any:
    a, b = c
    return (b, np.sin(a) + x), a


def _written(c: Any, x: Any) -> Any:
    c = _added(c, 1, np.sum(x))
    return c, c[1] * x


def _row(c: Any, x: Any) -> Any:
    return x, c * 2


def _kept(c: Any, x: Any) -> Any:
    a, b = c
    return (a, b * a + x), b


def _view(c: Any, x: Any) -> Any:
    return np.reshape(np.sin(c)[::-1], (3,)), x


def _twice(c: Any, x: Any) -> Any:
    y = np.tanh(c[0] + x)
    return (y, y), c[1]


def _numbers(c: Any, x: Any) -> Any:
    k, v, flag = c
    return (k + 1, v / (k - 1.0), ~flag), (k, np.sum(x) > 0)


STEPS = {
    "two values change places": (_swap, (X[0], X[1])),
    "a row is written": (_written, X[2]),
    "a row is carried": (_row, X[3]),
    "a value stays": (_kept, (X[0], X[1])),
    "a view is carried": (_view, X[1]),
    "one array is carried twice": (_twice, (X[0], X[0])),
    "numbers": (_numbers, (np.int64(0), np.float64(1.0), np.bool_(True))),
}


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", STEPS)
def test_a_scan_is_the_loop_of_python(name: str, engine: str) -> None:
    step, first = STEPS[name]
    before = fg.tree.map(np.copy, first)
    rows = X.copy()
    wanted = _plain(step, first, X)
    compiled = fg.jit(lambda c, xs: fg.scan(step, c, xs), engine=engine)
    for _ in range(2):
        found = compiled(first, rows)
        for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.asarray(b).dtype
        arrays = [y for y in fg.tree.leaves(found) if np.ndim(y)]
        for i, y in enumerate(arrays):
            # Results belong to the caller: writing to one changes nothing else.
            y[...] = 7
            assert not any(np.shares_memory(y, other) for other in arrays[i + 1 :])
            assert not any(np.shares_memory(y, x) for x in [rows, *fg.tree.leaves(first)] if np.ndim(x))
    np.testing.assert_array_equal(rows, X)
    for a, b in zip(fg.tree.leaves(first), fg.tree.leaves(before), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("length", [0, 1, 3])
def test_a_loop_of_any_length_with_its_gradient(length: int, engine: str) -> None:
    def f(w: np.ndarray, x: np.ndarray) -> Any:
        def step(h: Any, row: Any) -> Any:
            h = np.tanh(w @ h + row)
            return h, h[0]

        h, ys = fg.scan(step, x[0] * 0.5, x[:length])
        return np.sum(h**2) + np.sum(ys)

    w = np.linspace(-0.4, 0.4, 9).reshape(3, 3)
    g = fg.value_and_grad(f, argnums=(0, 1))
    wanted, found = g(w, X), fg.jit(g, engine=engine)(w, X)
    fg.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-14, 1e-15), found, wanted)


def test_the_program_is_a_for_with_the_body_inside() -> None:
    def f(x: np.ndarray) -> Any:
        return fg.scan(lambda c, row: (c + np.sin(row), np.sum(c)), x[0], x)

    source = fg.jit(f, engine="numpy").source(X)
    assert "    for t0, v4 in zip(range(4), x0):\n" in source
    # The loop writes into the carried value, so its first value is copied once.
    (line,) = [line for line in source.splitlines() if " add(" in line]
    assert line.startswith("        ")


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_are_made_in_their_places(reverse: bool) -> None:
    def step(c: Any, x: Any) -> Any:
        row, k, n = x
        y = np.sin(row) + k
        z = y * c
        # ``y`` is read again, ``z`` is carried, and the rows of ``n`` are numbers that are returned.
        return z, (y, z, n, np.cos(row[:, None] * y), np.exp(y))

    xs = X, np.arange(4.0), np.arange(4)
    compiled = fg.jit(lambda c, xs: fg.scan(step, c, xs, reverse=reverse), engine="numpy")
    found, wanted = compiled(X[0], xs), fg.scan(step, X[0], xs, reverse=reverse)
    fg.tree.map(np.testing.assert_array_equal, found, wanted)
    source = compiled.source(X[0], xs)
    # Three of five stacks are written in place. The carried rows and the numbers are copied.
    assert source.count("[t0] = ") == 2
    assert "[t0, ...]" in source
    again = compiled(X[1], xs)
    fg.tree.map(np.testing.assert_array_equal, found, wanted)
    fg.tree.map(lambda a, b: None if np.shares_memory(a, b) is False else pytest.fail("shared"), found, again)


def test_a_matrix_that_is_summed_keeps_the_order_of_its_elements() -> None:
    def step(c: Any, x: Any) -> Any:
        y = x.T * 1.1
        return c + np.sum(y), y

    xs = np.random.default_rng(0).normal(size=(3, 37, 53))
    found = fg.jit(lambda xs: fg.scan(step, 0.0, xs), engine="numpy")(xs)
    wanted = [np.sum(x.T * 1.1) for x in xs]
    assert found[0] == 0.0 + wanted[0] + wanted[1] + wanted[2]


def test_rows_do_not_keep_their_array_alive() -> None:
    def f(x: Any) -> Any:
        _, ys = fg.scan(lambda c, row: (c, np.sin(row)), 0.0, x)
        return np.sum(ys)

    compiled = fg.jit(lambda x: f(x) + np.sum(np.cos(np.sum(x) * np.ones((2000, 400)))), engine="numpy")
    x = np.ones((2000, 400))
    compiled(x)
    tracemalloc.start()
    compiled(x)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # The stack is dropped before the last sum is made of arrays that are as large.
    assert peak < 1.9 * x.nbytes, peak / x.nbytes


@pytest.mark.parametrize("engine", ENGINES)
def test_loops_deeper_than_python_nests_them(engine: str) -> None:
    def deep(level: int, x: Any) -> Any:
        if level == 0:
            return np.sin(x) + 0.1
        return fg.fori_loop(0, 1, lambda _, c: deep(level - 1, c), x)

    x = np.array([0.3, 0.4])
    np.testing.assert_array_equal(fg.jit(lambda x: deep(40, x), engine=engine)(x), np.sin(x) + 0.1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("start", [0, 3, 9])
def test_a_while_loop_that_may_not_run(start: int, engine: str) -> None:
    def f(n: Any, x: Any, scale: float) -> Any:
        def step(c: Any) -> Any:
            n, x, kept, total = c
            return n + 1, _added(x, 0, scale * n), kept, total + np.sum(x) / (n + 1)

        return fg.while_loop(lambda c: c[0] < 5, step, (n, x, x * 2, 0.0))

    n, x = np.int64(start), np.arange(3.0)
    wanted = f(n, x, 0.5)
    found = fg.jit(f, engine=engine)(n, x, 0.5)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.shares_memory(a, x)
    np.testing.assert_array_equal(x, np.arange(3.0))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_branch_gives_an_operand_or_a_new_array(engine: str) -> None:
    def f(flag: Any, x: Any, y: Any) -> Any:
        return fg.cond(flag, lambda x, y: (x, x + y, 1.0), lambda x, y: (y * 2, y, np.sum(x)), x, y)

    compiled = fg.jit(f, engine=engine)
    x, y = np.arange(3.0), np.ones(3)
    for flag in (np.bool_(True), np.bool_(False), True, np.array(False)):
        found = compiled(flag, x, y)
        for a, b in zip(found, f(flag, x, y), strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == np.float64
            assert not np.shares_memory(a, x)
            assert not np.shares_memory(a, y)


@pytest.mark.parametrize("engine", ENGINES)
def test_loops_and_branches_in_each_other(engine: str) -> None:
    def f(x: Any) -> Any:
        def inner(c: Any) -> Any:
            n, v = c
            return n + 1, fg.cond(np.sum(v) > 0, lambda v: v * 0.5, lambda v: v + 1.0, v)

        def step(c: Any, row: Any) -> Any:
            _, v = fg.while_loop(lambda c: c[0] < 3, inner, (0, c + row))
            total = fg.fori_loop(0, 3, lambda i, total: total + v[i] * i, 0.0)
            return v, total

        return fg.scan(step, x[0], x, reverse=True)

    for a, b in zip(fg.jit(f, engine=engine)(X), f(X), strict=True):
        np.testing.assert_allclose(a, b, 1e-15)


@pytest.mark.parametrize("engine", ENGINES)
def test_bodies_of_large_arrays_run_in_blocks(engine: str) -> None:
    rows = np.linspace(0, 1, 3 * (1 << 18)).reshape(3, -1)

    def f(x: Any) -> Any:
        return fg.scan(lambda c, row: (np.sin(c) * row + np.cos(row), c[0]), x[0], x)

    for a, b in zip(fg.jit(f, engine=engine)(rows), f(rows), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_donated_array_is_carried_without_a_copy(engine: str) -> None:
    def f(state: Any, xs: Any) -> Any:
        return fg.fori_loop(0, 3, lambda i, s: _added(s, i, xs[i]), state)

    state, xs = np.zeros(4), np.arange(4.0)
    found = fg.jit(f, engine=engine, donate_argnums=0)(state, xs)
    np.testing.assert_array_equal(found, [0, 1, 2, 0])
    assert np.shares_memory(found, state)
    np.testing.assert_array_equal(xs, np.arange(4.0))


def _scanned(start: Any) -> Any:
    return fg.scan(lambda c, t: (c + np.sort(c) * t, None), start, np.arange(1.0, 4.0))[0]


def _counted(start: Any) -> Any:
    return fg.while_loop(lambda c: c[1] < 3, lambda c: (c[0] + np.sort(c[0]), c[1] + 1), (start, 0))[0]


def _exchanged(start: Any) -> Any:
    step = lambda c, t: ((c[1] + np.sort(c[0]) * t, c[0] + np.sort(c[1])), None)
    return fg.scan(step, (start, start * 2.0), np.arange(1.0, 4.0))[0][1]


@pytest.mark.parametrize("loop", [_scanned, _counted, _exchanged])
@pytest.mark.parametrize("engine", ENGINES)
def test_memory_of_a_loop_is_free_once(loop: Any, engine: str) -> None:
    """The last value of a loop is in the memory of the first one. After its last read, one array may use the memory."""

    def f(x: Any, y: Any) -> Any:
        last = loop(np.sort(x))
        total = np.sum(last[0])
        a, b, c = y * 3.0, y - 2.0, y / 7.0
        return total + np.sum(np.sort(a) * np.sort(b)) + np.sum(np.sort(c) * np.sort(a))

    x, y = np.random.default_rng(0).normal(size=(2, 100, 100))
    np.testing.assert_allclose(fg.jit(f, engine=engine)(x, y), f(x, y), rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int8])
def test_the_types_of_numbers_stay(dtype: Any, engine: str) -> None:
    xs = np.arange(4).astype(dtype)
    f = fg.jit(lambda c, xs: fg.scan(lambda c, x: (c * 2 + x, c), c, xs), engine=engine)
    last, stack = f(dtype(1), xs)
    assert (np.asarray(last).dtype, stack.dtype) == (dtype, dtype)
    np.testing.assert_array_equal(stack, [1, 2, 5, 12])


@pytest.mark.parametrize("engine", ENGINES)
def test_stacked_python_numbers_that_arrays_meet(engine: str) -> None:
    def f(x: Any) -> Any:
        # The clock is a Python number of each round, which the backward loop multiplies by rows.
        return np.sum(fg.fori_loop(0, 6, lambda t, c: (c[0] + 0.5, c[1] + np.sin(x * c[0])), (0.25, x))[1])

    np.testing.assert_allclose(fg.jit(fg.grad(f), engine=engine)(X[0]), fg.grad(f)(X[0]), rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_python_numbers_that_the_backward_loop_reads(engine: str) -> None:
    def f(x: Any) -> Any:
        return fg.fori_loop(0, 4, lambda i, c: c + 0.1 * np.sin(c) * x * (0.5 * i), 0.3)

    found, wanted = fg.jit(fg.grad(fg.grad(f)), engine=engine)(0.7), fg.grad(fg.grad(f))(0.7)
    np.testing.assert_allclose(found, wanted, 1e-13)
    step = 1e-4
    np.testing.assert_allclose(wanted, (f(0.7 + step) - 2 * f(0.7) + f(0.7 - step)) / step**2, 1e-5)
