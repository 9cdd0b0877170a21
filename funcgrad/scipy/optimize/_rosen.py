"""Rosenbrock's function, a test problem for minimizers, with its gradient and its second derivatives.

Source: Rosenbrock (1960), "An automatic method for finding the greatest or least value of a function".
"""

from __future__ import annotations

from typing import Any

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._types import ArrayLike
from funcgrad.numpy.extend import as_value


def _floats(x: ArrayLike) -> Any:
    x = fnp.asarray(as_value(x))
    return fnp.astype(x, fnp.result_type(x, 1.0)) if x.dtype.kind in "biu" else x


def _inner(name: str, x: ArrayLike) -> Any:
    x = _floats(x)
    if len(x.shape) < 1 or x.shape[0] < 2:
        raise IndexError(
            f"scipy.optimize.{name}: the point is {aval_of(x)}; index 1 is out of bounds for fewer than two variables. "
            "Pass two or more."
        )
    return x


def rosen(x: ArrayLike) -> Any:
    """``scipy.optimize.rosen``: ``sum(100 (x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2)``, along the first axis.

    Args:
        x: the variables; ``f[n]``, or further axes of as many points.

    Returns:
        The value, of the dtype of ``x``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> rosen = fg.scipy.optimize.rosen
        >>> fg.grad(rosen)(np.array([1.0, 2.0])), fg.scipy.optimize.rosen_der(np.array([1.0, 2.0]))
        (array([-400.,  200.]), array([-400.,  200.]))
    """
    x = _floats(x)
    return fnp.sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0, axis=0)


def rosen_der(x: ArrayLike) -> Any:
    """``scipy.optimize.rosen_der``: the gradient of `rosen`."""
    x = _inner("rosen_der", x)
    step = x[1:] - x[:-1] ** 2
    zero = fnp.zeros_like(x[:1])
    return fnp.concatenate([-400 * step * x[:-1] - 2 * (1 - x[:-1]), zero]) + fnp.concatenate([zero, 200 * step])


def _bands(x: ArrayLike) -> tuple[Any, Any]:
    """Return the diagonal of the second derivatives, and the one next to it."""
    zero = fnp.zeros_like(x[:1])
    first = fnp.concatenate([1200 * x[:-1] ** 2 - 400 * x[1:] + 2, zero])
    return first + fnp.concatenate([zero, fnp.full_like(x[1:], 200)]), -400 * x[:-1]


def rosen_hess(x: ArrayLike) -> Any:
    """``scipy.optimize.rosen_hess``: the matrix of second derivatives of `rosen` at one point."""
    diagonal, beside = _bands(_inner("rosen_hess", x))
    return fnp.diag(diagonal) + fnp.diag(beside, 1) + fnp.diag(beside, -1)


def rosen_hess_prod(x: ArrayLike, p: ArrayLike) -> Any:
    """``scipy.optimize.rosen_hess_prod``: the product of `rosen_hess` and a vector."""
    x = _inner("rosen_hess_prod", x)
    p = fnp.astype(fnp.asarray(as_value(p)), x.dtype)
    diagonal, beside = _bands(x)
    zero = fnp.zeros_like(x[:1])
    return diagonal * p + fnp.concatenate([beside * p[1:], zero]) + fnp.concatenate([zero, beside * p[:-1]])
