"""Copies: the same numbers in new memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer, active_trace
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._core.trace.place import array_like, is_number, is_place, new_place
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.depends import same
from funcgrad._ops.layout.shape import transpose
from funcgrad._types import Array, Value

copy_p = Primitive(
    "copy",
    operands=("x",),
    numpy=lambda x: x.copy() if hasattr(x, "copy") else np.asarray(x)[()],
    # Values on XLA never change, so they need no copy.
    xla=lambda lax, x: x,
    aval=lambda x: x,
    derivative=Multilinear(("x",), [lambda y_bar: y_bar]),
    batch=batch_same,
    cost=lambda y, x: 0,
    forms=Forms(basic=Basic.COPY, depends=same),
)


def copy(x: Value) -> Value:
    """Return a copy, for functions whose NumPy version returns a new array without computing.

    A number needs no copy.
    """
    if issubclass(type(x), int | float | complex) and not issubclass(type(x), np.generic):
        # NumPy returns its own number for a Python number.
        return np.asarray(x)[()]
    return x if issubclass(type(x), np.generic) else kept_here(copy_p(x))


def kept_here(y: Value) -> Value:
    """Return a new array that belongs to the running function, also if its value belongs to an outer transform."""
    trace = active_trace()
    if not isinstance(y, Tracer) or y._owner is trace or is_place(y) or is_number(y):
        return y
    return new_place(y, owned=False)


def in_one_piece(x: Value, order: str = "C") -> bool:
    """Return whether an array is contiguous in this order; an array without strides counts as contiguous in C order."""
    flags = getattr(array_like(x) if isinstance(x, Tracer) else x, "flags", None)
    if flags is None:
        return order == "C" or len(x.shape) < 2
    return flags.f_contiguous if order == "F" else flags.c_contiguous


def holder(x: np.ndarray) -> Array:
    """Return the object that owns the memory of an array."""
    while isinstance(x.base, np.ndarray):
        x = x.base
    return x if x.base is None else x.base


def unshared(results: Sequence[Any]) -> list[Any]:
    """Return the results of a program without shared memory. Merged equations can return one array several times."""
    seen: set[int] = set()
    return [_unless_seen(y, seen) if type(y) is np.ndarray else y for y in results]


def _unless_seen(y: np.ndarray, seen: set[int]) -> np.ndarray:
    if id(holder(y)) in seen:
        return y.copy()
    seen.add(id(holder(y)))
    return y


def fresh(y: Value, x: Value) -> Value:
    """Return ``y``, copied if it is ``x`` itself: NumPy returns a new array, also if the numbers are the same."""
    if y is not x:
        return y
    if not isinstance(y, Tracer) or len(y.shape) < 2:
        return copy(y)
    # The copy keeps the order of the axes in memory, as NumPy's does.
    strides = array_like(y).strides
    axes = tuple(sorted(range(len(strides)), key=lambda i: -abs(strides[i])))
    if axes == tuple(range(len(axes))):
        return copy(y)
    return transpose(copy(transpose(y, axes)), tuple(np.argsort(axes).tolist()))
