"""Writes through what integers that are traced select: views, as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg


def _row(i: Any, c: Any) -> Any:
    row = c[i]
    row *= 2
    row[0] += c[i - 1, 1]
    return c


def _overwritten_row(i: Any, c: Any) -> Any:
    row = c[i]
    c[i] = np.sin(row)
    return c + np.sum(row)


def _column(i: Any, c: Any) -> Any:
    column = c[:, i]
    column[1:] = column[:-1].copy() * 0.5
    part = c[i][None]
    part[0, 1] = np.sum(column)
    return c


def _exchanged(i: Any, c: Any) -> Any:
    a, b = c[i], c[i - 1]
    kept = a.copy()
    a[...] = b
    b[...] = kept
    return c


def _number(i: Any, c: Any) -> Any:
    n, one = c[i, 0], c[i, ..., 1]
    n += 1
    one += n
    c[i] += c[i - 1]
    return c


def _after_the_loop(body: Callable[[Any, Any], Any], x: Any) -> Any:
    c = x.copy()
    for i in range(3):
        c = body(i, c)
    return c


@pytest.mark.parametrize("body", [_row, _overwritten_row, _column, _exchanged, _number], ids=lambda f: f.__name__)
def test_what_integers_that_are_not_known_select_is_a_view(body: Callable[[Any, Any], Any]) -> None:
    x = np.arange(12.0).reshape(4, 3) / 7
    expected = _after_the_loop(body, x)
    loop = lambda x: fg.fori_loop(0, 3, body, x)
    for y in (
        loop(x),
        fg.jit(loop)(x),
        fg.jit(loop, engine="numpy")(x),
        fg.vmap(loop)(np.stack([x * 2, x]))[1],
        fg.scan(lambda c, i: (body(i, c), 0.0), x, np.arange(3))[0],
    ):
        np.testing.assert_allclose(y, expected)
    slope = fg.grad(lambda x: np.sum(np.sin(_after_the_loop(body, x))))(x)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(np.sin(loop(x))))(x), slope)
    np.testing.assert_allclose(fg.grad(fg.jit(lambda x: np.sum(np.sin(loop(x))), engine="numpy"))(x), slope)


def test_an_element_that_is_added_to_is_written_once() -> None:
    def f(x: Any, i: Any) -> Any:
        y = x * 2
        y[i] += 1
        y[1] += 1
        y[i, 1:] += 1
        return y

    graph = fg.make_graph(f)(np.ones((3, 2)), np.int64(2))
    assert str(graph).count("scatter_set") == 3
    np.testing.assert_array_equal(graph(np.ones((3, 2)), np.int64(1)), f(np.ones((3, 2)), 1))
