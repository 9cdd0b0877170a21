"""Arrays as sets: values as NumPy's, and each chosen element gets its cotangent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError
from tests.numpy._surface import same

X = np.array([3.0, 1, 2, 3, -0.0, 1, 9])
Y = np.array([2, 5, 1, 1.0])
NAN = np.array([np.nan, 1, np.nan, 0.5])
ROWS = np.array([[1.0, 2], [0, 1], [1, 2]])


def check(f: Callable[..., Any], *args: np.ndarray) -> None:
    """The values are NumPy's; the cotangents go where the elements came from."""
    y, pull = fg.vjp(f, *args)
    same(y, f(*args), 0)
    weights = np.random.default_rng(0).uniform(1, 2, y.shape)
    bars = pull(weights)
    np.testing.assert_allclose(sum(np.sum(bar) for bar in bars), np.sum(weights))
    for value, weight in zip(y, weights, strict=True):
        if not np.isnan(value):
            found = [bar[x == value] for x, bar in zip(args, bars, strict=True)]
            assert weight in np.concatenate(found)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "unique": np.unique,
    "intersect1d": lambda x: np.intersect1d(x, Y),
    "setdiff1d": lambda x: np.setdiff1d(x, Y),
    "setdiff1d as it stands": lambda x: np.setdiff1d(x, Y, assume_unique=True),
    "unique_values": np.unique_values,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str) -> None:
    f = FUNCTIONS[name]
    for x in (X, X[:1], X[:0], NAN):
        check(f, x)
    same(fg.vjp(f, X.astype(np.float32))[0], f(X.astype(np.float32)), 0)
    with pytest.raises(ConcretizationTypeError, match="as long as its numbers say"):
        fg.jit(f)(X)


def test_two_arrays() -> None:
    for f in (np.union1d, np.intersect1d, np.setxor1d):
        check(lambda x, y, f=f: f(x, y), X, Y)
        same(fg.vjp(lambda x, f=f: f(x, np.array([3, 7])), X)[0], f(X, np.array([3, 7])), 0)
    bar = fg.grad(lambda y: np.sum(np.intersect1d(X, y) * 2))(Y)
    same(bar, np.zeros(4), 0)


def test_indices_and_counts() -> None:
    of: Any = np
    for options in (
        {"return_index": True},
        {"return_inverse": True, "return_counts": True},
        {"axis": 0, "return_index": True},
    ):
        for x in (X, ROWS):
            got = fg.vjp(lambda x, options=options: of.unique(x, **options)[0], x)[0]
            same(got, of.unique(x, **options)[0], 0)
            parts: list[Any] = []
            fg.vjp(lambda x, options=options, parts=parts: parts.extend(of.unique(x, **options)) or parts[0], x)
            for ours, theirs in zip(parts[1:], of.unique(x, **options)[1:], strict=True):
                same(ours, theirs, 0)
    for name in ("unique_all", "unique_counts", "unique_inverse"):
        f = getattr(np, name)
        found: list[Any] = []
        same(fg.vjp(lambda x, f=f, found=found: found.append(f(x)) or found[0].values, X)[0], f(X).values, 0)
        assert type(found[0]) is type(f(X))
        for ours, theirs in zip(found[0][1:], f(X)[1:], strict=True):
            same(ours, theirs, 0)
    same(
        fg.grad(lambda x: np.sum(np.unique(x, axis=0) * np.array([[1, 2], [3, 4]])))(ROWS),
        np.array([[3.0, 4], [1, 2], [0, 0]]),
        0,
    )


def test_isin() -> None:
    for x, tests in ((X, Y), (NAN, NAN), (ROWS, [1, 7]), (ROWS, []), (np.arange(4), [2.0, 0.5])):
        for invert in (False, True):
            f = lambda x, tests=tests, invert=invert: np.isin(x, tests, invert=invert)
            for run in (
                fg.jit(f),
                fg.jit(f, engine="numpy"),
                fg.make_graph(f)(x),
                lambda x, f=f: fg.vmap(f)(x[None])[0],
            ):
                same(run(x), f(x), 0)
            seen: list[Any] = []
            fg.vjp(lambda x, f=f, seen=seen: seen.append(f(x)) or x * 1.0, x * 1.0)
            same(seen[0], f(x), 0)
