"""Moving windows, such as ``x[t - 4 : t]``, are data of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines import ENGINES
from funcgrad._ops.index.plan import Index
from funcgrad._ops.rolling import rounds
from funcgrad._ops.rolling.numbering import OUTSIDE
from funcgrad._ops.rolling.patterns import HOLE, MovingSlice, entries_of, window_of
from funcgrad._ops.rolling.table import Table
from tests._ops.rolling._rolled import (
    assert_engine_agrees,
    assert_loops,
    assert_rolls,
    loops_of,
    norm_of_gradient,
)

rng = np.random.default_rng(7)
X = rng.normal(size=60)
W = rng.normal(size=4)


def lms(w: Any, x: Any) -> Any:
    error = 0.0
    for t in range(4, len(x)):
        u = x[t - 4 : t]
        e = x[t] - w @ u
        w = w + 0.05 * e * u
        error = error + e * e
    return error


def autoregression(w: Any, x: Any) -> Any:
    error = 0.0
    for t in range(4, len(x)):
        error = error + (x[t] - w @ x[t - 4 : t][::-1]) ** 2
    return error


def downwards(w: Any, x: Any) -> Any:
    s = 0.0
    for t in range(4, len(x)):
        s = np.tanh(0.5 * s + w @ x[t : t - 4 : -1]) + x[t - 1]
    return s


def from_the_first_place(w: Any, x: Any) -> Any:
    s = 0.0
    for t in range(3, len(x)):
        s = np.tanh(0.5 * s + w @ x[t : t - 4 if t > 3 else None : -1])
    return s


def every_second(w: Any, x: Any) -> Any:
    s = 0.0
    for t in range(len(x) - 8):
        s = np.tanh(s + w @ x[t : t + 8 : 2] * x[t]) + x[t + 7]
    return s


def moving_average(w: Any, x: Any) -> Any:
    return np.sum(np.stack([np.mean(x[t : t + 5]) for t in range(len(x) - 4)]) ** 2) + np.sum(w)


def convolution(w: Any, x: Any) -> Any:
    y = np.zeros(len(x), like=x)
    for t in range(3, len(x)):
        y[t] = np.sum(w * x[t - 3 : t + 1][::-1])
    return np.sum(np.tanh(y))


def last_round_first(w: Any, x: Any) -> Any:
    s = 0.0
    for t in reversed(range(len(x) - 4)):
        s = 0.9 * s + np.tanh(w @ x[t : t + 4]) * x[t + 4]
    return s


def two_at_a_time(w: Any, x: Any) -> Any:
    s = 0.0
    for t in range(0, len(x) - 6, 2):
        s = 0.9 * s + x[t] * np.tanh(w @ x[t : t + 4]) + x[t + 3] * x[t]
    return s


def uneven_starts(w: Any, x: Any) -> Any:
    s = 0.0
    for t in (3, 7, 2, 2, 50, 11, 7, 30, 31, 8, 9, 0, 40, 41, 5, 17, 3, 22, 6, 1):
        s = 0.9 * s + np.tanh(w @ x[t : t + 4])
    return s


def growing_first(w: Any, x: Any) -> Any:
    s = 0.0
    for t in range(1, len(x)):
        s = 0.9 * s + np.tanh(np.sum(x[max(0, t - 4) : t]) * x[t])
    return s + np.sum(w)


def of_a_result(w: Any, x: Any) -> Any:
    z, s = np.log(x**2 + 1), 0.0
    for t in range(4, len(z)):
        s = 0.9 * s + np.dot(w, z[t - 4 : t]) + np.max(z[t - 4 : t])
    return s + np.sum(z)


def of_a_row(w: Any, x: Any) -> Any:
    z, s = np.stack([x, 2 * x, np.sin(x)])[1], 0.0
    for t in range(4, len(z)):
        s = 0.9 * s + np.tanh(w @ z[t - 4 : t])
    return s


def after_a_loop(w: Any, x: Any) -> Any:
    z = x
    for _ in range(12):
        y = np.sin(x)
        z = 2 * y
        x = x + 0.1 * z
    s = 0.0
    for t in range(4, len(z)):
        s = 0.9 * s + np.tanh(w @ z[t - 4 : t])
    return s


def of_a_matrix(w: Any, x: Any) -> Any:
    z, h, s = np.reshape(x, (20, 3)), np.zeros(3), 0.0
    for t in range(2, len(z)):
        h = np.tanh(np.sum(z[t - 2 : t], axis=0) * w[:3] + 0.5 * h + z[t])
        s = s + np.sum(h**2) + np.sum(z[t - 2 : t])
    return s


PROGRAMS: dict[str, tuple[Callable[..., Any], int]] = {
    # A program, and the largest number of equations of its rolled gradient.
    "lms": (lms, 35),
    "autoregression": (autoregression, 30),
    "downwards": (downwards, 45),
    "from the first place": (from_the_first_place, 45),
    "every second": (every_second, 45),
    "moving average": (moving_average, 40),
    "convolution": (convolution, 35),
    "last round first": (last_round_first, 40),
    "two at a time": (two_at_a_time, 45),
    "uneven starts": (uneven_starts, 45),
    "growing first": (growing_first, 110),
    "of a result": (of_a_result, 50),
    "of a row": (of_a_row, 45),
    "after a loop": (after_a_loop, 60),
    "of a matrix": (of_a_matrix, 90),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str) -> None:
    f, most = PROGRAMS[name]
    assert_loops(f, W, X, most=most)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_gradients(name: str) -> None:
    f, _ = PROGRAMS[name]
    norm = norm_of_gradient(f)
    count = len(fg.make_graph(fg.grad(norm, argnums=1))(W, X).equations)
    assert_rolls(fg.grad(norm, argnums=1), W, X, most=count // 2)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["lms", "downwards", "every second", "uneven starts", "of a matrix"])
def test_engines(engine: str, name: str) -> None:
    f, _ = PROGRAMS[name]
    assert_engine_agrees(engine, fg.value_and_grad(f, argnums=(0, 1)), W, X)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_other_types(dtype: str) -> None:
    w, x = W.astype(dtype), (X * (1 if dtype == "f4" else 1 + 0.5j)).astype(dtype)

    def f(w: Any, x: Any) -> Any:
        s = 0.0
        for t in range(4, len(x)):
            s = s + np.abs(np.sum(w * x[t - 4 : t]) - x[t]) ** 2
        return s

    assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), w, x, most=45)


@pytest.mark.parametrize("engine", ENGINES)
def test_windows_without_elements(engine: str) -> None:
    def f(w: Any, x: Any) -> Any:
        s = 0.0
        for t in range(40):
            s = s + np.sum(x[t:t]) + np.sum(x[t : t + 3]) * w[0]
        return s

    x = np.random.default_rng(1).normal(size=64)
    gradient = fg.value_and_grad(f, argnums=(0, 1))
    found, expected = fg.jit(gradient, engine=engine)(W, x), gradient(W, x)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, 1e-12)


def test_special_numbers() -> None:
    x = X.copy()
    x[[3, 20, 30, 40]] = np.nan, -0.0, np.inf, 0.0
    for f in (lms, two_at_a_time, of_a_matrix):
        with np.errstate(all="ignore"):
            assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), W, x, most=90)


def test_the_program_does_not_grow_with_its_rounds() -> None:
    for f, _ in PROGRAMS.values():
        if f in (uneven_starts, of_a_matrix):
            continue
        gradient = fg.value_and_grad(f, argnums=(0, 1))
        counts = [len(fg.make_graph(gradient)(W, np.tile(X, 2)[:n]).roll().equations) for n in (60, 100)]
        assert counts[0] == counts[1]


def test_each_number_of_rounds() -> None:
    for n in range(12, 32):
        for f in (lms, two_at_a_time, last_round_first):
            assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), W, X[:n], most=1000)


@pytest.mark.parametrize("name", ["lms", "two at a time", "last round first", "of a matrix"])
def test_a_program_that_is_rolled_before_it_is_differentiated(name: str) -> None:
    f, _ = PROGRAMS[name]
    gradient = fg.value_and_grad(f, argnums=(0, 1))
    compiled = fg.jit(gradient, engine="numpy")
    assert len(compiled.graph(W, X).equations) < 100
    for a, b in zip(fg.tree.leaves(compiled(W, X)), fg.tree.leaves(gradient(W, X)), strict=True):
        np.testing.assert_allclose(a, b, 1e-12, 1e-12)


def test_windows_that_need_too_much_memory_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = fg.make_graph(lms)(W, X)
    monkeypatch.setattr(rounds, "COPIED_BYTES", 56 * 4 * 8)
    assert loops_of(graph.roll()) == [56]
    monkeypatch.setattr(rounds, "COPIED_BYTES", 56 * 4 * 8 - 1)
    assert max(loops_of(graph.roll()), default=0) < 56
    assert_rolls(lms, W, X, most=1000)


def test_slices_of_a_stencil_are_no_windows() -> None:
    def heat(x: Any) -> Any:
        for _ in range(20):
            inner = x[1:-1] + 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2])
            x = np.concatenate([x[:1], inner, x[-1:]])
        return x

    graph = fg.make_graph(heat)(X)
    table = Table(graph.equations, graph.outputs)
    assert (table.windows() == OUTSIDE).all()
    assert_rolls(fg.grad(lambda x: np.sum(heat(x) ** 2)), X, most=60)


def test_a_part_of_an_array_that_each_round_reads() -> None:
    def f(w: Any, x: Any) -> Any:
        s = 0.0
        for t in range(len(x) - 4):
            s = s + np.tanh(np.mean(x[t : t + 5]) * w[0] + w[1] * s)
        return s

    counts = [len(assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), W, X[:n], most=40).equations) for n in (30, 60)]
    assert counts[0] == counts[1]


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ((slice(2, 6),), ((MovingSlice(4, 1),), (2,))),
        ((slice(-4, None),), ((MovingSlice(4, 1),), (6,))),
        ((slice(2, 3, 5),), ((MovingSlice(1, 1),), (2,))),
        ((slice(1, 8, 3),), ((MovingSlice(3, 3),), (1,))),
        ((slice(3, None, -1),), ((MovingSlice(4, -1),), (0,))),
        ((slice(8, 1, -3),), ((MovingSlice(3, -3),), (2,))),
        ((slice(2, 6), slice(None)), ((MovingSlice(4, 1),), (2,))),
        ((slice(2, 6), ...), ((MovingSlice(4, 1),), (2,))),
        ((slice(2, 6), 1), ((MovingSlice(4, 1), HOLE), (2, 1))),
        ((..., slice(1, 2)), ((("slice", None, None, None), MovingSlice(1, 1)), (1,))),
        ((-1, slice(0, 1)), ((HOLE, MovingSlice(1, 1)), (9, 0))),
        ((slice(4, 4),), None),
        ((3,), None),
        ((None, slice(2, 6)), ((None, MovingSlice(4, 1)), (2,))),
        ((slice(2, 6), None, 1, None), ((MovingSlice(4, 1), None, HOLE, None), (2, 1))),
        ((), None),
    ],
)
def test_the_window_of_an_index(entries: Any, expected: Any) -> None:
    x = np.arange(20).reshape(10, 2)
    found = window_of(Index(entries), x.shape)
    assert found == expected
    if found is not None:
        np.testing.assert_array_equal(x[entries_of(*found)], x[entries])
