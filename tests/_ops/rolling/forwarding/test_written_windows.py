"""Windows of an array that the loop itself writes, such as ``y[t + 4] = w @ y[t : t + 4]``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines import ENGINES
from funcgrad._ops.index.plan import Index
from funcgrad._ops.rolling.forwarding import chains
from funcgrad._ops.rolling.forwarding.cells import cells_of
from tests._ops.rolling._rolled import assert_engine_agrees, assert_loops, assert_rolls, loops_of, norm_of_gradient

rng = np.random.default_rng(5)
X = rng.normal(size=40)
W = rng.normal(size=4)


def autoregression(w: Any, x: Any) -> Any:
    y = np.zeros(len(x) + 4, like=x)
    for t in range(len(x)):
        y[t + 4] = np.tanh(w @ y[t : t + 4] + x[t])
    return np.sum(y**2)


def backwards(w: Any, x: Any) -> Any:
    y = np.zeros(len(x), like=x)
    for t in range(4, len(x)):
        y[t] = np.tanh(w @ y[t - 4 : t][::-1] + x[t] * x[t - 1])
    return np.sum(y)


def filtered(w: Any, x: Any) -> Any:
    """Filter as ``scipy.signal.lfilter`` does."""
    y = np.zeros(len(x), like=x)
    for t in range(4, len(x)):
        y[t] = w[:3] @ x[t - 2 : t + 1] - 0.3 * w @ y[t - 4 : t]
    return np.sum(np.sin(y))


def descending(w: Any, x: Any) -> Any:
    y = np.zeros(len(x) + 4, like=x)
    for t in range(len(x)):
        y[t + 4] = np.tanh(0.2 * np.sum(w * y[t + 3 : t - 1 if t else None : -1]) + x[t])
    return np.sum(y)


def every_second(w: Any, x: Any) -> Any:
    y = np.zeros(len(x) + 8, like=x)
    for t in range(len(x)):
        y[t + 8] = np.tanh(0.3 * w @ y[t + 1 : t + 8 : 2] + x[t])
    return y[-1] + np.sum(y)


def data_and_results(w: Any, x: Any) -> Any:
    y = x.copy()
    for t in range(4, len(x)):
        y[t] = np.tanh(0.5 * w @ y[t - 4 : t] + y[t])
    return np.sum(y**2)


def windows_and_rows(w: Any, x: Any) -> Any:
    y, s = np.zeros(len(x) + 4, like=x), 0.0
    for t in range(len(x)):
        y[t + 4] = np.tanh(w @ y[t : t + 4] + 0.5 * y[t + 3] * x[t] - 0.1 * y[t + 1])
        s = 0.9 * s + np.max(y[t + 1 : t + 5])
    return s + y[7]


def two_windows(w: Any, x: Any) -> Any:
    y = np.zeros(len(x) + 6, like=x)
    for t in range(len(x)):
        y[t + 6] = np.tanh(w @ y[t : t + 4] - 0.4 * w @ y[t + 2 : t + 6] + x[t])
    return np.sum(y)


def written_again(w: Any, x: Any) -> Any:
    y = np.zeros(len(x) + 4, like=x)
    for t in range(len(x)):
        y[t + 4] = w @ y[t : t + 4] * 0.3 + x[t]
        y[t + 4] = np.tanh(y[t + 4])
        y[t + 3] *= 0.9
    return np.sum(y)


def vectors(w: Any, x: Any) -> Any:
    y = np.zeros((20, 2), like=x)
    for t in range(16):
        y[t + 4] = np.tanh(w @ y[t : t + 4] + x[2 * t : 2 * t + 2])
    return np.sum(y**2)


def column(w: Any, x: Any) -> Any:
    y = np.zeros((28, 2), like=x)
    for t in range(24):
        y[t + 4, 1] = np.tanh(0.5 * w @ y[t : t + 4, 1] + x[t])
    return np.sum(y)


def neighbours(w: Any, x: Any) -> Any:
    y = np.outer(x[:24], x[:5])
    for i in range(1, 23):
        for j in range(1, 4):
            y[i, j] = np.tanh(0.2 * np.sum(y[i - 1 : i + 2, j - 1 : j + 2]) + w[j])
    return np.sum(y**2)


PROGRAMS: dict[str, tuple[Callable[..., Any], int]] = {
    # A program, and the largest number of equations of its rolled gradient.
    "autoregression": (autoregression, 50),
    "backwards": (backwards, 65),
    "filtered": (filtered, 70),
    "descending": (descending, 60),
    "every second": (every_second, 80),
    "data and results": (data_and_results, 80),
    "windows and rows": (windows_and_rows, 140),
    "two windows": (two_windows, 130),
    "written again": (written_again, 120),
    "vectors": (vectors, 60),
    "column": (column, 105),
    "neighbours": (neighbours, 600),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str) -> None:
    f, most = PROGRAMS[name]
    assert_loops(f, W, X, most=most)


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_gradients(name: str) -> None:
    f, _ = PROGRAMS[name]
    norm = norm_of_gradient(f)
    count = len(fg.make_graph(fg.grad(norm, argnums=(0, 1)))(W, X).equations)
    assert_rolls(fg.grad(norm, argnums=(0, 1)), W, X, most=count * 2 // 3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["autoregression", "descending", "windows and rows", "vectors", "neighbours"])
def test_engines(engine: str, name: str) -> None:
    f, _ = PROGRAMS[name]
    assert_engine_agrees(engine, fg.value_and_grad(f, argnums=(0, 1)), W, X)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_other_types(dtype: str) -> None:
    w, x = W.astype(dtype), (X * (1 if dtype == "f4" else 1 + 0.5j)).astype(dtype)

    def f(w: Any, x: Any) -> Any:
        y = np.zeros(len(x) + 4, dtype, like=x)
        for t in range(len(x)):
            y[t + 4] = 0.3 * np.sum(w * y[t : t + 4]) + x[t]
        return np.sum(np.abs(y) ** 2)

    assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), w, x, most=60)


def test_special_numbers() -> None:
    x = X.copy()
    x[[3, 20, 30]] = -0.0, np.inf, np.nan
    for f in (autoregression, data_and_results, written_again):
        with np.errstate(all="ignore"):
            assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), W, x, most=120)
            assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), W, -0.0 * x, most=120)


def test_the_sign_of_zero() -> None:
    # A sum of another row adds 0 to each row, which makes 0 of -0.0.
    def f(w: Any, x: Any) -> Any:
        y = x.copy()
        for t in range(4, len(x)):
            y[t] = w @ y[t - 4 : t] * x[t]
        return np.sum(y)

    w, x = np.array([-0.0, 0.0, -1.0, 0.0]), np.full(30, -0.0)
    graph = fg.make_graph(fg.value_and_grad(f, argnums=(0, 1)))(w, x)
    rolled = graph.roll()
    assert loops_of(rolled)
    for a, b in zip(fg.tree.leaves(rolled(w, x)), fg.tree.leaves(graph(w, x)), strict=True):
        np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def test_the_program_does_not_grow_with_its_rounds() -> None:
    for f in (autoregression, backwards, filtered, data_and_results, windows_and_rows, two_windows, written_again):
        gradient = fg.value_and_grad(f, argnums=(0, 1))
        counts = [len(fg.make_graph(gradient)(W, np.tile(X, 3)[:n]).roll().equations) for n in (40, 90)]
        assert counts[0] == counts[1]


def test_each_number_of_rounds() -> None:
    for n in range(12, 28):
        for f in (autoregression, windows_and_rows):
            assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), W, X[:n], most=1000)


def test_large_windows_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MOST_CELLS", 3)
    monkeypatch.setattr("funcgrad._ops.rolling.forwarding.forward.MOST_CELLS", 3)
    assert_rolls(fg.value_and_grad(autoregression, argnums=(0, 1)), W, X, most=2000)


def test_a_stencil_with_written_ends_stays_as_it_is() -> None:
    def heat(x: Any) -> Any:
        u = x.copy()
        for _ in range(20):
            u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
            u[0] = u[1]
            u[-1] = u[-2]
        return np.sum(u**2)

    rolled = assert_rolls(fg.value_and_grad(heat), X[:12], most=60)
    assert "stack" not in str(rolled)


def test_sums_of_three_rows_are_followed() -> None:
    def f(w: Any, x: Any) -> Any:
        y = np.zeros(len(x) + 3, like=x)
        for t in range(len(x)):
            y[t + 3] = np.tanh(w[0] * y[t] + w[1] * y[t + 1] - w[2] * y[t + 2] + x[t])
        return np.sum(y)

    assert len(loops_of(assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), W, X, most=110))) == 2


@pytest.mark.parametrize(
    ("entries", "lows", "size"),
    [
        ((slice(2, 6),), (2, 0), 8),
        ((slice(-4, None), 1), (6, 1), 4),
        ((3,), (3, 0), 2),
        ((-1, -1), (9, 1), 1),
        ((slice(8, 1, -3), slice(None, None, -1)), (2, 0), 6),
        ((slice(4, 4),), None, 0),
        ((None, slice(2, 6)), None, 0),
        ((..., 1), (0, 1), 10),
    ],
)
def test_the_rows_of_an_index(entries: Any, lows: Any, size: int) -> None:
    x = np.arange(20).reshape(10, 2)
    found = cells_of(Index(entries), x.shape, 2)
    if lows is None:
        assert found is None
        return
    assert found is not None
    assert (found.lows, found.size) == (lows, size)
    part = x[tuple(slice(low, high + 1) for low, high in zip(found.lows, found.highs, strict=True))]
    np.testing.assert_array_equal(part[found.moved(found.lows).entries], x[entries])
