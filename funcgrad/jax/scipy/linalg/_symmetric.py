"""Eigenvalues of symmetric matrices: JAX takes the mean of a matrix and its transpose; SciPy reads one triangle."""

from __future__ import annotations

from typing import Any

from funcgrad import numpy as fnp
from funcgrad._types import ArrayLike
from funcgrad.scipy import linalg


def eigh(a: ArrayLike, b: None = None, lower: bool = True, eigvals_only: bool = False, **options: Any) -> Any:
    """``jax.scipy.linalg.eigh``: eigenvalues and eigenvectors of a symmetric matrix."""
    a = fnp.asarray(a)
    mean = (a + fnp.conj(fnp.matrix_transpose(a))) / 2
    return linalg.eigh(mean, b, lower=lower, eigvals_only=eigvals_only, **options)
