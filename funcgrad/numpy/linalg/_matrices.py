"""Arguments of linear algebra: stacks of matrices in the dtypes that LAPACK has."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.convert import promote
from funcgrad.numpy._reduce.statistics import inexact

_LAPACK_DTYPES = frozenset(map(np.dtype, ("float32", "float64", "complex64", "complex128")))


def matrices(name: str, x: ArrayLike, argument: str = "a") -> Array:
    """Return ``x`` as a stack of matrices; integers become float64."""
    x = numbers(name, x, argument)
    if len(x.shape) < 2:
        raise np.linalg.LinAlgError(
            f"{name}: the argument {argument} is {type_text(x.shape, x.dtype)}; needed matrices, in its last two axes. "
            "Add axes with x[:, None] or reshape."
        )
    return x


def numbers(name: str, x: ArrayLike, argument: str) -> Array:
    """Return ``x`` as an array in a dtype of LAPACK."""
    x = inexact(x)
    if x.dtype not in _LAPACK_DTYPES:
        raise TypeError(
            f"{name}: the argument {argument} is {type_text(x.shape, x.dtype)}; needed float32, float64, complex64 or "
            "complex128, which LAPACK computes in. Convert it with astype."
        )
    return x


def squares(name: str, x: ArrayLike, argument: str = "a") -> Array:
    """Return ``x`` as a stack of square matrices."""
    x = matrices(name, x, argument)
    if x.shape[-1] != x.shape[-2]:
        raise np.linalg.LinAlgError(
            f"{name}: the argument {argument} is {type_text(x.shape, x.dtype)}; needed square matrices in its last two "
            "axes. For least squares, use linalg.lstsq or linalg.pinv."
        )
    return x


def systems(name: str, a: ArrayLike, b: ArrayLike) -> tuple[Any, Any, bool]:
    """Return square matrices and right sides of one dtype and one leading shape, and whether ``b`` was a vector."""
    a, b = promote(squares(name, a), numbers(name, b, "b"))
    vector = len(b.shape) == 1
    if vector:
        b = reshape(b, (*b.shape, 1))
    b = matrices(name, b, "b")
    if b.shape[-2] != a.shape[-1]:
        raise ValueError(
            f"{name}: a is {type_text(a.shape, a.dtype)} and b {type_text(b.shape, b.dtype)}, counting a vector as one "
            f"column; needed as many rows in b as in a, {a.shape[-1]}. Transpose b, or give it an axis of columns."
        )
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return broadcast_to(a, (*stack, *a.shape[-2:])), broadcast_to(b, (*stack, *b.shape[-2:])), vector
