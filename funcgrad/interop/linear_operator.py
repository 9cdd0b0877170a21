"""``linear_operator``: derivatives for SciPy's iterative solvers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._core.lazy import LazyModule
from funcgrad._core.tracebacks import folded
from funcgrad._public import publish
from funcgrad._types import PyTree

__all__ = ["linear_operator"]

# This module imports scipy.sparse.linalg, which is slower to import than funcgrad and rarely needed.
_operators = LazyModule("funcgrad.interop._operators")


@folded
def linear_operator(f: Callable[..., Any], primal: PyTree, of: str = "jacobian") -> Any:
    """View a derivative at a point as a ``scipy.sparse.linalg.LinearOperator``, without computing the matrix.

    SciPy's ``cg``, ``gmres``, ``lsqr``, ``eigsh`` and ``svds`` accept it. Vectors are the raveled leaves of the
    pytrees, one after the other.

    Args:
        f: a function of one pytree of float arrays, with any output for the Jacobian and a scalar output for the
            Hessian.
        primal: the point.
        of: ``"jacobian"`` (outputs x inputs) or ``"hessian"`` (inputs x inputs, symmetric).

    Returns:
        The operator, with products from both sides.

    Raises:
        ValueError: ``of`` is neither ``"jacobian"`` nor ``"hessian"``.

    Example:
        >>> import numpy as np
        >>> from scipy.sparse.linalg import cg
        >>> import funcgrad as fg
        >>> def energy(x):
        ...     return np.sum(x**4) + np.sum(x) ** 2
        >>> x = np.array([1.0, 2.0, 3.0])
        >>> step, failed = cg(fg.linear_operator(energy, x, "hessian"), fg.grad(energy)(x), rtol=1e-10)
        >>> np.allclose(fg.hessian(energy)(x) @ step, fg.grad(energy)(x))
        True
    """
    if of == "jacobian":
        return _operators.jacobian_operator(f, primal)
    if of == "hessian":
        return _operators.hessian_operator(f, primal)
    raise ValueError(f'linear_operator: of is {of!r}; needed "jacobian" or "hessian".')


__dir__ = publish(__name__)
