"""Linear algebra of ``jax.lax.linalg``, by the functions of NumPy and SciPy."""

from __future__ import annotations

from typing import Any

from funcgrad import numpy as fnp
from funcgrad._types import ArrayLike
from funcgrad.jax._bridge import of_jax
from funcgrad.jax._names import publish_as_jax
from funcgrad.numpy import linalg
from funcgrad.scipy import linalg as scipys

__all__ = [
    "cholesky",
    "cholesky_update",
    "eig",
    "eigh",
    "hessenberg",
    "householder_product",
    "lu",
    "lu_pivots_to_permutation",
    "qdwh",
    "qr",
    "schur",
    "svd",
    "symmetric_product",
    "triangular_solve",
    "tridiagonal",
    "tridiagonal_solve",
]


def _symmetric(x: ArrayLike, symmetrize: bool) -> Any:
    x = fnp.asarray(x)
    return (x + fnp.conj(fnp.matrix_transpose(x))) / 2 if symmetrize else x


def cholesky(x: ArrayLike, *, symmetrize_input: bool = True) -> Any:
    """``jax.lax.linalg.cholesky``: the lower triangular factor of a positive definite matrix."""
    return linalg.cholesky(_symmetric(x, symmetrize_input))


def eigh(x: ArrayLike, *, lower: bool = True, symmetrize_input: bool = True, sort_eigenvalues: bool = True) -> Any:
    """``jax.lax.linalg.eigh``: eigenvectors and eigenvalues of a symmetric matrix, in this order."""
    del sort_eigenvalues  # they always are
    values, vectors = linalg.eigh(_symmetric(x, symmetrize_input), "L" if lower else "U")
    return vectors, values


def qr(x: ArrayLike, *, full_matrices: bool = True) -> Any:
    """``jax.lax.linalg.qr``: the orthogonal and the triangular factor."""
    return linalg.qr(x, "complete" if full_matrices else "reduced")


def svd(x: ArrayLike, *, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    """``jax.lax.linalg.svd``: the singular value decomposition."""
    return linalg.svd(x, full_matrices=full_matrices, compute_uv=compute_uv)


def symmetric_product(a_matrix: ArrayLike, c_matrix: ArrayLike, *, alpha: float = 1.0, beta: float = 0.0) -> Any:
    """``jax.lax.linalg.symmetric_product``: ``alpha * A @ A.T + beta * C``."""
    return alpha * fnp.matmul(a_matrix, fnp.matrix_transpose(a_matrix)) + beta * fnp.asarray(c_matrix)


def triangular_solve(
    a: ArrayLike,
    b: ArrayLike,
    *,
    left_side: bool = False,
    lower: bool = False,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """``jax.lax.linalg.triangular_solve``: solve ``x @ a = b``, or ``a @ x = b`` with ``left_side``."""
    a, b = fnp.asarray(a), fnp.asarray(b)
    vector = b.ndim == a.ndim - 1
    b = b[..., None] if vector else b
    a = fnp.conj(a) if conjugate_a else a
    if not left_side and not vector:
        x = triangular_solve(
            a,
            fnp.matrix_transpose(b),
            left_side=True,
            lower=lower,
            transpose_a=not transpose_a,
            unit_diagonal=unit_diagonal,
        )
        return fnp.matrix_transpose(x)
    if vector and not left_side:
        transpose_a = not transpose_a
    x = scipys.solve_triangular(a, b, trans=int(transpose_a), lower=lower, unit_diagonal=unit_diagonal)
    return x[..., 0] if vector else x


def tridiagonal_solve(dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike) -> Any:
    """``jax.lax.linalg.tridiagonal_solve``: solve a system with three diagonals, without ``dl[0]``, ``du[-1]``."""
    dl, d, du = map(fnp.asarray, (dl, d, du))
    zero = fnp.zeros_like(d[..., :1])
    bands = fnp.stack([fnp.concatenate([zero, du[..., :-1]], -1), d, fnp.concatenate([dl[..., 1:], zero], -1)], -2)
    return scipys.solve_banded((1, 1), bands, b)


# JAX's own functions.
cholesky_update = of_jax("lax.linalg.cholesky_update", "r_matrix", "w_vector")
eig = of_jax("lax.linalg.eig", "x")
hessenberg = of_jax("lax.linalg.hessenberg", "a")
householder_product = of_jax("lax.linalg.householder_product", "a", "taus")
lu = of_jax("lax.linalg.lu", "x")
lu_pivots_to_permutation = of_jax("lax.linalg.lu_pivots_to_permutation", "pivots")
qdwh = of_jax("lax.linalg.qdwh", "x")
schur = of_jax("lax.linalg.schur", "x")
tridiagonal = of_jax("lax.linalg.tridiagonal", "a")

__dir__, __getattr__ = publish_as_jax(__name__)
