"""SciPy's linear algebra: SciPy's values, JAX's gradients."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from funcgrad.scipy import linalg
from tests.numpy._surface import check_surface

THEIRS = SimpleNamespace(**vars(jax.scipy.linalg))


def triangular(rng: np.random.Generator, *shape: int, dtype: Any = float) -> np.ndarray:
    """Well conditioned in each triangle; SciPy and we read one of them."""
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
    return (0.3 * x + 2 * np.eye(shape[-1])).astype(dtype)


def check(name: str, args: list, tolerance: float = 1e-10, **options: Any) -> None:
    """Our function on plain arrays is SciPy's; traced, it is itself, with JAX's gradients."""
    ours, theirs, jaxs = (getattr(m, name) for m in (linalg, scipy.linalg, jax.scipy.linalg))
    np.testing.assert_allclose(ours(*args, **options), theirs(*args, **options), rtol=0, atol=10 * tolerance)
    check_surface(
        lambda m, *args: ours(*args, **options),
        args,
        jax_f=lambda m, *args: jaxs(*args, **options),
        tolerance=tolerance,
    )


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("trans", [0, 1, "C"])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
def test_solve_triangular(dtype: Any, trans: Any, lower: bool, rng: np.random.Generator) -> None:
    tolerance = 1e-5 if dtype is np.float32 else 1e-10
    a = triangular(rng, 3, 3, dtype=dtype)
    for b in (rng.normal(size=3), rng.normal(size=(3, 2))):
        check("solve_triangular", [a, b.astype(dtype)], tolerance, trans=trans, lower=lower)
    check("solve_triangular", [a, b.astype(dtype)], tolerance, trans=trans, lower=lower, unit_diagonal=True)


def test_stacks_of_systems_are_solved_one_by_one(rng: np.random.Generator) -> None:
    a, b = triangular(rng, 2, 3, 3), rng.normal(size=(2, 3, 2))
    for f in (linalg.solve_triangular, lambda a, b: linalg.cho_solve((a, True), b), linalg.solve):
        expected = np.stack([f(a[i], b[i]) for i in range(2)])
        np.testing.assert_allclose(f(a, b), expected, rtol=1e-12)
        np.testing.assert_allclose(fg.vmap(f)(a, b), expected, rtol=1e-12)
        np.testing.assert_allclose(f(a[0], b), np.stack([f(a[0], b[i]) for i in range(2)]), rtol=1e-12)


def symmetrised(a: Any) -> Any:
    """The Hermitian part, which ``jax.numpy`` takes and ``jax.scipy`` does not."""
    return 0.5 * (a + a.conj().T)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_cholesky(dtype: Any, lower: bool, rng: np.random.Generator) -> None:
    x = triangular(rng, 3, 3, dtype=dtype)
    a, b = x @ x.conj().T, rng.normal(size=(3, 2)).astype(dtype)
    np.testing.assert_allclose(linalg.cholesky(a, lower), scipy.linalg.cholesky(a, lower), rtol=1e-10, atol=1e-12)
    check_surface(
        lambda m, a: linalg.cholesky(a, lower), [a], jax_f=lambda m, a: THEIRS.cholesky(symmetrised(a), lower=lower)
    )

    def by(m: Any) -> Any:
        return lambda _, a, b: m.cho_solve(m.cho_factor(a, lower=lower), b)

    np.testing.assert_allclose(by(linalg)(np, a, b), by(scipy.linalg)(np, a, b), rtol=1e-10)
    check_surface(by(linalg), [a, b], jax_f=lambda m, a, b: by(THEIRS)(m, symmetrised(a), b))


@pytest.mark.parametrize("trans", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_lu(dtype: Any, trans: int, rng: np.random.Generator) -> None:
    a = triangular(rng, 4, 4, dtype=dtype)[[2, 0, 3, 1]]
    b = rng.normal(size=4).astype(dtype)
    ours, theirs = linalg.lu_factor(a), scipy.linalg.lu_factor(a)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ours[1], theirs[1])
    np.testing.assert_allclose(linalg.lu_solve(ours, b, trans), scipy.linalg.lu_solve(theirs, b, trans), rtol=1e-10)

    def by(m: Any) -> Any:
        return lambda _, a, b: m.lu_solve(m.lu_factor(a), b, trans)

    check_surface(by(linalg), [a, b], jax_f=by(THEIRS))


@pytest.mark.parametrize("name", ["inv", "det"])
def test_what_numpy_has_too(name: str, rng: np.random.Generator) -> None:
    check(name, [triangular(rng, 3, 3)])
    check("solve", [triangular(rng, 3, 3), rng.normal(size=3)])


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 30.0])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_expm(dtype: Any, scale: float, rng: np.random.Generator) -> None:
    """Through several squarings too; of a skew matrix, whose exponential stays of size 1."""
    x = scale * triangular(rng, 3, 3, dtype=dtype)
    check("expm", [x - x.conj().T])
    stack = np.stack([0.1 * x, np.zeros_like(x)])
    np.testing.assert_allclose(linalg.expm(stack), scipy.linalg.expm(stack), rtol=1e-12)
    np.testing.assert_allclose(fg.jit(linalg.expm)(stack), scipy.linalg.expm(stack), rtol=1e-9)


def likelihood(m: Any, triangular: Any) -> Any:
    """A Gaussian process's negative log marginal likelihood, as a function of its hyperparameters and observations."""
    apart = np.subtract.outer(np.arange(5.0), np.arange(5.0))

    def f(params: Any, y: Any) -> Any:
        covariance = m.exp(params["amplitude"] - 0.5 * (apart / m.exp(params["lengthscale"])) ** 2)
        factor = m.linalg.cholesky(covariance + m.exp(params["noise"]) * np.eye(5))
        whitened = triangular(factor, y, lower=True)
        return 0.5 * whitened @ whitened + m.sum(m.log(m.diagonal(factor)))

    return f


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_second_derivatives_of_a_batch_of_gaussian_processes(engine: Any, rng: np.random.Generator) -> None:
    params = {name: np.linspace(-1, 0.5, 4) * (1 + i) for i, name in enumerate(("amplitude", "lengthscale", "noise"))}
    y = rng.normal(size=(4, 5))
    hessian = fg.vmap(fg.hessian(likelihood(np, linalg.solve_triangular)))
    got = hessian(params, y) if engine == "numpy" else fg.jit(hessian)(params, y)
    with jax.enable_x64(True):
        expected = jax.vmap(jax.hessian(likelihood(jax.numpy, jax.scipy.linalg.solve_triangular)))(params, y)
    for a, b in zip(fg.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_only_one_triangle_is_read(rng: np.random.Generator) -> None:
    a, b = np.tril(triangular(rng, 3, 3)), rng.normal(size=3)
    spoilt = a + np.triu(np.full((3, 3), np.nan), 1)
    solve = lambda a, b: linalg.solve_triangular(a, b, lower=True, check_finite=False)
    y, pullback = fg.vjp(solve, spoilt, b)
    np.testing.assert_allclose(y, scipy.linalg.solve_triangular(a, b, lower=True), rtol=1e-12)
    a_bar, _ = pullback(np.ones(3))
    np.testing.assert_array_equal(np.triu(a_bar, 1), 0)
    assert np.isfinite(a_bar).all()


def test_mistakes() -> None:
    square, right = np.eye(2), np.ones(2)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        linalg.solve_triangular(np.diag([1.0, 0.0]), right)
    with pytest.raises(ValueError, match="trans is 'X'; needed 0 or 'N'"):
        linalg.solve_triangular(square, right, trans="X")
    with pytest.raises(np.linalg.LinAlgError, match=r"scipy.linalg.cholesky: the argument a is f64\[2,3\]"):
        linalg.cholesky(np.ones((2, 3)))
    with pytest.raises(ValueError, match="as many rows"):
        linalg.cho_solve((square, True), np.ones(3))
