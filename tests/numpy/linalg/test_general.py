"""``eig`` and ``eigvals`` of matrices that need not be Hermitian, ``roots`` and ``poly``."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError
from tests.numpy._surface import same

A = np.array([[1.0, 0.4, 0.1], [0.3, 2.0, -0.2], [0.2, 0.5, 3.5]])
TURNING = np.array([[1.0, 2.0, 0.1], [-0.7, 1.3, 0.2], [0.3, -0.1, 3.0]])
MATRICES: dict[str, np.ndarray] = {
    "real": A,
    "turning": TURNING,
    "complex": A + 1j * TURNING.T,
    "stack": np.stack([A, 2 * A.T]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_values_and_derivatives(name: str) -> None:
    a = MATRICES[name]
    (w, v), expected = fg.vjp(lambda a: tuple(np.linalg.eig(a)), a)[0], np.linalg.eig(a)
    same(w, expected.eigenvalues, 1e-13)
    same(v, expected.eigenvectors, 1e-13)
    for k in (0, 1):
        fg.check_grads(lambda a, k=k: np.linalg.eig(a)[k], (a,), order=2)
    fg.check_grads(np.linalg.eigvals, (a,), order=1)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_compiled_and_batched(engine: Any) -> None:
    for a in MATRICES.values():
        z = a.astype(complex)
        for f in (np.linalg.eigvals, lambda z: np.linalg.eig(z)[1]):
            same(fg.jit(f, engine=engine)(z), f(z), 1e-12)
        loss = lambda z: np.sum(np.abs(np.linalg.eig(z)[1][..., 0, :] * np.linalg.eigvals(z)) ** 2)
        got = fg.jit(fg.grad(loss), engine=engine)(z)
        np.testing.assert_allclose(got, fg.grad(loss)(z), atol=1e-10)
        np.testing.assert_allclose(fg.vmap(fg.grad(loss))(np.stack([z, z]))[1], fg.grad(loss)(z), atol=1e-10)
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        same(fg.jit(np.linalg.eigvals, engine=engine)(A), np.linalg.eigvals(A), 1e-12)
        return
    with pytest.raises(ConcretizationTypeError, match="dtype depends on them"):
        fg.jit(np.linalg.eigvals, engine=engine)(A)


def test_values_against_jax() -> None:
    weights = np.array([1.0, -2 + 1j, 0.5j])
    for a in (TURNING, A + 1j * TURNING.T):
        with jax.enable_x64(True):
            bar = jax.grad(lambda a: jax.numpy.sum(jax.numpy.linalg.eigvals(a) * weights).real)(a)
        np.testing.assert_allclose(fg.grad(lambda a: np.sum(np.linalg.eigvals(a) * weights).real)(a), bar, atol=1e-10)


def test_equal_eigenvalues() -> None:
    """Their sum has a derivative, their vectors have none."""
    same(fg.grad(lambda a: np.real(np.sum(np.linalg.eigvals(a))))(np.eye(2)), np.eye(2), 0)
    assert np.all(np.isnan(fg.grad(lambda a: np.real(np.linalg.eig(a)[1][0, 1]))(np.eye(2))[0, 1]))


def test_kinds() -> None:
    for a in (A.astype(np.float32), TURNING.astype(np.complex64), np.array([[1, 2], [3, 4]]), np.zeros((2, 0, 0))):
        got = fg.make_graph(lambda a: np.linalg.eigvals(a.astype(np.result_type(a, np.complex64))))(a)(a)
        same(got, np.linalg.eigvals(a.astype(np.result_type(a, np.complex64))), 1e-6)
    bar = fg.grad(lambda a: np.real(np.sum(np.linalg.eigvals(a) ** 2)))(A.astype(np.float32))
    assert bar.dtype == np.float32
    np.testing.assert_allclose(bar, 2 * A.T, rtol=1e-5)
    with pytest.raises(np.linalg.LinAlgError, match="square"):
        fg.vjp(np.linalg.eigvals, np.ones((2, 3)))


def test_roots_and_coefficients() -> None:
    for p in ([1.0, -6, 11, -5], [2.0, 1, 3], [0.0, 1, -3, 2, 0, 0], [1 + 1j, 2, 0.5j]):
        x = np.array(p)
        same(fg.vjp(np.roots, x)[0], np.roots(x), 1e-12)
        kept = np.flatnonzero(x)
        f = lambda c, x=x, kept=kept: np.roots(np.concatenate([x[: kept[0]], c, x[kept[-1] + 1 :]]))
        fg.check_grads(f, (x[kept[0] : kept[-1] + 1],), order=1)
    for x in (np.zeros(2), np.array([3.0]), np.array([0, 2.0, 0])):
        same(fg.vjp(lambda x: np.roots(x) + 0 * x[:1], x)[0] if np.roots(x).size else np.roots(x), np.roots(x), 0)
    for x in (np.array([1.0, -2, 0.5]), np.array([1j, -1j, 2]), np.array([1j, 2.0]), np.array([1, 2]), A):
        same(fg.jvp(np.poly, (x * 1.0,), (x * 1.0,))[0], np.poly(x), 1e-12)
        if x.dtype != int:
            fg.check_grads(lambda t, x=x: np.poly(x * t), (np.float64(1.1),), order=1)
    with pytest.raises(ConcretizationTypeError, match="not zero"):
        fg.jit(np.roots)(np.ones(3))
    same(fg.jit(np.poly)(np.array([1.0, 2])), np.poly([1.0, 2]), 0)
