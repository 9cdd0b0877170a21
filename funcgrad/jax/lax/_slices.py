"""Slices of ``jax.lax``: with fixed places, and with traced ones, which are moved into the array."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import ArrayLike


def slice(  # noqa: A001  (JAX's name)
    operand: ArrayLike, start_indices: Sequence[int], limit_indices: Sequence[int], strides: Sequence[int] | None = None
) -> Any:
    """``jax.lax.slice``: a slice along each axis."""
    steps = strides or [1] * len(start_indices)
    return fnp.asarray(operand)[tuple(map(builtins.slice, start_indices, limit_indices, steps))]


def slice_in_dim(
    operand: ArrayLike, start_index: int | None, limit_index: int | None, stride: int = 1, axis: int = 0
) -> Any:
    """``jax.lax.slice_in_dim``: a slice along one axis."""
    operand = fnp.asarray(operand)
    return operand[_at(axis % operand.ndim, builtins.slice(start_index, limit_index, stride))]


def index_in_dim(operand: ArrayLike, index: int, axis: int = 0, keepdims: bool = True) -> Any:
    """``jax.lax.index_in_dim``: one element of an axis."""
    operand = fnp.asarray(operand)
    found = operand[_at(axis % operand.ndim, index)]
    return fnp.expand_dims(found, axis % operand.ndim) if keepdims else found


def _at(axis: int, entry: Any) -> tuple:
    return (*[builtins.slice(None)] * axis, entry)


def index_take(src: ArrayLike, idxs: ArrayLike, axes: Sequence[int]) -> Any:
    """``jax.lax.index_take``: the elements at several places, in front of the axes that are left."""
    src = fnp.moveaxis(fnp.asarray(src), tuple(axes), tuple(range(len(axes))))
    return src[tuple(fnp.asarray(each) for each in idxs)]


def _inside(operand: ArrayLike, start_indices: ArrayLike, sizes: Sequence[int]) -> list[Any]:
    """Return the places where slices begin: negative ones count from the end, and all are moved into the array."""
    starts = start_indices if isinstance(start_indices, tuple | list) else list(fnp.asarray(start_indices))
    found = []
    for start, size, length in zip(map(fnp.asarray, starts), sizes, operand.shape, strict=True):
        counted = fnp.where(start < 0, start + length, start)
        found.append(fnp.clip(counted, 0, length - size).astype(np.int64))
    return found


def _places(operand: ArrayLike, start_indices: ArrayLike, sizes: Sequence[int]) -> tuple:
    """Return the index of a block: along each axis the places of its elements, or the whole axis."""
    entries = []
    starts = _inside(operand, start_indices, sizes)
    cut = [k for k, size in enumerate(sizes) if size != operand.shape[k]]
    for k, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        shape = [1] * len(cut)
        if k in cut:
            shape[cut.index(k)] = size
        entries.append((start + np.arange(size)).reshape(shape) if k in cut else builtins.slice(None))
    return tuple(entries)


def _block(name: str, operand: ArrayLike, start_indices: ArrayLike, sizes: Sequence[int]) -> tuple[Any, tuple]:
    """Return an array and the index of a block in it, axis by axis if the block is cut along several."""
    operand = fnp.asarray(operand)
    starts = len(start_indices) if isinstance(start_indices, tuple | list) else len(fnp.asarray(start_indices))
    if not len(sizes) == starts == operand.ndim:
        raise TypeError(
            f"{name}: the array has {operand.ndim} axes, start_indices {starts} entries and the block {len(sizes)} "
            "sizes. Give one start and one size for each axis."
        )
    return operand, _places(operand, start_indices, sizes)


def dynamic_slice(operand: ArrayLike, start_indices: ArrayLike, slice_sizes: Sequence[int]) -> Any:
    """``jax.lax.dynamic_slice``: a block of fixed size that begins at traced places."""
    operand, places = _block("lax.dynamic_slice", operand, start_indices, slice_sizes)
    whole = [isinstance(entry, builtins.slice) for entry in places]
    if any(whole) and not all(whole):
        # Index arrays with whole axes between them would put their axes in front.
        cut = [k for k, each in enumerate(whole) if not each]
        moved = fnp.moveaxis(operand, cut, range(len(cut)))
        return fnp.moveaxis(moved[tuple(places[k] for k in cut)], range(len(cut)), cut)
    return operand[places]


def dynamic_update_slice(operand: ArrayLike, update: ArrayLike, start_indices: ArrayLike) -> Any:
    """``jax.lax.dynamic_update_slice``: the array with a block replaced, which begins at traced places."""
    update = fnp.asarray(update)
    operand, places = _block("lax.dynamic_update_slice", operand, start_indices, update.shape)
    whole = [isinstance(entry, builtins.slice) for entry in places]
    if any(whole) and not all(whole):
        cut = [k for k, each in enumerate(whole) if not each]
        moved = fnp.at(fnp.moveaxis(operand, cut, range(len(cut))))[tuple(places[k] for k in cut)]
        return fnp.moveaxis(moved.set(fnp.moveaxis(update, cut, range(len(cut)))), range(len(cut)), cut)
    return fnp.at(operand)[places].set(update)


def _starts(operand: ArrayLike, axis: int, start_index: ArrayLike) -> list[Any]:
    return [start_index if k == axis % operand.ndim else 0 for k in range(operand.ndim)]


def dynamic_slice_in_dim(operand: ArrayLike, start_index: ArrayLike, slice_size: int, axis: int = 0) -> Any:
    """``jax.lax.dynamic_slice_in_dim``: a slice of fixed length along one axis that begins at a traced place."""
    operand = fnp.asarray(operand)
    sizes = [slice_size if k == axis % operand.ndim else n for k, n in enumerate(operand.shape)]
    return dynamic_slice(operand, _starts(operand, axis, start_index), sizes)


def dynamic_index_in_dim(operand: ArrayLike, index: ArrayLike, axis: int = 0, keepdims: bool = True) -> Any:
    """``jax.lax.dynamic_index_in_dim``: the element of an axis at a traced place."""
    found = dynamic_slice_in_dim(operand, index, 1, axis)
    return found if keepdims else fnp.squeeze(found, axis)


def dynamic_update_slice_in_dim(operand: ArrayLike, update: ArrayLike, start_index: ArrayLike, axis: int) -> Any:
    """``jax.lax.dynamic_update_slice_in_dim``: the array with a slice of one axis replaced at a traced place."""
    operand = fnp.asarray(operand)
    return dynamic_update_slice(operand, update, _starts(operand, axis, start_index))


def dynamic_update_index_in_dim(operand: ArrayLike, update: ArrayLike, index: ArrayLike, axis: int) -> Any:
    """``jax.lax.dynamic_update_index_in_dim``: the array with one element of an axis replaced at a traced place."""
    operand, update = fnp.asarray(operand), fnp.asarray(update)
    update = update if update.ndim == operand.ndim else fnp.expand_dims(update, axis)
    return dynamic_update_slice_in_dim(operand, update, index, axis)
