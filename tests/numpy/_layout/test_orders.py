"""Writes to the array and to the result show whether NumPy gives a view or a copy for each layout in memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.numpy._ways import check

X = np.linspace(0.3, 1.4, 12)


def turned(y: Any) -> Any:
    return y.reshape(3, 4).T


def rolled(y: Any) -> Any:
    return y.reshape(3, 2, 2).transpose(1, 2, 0)


def filled(out: Any, y: Any) -> Any:
    """An array made like another, written to by what may be a view of it."""
    out.reshape(-1)[:] = y[: out.size] * 2
    return out.copy()


CASES: dict[str, Callable[[Any], Any]] = {
    "ravel": lambda y: turned(y).ravel(),
    "ravel F": lambda y: turned(y).ravel("F"),
    "ravel K": lambda y: rolled(y).ravel("K"),
    "ravel K of strides": lambda y: y[::2].reshape(2, 3).T.ravel("K"),
    "ravel K backwards": lambda y: y.reshape(3, 4)[::-1].ravel("K"),
    "ravel A": lambda y: np.ravel(turned(y), "A"),
    "ravel A of neither": lambda y: rolled(y).ravel("A"),
    "reshape A": lambda y: turned(y).reshape((2, 6), order="A"),
    "flatten K": lambda y: rolled(y).flatten("K"),
    "flatten A": lambda y: turned(y).flatten("A"),
    "copy": lambda y: turned(y).copy().reshape(12),
    "copy F": lambda y: y.reshape(3, 4).copy("F").reshape(12),
    "copy K": lambda y: rolled(y).copy("K").reshape(12),
    "copy A": lambda y: turned(y).copy("A").reshape(12),
    "np.copy": lambda y: np.copy(turned(y)).ravel(),
    "astype": lambda y: turned(y).astype(float).reshape(12),
    "astype C": lambda y: turned(y).astype(float, order="C", copy=False).reshape(12),
    "astype F": lambda y: y.reshape(3, 4).astype(float, order="F", copy=False).reshape(12),
    "zeros_like": lambda y: filled(np.zeros_like(turned(y)), y),
    "zeros_like of neither": lambda y: filled(np.zeros_like(rolled(y)), y),
    "zeros_like C": lambda y: filled(np.zeros_like(turned(y), order="C"), y),
    "ones_like F": lambda y: filled(np.ones_like(y.reshape(3, 4), order="F"), y),
    "full_like of a shape": lambda y: filled(np.full_like(turned(y), 2.0, shape=(6, 2)), y),
    "einsum, a diagonal": lambda y: np.einsum("ii->i", y[:9].reshape(3, 3)),
    "einsum, diagonals": lambda y: np.einsum("...ii->...i", y[:8].reshape(2, 2, 2)),
    "einsum, turned": lambda y: np.einsum("ij->ji", y.reshape(3, 4)),
    "einsum, a sum": lambda y: np.einsum("ij->i", y.reshape(3, 4)),
    "ravel f": lambda y: np.ravel(y.reshape(3, 4), small("f")),
    "flatten f": lambda y: y.reshape(3, 4).flatten(small("f")),
    "reshape f": lambda y: y.reshape((3, 4), order=small("f")).copy(),
    "copy f": lambda y: y.reshape(3, 4).copy(small("f")).reshape(12),
    "astype k": lambda y: turned(y).astype(float, order=small("k")).reshape(12),
    "resize": lambda y: np.resize(y[:5], (3, 4)),
    "resize to less": lambda y: np.resize(turned(y), 3),
    "array F": lambda y: (np.array(y.reshape(3, 4), order="F", **like(y))).reshape(12),
    "asarray F": lambda y: (np.asarray(y.reshape(3, 4), order="F", **like(y))).reshape(12),
}


def small(order: str) -> Any:
    """A memory order that NumPy takes and its types do not name."""
    return order


def like(y: Any) -> dict[str, Any]:
    return {} if isinstance(y, np.ndarray) else {"like": y}


@pytest.mark.parametrize("name", CASES)
def test_views_and_copies(name: str) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        z = CASES[name](y)
        y[0] = x[3]
        z[...] = z * x[1]
        y[1] += np.sum(z)
        weights = np.arange(z.size).reshape(z.shape) + 1.0
        return np.sum(y * y * np.arange(1, 13)) + np.sum(weights * z * z)

    check(f, X, ways=("grad", "jit", "jacfwd"))


WRONG: dict[str, Callable[[Any], Any]] = {
    "ravel": lambda y: y.ravel(small("rows")),
    "flatten": lambda y: y.flatten(small("")),
    "copy": lambda y: np.copy(y, small("x")),
    "reshape K": lambda y: y.reshape(12, order=small("K")),
    "zeros_like": lambda y: np.zeros_like(y, order=small("x")),
    "unravel_index": lambda y: np.unravel_index(np.argmax(y), (3, 4), order=small("K")),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_order_that_is_none_is_refused(name: str) -> None:
    for run in (WRONG[name], fg.jit(WRONG[name], engine="numpy")):
        with pytest.raises(ValueError, match="order"):
            run(X)


def test_places_by_small_letters() -> None:
    places = np.array([0, 5, 7])
    for order in ("c", "f"):
        f = lambda i, order=order: np.unravel_index(i, (3, 4), order=small(order))
        np.testing.assert_array_equal(fg.jit(f, engine="numpy")(places), f(places))
