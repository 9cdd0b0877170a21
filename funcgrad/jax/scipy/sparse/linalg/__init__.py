"""Iterative solvers of linear equations, which take the product with a matrix as a function: JAX's own."""

from __future__ import annotations

from funcgrad._types import ArrayLike

from typing import Any

from funcgrad.jax._bridge import run_as_jax
from funcgrad.jax._names import publish_as_jax

__all__ = ["bicgstab", "cg", "gmres"]


def cg(A: ArrayLike, b: ArrayLike, x0: ArrayLike = None, **options: Any) -> Any:  # noqa: N803  (JAX's name)
    """``jax.scipy.sparse.linalg.cg``: conjugate gradients, for a positive definite matrix."""
    return run_as_jax("scipy.sparse.linalg.cg", A, b, x0, **options)


def gmres(A: ArrayLike, b: ArrayLike, x0: ArrayLike = None, **options: Any) -> Any:  # noqa: N803  (JAX's name)
    """``jax.scipy.sparse.linalg.gmres``: generalized minimal residuals."""
    return run_as_jax("scipy.sparse.linalg.gmres", A, b, x0, **options)


def bicgstab(A: ArrayLike, b: ArrayLike, x0: ArrayLike = None, **options: Any) -> Any:  # noqa: N803  (JAX's name)
    """``jax.scipy.sparse.linalg.bicgstab``: stabilized biconjugate gradients."""
    return run_as_jax("scipy.sparse.linalg.bicgstab", A, b, x0, **options)


__dir__, __getattr__ = publish_as_jax(__name__)
