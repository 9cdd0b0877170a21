"""Trees of paths as written programs: what a guard costs, and which memory is free after it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.graph.paths import Path, PathTree

ENGINES = ("numpy", "numba")


def reservoir(rounds: int) -> Callable[[Any], Any]:
    """Return a model with three branches in each round. Its gradient reads the values of all rounds."""
    rain = np.abs(np.sin(np.arange(rounds) * 1.7)) * 3.0

    def f(p: Any) -> Any:
        store, total = 2.0 * p[0], 0.0
        for t in range(rounds):
            flow = p[2] * (store - p[1]) if store > p[1] else 0.0
            loss = min(0.1 * np.sin(store), store)
            store = store + rain[t] - flow - loss
            total = total + max(flow, p[3]) ** 2
        return total

    return f


P = np.array([1.0, 3.0, 0.4, 0.2])


def calls_of(run: Callable[[], Any]) -> int:
    """Return the number of calls of the functions that write paths, while something runs."""
    count = 0

    def counted(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        del argument
        count += event == "call" and "_engines/source" in frame.f_code.co_filename.replace("\\", "/")

    sys.setprofile(counted)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def test_the_work_for_a_guard_does_not_grow_with_the_guards_before_it() -> None:
    """Count calls, the source's length, and the variables of all stretches: each grows as the rounds do."""
    found: list[np.ndarray] = []
    for rounds in (20, 40, 80):
        f = fg.jit(fg.value_and_grad(reservoir(rounds)), engine="numpy", paths=4, roll=False)
        calls = calls_of(lambda f=f: f(P))
        tree = PathTree()
        tree.add(Path(f.graph(P), fg.tree.structure((0.0, P)), ()))
        passed = sum(len(stretch.graph.inputs) + len(stretch.graph.outputs) for stretch in tree)
        found.append(np.array([calls, len(f.source(P)), passed]))
    assert np.all(found[2] - found[1] < 2.3 * (found[1] - found[0]))


@pytest.mark.parametrize("engine", ENGINES)
def test_gradients_through_many_guards(engine: str) -> None:
    f = fg.value_and_grad(reservoir(30))
    compiled = fg.jit(f, engine=engine, paths=8)
    for scale in (1.0, 1.2, 0.8, 1.0):
        for y, expected in zip(compiled(P * scale), f(P * scale), strict=True):
            np.testing.assert_allclose(y, expected, 1e-12)


def large(x: Any, y: Any) -> Any:
    """Return arrays and views that are made before guards and a loop, and read after some of them."""
    a = x * 2.0
    view = a[::-1]
    b = np.sin(a) - y
    if np.sum(x) > 0.0:
        c = np.exp(-b * b)
        while np.max(np.abs(c)) > 0.3:
            c = c * 0.7 + 0.003 * view
        first = c[: len(x) // 2]
    else:
        c = np.cos(b)
        first = view[len(x) // 2 :]
    d = np.tanh(c) + y
    if d[3] > d[5]:
        d = d * 0.5 + b
    e = np.cos(d) * a
    return e, first + 1.0, view, np.sum(e * d)


@pytest.mark.parametrize("donated", [(), (0,)])
@pytest.mark.parametrize("size", [12, 20_000])
@pytest.mark.parametrize("engine", ENGINES)
def test_memory_is_free_only_where_no_later_part_reads_it(
    engine: str, size: int, donated: tuple[int, ...], rng: np.random.Generator
) -> None:
    compiled = fg.jit(large, engine=engine, paths=16, donate_argnums=donated)
    for mean in (0.3, -0.3, 0.4, 0.2, -0.4, 0.3):
        x, y = rng.normal(mean, 1.0, size), rng.normal(0.0, 1.0, size)
        expected = [np.array(each) for each in large(x.copy(), y.copy())]
        for found, known in zip(compiled(x.copy(), y), expected, strict=True):
            np.testing.assert_allclose(found, known, 1e-9, 1e-12)


def test_a_dropped_variable_is_no_free_memory() -> None:
    """A large value that is dropped before a guard has no name after it."""

    def f(x: Any) -> Any:
        a = np.sin(x) * 2.0
        b = np.cos(a) + a[::-1]
        if np.sum(b) > 0.0:
            return np.exp(-b) + x
        return np.tanh(b) - x

    compiled = fg.jit(f, engine="numpy", paths=4)
    for x in (np.linspace(0.0, 1.0, 20_000), np.linspace(2.0, 3.0, 20_000)):
        for _ in range(2):
            np.testing.assert_allclose(compiled(x), f(x), 1e-13)


@pytest.mark.parametrize("engine", ENGINES)
def test_loops_of_guards_one_after_another_know_their_answers(engine: str) -> None:
    """An answer that no path gave comes after two loops; the new path begins with the answers of both."""

    def f(x: Any) -> Any:
        for limit in (10.0, 1.0):
            while x > limit:
                x = 0.8 * x
            if x > 0.9 * limit:
                x = x * 1.5
        return x * x

    compiled = fg.jit(fg.value_and_grad(f), engine=engine, paths=40)
    for x in (300.0, 280.0, 31.0, 290.0, 300.0, 57.0, 280.0, 0.95, 12.0):
        for found, known in zip(compiled(x), fg.value_and_grad(f)(x), strict=True):
            np.testing.assert_allclose(found, known, 1e-13)
