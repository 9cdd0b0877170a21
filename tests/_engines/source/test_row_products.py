"""Products of a large matrix and a vector on the Numba engine: part of a kernel that passes over the rows once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

pytest.importorskip("llvmlite")

PROGRAMS: dict[str, Callable[..., Any]] = {
    "logistic": fg.grad(lambda w, x, y: np.mean(np.log1p(np.exp(-y * (x @ w))))),
    "normal equations": lambda w, x, y: x.T @ (x @ w - y) / len(y),
    "weighted": lambda w, x, y: ((x * x) @ w * y, (y * np.exp(y)) @ x),
    "transposed from the right": lambda w, x, y: np.tanh(w @ x.T - y) @ x,
    "results that others read": lambda w, x, y: [r := np.sin(x @ w) * y, r @ x, np.sum(r), np.sum(x * x, axis=0)],
}


def inputs(rows: int, columns: int, dtype: str, rng: np.random.Generator) -> list[np.ndarray]:
    given = [rng.normal(size=columns) / np.sqrt(columns), rng.normal(size=(rows, columns)), rng.normal(size=rows)]
    return [x.astype(dtype) for x in given]


def assert_equal_to_numpy(f: Any, program: Callable[..., Any], *given: Any) -> None:
    tolerance = 1e-4 if given[0].dtype == np.float32 else 1e-12
    for y, wanted in zip(fg.tree.leaves(f(*given)), fg.tree.leaves(program(*given)), strict=True):
        assert (y.shape, y.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(y, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("rows", "columns", "dtype"), [(40_001, 20, "float64"), (1_025, 129, "float32")])
def test_products_are_part_of_the_kernel(
    name: str, rows: int, columns: int, dtype: str, rng: np.random.Generator
) -> None:
    program = PROGRAMS[name]
    f: Any = fg.jit(program, engine="numba")
    given = inputs(rows, columns, dtype, rng)
    assert_equal_to_numpy(f, program, *given)
    # The source shows one kernel, which multiplies, and no product between kernels.
    assert f.source(*given).count("def blocks") == 1
    assert "# matmul" in f.source(*given)
    assert ".dot(" not in f.source(*given)


def test_matrices_of_other_strides_are_not_copied(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    program = PROGRAMS["logistic"]
    f: Any = fg.jit(program, engine="numba")
    w, x, y = inputs(40_001, 20, "float64", rng)
    f(w, x, y)
    copied: list[int] = []
    require = np.require
    monkeypatch.setattr(np, "require", lambda x, *rest: copied.append(x.size) or require(x, *rest))
    for other in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1]):
        assert_equal_to_numpy(f, program, w, other, y)
    assert not any(size > y.size for size in copied)


def test_a_square_matrix_has_rows_and_a_whole_vector(rng: np.random.Generator) -> None:
    w, x, _ = inputs(250, 250, "float64", rng)
    for program in (lambda w, x: np.exp(x @ w) @ x, lambda w, x: x @ np.exp(np.cos(x @ w)), lambda w, x: np.exp(w @ x)):
        assert_equal_to_numpy(fg.jit(program, engine="numba"), program, w, x)


def test_long_rows_and_lone_products_are_numpy_s(rng: np.random.Generator) -> None:
    for columns, program in ((1_000, PROGRAMS["logistic"]), (20, lambda w, x, y: x @ w - y)):
        given = inputs(40_001 if columns == 20 else 400, columns, "float64", rng)
        f: Any = fg.jit(program, engine="numba")
        assert_equal_to_numpy(f, program, *given)
        assert ".dot(" in f.source(*given)


def test_every_call_gives_the_same_bits(rng: np.random.Generator) -> None:
    f: Any = fg.jit(PROGRAMS["logistic"], engine="numba")
    given = inputs(100_000, 20, "float64", rng)
    first = f(*given)
    for _ in range(20):
        np.testing.assert_array_equal(f(*given), first)
