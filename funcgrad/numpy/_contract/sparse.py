"""Products with SciPy's sparse matrices, which are constants: each stored element takes one number and adds to one."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._ops.elementwise.arithmetic import mul_p
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.scatter import scatter_add_p
from funcgrad._ops.layout.shape import reshape
from funcgrad.numpy._base.convert import as_value, promote
from funcgrad.numpy._base.guests import is_sparse
from funcgrad.numpy._contract.products import matmul
from funcgrad.numpy._layout.shape import transpose

_ROWS = Index((SLOT,))


def matmul_or_sparse(x: Any, y: Any, /) -> Any:
    """``x @ y``, of which one may be sparse."""
    if is_sparse(x):
        return _product(x, as_value(y))
    if is_sparse(y):
        return transpose(_product(y.T, transpose(as_value(x))))
    return matmul(x, y)


def _product(a: Any, x: Any) -> Any:
    """A sparse matrix times a vector or a matrix."""
    if len(a.shape) != 2 or not 0 < len(x.shape) < 3 or x.shape[0] != a.shape[1]:
        raise ValueError(
            f"matmul: a sparse operand has shape {a.shape} and the other, transposed where it stands on the left, is "
            f"{type_text(x.shape, x.dtype)}; needed a matrix, and a vector or matrix as long as its rows. Reshape one."
        )
    stored = a.tocoo()
    rows, columns = stored.coords if hasattr(stored, "coords") else (stored.row, stored.col)
    numbers, x = promote(stored.data, x)
    terms = mul_p(reshape(numbers, (numbers.size,) + (1,) * (len(x.shape) - 1)), index_p(x, columns, index=_ROWS))
    zeros = np.zeros((a.shape[0], *x.shape[1:]), terms.dtype)
    return scatter_add_p(zeros, terms, rows, index=_ROWS)
