"""Concatenate, stack and pad. The transpose of each is the indexing that takes the parts out again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import ByEdges, Edge, LinearTogether, Multilinear
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import FULL, Index
from funcgrad._ops.layout.broadcast import batch_all
from funcgrad._ops.layout.depends import joined, moved
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._types import Array, Value

Widths = tuple[tuple[int, int], ...]


class _JoinDerivative(LinearTogether, ByEdges):
    """Linear in all operands together; the cotangent of each is a part of the result's."""

    __slots__ = ()

    def active(self, nodes: Sequence[Any]) -> tuple[bool, ...]:
        return tuple([node is not None for node in nodes])

    def edges(self, primals: Sequence[Any], nodes: Sequence[Any], y: Value, params: dict) -> list[Edge]:
        indices = self.parts(primals, params["axis"])
        pairs = zip(nodes, indices, strict=True)
        return [(node, _part_cotangent, (index,)) for node, index in pairs if node is not None]

    def parts(self, primals: Any, axis: int) -> list[Index]:
        """Return the index of each operand in the result."""
        raise NotImplementedError

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Any:
        if all(x_dot is None for x_dot in tangents):
            return None
        pairs = zip(primals, tangents, strict=True)
        return primitive(*[zeros_like(x) if x_dot is None else x_dot for x, x_dot in pairs], **params)


def _part_cotangent(y_bar: Value, index: Index) -> Value:
    return index_p(y_bar, index=index)


class _ConcatenateDerivative(_JoinDerivative):
    __slots__ = ()

    def parts(self, primals: Any, axis: int) -> list[Index]:
        parts = []
        start = 0
        for x in primals:
            stop = start + x.shape[axis]
            parts.append(Index((*(FULL,) * axis, slice(start, stop))))
            start = stop
        return parts


class _StackDerivative(_JoinDerivative):
    __slots__ = ()

    def parts(self, primals: Any, axis: int) -> list[Index]:
        return [Index((*(FULL,) * axis, i)) for i in range(len(primals))]


def _concatenate_aval(*xs: Aval, axis: int) -> Aval:
    shape = list(xs[0].shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    return Aval(tuple(shape), xs[0].dtype)


concatenate_p = Primitive(
    "concatenate",
    operands=("*xs",),
    numpy=lambda *xs, axis: np.concatenate(xs, axis),
    xla=lambda lax, *xs, axis: lax.concatenate(xs, axis),
    aval=_concatenate_aval,
    derivative=_ConcatenateDerivative(),
    batch=batch_all("axis"),
    cost=lambda y, *xs, **_: 0,
    forms=Forms(basic=Basic.CONCATENATE, new_memory=True, depends=joined),
)


def concatenate(xs: Sequence[Any], axis: int) -> Array:
    """Return arrays of one dtype joined along an axis."""
    return xs[0] if len(xs) == 1 else concatenate_p(*xs, axis=axis)


@lru_cache(1024)
def _stack_aval(shape: tuple[int, ...], dtype: np.dtype, count: int, axis: int) -> Aval:
    """Return the type of a stack, the same object each time."""
    return Aval((*shape[:axis], count, *shape[axis:]), dtype)


# A primitive of its own, so that a stack of T values is one node on the tape instead of T + 1.
stack_p = Primitive(
    "stack",
    operands=("*xs",),
    numpy=lambda *xs, axis: np.stack(xs, axis),
    xla=lambda lax, *xs, axis: lax.concatenate([lax.expand_dims(x, (axis,)) for x in xs], axis),
    aval=lambda *xs, axis: _stack_aval(xs[0].shape, xs[0].dtype, len(xs), axis),
    derivative=_StackDerivative(),
    batch=batch_all("axis"),
    cost=lambda y, *xs, **_: 0,
    forms=Forms(basic=Basic.STACK, new_memory=True, depends=joined),
)


def stack(xs: Sequence[Any], axis: int) -> Array:
    """Return arrays of one shape and dtype joined along a new axis."""
    return expand_dims(xs[0], (axis,)) if len(xs) == 1 else stack_p(*xs, axis=axis)


def _pad_aval(x: Aval, *, widths: Widths) -> Aval:
    return Aval(tuple(low + n + high for n, (low, high) in zip(x.shape, widths, strict=True)), x.dtype)


def _inside(shape: tuple[int, ...], widths: Widths) -> tuple[slice, ...]:
    """Return the index of the unpadded array in the padded one."""
    return tuple(slice(low, low + n) for n, (low, _) in zip(shape, widths, strict=True))


def _pad_numpy(x: Array, *, widths: Widths) -> Array:
    y = np.zeros(tuple(low + n + high for n, (low, high) in zip(x.shape, widths, strict=True)), x.dtype)
    y[_inside(x.shape, widths)] = x
    return y


def _pad_transpose(y_bar: Value, x_aval: Aval, widths: Widths) -> Value:
    return index_p(y_bar, index=Index(_inside(x_aval.shape, widths)))


def _pad_batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Array:
    return pad(operands[0], ((0, 0), *params["widths"]))


pad_p = Primitive(
    "pad",
    operands=("x",),
    numpy=_pad_numpy,
    xla=lambda lax, x, *, widths: lax.pad(x, np.zeros((), x.dtype), [(*pair, 0) for pair in widths]),
    aval=_pad_aval,
    derivative=Multilinear(("x",), [_pad_transpose]),
    batch=_pad_batch,
    cost=lambda y, x, **_: 0,
    forms=Forms(new_memory=True, depends=moved),
)


def pad(x: Value, widths: Widths) -> Value:
    """Return the array with zeros before and after, ``(before, after)`` per axis."""
    return pad_p(x, widths=widths) if any(low or high for low, high in widths) else x
