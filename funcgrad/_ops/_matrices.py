"""Products, triangles and parts of (stacks of) matrices: what the derivatives of linear algebra are written in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.cast import conj_p
from funcgrad._ops.contract import matmul_p
from funcgrad._ops.select import select
from funcgrad._ops.shape import expand_dims, transpose


def swapped(x: Any) -> Any:
    """The transposed matrices."""
    ndim = len(x.shape)
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def conjugated(x: Any) -> Any:
    """The complex conjugate; a real array as it is."""
    return bind(conj_p, (x,), NO_PARAMS) if x.dtype.kind == "c" else x


def adjoint(x: Any) -> Any:
    """The conjugate transposes."""
    return conjugated(swapped(x))


def product(a: Any, b: Any) -> Any:
    """The matrix product; both of one dtype and one leading shape."""
    return bind(matmul_p, (a, b), NO_PARAMS)


def scaled_columns(x: Any, scales: Any) -> Any:
    """Each column of ``x`` times its element of ``scales``."""
    return x * expand_dims(scales, (len(scales.shape) - 1,))


def scaled_rows(x: Any, scales: Any) -> Any:
    """Each row of ``x`` times its element of ``scales``."""
    return x * expand_dims(scales, (len(scales.shape),))


@lru_cache(maxsize=64)
def _below(rows: int, columns: int, k: int) -> np.ndarray:
    """Where an element lies on or below the diagonal ``k``."""
    mask = np.tri(rows, columns, k, dtype=bool)
    mask.flags.writeable = False
    return mask


@lru_cache(maxsize=64)
def identity_mask(size: int) -> np.ndarray:
    """Where an element lies on the diagonal."""
    mask = np.eye(size, dtype=bool)
    mask.flags.writeable = False
    return mask


def triangle_mask(size: int, lower: bool) -> np.ndarray:
    """Where an element of a square matrix lies in a triangle, its diagonal included."""
    return _below(size, size, 0) if lower else ~_below(size, size, -1)


def lower_triangle(x: Any, k: int = 0) -> Any:
    """``x`` on and below the diagonal ``k``, zero above."""
    return select(_below(*x.shape[-2:], k), x, 0)


def upper_triangle(x: Any, k: int = 0) -> Any:
    """``x`` on and above the diagonal ``k``, zero below."""
    return select(_below(*x.shape[-2:], k - 1), 0, x)


def halved_lower_triangle(x: Any) -> Any:
    """The lower triangle with half of the diagonal: what makes a Hermitian matrix when its adjoint is added."""
    return lower_triangle(select(identity_mask(x.shape[-1]), 0.5 * x, x))


def hermitian_part(x: Any) -> Any:
    """The mean of the matrices and their adjoints. It is its own transpose in the pairing without conjugation."""
    return 0.5 * (x + adjoint(x))


def hermitian_part_numpy(x: np.ndarray) -> np.ndarray:
    """The same of NumPy's arrays, with one array less."""
    y = x + x.conj().swapaxes(-1, -2)
    y *= 0.5
    return y
