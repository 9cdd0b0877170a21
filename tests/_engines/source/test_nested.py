"""Loops of unknown length, branches and loops in loops as kernels of Numba, at the top and in each other."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

X = np.linspace(-1.0, 1.0, 24).reshape(6, 4)


def _is_one_kernel(source: str) -> bool:
    """Return whether no loop and no branch is left outside of kernels."""
    program = source.split("\n\n\n", maxsplit=1)[0]
    return "for t" not in program and not re.search(r"^ *(while|if v|if x)", program, re.MULTILINE)


def _compare(f: Callable[..., Any], *args: Any) -> str:
    """Compare a program on Numba with the plain program; return its source."""
    compiled = fg.jit(f, engine="numba")
    found, wanted = fg.tree.leaves(compiled(*args)), fg.tree.leaves(f(*args))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, 1e-12, 1e-14)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        assert np.shape(a) == np.shape(b)
    return compiled.source(*args)


def _until_small(x: Any) -> Any:
    def body(state: Any) -> Any:
        y, k = state
        return 0.5 * y + 0.1 * np.sin(y), k + 1

    return fg.while_loop(lambda state: np.max(np.abs(state[0])) > 0.01, body, (x, 0))


def _euclid(a: Any, b: Any) -> Any:
    return fg.while_loop(lambda s: s[1] != 0, lambda s: (s[1], s[0] % s[1]), (a, b))


def _chosen(x: Any, a: Any) -> Any:
    return fg.cond(a > 0.5, lambda x: (x * 2.0, np.sum(x)), lambda x: (np.cos(x)[::-1], x[0]), x)


@pytest.mark.parametrize("x", [X[0], X[0] * 0.0])
def test_a_while_is_one_kernel(x: np.ndarray) -> None:
    kept = x.copy()
    assert _is_one_kernel(_compare(_until_small, x))
    np.testing.assert_array_equal(x, kept)


def test_numbers_that_change_places_in_a_while() -> None:
    assert _is_one_kernel(_compare(_euclid, np.int64(1071), np.int64(462)))


@pytest.mark.parametrize("a", [0.2, 0.9])
def test_a_branch_is_one_kernel(a: float) -> None:
    assert _is_one_kernel(_compare(_chosen, X[1], np.float64(a)))


def _steps_of_different_ways(c: Any, x: Any) -> Any:
    c = fg.cond(np.sum(x) > 0, lambda c, x: c * 0.5 + x, lambda c, x: np.sin(c) - x * x, c, x)
    return c, fg.cond(c[0] > 0.1, lambda c: c[0], lambda c: c[1] * c[2], c)


def _inner_while(c: Any, x: Any) -> Any:
    y, k = fg.while_loop(lambda s: np.sum(s[0] ** 2) > 0.2, lambda s: (s[0] * 0.7 + 0.01 * x, s[1] + 1), (c + x, 0))
    return y, k


def _inner_scan(c: Any, x: Any) -> Any:
    def inner(y: Any, row: Any) -> Any:
        y = np.tanh(y + row * c[0])
        return y, y * row

    last, ys = fg.scan(inner, x, np.stack([c * k for k in (0.1, 0.2)]).repeat(20, 0), reverse=True)
    return last, np.sum(ys, axis=0)


def _three_deep(c: Any, x: Any) -> Any:
    def middle(y: Any, k: Any) -> Any:
        z, _ = fg.while_loop(lambda s: s[1] > 0, lambda s: (0.5 * s[0] + x, s[1] - 1), (y, k))
        return z, z[0]

    y, firsts = fg.scan(middle, c, np.arange(30) % 4)
    return fg.cond(firsts[-1] > 0, lambda y: -y, lambda y: y * 0.5, y), firsts[3:5]


BODIES = {f.__name__[1:]: f for f in (_steps_of_different_ways, _inner_while, _inner_scan, _three_deep)}


@pytest.mark.parametrize("name", BODIES)
def test_loops_and_branches_in_a_loop(name: str) -> None:
    xs = np.tile(X, (12, 1)) * 0.9
    assert _is_one_kernel(_compare(lambda c, xs: fg.scan(BODIES[name], c, xs), X[3], xs))


@pytest.mark.parametrize("name", ["steps_of_different_ways", "inner_scan"])
def test_their_gradients(name: str) -> None:
    def f(c: Any, xs: Any) -> Any:
        return sum(np.sum(np.sin(y)) for y in fg.scan(BODIES[name], c, xs))

    assert _is_one_kernel(_compare(fg.grad(f, argnums=(0, 1)), X[3], np.tile(X, (12, 1))))


def test_a_long_loop_in_a_long_loop_is_not_unrolled() -> None:
    def f(c: Any, xs: Any) -> Any:
        return fg.scan(lambda c, x: fg.scan(lambda y, r: (np.cos(y) * r, y), c, xs[:, 0] * x[1]), c, xs)

    source = _compare(f, np.float64(0.3), np.tile(X, (50, 1)))
    assert len(re.findall(r"^ *for r\d", source, re.MULTILINE)) == 2
    assert source.count("\n") < 120


def test_an_index_out_of_bounds_in_an_inner_loop() -> None:
    def f(ids: Any, x: Any) -> Any:
        return fg.scan(lambda c, i: (c, fg.while_loop(lambda y: y < 9.0, lambda y: y + x[i], c)), 0.0, ids)

    (compiled, plain), x = [fg.jit(f, engine=engine) for engine in ("numba", "numpy")], np.arange(1.0, 5.0)
    ids = np.array([1, -1, 0])
    np.testing.assert_array_equal(compiled(ids, x)[1], plain(ids, x)[1])
    assert _is_one_kernel(compiled.source(ids, x))
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(np.array([1, 4, 0]), x)


def test_a_body_without_a_form_runs_as_lines() -> None:
    def f(x: Any) -> Any:
        return fg.while_loop(lambda y: np.sum(y) > 0.1, lambda y: np.sort(y * 0.5), x)

    assert not _is_one_kernel(_compare(f, X[5]))


def _edges(u: Any) -> None:
    u[0, :], u[-1, :] = -u[1, :], -u[-2, :]
    u[:, 0], u[:, -1] = -u[:, 1], -u[:, -2]


def _smooth(u: Any, f: Any, rounds: int) -> Any:
    """Write four edges and an interior, round by round."""
    _edges(u)
    for _ in range(rounds):
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u[1:-1, 1:-1] = 0.2 * (around - f[1:-1, 1:-1]) + 0.2 * u[1:-1, 1:-1]
        _edges(u)
    return u


def _two_grids(p: Any, rounds: int) -> Any:
    fine, coarse = np.zeros_like(p, shape=(6, 6)), np.zeros_like(p, shape=(4, 4))
    fine[1:5, 1:5] = p[0] * np.sin(p[1] * np.arange(4.0))
    u = _smooth(np.zeros_like(fine), fine, 1)
    rest = fine - u
    coarse[1:3, 1:3] = rest[1:4:2, 1:4:2] + rest[1:4:2, 2:5:2] + rest[2:5:2, 1:4:2] + rest[2:5:2, 2:5:2]
    v = _smooth(np.zeros_like(coarse), coarse, rounds)
    u[1:5:2, 1:5:2] += v[1:3, 1:3] + 0.5 * v[:2, 1:3]
    u[2:5:2, 1:5:2] += v[1:3, 1:3] + 0.5 * v[2:, 1:3]
    return np.sum(_smooth(u, fine, 1) ** 2)


@pytest.mark.parametrize("rounds", [4, *[pytest.param(n, marks=pytest.mark.long) for n in (1, 3, 5, 8, 40)]])
def test_coarse_and_fine_grids(rounds: int) -> None:
    # The loop over the coarse grid carries zeros, which the kernel knows as one number.
    p = np.array([3.0, 2.0])
    found = fg.jit(fg.grad(_two_grids), static_argnums=1, engine="numba")(p, rounds)
    np.testing.assert_allclose(found, fg.grad(_two_grids)(p, rounds), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("count", [2, 50])
def test_carries_that_begin_as_one_number(count: int) -> None:
    def f(x: Any) -> Any:
        def once(i: int, carry: Any) -> Any:
            y, z = carry
            return y * 0.5 + x * z[1] + np.sum(y[0]), z[::-1] * 0.9 + y[:, 0]

        y, z = fg.fori_loop(0, count, once, (np.zeros_like(x), np.ones_like(x[:, 0])))
        return np.sum(y * x) + np.sum(z)

    def g(x: Any) -> Any:
        y = fg.while_loop(lambda y: np.sum(y[0]) < count, lambda y: y + abs(x) + y[::-1] * 0.1, np.zeros_like(x))
        return np.sum(y, axis=0)

    for each in (f, fg.grad(f), g):
        np.testing.assert_allclose(fg.jit(each, engine="numba")(X), each(X), rtol=1e-11)


def test_gauss_seidel_until_it_is_close() -> None:
    def f(x: Any) -> Any:
        u = np.zeros_like(x)
        for _ in range(50):
            before = u.copy()
            for i in range(1, len(x) - 1):
                u[i] = 0.5 * (u[i - 1] + u[i + 1] + x[i])
            if np.max(abs(u - before)) < 1e-3:
                break
        return np.sum(u**2)

    x = np.random.default_rng(0).random(6)
    for engine in ("numpy", "numba"):
        found = fg.jit(fg.value_and_grad(f), engine=engine, paths=4)(x)
        np.testing.assert_allclose(found[1], fg.grad(f)(x), rtol=1e-11)
        np.testing.assert_allclose(found[0], f(x), rtol=1e-12)
