"""Functions whose result has a number of elements that depends on values; ``size`` fixes it, as compiled code needs."""

from __future__ import annotations

from typing import Any, NamedTuple

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike


def nonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = None) -> tuple[Any, ...]:
    """``jax.numpy.nonzero``: the indices of elements that are not 0, cut or filled up to ``size``."""
    if size is None:
        return fnp.nonzero(a)
    a = fnp.atleast_1d(a)
    fills = fill_value if isinstance(fill_value, tuple) else (0 if fill_value is None else fill_value,) * a.ndim
    flat, there = _first(fnp.ravel(a) != 0, size)
    found = fnp.unravel_index(flat, a.shape)
    return tuple([fnp.where(there, index, fill) for index, fill in zip(found, fills, strict=True)])


def _first(flags: ArrayLike, size: int) -> tuple[Any, Any]:
    """Return the positions of the first ``size`` true flags, and which of these positions are there."""
    order = fnp.argsort(fnp.logical_not(flags), stable=True)[:size]
    order = fnp.concatenate([order, fnp.zeros(max(size - flags.shape[0], 0), order.dtype)])
    there = fnp.arange(size) < fnp.sum(flags)
    return fnp.where(there, order, 0), there


def flatnonzero(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = None) -> Any:
    """``jax.numpy.flatnonzero``: the indices of elements of the flattened array that are not 0."""
    return nonzero(fnp.ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = None) -> Any:
    """``jax.numpy.argwhere``: the indices of elements that are not 0, one in each row."""
    if size is None:
        return fnp.argwhere(a)
    return fnp.stack(nonzero(a, size=size, fill_value=fill_value), axis=1)


def where(
    condition: ArrayLike,
    x: ArrayLike = None,
    y: ArrayLike = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = None,
) -> Array:
    """``jax.numpy.where``: choose between two arrays, or find the true elements as `nonzero` does."""
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError("where: size and fill_value are for one argument, which finds indices. Leave them out here.")
    return fnp.where(condition, x, y)


def compress(
    condition: ArrayLike, a: ArrayLike, axis: int | None = None, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Any:
    """``jax.numpy.compress``: the slices along an axis for which the condition is true."""
    if size is None:
        return fnp.compress(condition, a, axis)
    a = fnp.ravel(a) if axis is None else fnp.moveaxis(fnp.asarray(a), axis, 0)
    flags = fnp.asarray(condition) != 0
    flat, there = _first(flags, size)
    rows = fnp.where(there.reshape(size, *[1] * (a.ndim - 1)), a[flat], fill_value)
    return fnp.moveaxis(rows, 0, 0 if axis is None else axis)


def extract(condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0) -> Any:
    """``jax.numpy.extract``: the elements for which the condition is true."""
    return compress(fnp.ravel(condition), fnp.ravel(arr), size=size, fill_value=fill_value)


class Unique(NamedTuple):
    """The distinct elements of an array, and where they are."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """The distinct elements of an array, and for each element of the array the place of its value."""

    values: Any
    inverse_indices: Any


class UniqueCounts(NamedTuple):
    """The distinct elements of an array, and how often each occurs."""

    values: Any
    counts: Any


def _sized_unique(ar: ArrayLike, size: int, fill_value: ArrayLike, axis: int | None = None) -> Unique:
    """Find distinct elements, or slices along an axis, with a fixed number of results.

    Missing ones are the smallest value, or ``fill_value``.
    """
    slices = fnp.ravel(ar) if axis is None else fnp.moveaxis(ar, axis, 0)
    count = slices.shape[0]
    rows = slices.reshape(count, -1)
    order = fnp.lexsort(rows.T[::-1]) if axis is not None else fnp.argsort(rows[:, 0], stable=True)
    ordered = rows[order]
    changes = fnp.any(ordered[1:] != ordered[:-1], axis=1)
    begins = fnp.concatenate([fnp.ones(min(1, count), bool), changes])
    # One place more than asked for says where the last run of equal elements ends.
    every, found = _first(begins, size + 1)
    ends = fnp.where(found[1:], every[1:], count)
    places, there = every[:size], found[:size]
    filled = ordered[0] if fill_value is None else fill_value
    values = fnp.where(there[:, None], ordered[places], filled).reshape(size, *slices.shape[1:])
    indices = fnp.where(there, order[places], order[0])
    rank = fnp.cumsum(begins) - 1
    inverse = fnp.at(fnp.zeros_like(rank))[order].set(rank)
    inverse = inverse.reshape(fnp.shape(ar)) if axis is None else inverse
    counts = fnp.where(there, ends - places, 0)
    values = values if axis is None else fnp.moveaxis(values, 0, axis)
    return Unique(values.astype(slices.dtype), indices, inverse, counts)


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike = None,
    sorted: bool = True,  # noqa: A002  (JAX's name)
) -> Any:
    """``jax.numpy.unique``: the distinct elements in order, cut or filled up to ``size``."""
    del sorted  # they always are
    if size is None:
        return fnp.unique(ar, return_index, return_inverse, return_counts, axis, equal_nan=equal_nan)
    found = _sized_unique(fnp.asarray(ar), size, fill_value, axis)
    asked = (True, return_index, return_inverse, return_counts)
    chosen = tuple([each for each, wanted in zip(found, asked, strict=True) if wanted])
    return chosen if len(chosen) > 1 else found.values


def unique_all(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike = None) -> Any:
    """``jax.numpy.unique_all``: distinct elements, their first places, the inverse and the counts."""
    return fnp.unique_all(x) if size is None else _sized_unique(x, size, fill_value)


def unique_counts(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike = None) -> Any:
    """``jax.numpy.unique_counts``: distinct elements, and how often each occurs."""
    if size is None:
        return fnp.unique_counts(x)
    found = _sized_unique(x, size, fill_value)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike = None) -> Any:
    """``jax.numpy.unique_inverse``: distinct elements, and the place of each element's value among them."""
    if size is None:
        return fnp.unique_inverse(x)
    found = _sized_unique(x, size, fill_value)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike = None) -> Any:
    """``jax.numpy.unique_values``: the distinct elements."""
    return unique(x, size=size, fill_value=fill_value)


def union1d(ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = None) -> Any:
    """``jax.numpy.union1d``: the distinct elements of two arrays."""
    both = fnp.concatenate([fnp.ravel(ar1), fnp.ravel(ar2)])
    return unique(both, size=size, fill_value=fill_value)


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike = None,
) -> Any:
    """``jax.numpy.setdiff1d``: the elements of the first array that are not in the second."""
    if size is None:
        return fnp.setdiff1d(ar1, ar2, assume_unique)
    ar1 = fnp.ravel(ar1)
    if not assume_unique:
        distinct = _sized_unique(ar1, ar1.shape[0], None)
        kept = fnp.logical_and(distinct.counts > 0, fnp.isin(distinct.values, ar2, invert=True))
        return compress(kept, distinct.values, size=size, fill_value=0 if fill_value is None else fill_value)
    kept = fnp.isin(ar1, ar2, invert=True)
    return compress(kept, ar1, size=size, fill_value=0 if fill_value is None else fill_value)


def bincount(x: ArrayLike, weights: ArrayLike = None, minlength: int = 0, *, length: int | None = None) -> Any:
    """``jax.numpy.bincount``: count how often each whole number occurs; numbers from ``length`` on are left out."""
    if length is None:
        return fnp.bincount(x, weights, minlength)
    x = fnp.asarray(x)
    values = fnp.ones(x.shape, int) if weights is None else fnp.asarray(weights)
    there = x < length
    counted = fnp.at(fnp.zeros(length, values.dtype))[fnp.where(there, fnp.maximum(x, 0), 0)]
    return counted.add(fnp.where(there, values, 0))


def repeat(a: ArrayLike, repeats: ArrayLike, axis: int | None = None, *, total_repeat_length: int | None = None) -> Any:
    """``jax.numpy.repeat``: repeat elements; the last is repeated, or the end is cut, up to the given length."""
    if total_repeat_length is None:
        return fnp.repeat(a, repeats, axis)
    a, axis = (fnp.ravel(a), 0) if axis is None else (fnp.asarray(a), axis)
    ends = fnp.cumsum(fnp.broadcast_to(fnp.asarray(repeats), (a.shape[axis],)))
    places = fnp.searchsorted(ends, fnp.arange(total_repeat_length), side="right")
    return fnp.take(a, fnp.minimum(places, a.shape[axis] - 1), axis=axis)


def mask_indices(n: int, mask_func: Any, k: ArrayLike = 0, *, size: int | None = None) -> Any:
    """``jax.numpy.mask_indices``: the indices of elements of a square array that a function keeps."""
    return nonzero(mask_func(fnp.ones((n, n)), k), size=size)
