"""Linear systems, Cholesky factors, inverses and determinants, as in ``numpy.linalg``.

On NumPy a singular matrix, or one that is not positive definite, raises ``LinAlgError``, as in NumPy. On XLA, where a
program cannot raise, the result is infinite or NaN, as in JAX.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._ops.linalg import cofactors as linalg_cofactors
from funcgrad._ops.linalg import determinant as linalg_determinant
from funcgrad._ops.linalg import factor
from funcgrad._ops.linalg import solve as ops
from funcgrad._ops.linalg.matrices import adjoint, identity_like
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._contract.products import matmul
from funcgrad.numpy._reduce.reductions import as_array
from funcgrad.numpy.linalg._matrices import squares, systems

# NumPy has no public name for the type of this result.
_SlogdetResult = type(np.linalg.slogdet(np.ones((1, 1))))


@implements(np.linalg.cholesky)
def cholesky(a: ArrayLike, /, *, upper: bool = False) -> Array:
    """Return ``numpy.linalg.cholesky``, which reads the triangle of each matrix that it returns.

    The derivative is that of a Hermitian matrix, by all elements, as in PyTorch. A matrix that is not positive definite
    raises ``LinAlgError`` on NumPy, and gives NaN on XLA.
    """
    a = squares("linalg.cholesky", a)
    return adjoint(factor.cholesky(adjoint(a))) if upper else factor.cholesky(a)


@implements(np.linalg.solve)
def solve(a: ArrayLike, b: ArrayLike) -> Array:
    """Return ``numpy.linalg.solve``. A singular matrix raises ``LinAlgError`` on NumPy, and gives inf or NaN on XLA."""
    a, b, vector = systems("linalg.solve", a, b)
    y = ops.solve(a, b)
    return reshape(y, y.shape[:-1]) if vector else y


@implements(np.linalg.inv)
def inv(a: ArrayLike) -> Array:
    """Return ``numpy.linalg.inv``. A singular matrix raises ``LinAlgError`` on NumPy, and gives inf or NaN on XLA."""
    a = squares("linalg.inv", a)
    return ops.solve(a, identity_like(a))


@implements(np.linalg.det)
def det(a: ArrayLike) -> Array:
    """Return ``numpy.linalg.det``. Its first and second derivatives exist for singular matrices too."""
    return linalg_cofactors.det(squares("linalg.det", a))


@implements(np.linalg.slogdet)
def slogdet(a: ArrayLike) -> Any:
    """Return ``numpy.linalg.slogdet``: the pair (sign, logabsdet)."""
    return _SlogdetResult(*linalg_determinant.slogdet(squares("linalg.slogdet", a)))


@implements(np.linalg.matrix_power)
def matrix_power(a: ArrayLike, n: int) -> Tensor:
    """Return ``numpy.linalg.matrix_power``, by repeated squaring, of the inverse if ``n`` is negative."""
    n = operator.index(n)
    a = as_array(a) if n >= 0 else inv(a)
    if len(a.shape) < 2 or a.shape[-1] != a.shape[-2]:
        squares("linalg.matrix_power", a)
    if n == 0:
        return broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    rest, result = abs(n), None
    while True:
        if rest & 1:
            result = a if result is None else matmul(result, a)
        rest >>= 1
        if not rest:
            return result
        a = matmul(a, a)


@implements(np.linalg.tensorsolve)
def tensorsolve(a: ArrayLike, b: ArrayLike, axes: Sequence[int] | None = None) -> Any:
    """Return ``numpy.linalg.tensorsolve``: ``x`` with ``tensordot(a, x, x.ndim) = b``."""
    a, b = as_value(a), as_array(b)
    ndim = len(a.shape)
    if axes is not None:
        moved = [normalize_axis(axis, ndim) for axis in axes]
        a = transpose(a, (*[i for i in range(ndim) if i not in moved], *moved))
    shape = a.shape[len(b.shape) :]
    size = math.prod(shape)
    if math.prod(a.shape[: len(b.shape)]) != size:
        _refuse_tensor("linalg.tensorsolve", a)
    return reshape(solve(reshape(a, (size, size)), reshape(b, (math.prod(b.shape),))), shape)


@implements(np.linalg.tensorinv)
def tensorinv(a: ArrayLike, ind: int = 2) -> Any:
    """Return ``numpy.linalg.tensorinv``: the inverse of ``a`` as a map from its last axes to its first ``ind``."""
    if ind <= 0:
        raise ValueError(f"linalg.tensorinv: ind is {ind}; needed the number of the first axes, at least 1.")
    a = as_value(a)
    size = math.prod(a.shape[ind:])
    if math.prod(a.shape[:ind]) != size:
        _refuse_tensor("linalg.tensorinv", a)
    return reshape(inv(reshape(a, (size, size))), (*a.shape[ind:], *a.shape[:ind]))


def _refuse_tensor(name: str, a: ArrayLike) -> NoReturn:
    raise np.linalg.LinAlgError(
        f"{name}: the argument a is {type_text(a.shape, a.dtype)}; needed as many elements along its first axes as "
        "along the others. Check the number of axes, or reshape a."
    )
