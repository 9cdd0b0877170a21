"""Writes to plain arrays after traced operations have used them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.trace.kept import mark_of

X = np.array([0.3, 0.7, -0.4])


def scaled(x: Any) -> Any:
    c = np.array([1.0, 2.0, 3.0])
    total = 0.0
    for _ in range(3):
        total = total + np.sum(np.sin(x * c))
        c *= 2
    return total


def indexed(x: Any) -> Any:
    at, total = np.arange(2), 0.0
    for _ in range(2):
        total = total + np.sum(x[at] ** 2)
        at += 1
    return total


def written(x: Any) -> Any:
    at, y = np.array([0, 2]), np.zeros_like(x)
    y[at] = x[at] * 3
    at[:] = 1
    y[at] += x[at] ** 2
    at[:] = 0
    return np.sum(y**2)


def masked(x: Any) -> Any:
    mask = np.array([True, False, True])
    y = np.where(mask, x, x**2)
    mask[:] = False
    return np.sum(y * x)


def solved(x: Any) -> Any:
    a = np.diag([1.0, 2.0, 3.0])
    y = np.linalg.solve(a, x) @ a
    a *= 5
    return np.sum(y**2)


def filled(x: Any) -> Any:
    c, y = np.array([1.0, 2.0, 3.0]), np.zeros_like(x)
    y[...] = c
    c *= 7
    return np.sum(y * x**2)


def scanned(x: Any) -> Any:
    c = np.array([1.0, 2.0, 3.0])
    y, _ = fg.scan(lambda carry, t: (carry * c * t, None), x, np.array([1.0, 2.0]))
    c *= 7
    return np.sum(y**2)


def checkpointed(x: Any) -> Any:
    c = np.array([1.0, 2.0, 3.0])
    y = fg.checkpoint(lambda a, b: np.sin(a * b * c))(x, c)
    c *= 7
    return np.sum(y**2)


PROGRAMS = [scaled, indexed, written, masked, solved, filled, scanned, checkpointed]


def slopes(f: Callable[..., Any]) -> np.ndarray:
    """Return central differences."""
    h = 1e-6
    return np.array([(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(len(X))])


@pytest.mark.parametrize("f", PROGRAMS)
def test_small_arrays_are_kept_as_they_were(f: Callable[..., Any]) -> None:
    expected, value = slopes(f), f(X)
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(f, engine=engine)(X), value, rtol=1e-12)
        np.testing.assert_allclose(fg.jit(fg.grad(f), engine=engine)(X), expected, rtol=1e-7)
    for gradient in (fg.grad(f), fg.jacfwd(f), lambda x: fg.grad(fg.jit(f))(x), lambda x: fg.vjp(f, x)[1](1.0)[0]):
        np.testing.assert_allclose(gradient(X), expected, rtol=1e-7)
    hessian = np.array([slopes(lambda x, i=i: fg.grad(f)(x)[i]) for i in range(3)])
    for second in (fg.hessian(f), fg.jacrev(fg.grad(f))):
        np.testing.assert_allclose(second(X), hessian, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("size", [1000, 100_000])
@pytest.mark.parametrize("dtype", [float, np.float32, complex])
def test_large_arrays_may_not_change(size: int, dtype: Any) -> None:
    c = np.ones((size, 8), dtype).T

    def f(x: Any) -> Any:
        y = x * c
        c[:] += 1
        return np.sum(np.real(y))

    with pytest.raises(fg.errors.OverwrittenError, match=r"^grad: an array \w+\[8,\d+\] of plain numbers was written"):
        fg.grad(f)(2.0)


def test_a_pullback_looks_each_time() -> None:
    c = np.ones(1000)
    _, pullback = fg.vjp(lambda x: np.sum(np.sin(x * c)), np.zeros(1000))
    np.testing.assert_array_equal(pullback(1.0)[0], c)
    c[7] = 2
    with pytest.raises(fg.errors.OverwrittenError):
        pullback(1.0)


@pytest.mark.parametrize(
    "write",
    [
        lambda a: a.__setitem__((3, 5), 1.0),
        lambda a: a.__setitem__([0, 1], a[[1, 0]]),
        lambda a: a.__imul__(-1),
        lambda a: a.sort(axis=0),
        lambda a: a.__setitem__((slice(None), 7), 0.0),
    ],
    ids=["element", "rows", "sign", "sort", "column"],
)
def test_marks_tell_arrays_apart(write: Callable[[Any], Any]) -> None:
    a = np.random.default_rng(0).normal(size=(60, 90))
    for like in (a, a.astype(np.float32), np.asfortranarray(a)):
        mark = mark_of(like)
        assert mark == mark_of(like)
        write(like)
        assert mark != mark_of(like)
