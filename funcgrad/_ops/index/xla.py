"""NumPy's indexing rules in ``jax.lax``: static parts by slice and pad, index arrays by gather and scatter."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad._ops.index.plan import Index, ResolvedIndex, resolve
from funcgrad._types import Array, Lax, Value

Piece = tuple[Any, Index, tuple]


def index_xla(lax: Lax, x: Array, *arrays: Array, index: Index) -> Array:
    """Return ``x[index]``."""
    plan = resolve(index, x.shape, tuple([a.shape for a in arrays]))
    y = _cut(lax, x, plan)
    if arrays:
        y = _gather(lax, y, plan, arrays, index.unique)
    return _reshape(lax, y, plan.shape)


def update_xla(lax: Lax, x: Array, v: Array, *arrays: Array, index: Index, add: bool, in_place: bool = False) -> Array:
    """Return ``x.at[index].add(v)`` or ``.set(v)``; ``v`` has the shape of ``x[index]`` or is one number.

    ``in_place`` says whether XLA may fuse the computation of ``v`` with the write.
    """
    if add and x.dtype == bool:
        # XLA cannot add booleans. A sum of 0 and 1 is nonzero if one of them is true.
        counts = [lax.convert_element_type(each, np.int32) for each in (x, v)]
        return lax.ne(update_xla(lax, *counts, *arrays, index=index, add=True), lax.full_like(x, 0, np.int32))
    plan = resolve(index, x.shape, tuple([a.shape for a in arrays]))
    # Rolling writes NumPy's numbers where the program writes an array of equal elements.
    is_number = not hasattr(v, "dtype") or (v.shape == () and math.prod(plan.gathered) != 1)
    # Equal numbers may be written in any order.
    ordered = not add and not index.unique and not is_number
    v = lax.full(plan.gathered, v, x.dtype) if is_number else _reshape(lax, v, plan.gathered)
    if arrays:
        write = _set_in_order if ordered else _scatter
        part = write(lax, _cut(lax, x, plan), v, plan, arrays, unique=index.unique, add=add)
    else:
        part = lax.add(_cut(lax, x, plan), v) if add else v
    return _paste(lax, x, part, plan, in_place=in_place or (is_number and not add))


def scatter_xla(lax: Lax, *operands: Array, shape: tuple[int, ...], indices: tuple[Index, ...]) -> Array:
    """Return the sum of pieces, each at its index among zeros: the transpose of indexing.

    Pieces that are intervals of one axis are concatenated. A loop over the rows of an array then becomes one
    concatenation instead of one update of the whole array per row.
    """
    intervals: dict[int, list[tuple[int, int, Any]]] = {}
    others: list[Piece] = []
    for v, index, arrays in pieces_of(operands, indices):
        plan = resolve(index, shape, tuple([a.shape for a in arrays]))
        axis = None if arrays else _interval_axis(plan, shape)
        if axis is None:
            others.append((v, index, arrays))
        else:
            whole = tuple(high - low for low, high in zip(plan.lows, plan.highs, strict=True))
            intervals.setdefault(axis, []).append((plan.lows[axis], plan.highs[axis], _reshape(lax, v, whole)))
    total = None
    for axis, spans in intervals.items():
        for layer in _disjoint(spans):
            part = _lay(lax, layer, axis, shape)
            total = part if total is None else lax.add(total, part)
    for v, index, arrays in others:
        if total is None:
            total = _spread(lax, v, index, arrays, shape)
        else:
            total = update_xla(lax, total, v, *arrays, index=index, add=True)
    return total


def pieces_of(operands: Sequence[Any], indices: tuple[Index, ...]) -> Iterable[Piece]:
    """Split the operands of a scatter: each value with its index and its index arrays."""
    start = 0
    for index in indices:
        stop = start + 1 + index.slots
        yield operands[start], index, tuple(operands[start + 1 : stop])
        start = stop


def _interval_axis(plan: ResolvedIndex, shape: tuple[int, ...]) -> int | None:
    """Return the axis along which a cut is an interval while it is whole along the others.

    ``None`` if there is none.
    """
    if not shape or plan.reversed_axes or any(stride != 1 for stride in plan.strides):
        return None
    partial = [i for i, n in enumerate(shape) if plan.lows[i] != 0 or plan.highs[i] != n]
    return None if len(partial) > 1 else (partial or [0])[0]


def _disjoint(spans: list[tuple[int, int, Any]]) -> list[list[tuple[int, int, Any]]]:
    """Sort the intervals into layers without overlap."""
    layers: list[list[tuple[int, int, Any]]] = []
    for span in sorted(spans, key=lambda span: span[0]):
        layer = next((layer for layer in layers if layer[-1][1] <= span[0]), None)
        if layer is None:
            layers.append([span])
        else:
            layer.append(span)
    return layers


def _lay(lax: Lax, layer: list[tuple[int, int, Any]], axis: int, shape: tuple[int, ...]) -> Array:
    """Concatenate disjoint intervals in order, with zeros in the gaps."""
    starts = [start for start, _, _ in layer]
    parts = []
    for i, (_, stop, v) in enumerate(layer):
        before = starts[0] if i == 0 else 0
        after = (starts[i + 1] if i + 1 < len(layer) else shape[axis]) - stop
        widths = [(0, 0, 0)] * len(shape)
        widths[axis] = (before, after, 0)
        parts.append(lax.pad(v, np.zeros((), v.dtype), widths) if before or after else v)
    return parts[0] if len(parts) == 1 else lax.concatenate(parts, axis)


def _spread(lax: Lax, v: Value, index: Index, arrays: tuple, shape: tuple[int, ...]) -> Value:
    """Return one piece among zeros."""
    plan = resolve(index, shape, tuple([a.shape for a in arrays]))
    part = _reshape(lax, v, plan.gathered)
    if arrays:
        zeros = lax.full(plan.base, 0, v.dtype)
        part = _scatter(lax, zeros, part, plan, arrays, unique=index.unique, add=True)
    return _uncut(lax, part, plan, shape)


def _reshape(lax: Lax, x: Value, shape: tuple[int, ...]) -> Value:
    return x if x.shape == shape else lax.reshape(x, shape)


def _cut(lax: Lax, x: Value, plan: ResolvedIndex) -> Value:
    """Apply the static part of an index: slice, reverse, drop axes."""
    if not _is_whole(plan, x.shape):
        if lax.is_traced(x) or any(stride != 1 for stride in plan.strides):
            x = lax.slice(x, plan.lows, plan.highs, plan.strides)
        else:
            # The positions are operands, so that x[0], x[1], ... of a concrete array share one compiled program.
            sizes = [high - low for low, high in zip(plan.lows, plan.highs, strict=True)]
            x = lax.dynamic_slice(x, plan.lows, sizes)
    if plan.reversed_axes:
        x = lax.rev(x, plan.reversed_axes)
    return _reshape(lax, x, plan.base)


def _is_whole(plan: ResolvedIndex, shape: tuple[int, ...]) -> bool:
    return plan.highs == shape and not any(plan.lows) and all(stride == 1 for stride in plan.strides)


def _restored(lax: Lax, part: Value, plan: ResolvedIndex) -> Value:
    """Return a cut part with its dropped axes, in ascending order."""
    lengths = iter(plan.base)
    part = _reshape(lax, part, tuple(1 if i in plan.dropped else next(lengths) for i in range(len(plan.lows))))
    return lax.rev(part, plan.reversed_axes) if plan.reversed_axes else part


def _uncut(lax: Lax, part: Value, plan: ResolvedIndex, shape: tuple[int, ...]) -> Value:
    """Return a cut part in its place among zeros."""
    part = _restored(lax, part, plan)
    if _is_whole(plan, shape):
        return part
    widths = [
        (low, n - high, stride - 1)
        for low, high, stride, n in zip(plan.lows, plan.highs, plan.strides, shape, strict=True)
    ]
    return lax.pad(part, np.zeros((), part.dtype), widths)


def _paste(lax: Lax, x: Value, part: Value, plan: ResolvedIndex, *, in_place: bool) -> Value:
    """Return ``x`` with a cut part put back."""
    if _is_whole(plan, x.shape):
        return _restored(lax, part, plan)
    if 0 in plan.base:
        return x
    if all(stride == 1 for stride in plan.strides):
        return lax.dynamic_update_slice(x, _restored(lax, part, plan), plan.lows, in_place=in_place)
    mask = np.zeros(x.shape, bool)
    mask[tuple(map(slice, plan.lows, plan.highs, plan.strides))] = True
    return lax.select(mask, _uncut(lax, part, plan, x.shape), x)


def _gather(lax: Lax, x: Value, plan: ResolvedIndex, arrays: tuple, unique: bool) -> Value:
    shape = plan.gathered
    positions, known = _positions(lax, plan, arrays)
    if 0 in shape:
        return lax.full(shape, 0, x.dtype)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=_window_axes(plan), collapsed_slice_dims=plan.array_axes, start_index_map=plan.array_axes
    )
    sizes = tuple(1 if i in plan.array_axes else n for i, n in enumerate(plan.base))
    # An index that is known only at run time cannot raise. NaN shows an error that a clamped index would hide.
    mode = "promise_in_bounds" if known else "fill"
    return lax.gather(x, positions, numbers, sizes, unique_indices=unique, mode=mode)


def _scatter(lax: Lax, x: Value, v: Value, plan: ResolvedIndex, arrays: tuple, *, unique: bool, add: bool) -> Value:
    positions, known = _positions(lax, plan, arrays)
    if 0 in plan.gathered:
        return x
    function = lax.scatter_add if add else lax.scatter
    mode = "promise_in_bounds" if known else "drop"
    return function(x, positions, v, _scatter_numbers(lax, plan), unique_indices=unique, mode=mode)


def _scatter_numbers(lax: Lax, plan: ResolvedIndex) -> Any:
    return lax.ScatterDimensionNumbers(
        update_window_dims=_window_axes(plan),
        inserted_window_dims=plan.array_axes,
        scatter_dims_to_operand_dims=plan.array_axes,
    )


def _set_in_order(lax: Lax, x: Value, v: Value, plan: ResolvedIndex, arrays: tuple, **_: bool) -> Value:
    """Write values at positions of which some may be equal: as in NumPy, the last one stays.

    XLA writes in this order on CPUs alone. On GPUs the order is random, so each value that would be overwritten gets a
    position out of bounds, where nothing is written.
    """
    positions, known = _positions(lax, plan, arrays)
    if 0 in plan.gathered:
        return x
    lengths = [plan.base[axis] for axis in plan.array_axes]
    scatter = functools.partial(lax.scatter, dimension_numbers=_scatter_numbers(lax, plan))
    write = functools.partial(scatter, mode="drop")
    if known:
        lost = _overwritten(positions, lengths)
        if not lost.any():
            return scatter(x, positions, v, mode="promise_in_bounds")
        return write(x, np.where(lost[..., None], np.array(lengths, positions.dtype), positions), v)

    def last(x: Value, positions: Value, v: Value) -> Value:
        count = len(lengths)
        numbers = lax.ScatterDimensionNumbers((), tuple(range(count)), tuple(range(count)))
        order = lax.reshape(np.arange(math.prod(plan.batch), dtype=np.int32), plan.batch)
        greatest = lax.scatter_max(lax.full(lengths, -1, np.int32), positions, order, numbers, mode="drop")
        found = lax.GatherDimensionNumbers((), tuple(range(count)), tuple(range(count)))
        stays = lax.eq(lax.gather(greatest, positions, found, (1,) * count, mode="fill", fill_value=-1), order)
        outside = lax.broadcast_in_dim(np.array(lengths, positions.dtype), positions.shape, (positions.ndim - 1,))
        shown = lax.broadcast_in_dim(stays, positions.shape, range(positions.ndim - 1))
        return write(x, lax.select(shown, positions, outside), v)

    return lax.platform_dependent(x, positions, v, cpu=write, default=last)


def _overwritten(positions: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """Return which positions occur again later."""
    numbers = np.ravel_multi_index(tuple(np.moveaxis(positions, -1, 0)), lengths).ravel()
    stays = np.unique(numbers[::-1], return_index=True)[1]
    lost = np.ones(numbers.size, bool)
    lost[numbers.size - 1 - stays] = False
    return lost.reshape(positions.shape[:-1])


def _window_axes(plan: ResolvedIndex) -> tuple[int, ...]:
    """Return the axes of a gathered result that are not those of the index arrays."""
    count = len(plan.batch)
    return tuple(i if i < plan.place else i + count for i in range(len(plan.kept)))


def _positions(lax: Lax, plan: ResolvedIndex, arrays: tuple) -> tuple[Any, bool]:
    """Return the index arrays as one, with the indexed axes as its last axis.

    The second result says whether they are known to be in bounds.
    """
    lengths = [plan.base[axis] for axis in plan.array_axes]
    dtype = np.dtype(np.int32 if max(lengths) < 2**31 else np.int64)
    known = [issubclass(type(a), np.ndarray | np.generic) for a in arrays]
    columns = [
        _checked(a, n, axis).astype(dtype) if is_known else _wrapped(lax, a, n, dtype)
        for a, n, axis, is_known in zip(arrays, lengths, plan.array_axes, known, strict=True)
    ]
    if all(known):
        return np.stack(np.broadcast_arrays(*columns), -1), True
    columns = [_column(lax, a, plan.batch) for a in columns]
    return columns[0] if len(columns) == 1 else lax.concatenate(columns, len(plan.batch)), False


def _checked(a: Value, length: int, axis: int) -> np.ndarray:
    outside = (a < -length) | (a >= length)
    if np.any(outside):
        bad = np.asarray(a)[outside].flat[0]
        raise IndexError(f"index {bad} is out of bounds for axis {axis} with size {length}")
    return np.where(a < 0, a + length, a)


def _wrapped(lax: Lax, a: Value, length: int, dtype: np.dtype) -> Value:
    """Return positions counted from the start, also for negative ones."""
    unsigned = a.dtype.kind == "u"
    a = lax.convert_element_type(a, dtype)
    if unsigned:
        return a
    return lax.select(lax.lt(a, lax.full_like(a, 0)), lax.add(a, lax.full_like(a, length)), a)


def _column(lax: Lax, a: Value, batch: tuple[int, ...]) -> Value:
    kept = [i for i, n in enumerate(a.shape, len(batch) - len(a.shape)) if n == batch[i]]
    a = lax.reshape(a, tuple(batch[i] for i in kept))
    return lax.broadcast_in_dim(a, (*batch, 1), tuple(kept))
