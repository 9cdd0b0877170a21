"""Reads out of bounds, by JAX's modes ``clip`` and ``fill``, beside JAX on each engine; and without a mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

ROWS = np.array([0, 5, -1, -9, 2])
COLUMN = np.array([[1], [7]])
X = np.arange(12.0).reshape(3, 4)
INDICES: dict[str, Any] = {
    "rows": ROWS,
    "columns": (slice(None), ROWS),
    "two arrays": (COLUMN, ROWS),
    "a new axis": (..., None, ROWS),
    "before a slice": (None, ROWS, slice(1, None)),
    "apart": (ROWS, None, COLUMN),
    "beside a number": (1, ROWS),
    "no array": (slice(1, None), slice(None, None, 2)),
    "a number": (7,),
    "numbers": (..., -9),
    "numbers beside arrays": (9, None, ROWS),
}


def same(got: Any, expected: Any) -> None:
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("mode", ["clip", "fill"])
@pytest.mark.parametrize("name", INDICES)
def test_get_as_in_jax(name: str, mode: str) -> None:
    def read(x: Any) -> Any:
        return fnp.at(x)[INDICES[name]].get(mode=mode)

    with jax.enable_x64(True):
        expected = jnp.asarray(X).at[INDICES[name]].get(mode=mode)
    same(read(X), expected)
    for engine in ("numpy", "xla"):
        same(fg.jit(read, engine=engine)(X), expected)


@pytest.mark.parametrize("dtype", ["f4", "c16", "i8", "i4", "u1", "?"])
def test_default_fillings(dtype: str) -> None:
    x = np.arange(12).reshape(3, 4).astype(dtype)
    with jax.enable_x64(True):
        expected = jnp.take(jnp.asarray(x), ROWS, 1, mode="fill")
    fills: list[Callable[[Any], Any]] = [
        lambda x: fnp.take(x, ROWS, 1, mode="fill"),
        lambda x: fnp.at(x)[:, ROWS].get(mode="fill"),
    ]
    for fill in fills:
        same(fill(x), expected)
        same(fg.jit(fill, engine="numpy")(x), expected)
    # A program on XLA gives the same values if there is no mode.
    unchecked = fg.jit(lambda x, i: x[:, i])(x, ROWS)
    np.testing.assert_array_equal(np.asarray(unchecked)[:, [1, 3]], np.asarray(expected)[:, [1, 3]])


def test_values_and_derivatives_of_filled_reads() -> None:
    def loss(take: Any) -> Any:
        return lambda x: (take(x, ROWS, 0, mode="fill", fill_value=3.0) ** 2).sum()

    with jax.enable_x64(True):
        expected = jax.grad(loss(jnp.take))(X)
    np.testing.assert_allclose(fg.grad(loss(fnp.take))(X), expected)
    np.testing.assert_array_equal(
        fg.vmap(lambda x, i: fnp.take(x, i, mode="fill"))(X, np.array([0, 4, 2])), [0, np.nan, 10]
    )
    assert np.isnan(fnp.take(X, np.uint8(200), mode="fill"))
    assert np.isnan(fnp.take(np.ones((0, 2)), ROWS, 0, mode="fill")).all()
    assert fnp.take(X, 5) == fnp.take(X, 5, mode="clip") == 5.0


def test_modes_that_do_not_exist() -> None:
    with pytest.raises(ValueError, match=r"x.at\[...\].get: mode is 'wrap'; needed 'clip', 'fill'"):
        fnp.at(X)[ROWS].get(mode="wrap")
    with pytest.raises(ValueError, match="clipmode must be one of"):
        fnp.take(X, ROWS, mode="nearest")  # pyright: ignore[reportArgumentType]  (refused)
