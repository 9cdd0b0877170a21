"""Functions of ``jax.lax`` that make, join, sort, reduce and reshape arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.contract.dot import dot_general as general_product
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy.extend import dtype_of, promote


def broadcast(operand: ArrayLike, sizes: Sequence[int]) -> Any:
    """``jax.lax.broadcast``: the array repeated along new axes in front."""
    return fnp.broadcast_to(operand, (*sizes, *fnp.shape(operand)))


def broadcast_in_dim(operand: ArrayLike, shape: Sequence[int], broadcast_dimensions: Sequence[int]) -> Any:
    """``jax.lax.broadcast_in_dim``: the array repeated along the axes of a shape that are not named."""
    sizes = dict(zip(broadcast_dimensions, fnp.shape(operand), strict=True))
    return fnp.broadcast_to(fnp.reshape(operand, tuple([sizes.get(k, 1) for k in range(len(shape))])), tuple(shape))


def broadcast_to_rank(x: ArrayLike, rank: int) -> Any:
    """``jax.lax.broadcast_to_rank``: the array with as many axes; new axes have length 1 and come first."""
    shape = fnp.shape(x)
    return fnp.reshape(x, (*[1] * (rank - len(shape)), *shape))


def broadcasted_iota(dtype: DTypeLike, shape: Sequence[int], dimension: int) -> Any:
    """``jax.lax.broadcasted_iota``: the numbers from 0 on along one axis of a shape."""
    sizes = [n if k == dimension else 1 for k, n in enumerate(shape)]
    return fnp.broadcast_to(fnp.arange(shape[dimension], dtype=dtype).reshape(sizes), tuple(shape))


def iota(dtype: DTypeLike, size: int) -> Any:
    """``jax.lax.iota``: the numbers from 0 on."""
    return fnp.arange(size, dtype=dtype)


def collapse(operand: ArrayLike, start_dimension: int, stop_dimension: int | None = None) -> Any:
    """``jax.lax.collapse``: several neighbouring axes as one."""
    shape = fnp.shape(operand)
    start, stop, _ = slice(start_dimension, stop_dimension).indices(len(shape))
    return fnp.reshape(operand, (*shape[:start], math.prod(shape[start:stop]), *shape[stop:]))


def concatenate(operands: Sequence[Any], dimension: int) -> Any:
    """``jax.lax.concatenate``: arrays one after the other along an axis."""
    return fnp.concatenate(operands, axis=dimension)


def expand_dims(array: ArrayLike, dimensions: Sequence[int]) -> Any:
    """``jax.lax.expand_dims``: the array with new axes of length 1."""
    return fnp.expand_dims(array, tuple(dimensions))


def full(shape: Sequence[int], fill_value: ArrayLike, dtype: DTypeLike = None) -> Any:
    """``jax.lax.full``: an array of one number."""
    return fnp.full(tuple(shape), fill_value, dtype or dtype_of(fill_value))


def full_like(x: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike = None, shape: Sequence[int] | None = None) -> Any:
    """``jax.lax.full_like``: an array of one number, of the shape and dtype of another array."""
    lengths = x.shape if shape is None else tuple(shape)
    return fnp.full(lengths, fill_value, x.dtype if dtype is None else dtype)


def pad(operand: ArrayLike, padding_value: ArrayLike, padding_config: Sequence[tuple[int, int, int]]) -> Array:
    """``jax.lax.pad``: the array with numbers around and between its elements; negative widths cut."""
    operand = fnp.asarray(operand)
    shape = tuple([n + max(n - 1, 0) * inside for n, (_, _, inside) in zip(operand.shape, padding_config, strict=True)])
    if any(inside for _, _, inside in padding_config):
        places = tuple([slice(None, None, inside + 1) for _, _, inside in padding_config])
        operand = fnp.at(fnp.full(shape, padding_value, operand.dtype))[places].set(operand)
    widths = [(max(low, 0), max(high, 0)) for low, high, _ in padding_config]
    if any(map(any, widths)):
        grown = tuple([n + low + high for n, (low, high) in zip(shape, widths, strict=True)])
        places = tuple([slice(low, low + n) for n, (low, _) in zip(shape, widths, strict=True)])
        operand = fnp.at(fnp.full(grown, padding_value, operand.dtype))[places].set(operand)
    cuts = [
        slice(max(-low, 0), n + min(high, 0)) for n, (low, high, _) in zip(operand.shape, padding_config, strict=True)
    ]
    return operand[tuple(cuts)]


def reshape(operand: ArrayLike, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None) -> Any:
    """``jax.lax.reshape``: the array in another shape, its axes reordered before if asked."""
    operand = operand if dimensions is None else fnp.transpose(operand, tuple(dimensions))
    return fnp.reshape(operand, tuple(new_sizes))


def rev(operand: ArrayLike, dimensions: Sequence[int]) -> Any:
    """``jax.lax.rev``: the array turned round along axes."""
    return fnp.flip(operand, tuple(dimensions))


def select(pred: ArrayLike, on_true: ArrayLike, on_false: ArrayLike) -> Any:
    """``jax.lax.select``: choose between the elements of two arrays."""
    return fnp.where(pred, on_true, on_false)


def select_n(which: ArrayLike, *cases: Any) -> Any:
    """``jax.lax.select_n``: choose among the elements of several arrays, by their numbers."""
    which = fnp.asarray(which)
    if len(cases) == 1:
        return cases[0]
    return fnp.choose(fnp.clip(which.astype(int), 0, len(cases) - 1), cases)


def squeeze(array: ArrayLike, dimensions: Sequence[int]) -> Any:
    """``jax.lax.squeeze``: the array without axes of length 1."""
    return fnp.squeeze(array, tuple(dimensions))


def transpose(operand: ArrayLike, permutation: Sequence[int]) -> Any:
    """``jax.lax.transpose``: the array with its axes in another order."""
    return fnp.transpose(operand, tuple(permutation))


def split(operand: ArrayLike, sizes: Sequence[int], axis: int = 0) -> Any:
    """``jax.lax.split``: parts of these lengths along an axis."""
    return fnp.split(operand, np.cumsum(sizes)[:-1].tolist(), axis)


def sort(operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1) -> Any:
    """``jax.lax.sort``: sort an array along an axis, or several arrays by the first ones."""
    del is_stable  # it always is
    if not isinstance(operand, tuple | list):
        return fnp.sort(operand, dimension)
    order = fnp.argsort(operand[0], dimension, stable=True)
    if num_keys > 1:
        order = fnp.lexsort(tuple(reversed(operand[:num_keys])), axis=dimension)
    return tuple([fnp.take_along_axis(fnp.asarray(x), order, dimension) for x in operand])


def sort_key_val(keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True) -> tuple[Any, Any]:
    """``jax.lax.sort_key_val``: sort two arrays by the first."""
    del is_stable
    return sort((keys, values), dimension)


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> tuple[Any, Any]:
    """``jax.lax.top_k``: the greatest elements along an axis, and their places; of equal ones the first come first."""
    operand = fnp.asarray(operand)
    last = operand.shape[axis] - 1
    order = last - fnp.flip(fnp.argsort(fnp.flip(operand, axis), axis, stable=True), axis)
    places = fnp.moveaxis(fnp.moveaxis(order, axis, 0)[:k], 0, axis)
    return fnp.take_along_axis(operand, places, axis), places.astype(np.int32)


def argmax(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Any:
    """``jax.lax.argmax``: the places of the greatest elements along an axis."""
    return fnp.argmax(operand, axis).astype(index_dtype)


def argmin(operand: ArrayLike, axis: int, index_dtype: DTypeLike) -> Any:
    """``jax.lax.argmin``: the places of the smallest elements along an axis."""
    return fnp.argmin(operand, axis).astype(index_dtype)


def _reduction(name: str, function: Callable[..., Any], keeps: bool = True) -> Callable[..., Any]:
    def reduce(operand: ArrayLike, axes: Sequence[int]) -> Any:
        options = {"dtype": dtype_of(operand)} if keeps else {}
        return function(operand, axis=tuple(axes), **options)

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = f"``jax.lax.{name}``: combine the elements along axes."
    return reduce


reduce_sum = _reduction("reduce_sum", fnp.sum)
reduce_prod = _reduction("reduce_prod", fnp.prod)
reduce_max = _reduction("reduce_max", fnp.max, keeps=False)
reduce_min = _reduction("reduce_min", fnp.min, keeps=False)
reduce_and = _reduction("reduce_and", fnp.all, keeps=False)
reduce_or = _reduction("reduce_or", fnp.any, keeps=False)


def reduce(
    operands: ArrayLike, init_values: ArrayLike, computation: Callable[[Any, Any], Any], dimensions: Sequence[int]
) -> Any:
    """``jax.lax.reduce``: combine the elements along axes by an associative function of two arrays."""
    x = fnp.asarray(operands)
    kept = [k for k in range(x.ndim) if k not in dimensions]
    x = fnp.transpose(x, (*dimensions, *kept)).reshape(-1, *[x.shape[k] for k in kept])
    while x.shape[0] > 1:
        half = x.shape[0] // 2
        pairs = computation(x[0 : 2 * half : 2], x[1 : 2 * half : 2])
        x = fnp.concatenate([pairs, x[2 * half :]])
    start = fnp.full(x.shape[1:], init_values, x.dtype)
    return computation(start, x[0]) if x.shape[0] else start


def _running(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(operand: ArrayLike, axis: int = 0, reverse: bool = False) -> Any:
        if not reverse:
            return function(operand, axis=axis)
        return fnp.flip(function(fnp.flip(operand, axis), axis=axis), axis)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"``jax.lax.{name}``: combine the elements along an axis, and keep each step."
    return run


cumsum = _running("cumsum", lambda x, axis: fnp.cumsum(x, axis, dtype=dtype_of(x)))
cumprod = _running("cumprod", lambda x, axis: fnp.cumprod(x, axis, dtype=dtype_of(x)))
cummax = _running("cummax", np.maximum.accumulate)
cummin = _running("cummin", np.minimum.accumulate)
cumlogsumexp = _running("cumlogsumexp", np.logaddexp.accumulate)

Axes = tuple[int, ...]


def dot(lhs: ArrayLike, rhs: ArrayLike, *, dimension_numbers: Any = None) -> Any:
    """``jax.lax.dot``: the product of matrices or vectors, or `dot_general`."""
    return fnp.dot(lhs, rhs) if dimension_numbers is None else dot_general(lhs, rhs, dimension_numbers)


def dot_general(lhs: ArrayLike, rhs: ArrayLike, dimension_numbers: Any) -> Any:
    """``jax.lax.dot_general``: sum products over pairs of axes; pairs of batch axes come first in the result."""
    contract, batch = [tuple([tuple(map(int, axes)) for axes in pair]) for pair in dimension_numbers]
    lhs, rhs = promote(lhs, rhs)
    return general_product(lhs, rhs, (contract[0], contract[1]), (batch[0], batch[1]))


def batch_matmul(lhs: ArrayLike, rhs: ArrayLike) -> Any:
    """``jax.lax.batch_matmul``: products of matrices along leading axes."""
    return fnp.matmul(lhs, rhs)


def tile(operand: ArrayLike, reps: Sequence[int]) -> Any:
    """``jax.lax.tile``: the array repeated along its axes."""
    return fnp.tile(operand, tuple(reps))


def empty(shape: Sequence[int], dtype: DTypeLike) -> Any:
    """``jax.lax.empty``: an array of zeros."""
    return fnp.zeros(tuple(shape), dtype)


def dtype(x: ArrayLike) -> np.dtype:
    """``jax.lax.dtype``: the dtype of a value."""
    return dtype_of(x)


def conj(x: ArrayLike) -> Any:
    """``jax.lax.conj``: the complex conjugate, complex for real numbers too."""
    return fnp.conj(x) if dtype_of(x).kind == "c" else fnp.conj(fnp.asarray(x) + 0j)


def broadcast_like(arr: ArrayLike, like_arr: ArrayLike) -> Any:
    """``jax.lax.broadcast_like``: the array repeated to the shape of another one."""
    return fnp.broadcast_to(arr, fnp.shape(like_arr))


def reduce_xor(operand: ArrayLike, axes: Sequence[int]) -> Any:
    """``jax.lax.reduce_xor``: combine the bits of the elements along axes by exclusive or."""
    return reduce(operand, 0, fnp.bitwise_xor, axes)
