"""Embeddings: look up rows of a table by index."""

from __future__ import annotations

import numpy as np

from funcgrad._core.aval import aval_of, is_integer
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.rows import embedding_p
from funcgrad._types import Array
from funcgrad.nn._functions.convert import inexact
from funcgrad.numpy.extend import as_value


def embedding(table: Array, ids: Array, *, sparse_grad: bool = False) -> Array:
    """Look up rows: ``table[ids]``.

    Args:
        table: ``f32[rows, ...]``.
        ids: ``i64[...]``: the indices of the rows, from 0 on.
        sparse_grad: return the gradient with respect to the table as `funcgrad.sparse.Rows`, which holds only the rows
            that were used. This applies to `funcgrad.grad`, if the table is an argument and has no other use.
            `funcgrad.sgd_update` accepts such a gradient.

    Returns:
        ``f32[..., ...]``: one row for each index.

    Raises:
        TypeError: ``ids`` are not integers.
        IndexError: an index is out of bounds. A compiled function does not raise: it clips the index, or drops its
            gradient.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad import nn
        >>> table = np.arange(6.0).reshape(3, 2)
        >>> nn.embedding(table, np.array([2, 2, 0]))
        array([[4., 5.],
               [4., 5.],
               [0., 1.]])
        >>> fg.grad(lambda table: np.sum(nn.embedding(table, np.array([2, 2]), sparse_grad=True)))(table)
        Rows(2 of f64[3,2])

    Source: ``torch.nn.functional.embedding``.
    """
    table, ids = inexact(table), as_value(ids)
    if not hasattr(ids, "dtype"):
        ids = np.asarray(ids)
    if not is_integer(ids.dtype) or not table.shape:
        raise TypeError(
            f"embedding: table is {aval_of(table)} and ids are {aval_of(ids)}; needed a table of shape [rows, ...] and "
            "integers. Convert the ids with astype(int)."
        )
    if type(ids) is np.ndarray and ids.size and not (ids.min() >= 0 and ids.max() < table.shape[0]):
        raise IndexError(
            f"embedding: ids are from {ids.min()} to {ids.max()}; needed rows of table {aval_of(table)}, from 0 to "
            f"{table.shape[0] - 1}."
        )
    return embedding_p(table, ids) if sparse_grad else index_p(table, ids, index=Index((SLOT,)))
