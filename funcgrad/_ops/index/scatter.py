"""``x.at[index].add`` and ``.set``: return a copy of an array with some elements changed."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive, View
from funcgrad._core.trace.derivative import ByEdges, Edge, LinearTogether
from funcgrad._ops.elementwise.arithmetic import eq_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.batch import update_batch
from funcgrad._ops.index.depends import added, replaced
from funcgrad._ops.index.gather import accumulate, index_p, scatter
from funcgrad._ops.index.plan import SLOT, Index, is_row, selected_shape, slot_lengths
from funcgrad._ops.index.xla import update_xla
from funcgrad._ops.layout.diagonal import flat_range, writable_diagonal_p
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Value


def _scatter_add_numpy(x: Array, v: Array, *arrays: Array, index: Index) -> Array:
    y = np.array(x)
    accumulate(y, index, arrays, v)
    return y if y.ndim else y[()]


def _scatter_set_numpy(x: Array, v: Array, *arrays: Array, index: Index) -> Array:
    y = np.array(x)
    y[index.filled(arrays)] = v
    return y if y.ndim else y[()]


class _UpdateDerivative(LinearTogether, ByEdges):
    """Linear in ``x`` and ``v`` together."""

    __slots__ = ()

    def edges(self, primals: Sequence[Any], nodes: Sequence[Any], y: Value, params: dict) -> list[Edge]:
        index, arrays = params["index"], tuple(primals[2:])
        edges: list[Edge] = []
        if nodes[0] is not None:
            edges.append((nodes[0], self.to_x, (index, arrays)))
        if nodes[1] is not None:
            edges.append((nodes[1], self.to_v, (index, arrays)))
        return edges

    def to_x(self, y_bar: Value, index: Index, arrays: tuple) -> Any:
        raise NotImplementedError

    def to_v(self, y_bar: Value, index: Index, arrays: tuple) -> Any:
        raise NotImplementedError


class _AddDerivative(_UpdateDerivative):
    __slots__ = ()

    def to_x(self, y_bar: Value, index: Index, arrays: tuple) -> Any:
        return y_bar

    def to_v(self, y_bar: Value, index: Index, arrays: tuple) -> Value:
        return index_p(y_bar, *arrays, index=index)

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        x_dot, v_dot, *_ = tangents
        if v_dot is None:
            return x_dot
        if x_dot is None:
            return scatter([(v_dot, params["index"], tuple(primals[2:]))], y.shape)
        return primitive(x_dot, v_dot, *primals[2:], **params)


class _SetDerivative(_UpdateDerivative):
    __slots__ = ()

    def to_x(self, y_bar: Value, index: Index, arrays: tuple) -> Value:
        return scatter_set_p(y_bar, 0, *arrays, index=index)

    def to_v(self, y_bar: Value, index: Index, arrays: tuple) -> Value:
        v_bar = index_p(y_bar, *arrays, index=index)
        if not arrays or index.unique:
            return v_bar
        return select(_stays(y_bar.shape, index, arrays), v_bar, 0)

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        x_dot, v_dot, *_ = tangents
        if x_dot is None and v_dot is None:
            return None
        x_dot = zeros_like(primals[0]) if x_dot is None else x_dot
        return primitive(x_dot, 0 if v_dot is None else v_dot, *primals[2:], **params)


def _stays(shape: tuple[int, ...], index: Index, arrays: tuple) -> Array:
    """Return which elements of the assigned value are in the result.

    If two are written to one place, one of them is lost.
    """
    selected = selected_shape(index, shape, tuple([a.shape for a in arrays]))
    numbers = np.arange(1, math.prod(selected) + 1).reshape(selected)
    return eq_p(
        index_p(scatter_set_p(np.zeros(shape, np.int64), numbers, *arrays, index=index), *arrays, index=index), numbers
    )


def _update_aval(x: Aval, v: Aval, *arrays: Aval, index: Index) -> Aval:
    # Bounds and shapes are checked here, for numbers and for abstract values alike.
    if not is_row(index, x.shape):
        selected_shape(index, x.shape, tuple([a.shape for a in arrays]))
    return x if not x.weak else Aval(x.shape, x.dtype)


scatter_add_p = Primitive(
    "scatter_add",
    operands=("x", "v", "*arrays"),
    numpy=_scatter_add_numpy,
    xla=functools.partial(update_xla, add=True),
    aval=_update_aval,
    derivative=_AddDerivative(),
    batch=update_batch,
    cost=lambda y, x, v, *arrays, **_: v.size,
    forms=Forms(new_memory=True, depends=added),
)
scatter_set_p = Primitive(
    "scatter_set",
    operands=("x", "v", "*arrays"),
    numpy=_scatter_set_numpy,
    xla=functools.partial(update_xla, add=False),
    aval=_update_aval,
    derivative=_SetDerivative(),
    batch=update_batch,
    cost=lambda y, x, v, *arrays, **_: 0,
    forms=Forms(basic=Basic.WRITE, depends=replaced),
)
scatter_add_p.positions = scatter_set_p.positions = lambda x, v, *arrays, index: [
    None,
    None,
    *slot_lengths(index, x.shape),
]


def shows_part(shape: tuple[int, ...], params: dict) -> bool:
    """Return whether NumPy gives a view: it does not for index arrays, nor for an integer on each axis."""
    entries = params["index"].entries
    if SLOT in entries:
        return False
    return len(entries) < len(shape) or any(type(entry) is not int for entry in entries)


# Assigned here because writing a part uses `scatter_set_p`, which is defined after `index_p`.
index_p.view = View(lambda x, part, index: scatter_set_p(x, part, index=index), shows_part)


def _put_diagonal(x: Value, part: Value, offset: int) -> Any:
    *stack, rows, columns = x.shape
    start, stop = flat_range(rows, columns, offset)
    flat = reshape(x, (*stack, rows * columns))
    return reshape(scatter_set_p(flat, part, index=Index((Ellipsis, slice(start, stop, columns + 1)))), x.shape)


writable_diagonal_p.view = View(_put_diagonal)
