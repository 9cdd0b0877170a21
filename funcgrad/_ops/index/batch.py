"""Batching of indexing, updates and scatters: add one axis, or one index array, in front."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.bind import bind
from funcgrad._core.primitive import Primitive
from funcgrad._ops.index.plan import FULL, SLOT, Index, expand_ellipsis, is_adjacent, resolve
from funcgrad._ops.index.xla import pieces_of
from funcgrad._ops.layout.broadcast import broadcast_to, with_batch
from funcgrad._ops.layout.shape import inverse_permutation, reshape, transpose
from funcgrad._types import Array, Value

Flags = tuple[bool, ...]


class _Batched:
    """An index into a batched array.

    For a batched ``x``, ``x[index]`` has the batch first and then the axes of the unbatched result, after they are put
    in ``order``. If index arrays are batched, the batch is one more index array. Otherwise it is one more full slice,
    which NumPy's rule for separated index arrays may put behind their axes.
    """

    def __init__(self, index: Index, ndim: int, size: int, arrays: tuple, flags: Flags) -> None:
        rank = _rank(arrays, flags)
        place = _place(index, ndim)
        if any(flags):
            self.index = Index((SLOT, *index.entries), index.unique)
            rows = np.arange(size).reshape((size, *[1] * rank))
            self.arrays = (rows, *_aligned(arrays, flags, size, rank))
            self._head = (0, *range(1 + rank, 1 + rank + place), *range(1, 1 + rank))
        else:
            self.index = Index((FULL, *index.entries), index.unique)
            self.arrays = arrays
            separated = bool(arrays) and not is_adjacent(index.entries)
            self._head = (rank, *range(rank)) if separated else ()

    def order(self, ndim: int) -> tuple[int, ...]:
        """Return the axes of ``x[index]``, of which there are ``ndim``, with the batch leading."""
        return (*self._head, *range(len(self._head), ndim))

    def lay_out(self, v: Value) -> Value:
        """Return a batched value with its axes in the order of the batched ``x[index]``."""
        return _permuted(v, inverse_permutation(self.order(len(v.shape))))


def _rank(arrays: tuple, flags: Flags) -> int:
    return max((len(a.shape) - flag for a, flag in zip(arrays, flags, strict=True)), default=0)


def _aligned(arrays: tuple, flags: Flags, size: int, rank: int) -> list:
    """Return batched index arrays with axes of length 1 after the batch, so that they broadcast against the others."""
    return [
        reshape(a, (size, *[1] * (rank + 1 - len(a.shape)), *a.shape[1:])) if flag else a
        for a, flag in zip(arrays, flags, strict=True)
    ]


def _place(index: Index, ndim: int) -> int:
    """Return the number of axes of the result before those of the index arrays."""
    if not index.slots or not is_adjacent(index.entries):
        return 0
    entries = expand_ellipsis(index.entries, ndim)
    first = next(i for i, entry in enumerate(entries) if entry is SLOT)
    return sum(entry is None or isinstance(entry, slice) for entry in entries[:first])


def _permuted(x: Value, order: tuple[int, ...]) -> Value:
    return x if order == tuple(range(len(order))) else transpose(x, order)


def index_batch(primitive: Primitive, size: int, operands: tuple, batched: Flags, params: dict) -> Array:
    """Batch ``x[index]`` if ``x``, index arrays, or both are batched."""
    x, *rest = operands
    arrays, flags = tuple(rest), batched[1:]
    if batched[0]:
        ours = _Batched(params["index"], len(x.shape) - 1, size, arrays, flags)
        y = bind(primitive, (x, *ours.arrays), {"index": ours.index})
        return _permuted(y, ours.order(len(y.shape)))
    index = params["index"]
    place = _place(index, len(x.shape))
    aligned = _aligned(arrays, flags, size, _rank(arrays, flags))
    y = bind(primitive, (x, *aligned), {"index": Index(index.entries)})
    return _permuted(y, (place, *[i for i in range(len(y.shape)) if i != place]))


def update_batch(primitive: Primitive, size: int, operands: tuple, batched: Flags, params: dict) -> Array:
    """Batch ``x.at[index].add(v)`` and ``.set(v)``."""
    x, v, *rest = operands
    arrays, flags = tuple(rest), batched[2:]
    x = with_batch(x, size, batched[0])
    ours = _Batched(params["index"], len(x.shape) - 1, size, arrays, flags)
    if batched[1] or hasattr(v, "dtype"):
        shapes = tuple([a.shape[flag:] for a, flag in zip(arrays, flags, strict=True)])
        v = ours.lay_out(_whole(v, batched[1], size, resolve(params["index"], x.shape[1:], shapes).shape))
    return bind(primitive, (x, v, *ours.arrays), {"index": ours.index})


def _whole(v: Value, flag: bool, size: int, shape: tuple[int, ...]) -> Value:
    """Return an assigned value broadcast to the selected shape, with the batch leading."""
    if flag:
        v = reshape(v, (size, *[1] * (len(shape) - len(v.shape) + 1), *v.shape[1:]))
    return broadcast_to(v, (size, *shape))


def scatter_batch(primitive: Primitive, size: int, operands: tuple, batched: Flags, params: dict) -> Array:
    """Batch the scatter of pieces into zeros."""
    shape = params["shape"]
    new_operands: list[Any] = []
    indices = []
    for (v, flag), index, pairs in pieces_of(list(zip(operands, batched, strict=True)), params["indices"]):
        arrays, flags = tuple([a for a, _ in pairs]), tuple([b for _, b in pairs])
        ours = _Batched(index, len(shape), size, arrays, flags)
        new_operands += [ours.lay_out(with_batch(v, size, flag)), *ours.arrays]
        indices.append(ours.index)
    return bind(primitive, tuple(new_operands), {"shape": (size, *shape), "indices": tuple(indices)})
