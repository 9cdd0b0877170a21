"""Loops as kernels of Numba: one kernel around a body, with the numbers of NumPy's engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines.source.kernels import nodes

X = np.linspace(-1.0, 1.0, 24).reshape(6, 4)


def _turned(c: Any, x: Any) -> Any:
    # An element is read after a round of the inner loop has written it.
    return c[::-1] * 0.5 + c * x, np.sum(c)


def _shifted(c: Any, x: Any) -> Any:
    c = c.copy()
    c[1:-1] = 0.5 * c[:-2] + 0.25 * c[2:] + 0.1 * x[1:-1]
    c[0] += np.tanh(x[0])
    return c, c[1]


def _product(c: Any, x: Any) -> Any:
    w = np.outer(x, x) * 0.1
    return np.tanh(w @ c + x), c @ x


def _picked(c: Any, x: Any) -> Any:
    k = np.argmax(x)
    return c + x[k], c[k - 1]


def _numbers(c: Any, x: Any) -> Any:
    a, b = c
    return (b + np.sin(a), a * x[0]), np.where(a > b, a, b)


def _chosen(c: Any, x: Any) -> Any:
    return np.where(c > x, c * 0.9, np.exp(-(c**2))) - np.max(x), np.mean(c)


BODIES = {f.__name__[1:]: f for f in (_turned, _shifted, _product, _picked, _chosen)}


def _kernels(source: str) -> int:
    return len(re.findall(r"^ *for r\d", source, re.MULTILINE))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_a_loop_and_its_gradient(name: str, reverse: bool) -> None:
    body = BODIES[name]

    def f(c: Any, xs: Any) -> Any:
        last, ys = fg.scan(body, c, xs, reverse=reverse)
        return np.sum(last**2) + np.sum(np.sin(ys))

    g = fg.value_and_grad(f, argnums=(0, 1))
    c = X[2] * 0.7
    wanted, found = [fg.jit(g, engine=engine)(c, X) for engine in ("numpy", "numba")]
    fg.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-13, 1e-15), found, wanted)
    np.testing.assert_array_equal(c, X[2] * 0.7)


@pytest.mark.parametrize("name", ["turned", "shifted", "product", "chosen"])
def test_the_loop_is_one_kernel(name: str) -> None:
    compiled = fg.jit(lambda c, xs: fg.scan(BODIES[name], c, xs), engine="numba")
    assert _kernels(compiled.source(X[0], X)) == 1


def test_numbers_that_change_places() -> None:
    compiled = fg.jit(lambda a, b, xs: fg.scan(_numbers, (a, b), xs), engine="numba")
    found, wanted = compiled(0.3, np.float64(-0.2), X), fg.scan(_numbers, (0.3, np.float64(-0.2)), X)
    fg.tree.map(np.testing.assert_array_equal, found, wanted)
    assert _kernels(compiled.source(0.3, np.float64(-0.2), X)) == 1


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.uint8, bool])
def test_types(dtype: Any) -> None:
    xs = (X * 3 > 0).astype(dtype)
    step: Callable[..., Any] = lambda c, x: (c | x, c) if dtype is bool else (c + x, c * x)
    found = fg.jit(lambda c, xs: fg.scan(step, c, xs), engine="numba")(xs[0], xs)
    for a, b in zip(found, fg.scan(step, xs[0], xs), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype


def test_a_short_loop_in_a_loop_is_written_round_by_round() -> None:
    def step(c: Any, x: Any) -> Any:
        last, ys = fg.scan(lambda y, row: (np.cos(y) * row + c[0], y[1]), x, np.stack([x, c, x]), reverse=True)
        return last, ys

    compiled = fg.jit(lambda c, xs: fg.scan(step, c, xs), engine="numba")
    for a, b in zip(compiled(X[0], X), fg.scan(step, X[0], X), strict=True):
        np.testing.assert_allclose(a, b, 1e-14)
    source = compiled.source(X[0], X)
    assert _kernels(source) == 1
    assert "for t" not in source


def test_a_loop_of_short_loops_is_not_written_round_by_round() -> None:
    """All rounds of the inner loops count: 30 times 12 rounds took 10 s to build, and their gradient minutes."""

    def f(a: Any, x: Any) -> Any:
        def body(c: Any, row: Any) -> Any:
            return fg.fori_loop(0, 12, lambda i, s: np.sin(s) * a + row, c) * 0.5, None

        return np.sum(fg.scan(body, x[0] * a, x)[0] ** 2)

    x = np.linspace(-1.0, 1.0, 120).reshape(30, 4)
    for g in (f, fg.grad(f)):
        compiled = fg.jit(g, engine="numba")
        assert compiled.source(0.5, x).count("sin") < 30
        np.testing.assert_allclose(compiled(0.5, x), g(0.5, x), 1e-13)


def test_an_index_out_of_bounds_is_refused_as_numpy_does() -> None:
    def f(ids: Any, x: Any) -> Any:
        return fg.scan(lambda c, i: (c + x[i], c * 2), x[0], ids)

    compiled, x = fg.jit(f, engine="numba"), np.arange(4.0)
    np.testing.assert_array_equal(compiled(np.array([1, -1, 0]), x)[0], 4.0)
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(np.array([1, 4, 0]), x)


def test_a_body_without_a_form_runs_as_lines_around_kernels() -> None:
    def step(c: Any, x: Any) -> Any:
        c = np.sort(np.sin(c) + x * x + np.cos(c))
        return c, c[0]

    compiled = fg.jit(lambda c, xs: fg.scan(step, c, xs), engine="numba")
    for a, b in zip(compiled(X[0], X), fg.scan(step, X[0], X), strict=True):
        np.testing.assert_allclose(a, b, 1e-15)
    source = compiled.source(X[0], X)
    assert _kernels(source) == 0
    assert "zip(range(6), x1):" in source


def test_arrays_with_gaps_are_copied_first() -> None:
    wide = np.linspace(0, 1, 48).reshape(6, 8)[:, ::2]
    compiled = fg.jit(lambda c, xs: fg.scan(_turned, c, xs), engine="numba")
    for a, b in zip(compiled(wide[0], wide), fg.scan(_turned, wide[0], wide), strict=True):
        np.testing.assert_allclose(a, b, 1e-15)


def test_a_long_body_is_one_kernel() -> None:
    def step(h: Any, x: Any) -> tuple[Any, Any]:
        for k in range(120):
            h = np.sin(h * (0.5 + 0.01 * k)) + x
        return h, h

    def f(h: Any, xs: Any) -> Any:
        return fg.scan(step, h, xs)[1]

    args = np.ones(3), np.linspace(-1.0, 1.0, 15).reshape(5, 3)
    compiled = fg.jit(f, engine="numba")
    np.testing.assert_array_equal(compiled(*args), fg.jit(f, engine="numpy")(*args))
    # No line of the program itself is a loop.
    assert "\n    for " not in compiled.source(*args).split("\n\n")[0]


def test_the_text_of_a_kernel_is_the_same_in_each_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel on disk is found by its text, so no order of a set, which depends on addresses, may decide it."""

    def determinants(xs: Any) -> Any:
        total, p = 0.0, np.eye(3)
        for t in range(len(xs)):
            p = np.tanh(p @ xs[t] + np.eye(3))
            total = total + np.linalg.slogdet(p)[1] + np.sum(np.linalg.solve(p, xs[t]))
        return total

    xs = np.random.default_rng(4).standard_normal((30, 3, 3))
    sources = set()
    for factor in (1, -1, 3, 5):
        monkeypatch.setattr(nodes.KernelMemory, "__hash__", lambda x, factor=factor: id(x) * factor >> 4)
        sources.add(fg.jit(fg.grad(determinants), engine="numba").source(xs))
    assert len(sources) == 1


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), -1])
@pytest.mark.parametrize(
    "shape", [(1,), (2,), (4,), (7,), (8,), (3, 2), (2, 4), (9, 3), (3, 9), (5, 1), (1, 6), (2, 3, 2)]
)
def test_sums_of_a_few_numbers(shape: tuple[int, ...], axis: Any, dtype: str) -> None:
    if len(shape) == 1 and axis not in (None, 0):
        axis = (0,)
    rng = np.random.default_rng(3)
    x = (rng.normal(size=shape) * 10.0 ** rng.integers(-6, 6, size=shape)).astype(dtype)
    rows = (rng.normal(size=(40, *shape)) * 10.0 ** rng.integers(-6, 6, size=(40, *shape))).astype(dtype)
    rows[3], rows[7] = -0.0, 0.0
    rows[20].flat[-1] = np.inf

    def f(x: Any, rows: Any) -> Any:
        return fg.scan(lambda c, row: (row - c * np.asarray(0.5, dtype), np.sum(row * c, axis=axis)), x, rows)

    with np.errstate(all="ignore"):
        found, expected = [fg.jit(f, engine=engine)(x, rows) for engine in ("numba", "numpy")]
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
