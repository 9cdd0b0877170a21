"""Linear algebra of small matrices in kernels of loops: the functions, and loops that use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from funcgrad._engines.source.kernels.compiler import matrices

N = 4
A = np.random.default_rng(5).standard_normal((3, N, N))
B = np.random.default_rng(6).standard_normal((N, 3))
P = A[0] @ A[0].T + np.eye(N)


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(int(np.prod(shape)))


@pytest.mark.parametrize(
    ("a", "b"), [(A[0], B), (A[1].T, B), (A[2], np.asfortranarray(B)), (A[0][:1], B[:, :1].copy())]
)
def test_multiply(a: np.ndarray, b: np.ndarray) -> None:
    y = _zeros(len(a), b.shape[1])
    strides = [s // 8 for s in (*a.strides, *b.strides)]
    flat = [np.ravel(x, "F" if x.flags.f_contiguous and not x.flags.c_contiguous else "C") for x in (a, b)]
    operands: tuple[Any, ...] = (*a.shape, b.shape[1], *strides, *flat, y)
    matrices.multiply(*operands)
    np.testing.assert_allclose(y.reshape(len(a), -1), a @ b, 1e-13, 1e-14)


def test_elimination() -> None:
    factors, pivots, order = _zeros(N, N), np.zeros(N, np.int32), np.zeros(N, np.int32)
    matrices.eliminate(N, A[0].ravel(), factors, pivots)
    matrices.arrange(N, pivots, order)
    wanted, exchanged = scipy.linalg.lu_factor(A[0])
    np.testing.assert_allclose(factors.reshape(N, N), wanted, 1e-12)
    np.testing.assert_array_equal(pivots, exchanged)
    lower = np.tril(wanted, -1) + np.eye(N)
    np.testing.assert_allclose(A[0][order], lower @ np.triu(wanted), 1e-12, 1e-14)
    sign, logarithm, determinant = np.zeros(1), np.zeros(1), np.zeros(1)
    matrices.volume(N, factors, pivots, sign, logarithm)
    matrices.determine(N, factors, pivots, determinant)
    np.testing.assert_allclose([*sign, *logarithm], np.linalg.slogdet(A[0]))
    np.testing.assert_allclose(determinant[0], np.linalg.det(A[0]))


def test_halves_of_a_positive_definite_matrix() -> None:
    y = np.full(N * N, 7.0)
    assert not matrices.halve(N, (np.tril(P) + np.triu(A[1], 1)).ravel(), y)
    np.testing.assert_allclose(y.reshape(N, N), np.linalg.cholesky(P), 1e-13)
    assert matrices.halve(N, (-P).ravel(), y)
    assert matrices.halve(N, (np.nan * P).ravel(), y)


def _scanned(step: Callable[..., Any]) -> Callable[..., Any]:
    def f(c: Any, xs: Any) -> Any:
        last, ys = fg.scan(step, c, xs)
        return sum(np.sum(np.sin(y)) for y in fg.tree.leaves((last, ys)))

    return f


def _solved(c: Any, x: Any) -> Any:
    y = np.linalg.solve(x + 3.0 * np.eye(N), c)
    return y / np.sum(y * y), y[:, 0]


def _determined(c: Any, x: Any) -> Any:
    sign, size = np.linalg.slogdet(x + c[0, 0])
    return c * np.tanh(size) + sign, size


def _inverted(c: Any, x: Any) -> Any:
    return np.linalg.inv(x + 4.0 * np.eye(N))[:, :3] + 0.1 * c, np.trace(x @ x)


def _halved(c: Any, x: Any) -> Any:
    half = np.linalg.cholesky(x @ x.T + np.eye(N) * (1.0 + c[0, 0] ** 2))
    return half[:, :3], np.diag(half)


def _one_sided(c: Any, x: Any) -> Any:
    return np.tril(x, -1) @ c + np.triu(x)[:, :3], np.diagonal(x, 1) * np.diag(np.sin(x), 1)


def _system_of_triangles(c: Any, x: Any) -> Any:
    lower = np.tril(x) + 3.0 * np.eye(N)
    y = fg.scipy.linalg.solve_triangular(lower, c, lower=True)
    return np.tanh(fg.scipy.linalg.solve_triangular(lower, y, lower=True, trans=1)), y


def _of_stacks(c: Any, x: Any) -> Any:
    return np.linalg.solve(np.stack([x, x.T]) + 3.0 * np.eye(N), np.stack([c, -c]))[1], x[0]


STEPS = {
    f.__name__[1:]: f for f in (_solved, _determined, _inverted, _halved, _one_sided, _system_of_triangles, _of_stacks)
}


@pytest.mark.parametrize("name", STEPS)
def test_loops_and_their_gradients_are_kernels(name: str) -> None:
    f = _scanned(STEPS[name])
    g = fg.value_and_grad(f, argnums=(0, 1))
    compiled = fg.jit(g, engine="numba")
    fg.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, 1e-9, 1e-11), compiled(B, A), fg.jit(g, engine="numpy")(B, A)
    )
    source = compiled.source(B, A)
    assert source.count("for r") >= 1
    # No line of the program itself is a loop.
    assert "\n    for " not in source.split("\n\n")[0]


def test_values_of_one_loop() -> None:
    def step(c: Any, x: Any) -> Any:
        (c, half), (y, _) = _halved(c, x), _solved(c, x)
        return c + y, (half, np.linalg.det(x), np.linalg.det(np.stack([x, x.T])), np.linalg.slogdet(x))

    compiled = fg.jit(lambda c, xs: fg.scan(step, c, xs), engine="numba")
    found, wanted = fg.tree.leaves(compiled(B, A)), fg.tree.leaves(fg.scan(step, B, A))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, 1e-10)
    assert compiled.source(B, A).count("for r") == 1


def test_narrow_floats() -> None:
    f = _scanned(lambda c, x: (np.linalg.solve(x + 4 * np.eye(N, dtype=np.float32), c), c))
    given = B.astype(np.float32), A.astype(np.float32)
    found = fg.jit(fg.grad(f), engine="numba")(*given)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, fg.grad(f)(*given), 1e-3, 1e-4)


@pytest.mark.parametrize(
    "step",
    [
        lambda c, x: (np.linalg.solve(x, c), c[0]),
        lambda c, x: (c, np.linalg.cholesky(x - 100.0 * np.eye(N))),
        lambda c, x: (fg.scipy.linalg.solve_triangular(x, c), c[0]),
    ],
    ids=["solve", "cholesky", "triangle"],
)
def test_a_matrix_without_a_result_raises_as_in_numpy(step: Callable[..., Any]) -> None:
    compiled = fg.jit(lambda c, xs: fg.scan(step, c, xs), engine="numba")
    xs = np.stack([np.eye(N), np.zeros((N, N))])
    with pytest.raises(np.linalg.LinAlgError) as wanted:
        fg.scan(step, B, xs)
    with pytest.raises(np.linalg.LinAlgError, match=str(wanted.value)[:20]):
        compiled(B, xs)


def test_large_matrices_call_lapack() -> None:
    n = matrices.LARGEST + 1
    xs = np.stack([np.eye(n) * k for k in (1.0, 2.0)])
    compiled = fg.jit(lambda c, xs: fg.scan(lambda c, x: (np.linalg.solve(x, c), c), c, xs), engine="numba")
    last, _ = compiled(np.ones((n, 1)), xs)
    np.testing.assert_allclose(last, 0.5)
    assert "for t0, v4 in zip(range(2), x1):" in compiled.source(np.ones((n, 1)), xs)
