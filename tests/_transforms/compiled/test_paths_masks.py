"""Masks in functions that follow branches: the count of true elements is the guard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg

ENGINES = ("numpy", "numba", "xla")
X = np.array([0.5, -1.0, 2.0])


@pytest.fixture(autouse=True)
def installed(request: pytest.FixtureRequest) -> None:
    if request.getfixturevalue("engine") == "numba":
        pytest.importorskip("llvmlite")


@pytest.mark.parametrize("engine", ENGINES)
def test_masks_choose_lengths(engine: str) -> None:
    """The count of true elements is the guard: masks with the same count share a path."""

    @fg.jit(paths=6, engine=engine)
    def chosen(x: Any) -> Any:
        matrix = np.outer(x, x)
        return x[x > 0] * 2, np.flatnonzero(x > 0), np.argwhere(matrix > 1), matrix[matrix < 0], x[x[0] > 0]

    inputs = (X, -X, np.array([2.0, -1.0, 0.5]), np.array([2.0, 0.5, -1.0]))
    for x in inputs:
        matrix = np.outer(x, x)
        expected = x[x > 0] * 2, np.flatnonzero(x > 0), np.argwhere(matrix > 1), matrix[matrix < 0], x[x[0] > 0]
        for a, b in zip(chosen(x), expected, strict=True):
            np.testing.assert_array_equal(a, b)
            assert np.asarray(a).dtype == b.dtype
        slope = fg.jit(fg.grad(lambda x: np.sum(x[x > 0] ** 3)), paths=6, engine=engine)(x)
        np.testing.assert_allclose(slope, np.where(x > 0, 3 * x**2, 0))
    assert chosen.cache_size() == 2


@pytest.mark.parametrize("engine", ENGINES)
def test_values_are_assigned_to_the_elements_of_a_mask(engine: str) -> None:
    def pieces(x: Any) -> Any:
        y = x.copy()
        y[x > 0] = np.exp(x[x > 0])
        y[~(x > 0)] *= 3
        matrix = np.outer(x, y)
        matrix[matrix[:, 0] > 0] = x
        matrix[1, x < 0] = x[x < 0] * 2
        matrix[np.array([0, 1, 1]), x > -5] = y
        return np.sum(y * x) + np.sum(matrix**2)

    compiled = fg.jit(fg.value_and_grad(pieces), paths=8, engine=engine)
    for x in (X, -X, np.abs(X), np.array([-2.0, 1.0, 0.25])) * 2:
        for y, expected in zip(compiled(x), fg.value_and_grad(pieces)(x), strict=True):
            np.testing.assert_allclose(y, expected, 1e-12)

    @fg.jit(paths=4, engine=engine)
    def two(x: Any) -> Any:
        y = x.copy()
        y[x > 0] = np.array([7.0, 8.0])
        return y

    np.testing.assert_array_equal(two(X), [7.0, -1.0, 8.0])
    with pytest.raises(ValueError, match="broadcast"):
        two(np.abs(X))


@pytest.mark.parametrize("engine", ENGINES)
def test_unique_follows_the_count_of_different_elements(engine: str) -> None:
    compiled = fg.jit(np.unique, paths=8, engine=engine)
    slope = fg.jit(fg.grad(lambda x: np.sum(np.unique(x) ** 3)), paths=8, engine=engine)
    nan = np.nan
    for x in map(np.array, ([2.0, 1.0, 2.0], [3.0, 1.0, 2.0], [nan, 1.0, nan], [1.0, 1.0, 1.0], [2.0, 0.5, 2.0])):
        np.testing.assert_array_equal(compiled(x), np.unique(x))
        np.testing.assert_allclose(slope(x), fg.grad(lambda x: np.sum(np.unique(x) ** 3))(x))
    for other in (np.array([[3, 1], [1, 3]]), np.array([True, True]), np.zeros(0), np.float32(2)):
        got = compiled(other)
        np.testing.assert_array_equal(got, np.unique(other))
        assert np.asarray(got).dtype == other.dtype
    with pytest.raises(fg.errors.ConcretizationTypeError, match=r"numpy\.unique, whose result is as long"):
        fg.jit(lambda x: np.unique(x, axis=0), paths=8, engine=engine)(X)
