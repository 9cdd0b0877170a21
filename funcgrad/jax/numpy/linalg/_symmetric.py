"""Functions of symmetric matrices. JAX takes the mean of a matrix and its transpose; NumPy reads one triangle."""

from __future__ import annotations

from typing import Any, Literal

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy import linalg


def symmetric(x: ArrayLike, symmetrize: bool = True) -> Array:
    """Return the mean of a matrix and its conjugate transpose, or the matrix itself."""
    x = fnp.asarray(x)
    return (x + fnp.conj(fnp.matrix_transpose(x))) / 2 if symmetrize else x


def cholesky(a: ArrayLike, *, upper: bool = False, symmetrize_input: bool = True) -> Array:
    """``jax.numpy.linalg.cholesky``: the triangular factor of a positive definite matrix."""
    lower = linalg.cholesky(symmetric(a, symmetrize_input))
    return fnp.conj(fnp.matrix_transpose(lower)) if upper else lower


def eigh(a: ArrayLike, UPLO: Literal["L", "U"] | None = None, symmetrize_input: bool = True) -> Any:  # noqa: N803  (NumPy's name)
    """``jax.numpy.linalg.eigh``: eigenvalues and eigenvectors of a symmetric matrix."""
    return linalg.eigh(symmetric(a, symmetrize_input), UPLO or "L")


def eigvalsh(a: ArrayLike, UPLO: Literal["L", "U"] | None = None, *, symmetrize_input: bool = True) -> Any:  # noqa: N803  (NumPy's name)
    """``jax.numpy.linalg.eigvalsh``: eigenvalues of a symmetric matrix."""
    return linalg.eigvalsh(symmetric(a, symmetrize_input), UPLO or "L")
