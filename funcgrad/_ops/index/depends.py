"""How the elements of reads and writes depend on those of their operands.

An index that the program does not fix may select any element along its axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._ops.index.plan import SLOT, Index, expand_ellipsis
from funcgrad._ops.index.xla import pieces_of
from funcgrad._ops.layout.depends import Application, Read, deposited, grouped_over, moved


def indexed(applied: Application) -> list[Any]:
    """Follow the elements of ``x[index]``."""
    x, *arrays = applied.reads
    return [_read(x, applied.params["index"], arrays)]


def looked_up(applied: Application) -> list[Any]:
    """Follow the rows of a table."""
    x, *arrays = applied.reads
    return [_read(x, Index((SLOT,)), arrays)]


def scattered(applied: Application) -> list[Any]:
    """Follow pieces that are added to zeros."""
    shape = applied.params["shape"]
    found = [
        _written(v, shape, index, arrays)
        for v, index, arrays in pieces_of(applied.reads, applied.params["indices"])
        if not v.pattern.empty
    ]
    total = found[0]
    for pattern in found[1:]:
        total = total.union(pattern)
    return [total]


def added(applied: Application) -> list[Any]:
    """Follow an array to which another is added at an index."""
    x, v, *arrays = applied.reads
    if v.pattern.empty:
        return [x.pattern]
    return [x.pattern.union(_written(v, x.aval.shape, applied.params["index"], arrays))]


def replaced(applied: Application) -> list[Any]:
    """Follow an array into which another is written at an index."""
    x, v, *arrays = applied.reads
    if any(read.value is None for read in arrays):
        return added(applied)
    numbers = applied.primitive.numpy(
        x.places, v.places + x.aval.size, *[read.value for read in arrays], **applied.params
    )
    return [x.pattern.joined([v.pattern]).take(np.ravel(numbers))]


def gathered_along(applied: Application) -> list[Any]:
    """Follow the elements that indices select along an axis."""
    x, indices = applied.reads
    if indices.value is not None:
        return moved(applied)
    axis = applied.params["axis"] % len(x.aval.shape)
    return [_anywhere(x, axis, applied.avals[0].shape)]


def scattered_along(applied: Application) -> list[Any]:
    """Follow elements that indices distribute along an axis."""
    x, indices = applied.reads
    shape = applied.avals[0].shape
    axis = applied.params["axis"] % len(shape)
    if indices.value is None:
        return [_anywhere(x, axis, shape)]
    size = math.prod(shape)
    targets = np.take_along_axis(np.arange(size).reshape(shape), indices.value, axis)
    return [deposited(x.pattern, targets.ravel(), size)]


def sparse_products(applied: Application) -> list[Any]:
    """Follow a product with a sparse matrix. Its positions are usually known."""
    values, rows, columns, _, x = applied.reads
    (aval,) = applied.avals
    turned = applied.params["turned"]
    to, of = [read.value for read in ((columns, rows) if turned else (rows, columns))]
    width = math.prod(aval.shape[1:])
    if to is None or of is None:
        of, to = [np.indices(applied.params["shape"])[i].ravel() for i in ((0, 1) if turned else (1, 0))]
        values = values._replace(pattern=values.pattern.grouped(np.arange(2) * values.aval.size, _all(values)))
        values = values._replace(pattern=values.pattern.take(np.zeros(len(to), np.intp)))
    targets = (np.asarray(to)[:, None] * width + np.arange(width)).ravel()
    found = []
    for read, places in ((x, np.asarray(of)[:, None] * width + np.arange(width)), (values, _each(len(to), width))):
        if not read.pattern.empty:
            found.append(deposited(read.pattern.take(places.ravel()), targets, aval.size))
    return [found[0] if len(found) == 1 else found[0].union(found[1])]


def _all(read: Read) -> np.ndarray:
    return np.arange(read.aval.size)


def _each(count: int, width: int) -> np.ndarray:
    return np.repeat(np.arange(count), width)


def _merged(shape: tuple[int, ...], index: Index, arrays: Sequence[Read]) -> tuple[list[int], np.ndarray, Any]:
    """Merge the axes along which an index is not known.

    Return these axes, the places of an array in which they have length 1, and the index into that array.
    """
    entries = [entry for entry in expand_ellipsis(index.entries, len(shape)) if entry is not None]
    slots = [axis for axis, entry in enumerate(entries) if entry is SLOT]
    axes = [axis for axis, read in zip(slots, arrays, strict=True) if read.value is None]
    merged = [1 if axis in axes else n for axis, n in enumerate(shape)]
    values = [np.zeros(read.aval.shape, np.intp) if read.value is None else read.value for read in arrays]
    return axes, np.arange(math.prod(merged)).reshape(merged), index.filled(tuple(values))


def _read(x: Read, index: Index, arrays: Sequence[Read]) -> Any:
    axes, places, at = _merged(x.aval.shape, index, arrays)
    pattern = grouped_over(x, axes) if axes else x.pattern
    return pattern.take(np.ravel(places[at]))


def _written(v: Read, shape: tuple[int, ...], index: Index, arrays: Sequence[Read]) -> Any:
    """Return the pattern of zeros to which ``v`` is added at an index."""
    axes, places, at = _merged(shape, index, arrays)
    targets = places[at]
    sources = np.broadcast_to(v.places, np.shape(targets))
    found = deposited(v.pattern.take(sources.ravel()), np.ravel(targets), places.size)
    return found.take(np.broadcast_to(places, shape).ravel()) if axes else found


def _anywhere(x: Read, axis: int, shape: tuple[int, ...]) -> Any:
    """Return the pattern of an array whose elements may come from all elements along an axis."""
    kept = grouped_over(x, (axis,))
    groups = np.arange(x.aval.size // max(x.aval.shape[axis], 1))
    rest = [n for i, n in enumerate(x.aval.shape) if i != axis]
    places = np.expand_dims(groups.reshape(rest), axis)
    return kept.take(np.broadcast_to(places, shape).ravel())
