"""Solutions of equations with derivatives of their own: JAX's functions, which take functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._types import ArrayLike
from funcgrad.jax._bridge import run_as_jax


def custom_root(
    f: Callable[..., Any], initial_guess: ArrayLike, solve: Any, tangent_solve: Any, has_aux: bool = False
) -> Any:
    """``jax.lax.custom_root``: a root that ``solve`` finds, with the derivative of the equation that it solves.

    ``f`` may close over values by which the root is differentiated: the whole function around runs under `from_jax`.
    """
    return run_as_jax("lax.custom_root", f, initial_guess, solve, tangent_solve, has_aux)


def custom_linear_solve(
    matvec: Callable[..., Any],
    b: ArrayLike,
    solve: Any,
    transpose_solve: Any = None,
    symmetric: bool = False,
    has_aux: bool = False,
) -> Any:
    """``jax.lax.custom_linear_solve``: the solution of a linear equation, with the derivative of the equation."""
    return run_as_jax("lax.custom_linear_solve", matvec, b, solve, transpose_solve, symmetric, has_aux)
