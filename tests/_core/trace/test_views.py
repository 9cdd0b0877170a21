"""A view that was read shows each later write, whoever writes. Values that were computed from it do not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.trace import place

X = np.array([[0.5, 2.0, -1.0], [0.3, 0.7, 1.5]])


def writer_base(y: Any, row: Any, part: Any, x: Any) -> None:
    del row, part
    y[1] *= x[0]


def writer_row(y: Any, row: Any, part: Any, x: Any) -> None:
    del y, part
    row *= x[0]


def writer_part(y: Any, row: Any, part: Any, x: Any) -> None:
    del y, row
    part *= x[0, :2]


def writer_sibling(y: Any, row: Any, part: Any, x: Any) -> None:
    del row, part
    y.T[1] += x[0, 1]


def writer_through_ravel(y: Any, row: Any, part: Any, x: Any) -> None:
    del row, part
    y.reshape(-1)[3:] -= x[0]


WRITERS = [writer_base, writer_row, writer_part, writer_sibling, writer_through_ravel]
Writer = Callable[[Any, Any, Any, Any], None]


def reads(write: Writer) -> Callable[[Any], Any]:
    """A program that reads a base, a view and a view of the view between writes."""

    def program(x: Any) -> Any:
        y = np.zeros_like(x) + x
        row = y[1]
        part = row[:2]
        found = []
        for k in range(3):
            found += [np.sum(y * x), np.sum(row * row), np.sum(part) * (k + 1.0)]
            kept = part * 1.0
            write(y, row, part, x)
            found += [np.sum(kept * part), np.sum(row * x[0]), np.sum(y**2)]
        return np.stack(found)

    return program


@pytest.mark.parametrize("write", WRITERS)
def test_a_view_shows_each_write(write: Writer) -> None:
    program = reads(write)
    expected = program(X)
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(program, engine=engine)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(fg.make_graph(program)(X)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(fg.vmap(program)(X[None])[0], expected, rtol=1e-12)
    np.testing.assert_allclose(fg.jvp(program, (X,), (X,))[0], expected, rtol=1e-12)


@pytest.mark.parametrize("write", WRITERS)
def test_derivatives_are_those_of_what_was_shown(write: Writer) -> None:
    program = reads(write)
    slopes = fg.jacrev(program)(X)
    step = 1e-6
    for i in np.ndindex(X.shape):
        shift = np.zeros_like(X)
        shift[i] = step
        difference = (program(X + shift) - program(X - shift)) / (2 * step)
        np.testing.assert_allclose(slopes[(slice(None), *i)], difference, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(fg.jacfwd(program)(X), slopes, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.jacrev(program), engine="numpy")(X), slopes, rtol=1e-12)


def test_a_view_that_forgets_the_version_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a fault: memory whose version stays 0, so that a view that was read is never read again."""
    monkeypatch.setattr(place.Memory, "version", property(lambda self: 0, lambda self, value: None))
    program = reads(writer_base)
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(fg.jvp(program, (X,), (X,))[0], program(X), rtol=1e-12)
