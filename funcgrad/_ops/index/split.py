"""Packing: split a flat array into arrays of given shapes, and join arrays into one flat array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import Tracer, is_engine_value, is_value
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import LinearTogether
from funcgrad._engines import is_abstract
from funcgrad._ops.elementwise.arithmetic import mul_p
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.depends import moved
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Lax, Value
from funcgrad.tree import set_packing

Shapes = tuple[tuple[int, ...], ...]


def _spans(shapes: Shapes) -> list[tuple[int, int, tuple[int, ...]]]:
    spans = []
    start = 0
    for shape in shapes:
        stop = start + math.prod(shape)
        spans.append((start, stop, shape))
        start = stop
    return spans


def _split_xla(lax: Lax, x: Array, *, shapes: Shapes) -> list[Any]:
    if lax.is_traced(x):
        return [lax.reshape(lax.slice(x, (start,), (stop,)), shape) for start, stop, shape in _spans(shapes)]
    # Outside a program, static positions would compile one program for each part.
    return [
        lax.reshape(lax.dynamic_slice(x, (np.int64(start),), (stop - start,)), shape)
        for start, stop, shape in _spans(shapes)
    ]


class _SplitDerivative(LinearTogether):
    """Linear; the transpose is one concatenation."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        (x,), shapes = primals, params["shapes"]
        return primitive(x, shapes=shapes), _joined, (shapes, aval_of(x).dtype)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return primitive(*primals, **params), primitive(*tangents, **params)


def _joined(y_bars: list[Any], shapes: Shapes, dtype: np.dtype) -> list[Any]:
    parts = [np.zeros(shape, dtype) if bar is None else bar for bar, shape in zip(y_bars, shapes, strict=True)]
    return [join(parts)]


def _split_batch(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> list[Any]:
    (x,) = operands
    return [reshape(slice_axis(x, 1, start, stop), (size, *shape)) for start, stop, shape in _spans(params["shapes"])]


split_p = Primitive(
    "split",
    operands=("x",),
    numpy=lambda x, *, shapes: [x[start:stop].reshape(shape) for start, stop, shape in _spans(shapes)],
    xla=_split_xla,
    aval=lambda x, *, shapes: [Aval(shape, x.dtype) for shape in shapes],
    derivative=_SplitDerivative(),
    batch=_split_batch,
    cost=lambda y, x, **_: 0,
    multiple_results=True,
    forms=Forms(basic=Basic.SPLIT, depends=moved),
)


def split(x: Value, shapes: Shapes) -> list[Any]:
    """Return the parts of a flat array in their shapes; together they are the whole array."""
    return split_p(x, shapes=shapes)


def join(xs: Sequence[Any]) -> Any:
    """Join arrays of one dtype into one new flat array."""
    flat = concatenate([reshape(x, (math.prod(x.shape),)) for x in xs], 0)
    if len(xs) > 1 or isinstance(flat, Tracer):
        return flat
    # The argument itself may be written to or donated, so it must not be returned.
    return flat.copy() if type(flat) is np.ndarray else mul_p(flat, 1)


def _place(x: Value) -> tuple[np.dtype, Any]:
    """Return the dtype and the sharding of an array. Only arrays with equal ones can be joined."""
    return x.dtype, x.sharding if is_engine_value(x) and not is_abstract(x) else None


def _array(x: Value) -> Any:
    if not is_value(x):
        raise TypeError(
            f"tree.ravel: a leaf is a {type(x).__name__}; needed arrays or numbers. Keep other values out of the tree."
        )
    return x if hasattr(x, "shape") else np.asarray(x)


set_packing(join, split, _place, _array)
