"""Moving windows of several axes, such as ``x[i : i + 3, j : j + 3]``, are data of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines import ENGINES
from tests._ops.rolling._rolled import assert_engine_agrees, assert_rolls, loops_of, norm_of_gradient

rng = np.random.default_rng(7)
X = rng.normal(size=60)
W = rng.normal(size=4)


def smoothed(w: Any, x: Any) -> Any:
    """Convolve an image with a kernel of 2 x 2, by hand."""
    z, k, y = np.reshape(x, (6, 10)), np.reshape(w, (2, 2)), np.zeros((5, 9), x.dtype, like=x)
    for i in range(5):
        for j in range(9):
            y[i, j] = np.sum(k * z[i : i + 2, j : j + 2])
    return np.sum(np.tanh(y))


def pooled(w: Any, x: Any) -> Any:
    z, s = np.reshape(x, (6, 10)), 0.0
    for i in range(0, 5, 2):
        for j in range(0, 9, 2):
            s = 0.9 * s + np.max(z[i : i + 2, j : j + 2]) * w[0]
    return s


def of_columns(w: Any, x: Any) -> Any:
    z, s = np.reshape(x, (3, 20)), 0.0
    for t in range(17):
        s = np.tanh(0.5 * s + np.sum(z[:, t : t + 3] ** 2) * w[1] + np.sum(z[1:, t : t + 4] @ w))
    return s


def of_one_column(w: Any, x: Any) -> Any:
    z, s = np.reshape(x, (20, 3)), 0.0
    for t in range(16):
        s = np.tanh(0.5 * s + w @ z[t : t + 4, 1] + np.sum(z[t : t + 4, 2][::-1]))
    return s


def with_channels(w: Any, x: Any) -> Any:
    z, s = np.reshape(x, (4, 5, 3)), np.zeros(3)
    for i in range(3):
        for j in range(4):
            s = np.tanh(0.5 * s + np.sum(z[i : i + 2, j : j + 2], axis=(0, 1)) * w[:3])
    return np.sum(s)


def turned(w: Any, x: Any) -> Any:
    z, s = np.reshape(x, (6, 10)), 0.0
    for i in range(4):
        for j in range(6):
            s = np.tanh(0.5 * s + np.sum(z[i : i + 3 : 2, j + 3 : j - 1 if j else None : -1] * w))
    return s


def of_a_network(w: Any, x: Any) -> Any:
    """A convolution of images with channels, as networks have it: new axes in windows, images before places."""
    z, k = np.reshape(x, (2, 10, 3, 1)), np.reshape(w, (2, 1, 1, 2))
    y = np.zeros((2, 9, 3, 2), x.dtype, like=x)
    for i in range(9):
        for j in range(3):
            y[:, i, j, :] = np.sum(z[:, i : i + 2, j : j + 1, :, None] * k[None, :, :], axis=(1, 2, 3))
    return np.sum(np.tanh(y))


def written_from_above(w: Any, x: Any) -> Any:
    """Rows, written at integers that go down, at the second axis of a part of an array."""
    z, y = np.reshape(x, (3, 20)), np.ones((3, 18, 4), x.dtype, like=x)
    for j in reversed(range(16)):
        y[1:, j + 2] = np.sum(z[None, 1:3, j : j + 4] * w[:4], axis=1)
    return np.sum(y**2)


PLANES: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (smoothed, pooled, of_columns, of_one_column, with_channels, turned, of_a_network, written_from_above)
}


@pytest.mark.parametrize("name", PLANES)
def test_windows_of_several_axes(name: str) -> None:
    f = PLANES[name]
    assert loops_of(assert_rolls(f, W, X, most=20))
    assert len(loops_of(assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), W, X, most=80))) >= 2
    norm = norm_of_gradient(f)
    assert_rolls(fg.grad(norm, argnums=(0, 1)), W, X, most=160)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PLANES)
def test_engines_and_windows_of_several_axes(engine: str, name: str) -> None:
    assert_engine_agrees(engine, fg.value_and_grad(PLANES[name], argnums=(0, 1)), W, X)


@pytest.mark.parametrize("dtype", ["f4", "c16"])
def test_other_types_and_windows_of_several_axes(dtype: str) -> None:
    w, x = W.astype(dtype), (X * (1 if dtype == "f4" else 1 + 0.5j)).astype(dtype)
    x[[3, 20]] = -0.0, np.nan

    def f(w: Any, x: Any) -> Any:
        return np.abs(smoothed(w, x)) + np.abs(of_columns(w, x))

    with np.errstate(all="ignore"):
        assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), w, x, most=140)
