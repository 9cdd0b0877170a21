"""Gradients that are nonzero in some rows only: the cotangent of an embedding's table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.backward import Pieces
from funcgrad._core.trace.derivative import ByEdges, Edge, LinearTogether
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.depends import looked_up
from funcgrad._ops.index.gather import index_aval, index_p, scatter
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.xla import index_xla
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Value
from funcgrad.errors import TreeMismatchError
from funcgrad.tree import register_dataclass

_ROWS = Index((SLOT,))


@register_dataclass(meta_fields=("shape",), when_made=True)
@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """An array with few nonzero rows: ``dense[indices[j]] += values[j]`` for each ``j``.

    A pytree with ``indices`` and ``values`` as leaves. `sgd_update` takes it as a gradient.

    Args:
        indices: i64[k]: the numbers of the rows, from 0 on, in any order. A row that is named twice has the sum.
        values: f32[k, ...]: the rows.
        shape: static: the shape of the whole array.

    Example:
        >>> import numpy as np
        >>> from funcgrad.sparse import Rows
        >>> Rows(np.array([2, 0, 2]), np.array([[1.0], [2.0], [3.0]]), (3, 1)).todense()
        array([[2.],
               [0.],
               [4.]])
    """

    indices: Any
    values: Any
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        # A transform may replace the arrays by values of any rank.
        ranks = [len(getattr(x, "shape", ())) for x in (self.indices, self.values)]
        if ranks[0] and ranks[1] == ranks[0] + len(self.shape) - 1:
            self._check()

    def _check(self) -> None:
        arrived, needed = tuple(self.values.shape), (*self.indices.shape, *self.shape[1:])
        if arrived != needed:
            raise TreeMismatchError(
                f"Rows: the values have shape {arrived} for indices of shape {tuple(self.indices.shape)}; needed "
                f"{needed}, for each index a row of an array of shape {tuple(self.shape)}. Repeat them, or correct the "
                "shape."
            )

    def todense(self) -> Any:
        """Return the whole array. Under `vmap`, both leaves have leading axes, and the result has the same."""
        self._check()
        batch = tuple(self.indices.shape[:-1])
        if not batch:
            return scatter([(self.values, _ROWS, (self.indices,))], tuple(self.shape))
        count, rows, rest = math.prod(batch), self.shape[0], tuple(self.shape[1:])
        # One tall array holds the rows of the whole batch; each batch element has rows of its own.
        first = np.arange(count).reshape(*batch, 1) * rows
        indices = reshape(add_p(self.indices, first.astype(self.indices.dtype)), (count * self.indices.shape[-1],))
        values = reshape(self.values, (*indices.shape, *rest))
        dense = scatter([(values, _ROWS, (indices,))], (count * rows, *rest))
        return reshape(dense, (*batch, rows, *rest))

    def __repr__(self) -> str:
        values = self.values
        if not hasattr(values, "dtype"):
            return f"Rows({self.indices!r}, {values!r}, {self.shape})"
        return f"Rows({values.shape[0] if values.shape else '?'} of {type_text(tuple(self.shape), values.dtype)})"


class RowPieces(Pieces):
    """The cotangent of a table from which rows were looked up, one piece per look-up."""

    __slots__ = ("dense", "pieces", "shape")

    def __init__(self, y_bar: Value, shape: tuple[int, ...], ids: Value) -> None:
        self.shape = shape
        self.pieces = [(y_bar, ids)]
        # The cotangent from other uses of the table.
        self.dense: Any = None

    def add(self, other: Value) -> RowPieces:
        if type(other) is RowPieces:
            self.pieces += other.pieces
            other = other.dense
        if isinstance(other, Pieces):
            other = other.total()
        if other is not None:
            self.dense = other if self.dense is None else self.dense + other
        return self

    def total(self) -> Any:
        rows = scatter([(y_bar, _ROWS, (ids,)) for y_bar, ids in self.pieces], self.shape)
        return rows if self.dense is None else rows + self.dense

    def result(self) -> Any:
        """Return the rows as they are, if there is no other cotangent."""
        if self.dense is not None:
            return self.total()
        ids = [_flat(ids, 0) for _, ids in self.pieces]
        values = [_flat(y_bar, len(self.shape) - 1) for y_bar, _ in self.pieces]
        return Rows(_joined(ids), _joined(values), self.shape)


def _flat(x: Value, kept: int) -> Any:
    """Return the array with all axes but the last ``kept`` merged into one."""
    split = len(x.shape) - kept
    return reshape(x, (math.prod(x.shape[:split]), *x.shape[split:]))


def _joined(xs: Sequence[Any]) -> Any:
    return concatenate(xs, 0)


class _EmbeddingDerivative(LinearTogether, ByEdges):
    """Linear in the table; its cotangent is nonzero only in the rows that were looked up."""

    __slots__ = ()

    def edges(self, primals: Sequence[Any], nodes: Sequence[Any], y: Value, params: dict) -> list[Edge]:
        return [] if nodes[0] is None else [(nodes[0], RowPieces, (primals[0].shape, primals[1]))]

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        return None if tangents[0] is None else primitive(tangents[0], primals[1])


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
    """Look one table up for the whole batch. If each element has its own table, use indexing."""
    if not batched[0]:
        return primitive(*operands)
    assert index_p.batch is not None
    return index_p.batch(index_p, size, operands, batched, {"index": _ROWS})


embedding_p = Primitive(
    "embedding",
    operands=("table", "ids"),
    numpy=lambda table, ids: np.asarray(table)[ids],
    xla=lambda lax, table, ids: index_xla(lax, table, ids, index=_ROWS),
    aval=lambda table, ids: index_aval(table, ids, index=_ROWS),
    derivative=_EmbeddingDerivative(),
    batch=_batch,
    cost=lambda y, table, ids: 0,
    forms=Forms(basic=Basic.EMBEDDING, depends=looked_up),
)
embedding_p.positions = lambda table, ids: [None, table.shape[0]]
