"""Indexing and its transpose, the scatter of pieces. Pieces of one array are added up in one buffer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, shared_aval
from funcgrad._core.bind import NUMPY_TYPES
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive, ViewPrimitive
from funcgrad._core.trace.backward import Pieces
from funcgrad._core.trace.derivative import ByEdges, Edge, LinearTogether, NodeMaker, Recorder, lasting
from funcgrad._core.trace.tape import Node, new_kind, next_serial
from funcgrad._ops.index.batch import index_batch, scatter_batch
from funcgrad._ops.index.depends import indexed, scattered
from funcgrad._ops.index.plan import FULL, SLOT, Index, flat_places, is_row, selected_shape, slot_lengths
from funcgrad._ops.index.xla import Piece, index_xla, pieces_of, scatter_xla
from funcgrad._types import Array, Value

# From this many elements on, adding rows by flat positions is faster than np.add.at's slow path for rows: 23 us and 94
# for 500 rows of 16.
_FLAT_LIMIT = 256


def _index_numpy(x: Array, *arrays: Array, index: Index) -> Array:
    if type(x) is not np.ndarray:
        x = np.asarray(x)
    if not arrays:
        return x[index.entries]
    return windows_at(x, arrays) if index.windows else x[index.filled(arrays)]


def windows_at(x: np.ndarray, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Return windows at integers from 0 on, which lie in memory as they do in the array."""
    if not x.flags.c_contiguous:
        return in_order_of(x, x[tuple(arrays)])
    # One index array takes a quarter of the time of several.
    return x.reshape(-1, *x.shape[len(arrays) :])[flat_places(arrays, x.shape)]


def in_order_of(x: Array, y: Array) -> Array:
    """Return windows of an array, each of which lies in memory as it does there, because sums follow that order.

    Args:
        x: the array.
        y: the windows, along a first axis. The other axes are the last ones of the array.
    """
    axes = range(y.ndim - 1)
    strides = x.strides[x.ndim - len(axes) :]
    order = sorted(axes, key=lambda k: -abs(strides[k]))
    if order == [*axes]:
        return y
    # A window that does not take a whole axis has a gap there.
    whole = [n + (n < most) for n, most in zip(y.shape[1:], x.shape[x.ndim - len(axes) :], strict=True)]
    memory = np.empty((len(y), *[whole[k] for k in order]), y.dtype)
    found = memory.transpose(0, *[1 + order.index(k) for k in axes])[(FULL, *map(slice, y.shape[1:]))]
    found[...] = y
    return found


@lru_cache(1024)
def _row_aval(shape: tuple[int, ...], dtype: np.dtype) -> Aval:
    """Return the type of a row, the same object each time: equal types are then recognized without comparing them."""
    return shared_aval(Aval(shape[1:], dtype))


def index_aval(x: Aval, *arrays: Aval, index: Index) -> Aval:
    """Return the aval of ``x[index]``."""
    if is_row(index, x.shape):
        return _row_aval(x.shape, x.dtype)
    return Aval(selected_shape(index, x.shape, tuple([a.shape for a in arrays])), x.dtype)


def _pull(y_bar: Value, node: Node) -> IndexPieces:
    shape, dtype, entries, unique, arrays = node[3:]
    return IndexPieces(y_bar, shape, dtype, Index(entries, unique), arrays)


def _kinds(primitive: Primitive) -> tuple[int, int]:
    """Return the kinds of nodes without index arrays and with them."""
    return new_kind(primitive, 1, _pull, keeps_values=False), new_kind(primitive, 1, _pull)


def _node(kinds: tuple[int, int], x: Value, arrays: tuple, node: Any, index: Index) -> Node:
    """Return the node of a read.

    It keeps the parts of the index, not the object: the garbage collector does not track plain values.
    """
    kind = kinds[1] if arrays else kinds[0]
    return next_serial(), kind, node, x.shape, x.dtype, index.entries, index.unique, arrays


class _IndexDerivative(LinearTogether):
    """The derivative of indexing. The cotangents of all ``x[index]`` of one ``x`` are pieces of one array."""

    __slots__ = ()

    def node_maker(self, primitive: Primitive, active: int) -> NodeMaker:
        if not active & 1:
            return lambda trace, primals, nodes, y, params: None
        kinds = _kinds(primitive)

        def make(trace: Any, primals: Sequence[Any], nodes: Sequence[Any], y: Value, params: dict) -> Node:
            x, *arrays = primals
            return _node(kinds, x, lasting(trace, tuple(arrays), primals, nodes), nodes[0], params["index"])

        return make

    def recorder(self, primitive: Primitive, active: int, has_params: bool) -> Recorder | None:
        """Return one function that reads a part of a bare array and records it: 1.3 us less for each read."""
        if active != 1:
            return None
        kinds = _kinds(primitive)

        def record(trace: Any, params: dict, x: np.ndarray, *rest: Any) -> Any:
            # The index arrays, the node of the array, and the nodes of the index arrays, which have none.
            index, count = params["index"], len(rest) // 2
            if not count:
                return trace.tracer_type(trace, x[index.entries], _node(kinds, x, (), rest[0], index))
            arrays = rest[:count]
            y = x[index.filled(arrays)]
            kept = tuple([trace.keep(a) if type(a) is np.ndarray else a for a in arrays])
            return trace.tracer_type(trace, y, _node(kinds, x, kept, rest[count], index))

        return record

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        x_dot = tangents[0]
        return None if x_dot is None else primitive(x_dot, *primals[1:], **params)


index_p = ViewPrimitive(
    "index",
    forms=Forms(basic=Basic.INDEX, depends=indexed),
    operands=("x", "*arrays"),
    numpy=_index_numpy,
    xla=index_xla,
    aval=index_aval,
    derivative=_IndexDerivative(),
    batch=index_batch,
    cost=lambda y, x, *arrays, **_: 0,
)
index_p.positions = lambda x, *arrays, index: [None, *slot_lengths(index, x.shape)]


def index(x: Value, entries: tuple, arrays: tuple = (), *, unique: bool = False) -> Value:
    """Return ``x[entries]``, with a `SLOT` among the entries for each index array."""
    return index_p(x, *arrays, index=Index(entries, unique))


def slice_axis(x: Value, axis: int, start: int, stop: int) -> Value:
    """Return ``x[..., start:stop, ...]`` along one axis."""
    return index_p(x, index=Index((*(FULL,) * axis, slice(start, stop))))


def accumulate(buffer: np.ndarray, index: Index, arrays: tuple, v: Value) -> None:
    """Do ``buffer[index] += v`` in place; an element that is selected twice is added to twice."""
    if not arrays:
        view = buffer[index.entries]
        if type(view) is np.ndarray:
            np.add(view, v, out=view)
        else:
            buffer[index.entries] = view + v
    elif index.unique:
        buffer[index.filled(arrays)] += v
    elif _selects_rows(index, buffer) and np.size(v) >= _FLAT_LIMIT:
        width = buffer[0].size
        positions = np.multiply(arrays[0], width, dtype=np.intp)[..., None] + np.arange(width)
        np.add.at(buffer.reshape(-1), positions.reshape(-1), v.reshape(-1))
    else:
        np.add.at(buffer, index.filled(arrays), v)


def _selects_rows(index: Index, buffer: np.ndarray) -> bool:
    """Return whether the index is one index array on the first axis; a negative row is a negative flat position."""
    only_first = index.entries[0] is SLOT and all(entry == FULL or entry is Ellipsis for entry in index.entries[1:])
    return only_first and buffer.ndim > 1 and buffer.shape[0] > 0 and buffer.flags.c_contiguous


def _scatter_numpy(*operands: Array, shape: tuple[int, ...], indices: tuple[Index, ...]) -> np.ndarray:
    buffer = np.zeros(shape, operands[0].dtype)
    for v, index, arrays in pieces_of(operands, indices):
        accumulate(buffer, index, arrays, v)
    return buffer


class _ScatterDerivative(LinearTogether, ByEdges):
    """Linear in all pieces together. The transpose for each piece is the indexing that it came from."""

    __slots__ = ()

    def edges(self, primals: Sequence[Any], nodes: Sequence[Any], y: Value, params: dict) -> list[Edge]:
        pieces = pieces_of(list(zip(primals, nodes, strict=True)), params["indices"])
        return [
            (node, _piece_cotangent, (index, tuple([a for a, _ in arrays])))
            for (_, node), index, arrays in pieces
            if node is not None
        ]

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        pieces = pieces_of(list(zip(primals, tangents, strict=True)), params["indices"])
        moving = [
            (v_dot, index, tuple([a for a, _ in arrays])) for (_, v_dot), index, arrays in pieces if v_dot is not None
        ]
        return scatter(moving, params["shape"]) if moving else None


def _piece_cotangent(y_bar: Value, index: Index, arrays: tuple) -> Any:
    return index_p(y_bar, *arrays, index=index)


# ``indices`` has one index per piece. The operands are the pieces, each followed by the index arrays of its index.
scatter_p = Primitive(
    "scatter",
    operands=("*pieces",),
    numpy=_scatter_numpy,
    xla=scatter_xla,
    aval=lambda v, *rest, shape, indices: Aval(shape, v.dtype),
    derivative=_ScatterDerivative(),
    batch=scatter_batch,
    cost=lambda y, *operands, **_: sum(x.size for x in operands),
    forms=Forms(basic=Basic.SCATTER, new_memory=True, depends=scattered),
)
scatter_p.positions = lambda *operands, shape, indices: [
    n for index in indices for n in (None, *slot_lengths(index, shape))
]


def scatter(pieces: list[Piece], shape: tuple[int, ...]) -> Array:
    """Return zeros of ``shape`` to which each piece ``(v, index, arrays)`` is added at its index."""
    operands = [x for v, _, arrays in pieces for x in (v, *arrays)]
    return scatter_p(*operands, shape=shape, indices=tuple([index for _, index, _ in pieces]))


class IndexPieces(Pieces):
    """The cotangent of an array of which parts were read, one piece per read.

    Bare values are added to one buffer at once, so a loop over the rows of an array takes linear time. Pieces that are
    traced or belong to another engine are collected for one scatter.
    """

    __slots__ = ("buffer", "dtype", "pieces", "shape", "traced", "whole")

    def __init__(self, y_bar: Value, shape: tuple[int, ...], dtype: np.dtype, index: Index, arrays: tuple) -> None:
        self.shape = shape
        self.dtype = dtype
        self.pieces: list[Piece] = [(y_bar, index, arrays)]
        # The number of pieces at the front that were looked at and cannot be added to the buffer.
        self.traced = 0
        self.buffer: np.ndarray | None = None
        self.whole: Any = None

    def add(self, other: Value) -> Pieces:
        if isinstance(other, WrittenBar):
            return other.add(self)
        if type(other) is not IndexPieces:
            self._add_whole(other.total() if isinstance(other, Pieces) else other)
            return self
        self.pieces += other.pieces
        self._settle()
        if other.buffer is not None:
            self._add_whole(other.buffer)
        if other.whole is not None:
            self._add_whole(other.whole)
        return self

    def _add_whole(self, x_bar: Value) -> None:
        if type(x_bar) is not np.ndarray:
            self.whole = x_bar if self.whole is None else self.whole + x_bar
        elif self.buffer is None:
            # A copy: the array may be in use elsewhere.
            self.buffer = x_bar.astype(self.dtype)
        else:
            self.buffer += x_bar

    def _settle(self) -> None:
        """Add the bare pieces to the buffer."""
        new = self.pieces[self.traced :]
        del self.pieces[self.traced :]
        for piece in new:
            if not _is_bare(piece):
                self.pieces.append(piece)
                continue
            if self.buffer is None:
                self.buffer = np.zeros(self.shape, self.dtype)
            v, index, arrays = piece
            accumulate(self.buffer, index, arrays, v)
        self.traced = len(self.pieces)

    @property
    def is_one_part(self) -> bool:
        """Whether it is one piece that no index arrays select."""
        pieces = self.pieces
        return len(pieces) == 1 and not pieces[0][2] and self.buffer is None is self.whole

    def add_to(self, buffer: np.ndarray) -> None:
        """Add the bare pieces to a buffer, and keep the others."""
        rest = []
        for piece in self.pieces:
            if _is_bare(piece):
                v, index, arrays = piece
                accumulate(buffer, index, arrays, v)
            else:
                rest.append(piece)
        if self.buffer is not None:
            buffer += self.buffer
        self.pieces, self.traced, self.buffer = rest, len(rest), None

    def total(self) -> Array:
        self._settle()
        parts = [part for part in (self.buffer, self.whole) if part is not None]
        if self.pieces:
            parts.append(scatter(self.pieces, self.shape))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total


class WrittenBar(Pieces):
    """The cotangent of an array that was written to. It is whole, in a buffer of this pass that is changed in place.

    A write takes the cotangent of its part and leaves zeros there; a read adds to its part.
    """

    __slots__ = ("value",)

    def __init__(self, y_bar: Value) -> None:
        if isinstance(y_bar, IndexPieces):
            # The total is a new buffer, or traced.
            y_bar = y_bar.total()
            self.value: Any = y_bar
        else:
            # In C order, like most arrays that are written to. In another order a reshape may be a copy instead of a
            # view.
            self.value = np.array(y_bar, order="C") if type(y_bar) in NUMPY_TYPES else y_bar

    def add(self, other: Value) -> WrittenBar:
        if type(other) is IndexPieces and other.is_one_part and type(self.value) is np.ndarray:
            # The common case: this path saves 0.8 of 1.6 us.
            ((v, index, _),) = other.pieces
            if type(v) is np.ndarray and v.dtype is self.value.dtype:
                part = self.value[index.entries]
                if type(part) is np.ndarray:
                    np.add(part, v, out=part)
                    return self
        if isinstance(other, IndexPieces) and type(self.value) is np.ndarray and other.dtype == self.value.dtype:
            other.add_to(self.value)
            for part in (other.whole, scatter(other.pieces, other.shape) if other.pieces else None):
                self.value = self.value if part is None else self.value + part
            return self
        other = other.total() if isinstance(other, Pieces) else other
        if type(self.value) is type(other) is np.ndarray and self.value.dtype == other.dtype:
            self.value += other
        else:
            self.value = self.value + other
        return self

    def total(self) -> Array:
        return self.value


def _is_bare(piece: Piece) -> bool:
    v, _, arrays = piece
    return type(v) in NUMPY_TYPES and (not arrays or all(type(a) in NUMPY_TYPES for a in arrays))
