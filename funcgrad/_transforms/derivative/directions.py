"""Derivatives of an array by each element of an input, stored only where they may differ from zero."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import NUMPY_TYPES
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.batch import BatchTrace, BatchTracer
from funcgrad._ops.index.gather import scatter, slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum, reduce_sum_p, reduced_shape, with_batch
from funcgrad._ops.layout.depends import Application, Read
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import ArrayLike


class DerivativeRows(NamedTuple):
    """The derivatives of an array by the elements of an input.

    Args:
        values: ``[rows, *shape]``, the derivatives.
        inputs: ``[rows, *shape]``, the number of the input element that each derivative belongs to. An element of the
            array has each number at most once. It is -1 in a row that an element does not need; the derivative there
            is zero. ``None`` means that row ``i`` belongs to input ``i`` everywhere.
    """

    values: Any
    inputs: np.ndarray | None


class Directions:
    """The rows of one array. They are computed when they are first read, because linear operations need none."""

    __slots__ = ("_make", "_rows")

    def __init__(self, make: Callable[[], DerivativeRows]) -> None:
        self._make: Callable[[], DerivativeRows] | None = make
        self._rows: DerivativeRows | None = None

    @property
    def rows(self) -> DerivativeRows:
        if self._rows is None:
            assert self._make is not None
            self._rows, self._make = self._make(), None
        return self._rows


def own_rows(first: int, shape: tuple[int, ...], dtype: np.dtype) -> DerivativeRows:
    """Return the derivatives of an input by itself; its first element has the number ``first``."""
    return DerivativeRows(np.ones((1, *shape), dtype), np.arange(first, first + math.prod(shape)).reshape(1, *shape))


def dense(rows: DerivativeRows, total: int) -> DerivativeRows:
    """Return the same derivatives with a row for each of ``total`` input elements."""
    if rows.inputs is None:
        return rows
    return DerivativeRows(
        _placed(rows.values, rows.inputs, _numbers(rows.inputs.shape[1:]), (total, *rows.inputs.shape[1:])), None
    )


def summed(rows: DerivativeRows, total: int, axes: tuple[int, ...], keepdims: bool) -> DerivativeRows:
    """Return the derivatives of a sum; an array of all inputs by all terms is not made."""
    assert rows.inputs is not None
    shape = rows.inputs.shape[1:]
    places = np.broadcast_to(_numbers(reduced_shape(shape, axes, True)), shape)
    result = (total, *reduced_shape(shape, axes, keepdims))
    return DerivativeRows(_placed(rows.values, rows.inputs, places, result), None)


def squares(rows: DerivativeRows) -> Any:
    """Return the sum over all inputs of the squared derivatives."""
    return reduce_sum(rows.values * rows.values, (0,))


def aligned(parts: Sequence[DerivativeRows], shape: tuple[int, ...], total: int) -> list[DerivativeRows]:
    """Return the derivatives of several arrays, broadcast to one shape, with one pattern of inputs."""
    if any(rows.inputs is None for rows in parts):
        return [spread(dense(rows, total), shape) for rows in parts]
    whole = [spread(rows, shape) for rows in parts]
    patterns = [rows.inputs for rows in whole if rows.inputs is not None]
    if all(pattern is patterns[0] or np.array_equal(pattern, patterns[0]) for pattern in patterns):
        return whole
    union, slots = _united(patterns, total)
    if union is None:
        return [dense(rows, total) for rows in whole]
    places = _numbers(shape)
    return [
        DerivativeRows(_placed(rows.values, slot, places, union.shape), union)
        for rows, slot in zip(whole, slots, strict=True)
    ]


def _united(patterns: Sequence[np.ndarray], total: int) -> tuple[np.ndarray | None, list[np.ndarray]]:
    """Return the union of patterns, and the row in it of each derivative; no union if all inputs take part."""
    stacked = np.concatenate(patterns)
    known = np.where(stacked < 0, total, stacked)
    order = np.argsort(known, 0, kind="stable")
    ranked = np.take_along_axis(known, order, 0)
    # Equal inputs of one element share a row. The rows are counted for each element.
    rows = np.cumsum(np.diff(ranked, axis=0, prepend=-1) != 0, 0) - 1
    count = int(np.max(np.where(ranked < total, rows + 1, 0), initial=0))
    if count >= total:
        return None, []
    slots = np.empty_like(stacked)
    np.put_along_axis(slots, order, np.where(ranked < total, rows, -1), 0)
    union = np.full((count + 1, *stacked.shape[1:]), -1)
    np.put_along_axis(union, np.where(slots < 0, count, slots), stacked, 0)
    ends = np.cumsum([len(pattern) for pattern in patterns])[:-1]
    return union[:count], np.split(slots, ends)


def spread(rows: DerivativeRows, shape: tuple[int, ...]) -> DerivativeRows:
    """Return the derivatives of an array that was broadcast to a shape."""
    count, *own = rows.values.shape
    if tuple(own) == shape:
        return rows
    wide = (count, *[1] * (len(shape) - len(own)), *own)
    inputs = None if rows.inputs is None else np.broadcast_to(rows.inputs.reshape(wide), (count, *shape))
    return DerivativeRows(broadcast_to(reshape(rows.values, wide), (count, *shape)), inputs)


def _numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(math.prod(shape)).reshape(shape)


def _placed(values: ArrayLike, rows: np.ndarray, elements: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Return zeros of a shape, with the values added to these rows and elements. Values of row -1 are left out."""
    count, size = shape[0], math.prod(shape[1:])
    # Values of row -1 go to one more row, which is cut off.
    places = (np.where(rows < 0, count, rows) * size + elements).reshape(-1)
    flat = scatter([(reshape(values, (rows.size,)), Index((SLOT,)), (places,))], ((count + 1) * size,))
    return reshape(slice_axis(flat, 0, 0, count * size), shape)


def arranged(
    primitive: Primitive,
    primals: Sequence[Any],
    active: Sequence[int],
    parts: Sequence[DerivativeRows],
    *,
    avals: Sequence[Aval],
    params: dict,
    total: int,
) -> tuple[list[DerivativeRows], list[np.ndarray | None]]:
    """Return the derivatives of the active operands as a linear operation takes them, and the inputs of its results.

    An elementwise operation keeps the inputs of an element. Inputs of elements that only move are moved with them. For
    other operations each row is one input.
    """
    if primitive.elementwise:
        (aval,) = avals
        found = list(parts) if len(parts) == 1 else aligned(parts, aval.shape, total)
        return found, [spread(found[0], aval.shape).inputs]
    if all(rows.inputs is not None for rows in parts):
        count = max(rows.values.shape[0] for rows in parts)
        padded = [_padded(rows, count) for rows in parts]
        slots = dict(zip(active, [_Slots.of(rows) for rows in padded], strict=True))
        moved = _moved(primitive, primals, slots, avals, params, count)
        if moved is not None:
            return padded, list(moved)
    return [dense(rows, total) for rows in parts], [None] * len(avals)


def _padded(rows: DerivativeRows, count: int) -> DerivativeRows:
    """Return the same derivatives with more rows, which no element needs."""
    assert rows.inputs is not None
    have, *shape = rows.inputs.shape
    if have == count:
        return rows
    values = concatenate([rows.values, np.zeros((count - have, *shape), rows.values.dtype)], 0)
    return DerivativeRows(values, np.concatenate([rows.inputs, np.full((count - have, *shape), -1)]))


def _moved(
    primitive: Primitive,
    primals: Sequence[Any],
    slots: dict[int, _Slots],
    avals: Sequence[Aval],
    params: dict,
    count: int,
) -> list[np.ndarray] | None:
    """Return the inputs of the results of a primitive that only moves elements; ``None`` for any other."""
    rule = primitive.forms.depends
    if rule is None:
        return None
    reads = []
    for i, x in enumerate(primals):
        aval = aval_of(x)
        known = x if i not in slots and type(x) in NUMPY_TYPES else None
        constant = _Slots(np.full((count, aval.size), -1), empty=True)
        reads.append(Read(aval, known, slots.get(i, constant)))
    try:
        found = rule(Application(primitive, reads, avals, params, _refuse, _refuse))
    except _MixedError:
        return None
    return [each.inputs.reshape(count, *aval.shape) for each, aval in zip(found, avals, strict=True)]


class _MixedError(Exception):
    """An operation combines elements, and does not only move them."""


def _refuse(*_: Any) -> NoReturn:
    raise _MixedError


class _Slots:
    """The inputs of the elements of an array by rows, as a pattern (`depends.Pattern`) whose elements only move."""

    __slots__ = ("empty", "inputs")

    grouped = union = _refuse

    def __init__(self, inputs: np.ndarray, *, empty: bool = False) -> None:
        self.inputs = inputs
        # Whether it belongs to an operand that does not depend on the input.
        self.empty = empty

    @classmethod
    def of(cls, rows: DerivativeRows) -> _Slots:
        assert rows.inputs is not None
        return cls(rows.inputs.reshape(len(rows.inputs), -1))

    def take(self, places: np.ndarray) -> _Slots:
        return _Slots(np.where(places < 0, -1, self.inputs[:, places]) if self.inputs.size else self._none(places))

    def _none(self, places: np.ndarray) -> np.ndarray:
        return np.full((len(self.inputs), len(places)), -1)

    def joined(self, others: Sequence[_Slots]) -> _Slots:
        return _Slots(np.concatenate([self.inputs, *[other.inputs for other in others]], 1))

    def same(self, other: _Slots) -> bool:
        return np.array_equal(self.inputs, other.inputs)


def on_rows(f: Callable[..., Any], values: Sequence[Any]) -> Any:
    """Apply a function of arrays to each row of arrays, in one batch."""
    trace = BatchTrace(values[0].shape[0])
    with trace:
        found = f(*[trace.input(x) for x in values])
    many = isinstance(found, list)
    whole = [_whole(trace, y) for y in (found if many else [found])]
    return whole if many else whole[0]


def _whole(trace: BatchTrace, y: ArrayLike) -> Any:
    mine = type(y) is BatchTracer and y._owner is trace
    return y if y is None else y._value if mine else with_batch(y, trace.size, False)


def is_sum(primitive: Primitive) -> bool:
    """Return whether a primitive sums over axes."""
    return primitive is reduce_sum_p
