"""Elements selected by index arrays, with PyTorch's names: read, written in a new tensor, and written in place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import Tracer
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.autograd._memory.history import check_in_place
from funcgrad.autograd._memory.views import getitem
from funcgrad.autograd._memory.write import check_memory, compute, plain_value, put, value_of
from funcgrad.autograd._tape.base import is_fixed, is_tensor
from funcgrad.autograd._tape.dtypes import type_name
from funcgrad.numpy.extend import At, known_value, normalize_axis, parse

Method = Callable[..., Any]
_FULL = slice(None)


class Chosen(NamedTuple):
    """A write to selected elements.

    Args:
        key: the index.
        value: the value to write or to add.
        title: PyTorch's name for the derivative.
        adds: whether the value is added, once for each time that an element is selected.
        source: the base of the value, if it is a view.
    """

    key: tuple[Any, ...]
    value: Any
    title: str
    adds: bool = False
    source: Any = None


def _array(index: Array) -> np.ndarray:
    return np.asarray(value_of(plain_value(index)))


def _along(x: Tensor, dim: int, index: Array) -> tuple[Any, ...]:
    """Return the index of the slices along an axis that an index tensor names."""
    axis, index = normalize_axis(dim, len(x.shape)), _array(index)
    if index.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if index.size and not 0 <= index.min() <= index.max() < x.shape[axis]:
        raise IndexError("index out of range in self")
    return (*(_FULL,) * axis, index)


def _grid(x: Tensor, dim: int, index: Any) -> tuple[Any, ...]:
    """Return the index ``x[..., index[i, j, ...], ...]`` along an axis."""
    axis = normalize_axis(dim, len(x.shape))
    if index.ndim != len(x.shape):
        raise RuntimeError("Index tensor must have the same number of dimensions as self tensor")
    if not isinstance(index, Tracer) and index.size and not 0 <= index.min() <= index.max() < x.shape[axis]:
        outside = index[(index < 0) | (index >= x.shape[axis])][0]
        raise RuntimeError(f"index {outside} is out of bounds for dimension {axis} with size {x.shape[axis]}")
    grid: list[Any] = list(np.indices(index.shape, sparse=True))
    grid[axis] = index
    return tuple(grid)


# PyTorch's words if the dtypes of source and tensor differ.
_OTHER_DTYPE = {
    "index_put": (
        "Index put requires the source and destination dtypes match, got {} for the destination and {} for the source."
    ),
    "index_add": "index_add_(): self ({}) and source ({}) must have the same scalar type",
    "index_reduce": "index_reduce_(): self ({}) and source ({}) must have the same scalar type",
    "index_copy": "index_copy_(): self and source expected to have the same dtype, but got (self) {} and (source) {}",
    "scatter": "scatter(): Expected self.dtype to be equal to src.dtype",
    "put": "put_(): self and source expected to have the same dtype, but got self.dtype = {} and source.dtype = {}",
}


def source_of(asked: str, x: Tensor, source: ArrayLike) -> Any:
    """Return the value to write or to add.

    A tensor of the same dtype, or any array or number, which PyTorch refuses.
    """
    source = plain_value(source)
    if is_tensor(source) and source.dtype != x.dtype:
        raise RuntimeError(_OTHER_DTYPE[asked].format(type_name(x.dtype), type_name(source.dtype)))
    return source


def _index_put(x: Tensor, indices: Array, values: Array, accumulate: bool = False) -> Chosen:
    """Write, or add, to the elements that index arrays select."""
    values = source_of("index_put", x, values)
    return Chosen(tuple([_array(index) for index in indices]), values, "IndexPutBackward0", accumulate)


def _index_add(x: Tensor, dim: int, index: Array, source: ArrayLike, *, alpha: ArrayLike = 1) -> Chosen:
    """Add slices of a tensor to the slices of this one that an index names."""
    source = source_of("index_add", x, source)
    check_slices("index_add_()", x, dim, index, source)
    added = source if type(alpha) is int and alpha == 1 else source * alpha
    return Chosen(_along(x, dim, index), added, "IndexAddBackward0", True, source)


def _index_copy(x: Tensor, dim: int, index: Array, source: ArrayLike) -> Chosen:
    """Copy slices of a tensor to the slices of this one that an index names."""
    source = source_of("index_copy", x, source)
    check_slices("index_copy_()", x, dim, index, source)
    return Chosen(_along(x, dim, index), source, "IndexCopyBackward0")


def check_slices(asked: str, x: Tensor, dim: int, index: Array, source: ArrayLike) -> None:
    """Refuse slices that would have to be repeated to fill those of a tensor, in PyTorch's words."""
    axis, count, sizes = normalize_axis(dim, len(x.shape)), _array(index).size, np.shape(source)
    along = sizes[axis] if axis < len(sizes) else 1
    if count != along:
        raise RuntimeError(
            f"{asked}: Number of indices ({count}) should be equal to source.size(dim): ({along}), for dim: {axis}"
        )
    if (sizes or len(x.shape) > 1) and (*sizes[:axis], *sizes[axis + 1 :]) != (*x.shape[:axis], *x.shape[axis + 1 :]):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(x.shape)} source.shape = {list(sizes)}"
        )


def _index_fill(x: Tensor, dim: int, index: Array, value: ArrayLike) -> Chosen:
    """Set the slices that an index names to a number."""
    return Chosen(_along(x, dim, index), value, f"IndexFillBackward{int(is_tensor(value))}")


def _scatter(x: Tensor, dim: int, index: Array, src: ArrayLike = None, *, value: ArrayLike = None) -> Chosen:
    """Write source elements, or a number, to the positions along an axis that an index names."""
    src = plain_value(value) if src is None else source_of("scatter", x, src)
    title = f"ScatterBackward{int(not is_tensor(src))}"
    return Chosen(*scattered(x, dim, index, src), title, source=src)


def _scatter_add(x: Tensor, dim: int, index: Array, src: ArrayLike) -> Chosen:
    """Add source elements to the positions along an axis that an index names."""
    src = source_of("scatter", x, src)
    return Chosen(*scattered(x, dim, index, src), "ScatterAddBackward0", True, src)


def scattered(x: Tensor, dim: int, index: Array, src: ArrayLike) -> tuple[tuple[Any, ...], Any]:
    """Return the positions along an axis that an index names, and the part of the source for them."""
    index = np.atleast_1d(_array(index))
    sizes = getattr(src, "shape", None)
    _check_scattered(x.shape, normalize_axis(dim, len(x.shape)), index.shape, sizes)
    whole = not sizes or sizes == index.shape
    return _grid(x, dim, index), src if whole else src[tuple([slice(n) for n in index.shape])]


def _check_scattered(shape: tuple[int, ...], axis: int, index: tuple[int, ...], src: tuple[int, ...] | None) -> None:
    """Refuse an index with other axes than tensor and source, or with more elements, in PyTorch's words."""
    if 0 in index:
        return
    for name, other in (("self", shape), ("src", index if src is None else src or (1,))):
        if len(index) != len(other):
            raise RuntimeError(f"Index tensor must have the same number of dimensions as {name} tensor")
    fits = all(n <= m or i == axis for i, (n, m) in enumerate(zip(index, shape, strict=True)))
    than = f" and to be no larger size than src {list(src)}" if src else ""
    if not (fits and all(n <= m for n, m in zip(index, src or index, strict=True))):
        raise RuntimeError(
            f"Expected index {list(index)} to be no larger than self {list(shape)} apart from dimension {axis}{than}"
        )


def _masked_scatter(x: Tensor, mask: ArrayLike, source: ArrayLike) -> Chosen:
    """Write the elements of a source, in order, where a mask is true."""
    source, mask = plain_value(source), np.broadcast_to(_array(mask), x.shape)
    if getattr(source, "dtype", None) is None:
        raise TypeError(
            f"masked_scatter: source is a {type(source).__name__}; needed a tensor or an array {type_name(x.dtype)}. "
            "Make it one with tensor(source)."
        )
    if source.dtype != x.dtype:
        raise RuntimeError(
            f"masked_scatter: expected self and source to have same dtypes but got {type_name(x.dtype)} and "
            f"{type_name(source.dtype)}"
        )
    count = int(np.count_nonzero(mask))
    if count > source.size:
        raise RuntimeError(
            f"masked_scatter: the mask selects {count} elements, and source has {source.size}. Pass more."
        )
    return Chosen((mask,), fnp.ravel(source)[:count], "MaskedScatterBackward0", source=source)


def _put(x: Tensor, index: Array, source: ArrayLike, accumulate: bool = False) -> Chosen:
    """Write, or add, to elements by their position in C order."""
    source, index = source_of("put", x, source), _array(index)
    if isinstance(source, type) or not hasattr(source, "size"):
        source = np.asarray(source, x.dtype)
    if source.size != index.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got source.numel() = "
            f"{source.size}, index.numel() = {index.size}"
        )
    if index.size and not -x.size <= index.min() <= index.max() < x.size:
        raise IndexError("put_(): index out of range")
    key = np.unravel_index(np.where(index < 0, index + x.size, index), x.shape)
    return Chosen(key or (...,), fnp.reshape(source, index.shape), "PutBackward0", accumulate, source)


_CHOOSERS: dict[str, Callable[..., Chosen]] = {
    "index_put": _index_put,
    "index_add": _index_add,
    "index_copy": _index_copy,
    "index_fill": _index_fill,
    "scatter": _scatter,
    "scatter_add": _scatter_add,
    "masked_scatter": _masked_scatter,
    "put": _put,
}


def _new(choose: Callable[..., Chosen]) -> Method:
    @functools.wraps(choose)
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        if not self.shape:
            return method(self.reshape(1), *args, **options).reshape()
        chosen = choose(self, *args, **options)
        at = At(self)[chosen.key]
        return at.add(chosen.value) if chosen.adds else at.set(chosen.value)

    return method


def _write(x: Tensor, chosen: Chosen, asked: str) -> Tensor:
    key, value, title, adds, source = chosen
    if not adds and not is_fixed(x._value):
        x, index, arrays = parse(x, key)
        return put(x, value, index, arrays, title, asked=asked, source=source)

    def computed(old: ArrayLike) -> Tensor:
        return At(old)[key].add(value) if adds else At(old)[key].set(value)

    others = (value if source is None else source,)
    return compute(x, computed, others, title, asked=asked, keeps=False, separate=True)


def _in_place(name: str, choose: Callable[..., Chosen]) -> Method:
    @functools.wraps(choose)
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        if not self.shape and name != "put_":
            # As in PyTorch, the tensor counts as a vector of one element.
            check_in_place(self, args, name)
            method(fnp.expand_dims(self, 0), *args, **options)
            return self
        try:
            chosen = choose(self, *args, **options)
        except (ValueError, IndexError, RuntimeError):
            # The refusal of any write to this tensor comes first.
            others = (*args, *options.values())
            check_in_place(self, others, name)
            if not is_fixed(self._value):
                check_memory(self._value, others, separate=True)
            raise
        return _write(self, chosen, name)

    return method


def _fill_diagonal_(self: Tensor, fill_value: ArrayLike, wrap: bool = False) -> Tensor:
    """Set the elements with equal indices to a number, in place; with ``wrap`` start again after each block."""
    if len(self.shape) < 2 or (len(self.shape) > 2 and len(set(self.shape)) > 1):
        raise RuntimeError(
            f"fill_diagonal_: the tensor has shape {list(self.shape)}; needed two axes or more, all of "
            "one length where there are more than two. Write to t[i, i]."
        )
    where = np.arange(self.shape[0] if wrap and len(self.shape) == 2 else min(self.shape))
    where = where[where % (self.shape[1] + 1) < self.shape[1]]
    key = (where, *[where % (self.shape[1] + 1)] * (len(self.shape) - 1))
    return _write(self, Chosen(key, fill_value, "torch::autograd::CopySlices"), "fill_diagonal_")


def _gather(self: Tensor, dim: int, index: Array, *, sparse_grad: bool = False) -> Tensor:
    """Return the elements at the positions along an axis that an index names; gradients are dense."""
    del sparse_grad
    if not self.shape:
        return fnp.broadcast_to(self, np.shape(index))
    value = value_of(plain_value(index))
    # Positions that only a compiled run knows are not checked, as in every index of a compiled function.
    traced = isinstance(value, Tracer) and known_value(value) is None
    return getitem(self, _grid(self, dim, value if traced else _array(index)))


def _index_select(self: Tensor, dim: int, index: Array) -> Tensor:
    """Return the slices along an axis that an index names."""
    return getitem(self, _along(self, dim, index))


def _masked_select(self: Tensor, mask: ArrayLike) -> Tensor:
    """Return the elements where a mask is true, as a vector."""
    x, mask = fnp.broadcast_arrays(self, _array(mask))
    return getitem(x, _array(mask))


METHODS: dict[str, Method] = {
    **{name: _new(choose) for name, choose in _CHOOSERS.items() if name != "put"},
    "gather": _gather,
    "index_select": _index_select,
    "masked_select": _masked_select,
    "take_along_dim": lambda self, indices, dim=None: fnp.take_along_axis(self, _array(indices), dim),
}
IN_PLACE: dict[str, Method] = {
    **{f"{name}_": _in_place(f"{name}_", choose) for name, choose in _CHOOSERS.items()},
    "fill_diagonal_": _fill_diagonal_,
}
