"""Spherical harmonics with JAX's arguments."""

from __future__ import annotations

from typing import Any

from funcgrad._types import ArrayLike
from funcgrad.scipy import special


def sph_harm_y(
    n: ArrayLike, m: ArrayLike, theta: ArrayLike, phi: ArrayLike, diff_n: None = None, n_max: int | None = None
) -> Any:
    """``jax.scipy.special.sph_harm_y``: spherical harmonics. ``n_max`` counts for nothing."""
    del n_max
    if diff_n is not None:
        raise NotImplementedError("sph_harm_y: diff_n was given; needed None, as in JAX. Differentiate with jax.grad.")
    return special.sph_harm_y(n, m, theta, phi)
