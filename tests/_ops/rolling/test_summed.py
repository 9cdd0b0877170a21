"""Sums of many parts of one array are one scatter, so that loops over the places of a table roll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines import ENGINES
from tests._ops.rolling._rolled import loops_of, norm_of_gradient

X = np.linspace(-1.0, 1.5, 30)


def _edges(n: int) -> np.ndarray:
    """Return pairs of different places among 30."""
    rng = np.random.default_rng(5)
    first, step = rng.integers(0, 30, n), rng.integers(1, 30, n)
    return np.stack([first, (first + step) % 30], axis=1)


def springs(edges: np.ndarray) -> Callable[..., Any]:
    def f(x: Any, k: Any) -> Any:
        force = np.zeros_like(x)
        for e in range(len(edges)):
            i, j = edges[e]
            pull = k[e] * (x[j] - x[i])
            force[i] += pull
            force[j] -= pull
        return np.sum(force**2)

    return f


def springs_in_two_dimensions(edges: np.ndarray) -> Callable[..., Any]:
    def f(x: Any, k: Any) -> Any:
        x = np.stack([x, x**2], axis=1)
        force = np.ones((30, 2), like=x)
        for e in range(len(edges)):
            i, j = edges[e]
            r = x[j] - x[i]
            pull = k[e] * r / np.sqrt(1.0 + r @ r)
            force[i] += pull
            force[j] -= pull
        return np.sum(force**2)

    return f


def stiffness(edges: np.ndarray) -> Callable[..., Any]:
    def f(x: Any, k: Any) -> Any:
        total = np.eye(30, like=x)
        for e in range(len(edges)):
            entries = k[e] * np.outer(x[:2], x[1:3])
            for a in range(2):
                for b in range(2):
                    total[edges[e, a], edges[e, b]] += entries[a, b]
        return np.sum(total**2)

    return f


def blocks(edges: np.ndarray) -> Callable[..., Any]:
    def f(x: Any, k: Any) -> Any:
        total = np.eye(62, like=x)
        for e in range(len(edges)):
            (i, j), block = 2 * edges[e], k[e] * np.outer(x[:2], x[1:3])
            total[i : i + 2, i : i + 2] += block
            total[j : j + 2, i : i + 2] -= block
        return np.sum(total**2)

    return f


def histogram(edges: np.ndarray) -> Callable[..., Any]:
    def f(x: Any, k: Any) -> Any:
        counts = np.zeros(30, like=x)
        for e in range(len(edges)):
            counts[edges[e, 0]] += np.sin(k[e])
        return np.sum(x * counts**2)

    return f


def in_steps_of_time(edges: np.ndarray) -> Callable[..., Any]:
    def f(x: Any, k: Any) -> Any:
        v, x = np.zeros_like(x), x.copy()
        for _ in range(6):
            force = np.zeros_like(x)
            for e in range(len(edges)):
                i, j = edges[e]
                pull = k[e] * (x[j] - x[i])
                force[i] += pull
                force[j] -= pull
            v = v + 0.01 * force
            x = x + 0.01 * v
        return np.sum(x**2)

    return f


MESHES = [springs, springs_in_two_dimensions, stiffness, blocks, histogram, in_steps_of_time]


@pytest.mark.parametrize("program", MESHES, ids=lambda f: f.__name__)
def test_a_loop_over_a_mesh_does_not_grow_with_the_mesh(program: Callable[..., Any]) -> None:
    sizes = []
    for n in (40, 80):
        f, k = program(_edges(n)), np.linspace(0.5, 2.0, n)
        rolled = fg.make_graph(f)(X, k).roll()
        fg.extend.check_graph(rolled)
        assert loops_of(rolled)
        np.testing.assert_allclose(rolled(X, k), f(X, k), 1e-12)
        sizes.append(len(rolled.equations))
    assert sizes[0] == sizes[1] <= 50


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", MESHES, ids=lambda f: f.__name__)
def test_derivatives_of_rolled_sums(program: Callable[..., Any], engine: str) -> None:
    edges, k = _edges(20), np.linspace(0.5, 2.0, 20)
    f = program(edges)
    rolled = fg.make_graph(f)(X, k).roll()
    found = fg.jit(fg.value_and_grad(rolled, argnums=(0, 1)), engine=engine)(X, k)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(fg.value_and_grad(f, argnums=(0, 1))(X, k)), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, 1e-10, 1e-10)
    pushed = fg.jvp(rolled, (X, k), (X**2, k**2))[1]
    np.testing.assert_allclose(pushed, fg.jvp(f, (X, k), (X**2, k**2))[1], 1e-10)
    second, wanted = (fg.grad(norm_of_gradient(g))(X, k) for g in (rolled, f))
    np.testing.assert_allclose(second, wanted, 1e-9, 1e-9)


def other_orders_of_terms(x: Any, k: Any) -> Any:
    h = np.ones(30, like=x)
    for t in range(40):
        i = 7 * t * t % 30
        h[i] = k[t] + h[i]
        h[i] = h[i] - k[t] * x[i] + x[i] * 3.0
        h[i] += 1
        h[i] += 0.5 * k[t] + k[t]
        h[i] -= 2.5
    return h


def of_single_precision(x: Any, k: Any) -> Any:
    h = np.zeros(30, np.float32, like=x)
    for t in range(40):
        h[7 * t * t % 30] += k[t]
    return h


def no_sum(x: Any, k: Any) -> Any:
    h = np.ones(30, like=x)
    for t in range(40):
        i = 7 * t * t % 30
        h[i] = k[t] - h[i]
        h[i] += h[i] * x[i]
        h[i] += x[i]
    return h


def of_other_parts(x: Any, k: Any) -> Any:
    h = np.ones(30, like=x)
    for t in range(40):
        h[7 * t * t % 30] = h[7 * t % 30] + k[t]
    return h


def read_and_written_between(x: Any, k: Any) -> Any:
    h, y = np.zeros(30, like=x), 0.0
    for t in range(80):
        h[7 * t * t % 30] += x[t % 30]
        if t % 30 == 20:
            y = y + h[4] * k[t]
            h[3] = 2.0
    return h, y


def of_numbers_and_windows(x: Any, k: Any) -> Any:
    h = np.ones((30, 4), like=x)
    for t in range(40):
        i = 7 * t * t % 26
        h[i : i + 4, 1] += k[t]
        h[i, ::2] += x[:2]
        h[i:, None, 0] -= 1.0
    return h


def at_index_arrays(x: Any, k: Any) -> Any:
    h = np.zeros(30, like=x)
    for t in range(20):
        np.add.at(h, np.array([t, t, 7 * t % 30]), x[t : t + 3] * k[t])
        h[np.array([t, t])] += x[t : t + 2]
    return h


def of_integers_and_numbers(x: Any, k: Any) -> Any:
    h, c = np.zeros(30, np.int64, like=x), np.zeros(30, like=x) + 0j
    for t in range(40):
        h[7 * t * t % 30] += t
        c[7 * t * t % 30] += 1j * x[t % 30]
    return h, c


def that_are_truncated(x: Any, k: Any) -> Any:
    # The sums are float numbers, and the array has integers.
    h, b = np.zeros(30, np.int64, like=x), np.full(30, 200, np.uint8, like=x)
    for t in range(40):
        h[7 * t * t % 30] += 0.75
        h[7 * t * t % 30] += 1.0
        b[7 * t * t % 30] -= 5
    return h, b


OTHERS = [
    that_are_truncated,
    other_orders_of_terms,
    of_single_precision,
    no_sum,
    of_other_parts,
    read_and_written_between,
    of_numbers_and_windows,
    at_index_arrays,
    of_integers_and_numbers,
]


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_other_updates(f: Callable[..., Any]) -> None:
    k = np.linspace(0.5, 2.0, 80)
    rolled = fg.make_graph(f)(X, k).roll()
    fg.extend.check_graph(rolled)
    for a, b in zip(fg.tree.leaves(rolled(X, k)), fg.tree.leaves(f(X, k)), strict=True):
        np.testing.assert_allclose(a, b, 1e-12, 1e-14)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def test_a_sum_is_one_scatter_without_a_loop() -> None:
    entries, places = np.arange(256.0).reshape(16, 16), np.arange(16) * 5 % 23

    def f(k: Any) -> Any:
        total = np.zeros((23, 23), like=k)
        for e in range(3):
            element = k[e] * entries
            for a in range(16):
                for b in range(16):
                    total[places[a] - e, places[b] - e] += element[a, b]
        return total

    k = np.array([0.5, 1.5, 2.5])
    rolled = fg.make_graph(f)(k).roll()
    assert len(rolled.equations) <= 40
    np.testing.assert_allclose(rolled(k), f(k), 1e-14)
