"""Elimination by halves: LAPACK's pivots, factors and accuracy, without OpenBLAS's threads."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.linalg.lapack

import funcgrad as fg
from funcgrad._ops.linalg import elimination, triangular

SIZES = {np.float32: (205,), np.float64: (142, 230), np.complex64: (100,), np.complex128: (170,)}
RANDOM = [(dtype, n) for dtype, sizes in SIZES.items() for n in sizes]


def random(n: int, dtype: Any, *stack: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(*stack, n, n))
    return (x + (1j * rng.normal(size=x.shape) if np.dtype(dtype).kind == "c" else 0)).astype(dtype)


def by_lapack(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    factors, pivots, _ = getattr(scipy.linalg.lapack, elimination._FACTORIZERS[x.dtype.char][0])(x)
    return factors, pivots


def residual(x: np.ndarray, factors: np.ndarray, order: np.ndarray) -> float:
    """Return the error in units of the error that rounding alone may cause, ``n eps |L| |U|``."""
    factors = factors.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    lower, upper = np.tril(factors, -1) + np.eye(len(x)), np.triu(factors)
    limit = len(x) * np.finfo(x.dtype).eps * np.max(np.abs(lower) @ np.abs(upper))
    return float(np.max(np.abs(lower @ upper - x[order])) / limit)


def check(x: np.ndarray) -> None:
    before = x.copy()
    factors, pivots, order = elimination.eliminated(x)
    wanted, wanted_pivots = by_lapack(x)
    np.testing.assert_array_equal(x, before)
    assert (factors.dtype, pivots.dtype, order.dtype) == (x.dtype, np.int32, np.int32)
    np.testing.assert_array_equal(pivots, wanted_pivots)
    np.testing.assert_array_equal(order, elimination.orders_of_rows(pivots))
    assert np.max(np.abs(np.tril(factors, -1))) <= 1.5
    assert residual(x, factors, order) <= max(4 * residual(x, wanted, order), 0.05)


@pytest.mark.parametrize(("dtype", "n"), RANDOM)
def test_random_matrices(dtype: Any, n: int) -> None:
    x = random(n, dtype)
    for layout in (x, x[::-1, ::-1], x.conj().T):
        check(layout)


def test_ties_go_to_the_first_row() -> None:
    hadamard = np.ones((1, 1))
    for _ in range(8):
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    for x in (hadamard, np.tri(200) - np.triu(np.ones((200, 200)), 1), np.eye(200)[::-1]):
        np.testing.assert_array_equal(elimination.eliminated(x)[0], by_lapack(x)[0])
        check(x)


@pytest.mark.parametrize("rank", [0, 1, 60, 199])
def test_singular_matrices_of_small_integers(rank: int) -> None:
    """Unimodular factors: every step is exact, and the rest after the rank is zero."""
    rng = np.random.default_rng(rank)
    lower = np.tril(rng.integers(-1, 2, size=(200, 200)) * (rng.random((200, 200)) < 0.02), -1) + np.eye(200)
    upper = np.diag(np.arange(200.0) < rank) + np.triu(rng.integers(-1, 2, size=(200, 200)), 1)
    upper[rank:] = 0
    x = lower @ upper
    factors, pivots, _ = elimination.eliminated(x)
    wanted, wanted_pivots = by_lapack(x)
    np.testing.assert_array_equal(pivots, wanted_pivots)
    np.testing.assert_allclose(factors, wanted, atol=1e-12)
    assert np.linalg.det(x) == fg.value_and_grad(np.linalg.det)(x)[0] == 0


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_ends_of_the_range(scale: float) -> None:
    x = np.round(random(200, float)) * scale
    factors, pivots, _ = elimination.eliminated(x)
    wanted, wanted_pivots = by_lapack(x)
    np.testing.assert_array_equal(pivots, wanted_pivots)
    np.testing.assert_allclose(factors, wanted, rtol=1e-6, atol=1e-10 * np.abs(wanted).max())


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_spreads_as_far_as_in_lapack(value: float) -> None:
    x = random(160, float)
    x[40, 90] = value
    factors, pivots, _ = elimination.eliminated(x)
    np.testing.assert_array_equal(factors, by_lapack(x)[0])
    np.testing.assert_array_equal(pivots, by_lapack(x)[1])


def test_growth_is_lapacks() -> None:
    """Return Wilkinson's matrix, whose last column doubles in each step."""
    x = np.eye(200) - np.tri(200, k=-1)
    x[:, -1] = 1
    factors, _, _ = elimination.eliminated(x)
    np.testing.assert_array_equal(factors[:, -1], 2.0 ** np.arange(200))


@pytest.mark.parametrize("shape", [(0,), (2, 3), (2, 0)])
def test_stacks(shape: tuple[int, ...]) -> None:
    x = random(150, float, *shape)
    factors, pivots, order = elimination.eliminated(x)
    assert (factors.shape, pivots.shape, order.shape) == (x.shape, x.shape[:-1], x.shape[:-1])
    for i in np.ndindex(shape):
        for got, wanted in zip((factors[i], pivots[i], order[i]), elimination.eliminated(x[i]), strict=True):
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("name", ["solve", "slogdet", "det", "inv"])
def test_gradients_keep_to_numpys_pool(name: str, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """SciPy's functions get fewer elements than OpenBLAS needs to use several threads."""
    loads = []

    def counted(function: Any, operand: int, limit: int) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            # A system with a single right side is solved without threads, whatever its length.
            if operand == 0 or args[operand].shape[0] > 1:
                loads.append(args[operand].size / limit)
            return function(*args, **options)

        return call

    lapack, blas = scipy.linalg.lapack, scipy.linalg.blas
    functions = {f: counted(getattr(lapack, f), 0, limit) for f, limit in elimination._FACTORIZERS.values()}
    monkeypatch.setattr(elimination, "lapack", SimpleNamespace(**functions))
    solvers = {f: counted(getattr(blas, f), 2, triangular._UNTHREADED) for f in triangular._SOLVERS.values()}
    monkeypatch.setattr(triangular, "blas", SimpleNamespace(**solvers))
    x = random(210, dtype) / 30 + np.eye(210, dtype=dtype)
    losses = {
        "solve": lambda x: np.sum(np.abs(np.linalg.solve(x, np.ones((210, 2), dtype)))),
        "slogdet": lambda x: np.linalg.slogdet(x)[1],
        "det": lambda x: np.abs(np.linalg.det(x)),
        "inv": lambda x: np.sum(np.abs(np.linalg.inv(x))),
    }
    assert np.isfinite(fg.grad(losses[name])(x)).all()
    assert loads
    assert max(loads) < 1
