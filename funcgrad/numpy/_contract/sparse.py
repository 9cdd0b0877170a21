"""Products with SciPy's sparse matrices, which are constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._core.bind import untraced
from funcgrad._ops.index.sparse import sparse_product
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.convert import as_value, promote
from funcgrad.numpy._base.foreign import is_sparse
from funcgrad.numpy._contract.products import matmul
from funcgrad.numpy._layout.shape import transpose


def matmul_or_sparse(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x @ y``. One of the operands may be sparse."""
    if is_sparse(x):
        return _product(x, as_value(y), turned=False)
    if is_sparse(y):
        x = as_value(x)
        return transpose(_product(y, transpose(x), turned=True))
    return matmul(x, y)


def elements(a: ArrayLike) -> tuple[Any, tuple[Any, Any, Any]]:
    """Return the elements of a sparse matrix row by row, with their rows, columns and the starts of rows."""
    with untraced():
        stored = a.tocsr()
    return stored.data, (_rows(stored.indptr), stored.indices, stored.indptr)


def _rows(starts: np.ndarray) -> np.ndarray:
    return np.repeat(np.arange(starts.size - 1, dtype=starts.dtype), np.diff(starts))


def _product(a: ArrayLike, x: ArrayLike, *, turned: bool) -> Any:
    """Multiply a sparse matrix, or its transpose, by a vector or a matrix."""
    if len(a.shape) != 2 or not 0 < len(x.shape) < 3 or x.shape[0] != a.shape[not turned]:
        raise ValueError(
            f"matmul: a sparse operand has shape {a.shape} and the other operand (transposed, if it is the left one) "
            f"is {type_text(x.shape, x.dtype)}; needed a matrix, and a vector or matrix as long as its rows. Reshape "
            "one."
        )
    numbers, places = elements(a)
    numbers, x = promote(numbers, x)
    return sparse_product(numbers, *places, x, shape=(int(a.shape[0]), int(a.shape[1])), turned=turned)
