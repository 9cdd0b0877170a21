"""Sort, argsort, search in sorted arrays, and gather along an axis, which carries the derivative of a sort."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, is_integral
from funcgrad._core.bind import bind
from funcgrad._core.forms import NEW_MEMORY, Forms
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._core.trace.derivative import CONSTANT, Multilinear
from funcgrad._ops.elementwise.arithmetic import ordered
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.depends import gathered_along, scattered_along
from funcgrad._ops.layout.batching import batch_axes
from funcgrad._ops.layout.broadcast import batch_all, reduce_sum, with_batch
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Lax, Value

INDEX_DTYPE = np.dtype(np.int64)


@lru_cache(maxsize=1024)
def _grid(shape: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    """Return index arrays that run through every axis but one."""
    ndim = len(shape)
    return tuple(
        None if i == axis else np.arange(n).reshape((1,) * i + (n,) + (1,) * (ndim - i - 1))
        for i, n in enumerate(shape)
    )


def _along(indices: np.ndarray, shape: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    if len(shape) == 1:
        return (indices,)
    return tuple([indices if each is None else each for each in _grid(shape, axis)])


def _gather_numpy(x: Array, indices: Array, *, axis: int, unique: bool) -> Array:
    if x.ndim == 1:
        # Two thirds of the time of ``x[indices]``: 187 us against 279 us for 300,000 elements.
        return x.take(indices)
    return x[_along(indices, x.shape, axis)]


def _gather_xla(lax: Lax, x: Array, indices: Array, *, axis: int, unique: bool) -> Array:
    if not x.shape[axis]:
        return lax.full(indices.shape, 0, x.dtype)
    others = tuple(i for i in range(x.ndim) if i != axis)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(axis,),
        start_index_map=(axis,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
    )
    starts = _wrapped(lax, indices, x.shape[axis])
    return lax.gather(x, starts, numbers, (1,) * x.ndim, unique_indices=unique, mode="clip")


def _wrapped(lax: Lax, indices: Value, n: int) -> Value:
    """Return indices counted from the start, with the axis of index components that ``lax`` needs."""
    zero, length = lax.full_like(indices, 0), lax.full_like(indices, n)
    wrapped = lax.select(lax.lt(indices, zero), lax.add(indices, length), indices)
    return lax.expand_dims(wrapped, (indices.ndim,))


def _gather_transpose(y_bar: Value, indices: Value, x_aval: Aval, axis: int, unique: bool) -> Any:
    return scatter_along_axis(y_bar, indices, axis, x_aval.shape[axis], unique=unique)


gather_along_axis_p = CompoundPrimitive(
    "gather_along_axis",
    operands=("x", "indices"),
    numpy=_gather_numpy,
    xla=_gather_xla,
    aval=lambda x, indices, *, axis, unique: Aval(indices.shape, x.dtype),
    derivative=Multilinear(("x", "indices"), [_gather_transpose, None]),
    batch=batch_all("axis"),
    cost=lambda y, x, indices, **_: 0,
    forms=Forms(new_memory=True, depends=gathered_along),
)


def gather_along_axis(x: Value, indices: Value, axis: int, *, unique: bool = False) -> Any:
    """Return ``y[..., i, ...] = x[..., indices[..., i, ...], ...]`` along an axis.

    ``indices`` has the shape of ``x`` except along the axis; ``unique`` says that no element is picked twice.
    """
    return gather_along_axis_p(x, indices, axis=axis, unique=unique)


def _scatter_numpy(x: Array, indices: Array, *, axis: int, length: int, unique: bool) -> np.ndarray:
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    y = np.zeros(shape, x.dtype)
    if unique:
        y[_along(indices, shape, axis)] = x
    else:
        np.add.at(y, _along(indices, shape, axis), x)
    return y


def _scatter_xla(lax: Lax, x: Array, indices: Array, *, axis: int, length: int, unique: bool) -> Array:
    zeros = lax.full((*x.shape[:axis], length, *x.shape[axis + 1 :]), 0, x.dtype)
    if not zeros.size or not x.size:
        return zeros
    others = tuple(i for i in range(x.ndim) if i != axis)
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(),
        inserted_window_dims=(axis,),
        scatter_dims_to_operand_dims=(axis,),
        operand_batching_dims=others,
        scatter_indices_batching_dims=others,
    )
    starts = _wrapped(lax, indices, length)
    return lax.scatter_add(zeros, starts, x, numbers, unique_indices=unique, mode="clip")


scatter_along_axis_p = CompoundPrimitive(
    "scatter_along_axis",
    operands=("x", "indices"),
    numpy=_scatter_numpy,
    xla=_scatter_xla,
    aval=lambda x, indices, *, axis, length, unique: Aval((*x.shape[:axis], length, *x.shape[axis + 1 :]), x.dtype),
    derivative=Multilinear(
        ("x", "indices"),
        [lambda y_bar, indices, axis, unique: gather_along_axis(y_bar, indices, axis, unique=unique), None],
    ),
    batch=batch_all("axis"),
    cost=lambda y, x, indices, **_: x.size,
    forms=Forms(new_memory=True, depends=scattered_along),
)


def scatter_along_axis(x: Value, indices: Value, axis: int, length: int, *, unique: bool = False) -> Any:
    """Return zeros of ``length`` along the axis, with each element of ``x`` added at its index."""
    return scatter_along_axis_p(x, indices, axis=axis, length=length, unique=unique)


def _keys_xla(lax: Lax, x: Array) -> list[Any]:
    """Return the keys by which NumPy sorts. A complex number with a NaN follows those without; XLA mixes them."""
    if x.dtype.kind != "c":
        return [x]
    real, imag = lax.real(x), lax.imag(x)
    zero = lax.full_like(real, 0)
    unknown = [lax.ne(part, part) for part in (real, imag)]
    parts = [lax.select(nan, zero, part) for nan, part in zip(unknown, (real, imag), strict=True)]
    return [*unknown, *parts]


def _sort_xla(lax: Lax, x: Array, *, axis: int) -> list[Any]:
    keys = _keys_xla(lax, x)
    if len(keys) == 1:
        return [lax.sort(x, dimension=axis)]
    return [lax.sort((*keys, x), dimension=axis, is_stable=True, num_keys=len(keys))[-1]]


def _argsort_xla(lax: Lax, x: Array, *, axis: int) -> Array:
    keys = _keys_xla(lax, x)
    places = lax.broadcasted_iota(lax.canonical_dtype(INDEX_DTYPE), x.shape, axis)
    return lax.sort((*keys, places), dimension=axis, is_stable=True, num_keys=len(keys))[-1]


# A stable sort breaks ties in the same way on every engine.
argsort_p = CompoundPrimitive(
    "argsort",
    operands=("x",),
    numpy=lambda x, *, axis: np.argsort(x, axis, "stable"),
    xla=_argsort_xla,
    aval=lambda x, *, axis: Aval(x.shape, INDEX_DTYPE),
    derivative=CONSTANT,
    batch=batch_axes("axis"),
    cost=lambda y, x, **_: _comparisons(x),
    forms=NEW_MEMORY,
)


def argsort(x: Value, axis: int) -> Value:
    """Return the indices that sort along an axis; equal elements keep their order."""
    return argsort_p(x, axis=axis)


def _comparisons(x: Aval) -> int:
    return x.size * max(x.size.bit_length(), 1)


class _SortDerivative:
    """The derivative of a sort. It computes and keeps the permutation, because a sort is a permutation."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        (x,), axis = primals, params["axis"]
        permutation = argsort(x, axis)
        return [gather_along_axis(x, permutation, axis, unique=True)], _unsort, (permutation, axis)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        (x,), (x_dot,), axis = primals, tangents, params["axis"]
        permutation = argsort(x, axis)
        y, y_dot = (gather_along_axis(each, permutation, axis, unique=True) for each in (x, x_dot))
        return [y], [y_dot]


def _unsort(y_bars: list, permutation: Value, axis: int) -> list:
    return [scatter_along_axis(y_bars[0], permutation, axis, permutation.shape[axis], unique=True)]


sort_p = CompoundPrimitive(
    "sort",
    operands=("x",),
    numpy=lambda x, *, axis: [np.sort(x, axis)],
    xla=_sort_xla,
    aval=lambda x, *, axis: [Aval(x.shape, x.dtype)],
    derivative=_SortDerivative(),
    batch=batch_axes("axis"),
    cost=lambda y, x, **_: _comparisons(x),
    multiple_results=True,
    forms=NEW_MEMORY,
)


def sort(x: Value, axis: int) -> Any:
    """Return the elements in ascending order along an axis."""
    return sort_p(x, axis=axis)[0]


def _searchsorted_xla(lax: Lax, a: Array, v: Array, *, side: str) -> Array:
    """Search by bisection: as many steps as the length of ``a`` has bits."""
    n = a.shape[0]
    dtype = lax.canonical_dtype(INDEX_DTYPE)
    low = lax.full(v.shape, 0, dtype)
    if not n:
        return low

    def step(_: Any, bounds: tuple) -> tuple:
        low, high = bounds
        middle = lax.div(lax.add(low, high), lax.full_like(low, 2))
        right = _belongs_right(lax, _taken(lax, a, middle), v, side)
        open_ = lax.lt(low, high)
        low = lax.select(lax.bitwise_and(open_, right), lax.add(middle, lax.full_like(low, 1)), low)
        return low, lax.select(lax.bitwise_and(open_, lax.bitwise_not(right)), middle, high)

    return lax.fori_loop(0, n.bit_length(), step, (low, lax.full(v.shape, n, dtype)))[0]


def _taken(lax: Lax, a: Value, indices: Value) -> Value:
    numbers = lax.GatherDimensionNumbers(offset_dims=(), collapsed_slice_dims=(0,), start_index_map=(0,))
    return lax.gather(a, lax.expand_dims(indices, (indices.ndim,)), numbers, (1,), mode="clip")


def _belongs_right(lax: Lax, x: Value, v: Value, side: str) -> Value:
    """Return whether ``v`` belongs to the right of ``x``; NaN is the greatest of all."""
    before = ordered(lax, x, v, "lt" if side == "left" else "le")
    if is_integral(x.dtype):
        return before
    nan = lax.ne(v, v)
    return lax.bitwise_or(before, lax.bitwise_and(nan, lax.eq(x, x)) if side == "left" else nan)


def _searchsorted_batch(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> Array:
    """Search one sorted array for all values. If each element has its own, count the elements before each value."""
    a, v = operands
    if not batched[0]:
        return bind(primitive, operands, params)
    v = with_batch(v, size, batched[1])
    expanded = reshape(a, (size, *[1] * (len(v.shape) - 1), a.shape[1]))
    column = reshape(v, (*v.shape, 1))
    before = expanded < column if params["side"] == "left" else expanded <= column
    return reduce_sum(cast(before, INDEX_DTYPE), (len(v.shape),))


searchsorted_p = CompoundPrimitive(
    "searchsorted",
    operands=("a", "v"),
    numpy=lambda a, v, *, side: np.searchsorted(a, v, side),
    xla=_searchsorted_xla,
    aval=lambda a, v, *, side: Aval(v.shape, INDEX_DTYPE),
    derivative=CONSTANT,
    batch=_searchsorted_batch,
    cost=lambda y, a, v, **_: v.size * max(a.size.bit_length(), 1),
)


def searchsorted(a: Value, v: Value, side: str = "left") -> Value:
    """Return the position of each element of ``v`` in the sorted vector ``a``; both have one dtype."""
    return searchsorted_p(a, v, side=side)
