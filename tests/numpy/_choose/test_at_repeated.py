"""``x.at[i].multiply`` and its like with an element that is selected several times: beside JAX, and slopes."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

import funcgrad as fg
import funcgrad.numpy as fnp

METHODS = ["multiply", "divide", "power", "min", "max"]
INDICES: dict[str, tuple[tuple[int, ...], Any]] = {
    "vector": ((3,), np.array([0, 0, 2, 0])),
    "negative": ((5,), np.array([-1, 4, 0])),
    "all the same": ((3,), np.zeros((2, 2), int)),
    "none": ((3,), np.array([], int)),
    "rows": ((4, 3), np.array([1, 1, 3])),
    "columns": ((4, 3), (slice(None), np.array([1, 1]))),
    "pairs": ((4, 3), (np.array([1, 1, 2]), np.array([0, 0, 1]))),
}


def drawn(index: str) -> tuple[np.ndarray, Any, np.ndarray]:
    rng = np.random.default_rng(4)
    shape, i = INDICES[index]
    x = rng.uniform(0.5, 2.0, shape)
    return x, i, rng.uniform(0.5, 2.0, x[i].shape)


def expected(x: np.ndarray, i: Any, method: str, *values: Any) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(getattr(jax.numpy.asarray(x).at[i], method)(*values))


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("method", METHODS)
def test_values_and_slopes(method: str, index: str) -> None:
    x, i, v = drawn(index)
    weights = np.arange(1.0, x.size + 1).reshape(x.shape)

    def changed(x: Any, v: Any) -> Any:
        return getattr(fnp.at(x)[i], method)(v)

    right = expected(x, i, method, v)
    assert_allclose(changed(x, v), right, rtol=1e-14)
    assert_allclose(fg.jit(changed, engine="numpy")(x, v), right, rtol=1e-14)
    assert_allclose(fg.vmap(changed)(np.stack([x, x]), np.stack([v, v]))[1], right, rtol=1e-14)
    fg.check_grads(lambda x, v: np.sum(changed(x, v) * weights), (x, v), order=1)


@pytest.mark.parametrize("method", METHODS)
def test_traced_indices(method: str) -> None:
    x, i, v = drawn("vector")

    def changed(x: Any, i: Any) -> Any:
        return getattr(fnp.at(x)[i], method)(v)

    right = expected(x, i, method, v)
    slope = fg.grad(lambda x: np.sum(changed(x, i)))(x)
    for engine in ("numpy", "numba", "xla"):
        assert_allclose(fg.jit(changed, engine=engine)(x, i), right, rtol=1e-14)
        assert_allclose(fg.jit(fg.grad(lambda x, i: np.sum(changed(x, i))), engine=engine)(x, i), slope, rtol=1e-14)
    assert_allclose(fg.vmap(changed)(np.stack([x, x]), np.stack([i, i[::-1]]))[0], right, rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.float32])
def test_dtypes(dtype: Any) -> None:
    x, i, v = np.array([1, 2, 3], dtype), np.array([0, 0, 2]), np.array([2, 5, 3], dtype)
    for method in ("multiply", "min", "max"):
        for value in (v, 2):
            got = getattr(fnp.at(x)[i], method)(value)
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, expected(x, i, method, value))


@pytest.mark.parametrize("index", INDICES)
def test_apply(index: str) -> None:
    x, i, _ = drawn(index)

    def changed(x: Any) -> Any:
        return fnp.at(x)[i].apply(lambda a: 3 * a - 1)

    right = expected(x, i, "apply", lambda a: 3 * a - 1)
    assert_allclose(changed(x), right, rtol=1e-14)
    assert_allclose(fg.vmap(changed)(np.stack([x, x]))[1], right, rtol=1e-14)
    fg.check_grads(lambda x: np.sum(changed(x) ** 2), (x,), order=1)
