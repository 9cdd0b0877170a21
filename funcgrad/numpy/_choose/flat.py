"""``x.flat``: reads and writes elements by their position in C order, for any memory order."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_integer
from funcgrad._core.bind import Tracer
from funcgrad._core.trace.place import settled
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import index
from funcgrad._ops.index.plan import SLOT
from funcgrad._ops.layout.copy import copy
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import ArrayLike, DTypeLike, IndexLike, ShapeLike
from funcgrad.numpy._base.concrete import innermost
from funcgrad.numpy._base.convert import as_value, strong
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._choose.assign import setitem
from funcgrad.numpy._choose.where import where
from funcgrad.numpy._layout.creation import zeros_like
from funcgrad.numpy._layout.shape import to_shape
from funcgrad.numpy._math.rounding import floor_divide, remainder


class Flat:
    """The object ``x.flat``. Reading copies elements of the array, and writing changes the array itself."""

    __slots__ = ("base", "index")

    def __init__(self, x: Tracer) -> None:
        self.base = x
        self.index = 0

    def __len__(self) -> int:
        return math.prod(self.base.shape)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return self[self.index - 1]

    def __getitem__(self, key: IndexLike) -> Any:
        return copy(self.copy()[_flat_key(key)])

    def __setitem__(self, key: IndexLike, value: ArrayLike) -> None:
        key = _flat_key(key)
        positions = key if isinstance(key, Tracer) else np.arange(len(self))[key]
        write_flat(self.base, positions, value)

    def __array__(self, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray:
        """Return an array of the elements for NumPy, each traced separately."""
        return np.asarray(self.copy(), dtype)

    def copy(self) -> Any:
        """Return the elements as an array of one axis."""
        return reshape(settled(self.base), (len(self),)) if self.base.shape else reshape(settled(self.base), (1,))


def _flat_key(key: IndexLike) -> Any:
    """Return the index in brackets, which must be one index, as in NumPy."""
    if isinstance(key, tuple):
        if len(key) != 1:
            # NumPy raises its own error here.
            np.empty(1).flat[(0,) * len(key)]
        (key,) = key or (Ellipsis,)
    if isinstance(key, list):
        key = as_value(key)
    if isinstance(key, Tracer):
        known = innermost(key)
        return known if issubclass(type(known), np.ndarray | np.generic) else key
    return key


def write_flat(x: ArrayLike, positions: ArrayLike, values: ArrayLike) -> None:
    """Write values at positions in C order. Too few values are repeated.

    Args:
        x: a traced array.
        positions: integers, within the bounds if they are known.
        values: one for each position; fewer are repeated, and surplus ones are left out.
    """
    shape = aval_of(positions).shape
    count = math.prod(shape)
    values = cycled(values, count)
    if not x.shape:
        # All positions are the only element, which keeps the last value.
        if count:
            setitem(x, (), index(values, (count - 1,)))
        return
    values = reshape(values, shape)
    setitem(x, unravelled(positions, x.shape), values)


def cycled(values: ArrayLike, n: int) -> Any:
    """Return ``n`` values: the first ``n``, or all of them repeated."""
    values = strong(values)
    flat = reshape(values, (math.prod(values.shape),))
    given = flat.shape[0]
    if given == n:
        return flat
    if not given:
        raise ValueError("Error setting single item of array.")
    return flat[:n] if given > n else index(flat, (SLOT,), (np.arange(n) % given,))


@implements(np.resize)
def resize(a: ArrayLike, new_shape: ShapeLike) -> Any:
    """Return ``numpy.resize``: the elements in C order, repeated."""
    a, shape = strong(a), to_shape(new_shape)
    if min(shape, default=0) < 0:
        raise ValueError("all elements of `new_shape` must be non-negative")
    if not math.prod(a.shape):
        return zeros_like(a, shape=shape)
    return copy(reshape(cycled(a, math.prod(shape)), shape))


def unravelled(positions: ArrayLike, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """Return the index for positions in C order."""
    if len(shape) == 1:
        return (positions,)
    if not isinstance(positions, Tracer):
        return tuple(np.unravel_index(positions, shape))
    entries = []
    for n in shape[:0:-1]:
        entries.append(remainder(positions, n))
        positions = floor_divide(positions, n)
    return (positions, *entries[::-1])


def bounded(positions: ArrayLike, size: int, mode: str) -> Any:
    """Return positions between 0 and ``size``, by NumPy's modes; refuse known positions out of bounds."""
    positions = as_value(positions)
    if 0 in aval_of(positions).shape:
        return np.zeros(0, np.intp)
    if aval_of(positions).dtype.kind == "b":
        # NumPy converts the bools to 0 and 1: they are no mask here.
        positions = cast(strong(positions), np.dtype(np.intp))
    if not is_integer(aval_of(positions).dtype):
        raise TypeError(
            f"Cannot cast array data from {aval_of(positions).dtype!r} to dtype('int64') according to the rule 'safe'"
        )
    positions = strong(positions)
    if mode == "wrap":
        return remainder(positions, size)
    if mode == "clip":
        return where(positions < 0, 0, where(positions >= size, size - 1, positions))
    if mode != "raise":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    known = innermost(positions)
    if issubclass(type(known), np.ndarray | np.generic):
        positions = np.asarray(known)
        wrong = positions[(positions < -size) | (positions >= size)]
        if wrong.size:
            raise IndexError(f"index {wrong.flat[0]} is out of bounds for axis 0 with size {size}")
    return where(positions < 0, positions + size, positions)
