"""Functions that rearrange axes and elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.primitive import view
from funcgrad._core.trace.place import array_like, in_own_memory, is_number
from funcgrad._ops.layout import shape as ops
from funcgrad._ops.layout.broadcast import broadcast_to as broadcast_op
from funcgrad._ops.layout.copy import copy as copy_op
from funcgrad._ops.layout.copy import in_one_piece
from funcgrad._types import Array, ArrayLike, ShapeLike
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.concrete import no_number
from funcgrad.numpy._base.convert import as_value, strong
from funcgrad.numpy._base.dispatch import implements, refuse_option

Axes = int | Sequence[int]
Order = Literal["C", "F", "A", "K"]


def as_array(x: ArrayLike) -> Array:
    """Return ``x`` as a value with shape and dtype.

    Python numbers become 0-d arrays, and traced ones are no longer weak.
    """
    if isinstance(x, Tracer) and (x.shape or not x.aval.weak):
        return x
    x = as_value(x)
    return x if getattr(x, "shape", ()) else strong(x)


def _as_shown(x: ArrayLike) -> Array:
    """Return an array for a function that shows its elements in another order. A Python number becomes a new array."""
    y = as_array(x)
    return no_number(y) if isinstance(x, Tracer) and not x.shape and x.aval.weak else y


def normalize_tuple(axis: Axes, ndim: int, name: str = "axis") -> tuple[int, ...]:
    """Return the axes as distinct non-negative numbers, in the given order."""
    axes = (axis,) if isinstance(axis, int | np.integer) else tuple(axis)
    normalized = tuple([normalize_axis(operator.index(i), ndim) for i in axes])
    if len(set(normalized)) != len(normalized):
        raise ValueError(f"repeated axis in `{name}` argument")
    return normalized


def memory_order(order: Any, allowed: str = "CFAK") -> Any:
    """Return a memory order as a capital letter. NumPy also accepts small letters, and ``None`` for the default."""
    if order is None or order in tuple(allowed):
        return order
    capital = order.upper() if isinstance(order, str) else order
    if capital not in tuple(allowed):
        raise ValueError(
            f"the memory order is {order!r}; needed one of {', '.join(map(repr, allowed))}. Name one of them."
        )
    return capital


def to_shape(shape: Axes) -> tuple[int, ...]:
    """Return a shape from an integer or a sequence of integers."""
    lengths: Any = shape if isinstance(shape, Iterable) and getattr(shape, "shape", None) != () else (shape,)
    return tuple(map(operator.index, lengths))


@implements(np.reshape)
def reshape(a: ArrayLike, /, shape: Axes, order: Order = "C", *, copy: bool | None = None) -> Array:
    """Return ``numpy.reshape``. Order 'F' reads and writes with the first axis changing fastest."""
    if copy is False:
        refuse_option("reshape", "copy=False", "Leave it out: it is a view wherever it can be one.")
    if copy:
        return copy_op(reshape(a, shape, order))
    if order == "C" and isinstance(a, Tracer):
        return _reshaped(a, shape)
    order = memory_order(order, "CFA")
    a = as_array(a)
    whole = _completed(to_shape(shape), math.prod(a.shape))
    if order == "F" or (order == "A" and in_one_piece(a, "F") and not in_one_piece(a)):
        return ops.transpose(ops.reshape(_reversed(a), whole[::-1]), tuple(range(len(whole)))[::-1])
    return ops.reshape(a, whole)


def reshape_method(self: Array, *shape: Any, order: Order = "C", copy: bool | None = None) -> Array:
    """``x.reshape(2, 3)`` or ``x.reshape((2, 3))``."""
    lengths: Any = shape[0] if len(shape) == 1 else shape
    if order != "C" or copy is not None:
        return reshape(self, lengths, order, copy=copy)
    return _reshaped(self, lengths)


def _reshaped(self: Tracer, shape: ShapeLike) -> Array:
    """Reshape in the common case, straight by the trace, in half the time."""
    lengths = tuple(map(operator.index, shape)) if type(shape) is tuple else to_shape(shape)
    whole = _completed(lengths, math.prod(self.shape))
    if whole != self.shape:
        return view(self, ops.reshape_p, {"shape": whole})
    return self if whole else _as_shown(self)


def _completed(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the shape with its ``-1``, if any, computed."""
    known = math.prod(shape)
    if known == size and min(shape, default=0) >= 0:
        return shape
    unknown = [i for i, n in enumerate(shape) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    if unknown and known and size % known == 0:
        return (*shape[: unknown[0]], size // -known, *shape[unknown[0] + 1 :])
    raise ValueError(f"cannot reshape array of size {size} into shape {shape}")


def _reversed(x: ArrayLike) -> Array:
    return x if len(x.shape) < 2 else ops.transpose(x, tuple(range(len(x.shape)))[::-1])


@implements(np.ravel)
def ravel(a: ArrayLike, order: Order = "C") -> Array:
    """``numpy.ravel``."""
    a = as_array(a)
    if isinstance(a, np.ndarray):
        # NumPy copies an array that is not contiguous, and our reshape would return a view.
        return a.ravel(order)
    turned = transpose(a, axes_in_order(a, order))
    y = reshape(turned, (math.prod(a.shape),))
    if in_one_piece(turned):
        return y
    return copy_op(a) if y is a else in_own_memory(y)


def axes_in_order(a: ArrayLike, order: Order | None) -> tuple[int, ...]:
    """Return the axes from the slowest to the fastest in a memory order. 'K' is the array's own order, C by default."""
    order = memory_order(order)
    axes = tuple(range(len(a.shape)))
    # Arrays of other libraries, such as JAX's, have no strides: their order is C.
    if order == "K" and len(axes) > 1 and isinstance(a, np.ndarray | Tracer):
        strides = array_like(a).strides if isinstance(a, Tracer) else a.strides
        return tuple(sorted(axes, key=lambda i: -abs(strides[i])))
    return axes[::-1] if order == "F" or (order == "A" and in_one_piece(a, "F") and not in_one_piece(a)) else axes


def copied(a: ArrayLike, order: Order | None) -> Array:
    """Return a copy in a memory order."""
    axes = axes_in_order(a, order)
    if axes == tuple(range(len(axes))):
        return copy_op(a)
    return ops.transpose(copy_op(ops.transpose(a, axes)), tuple(np.argsort(axes).tolist()))


def copy_method(self: Array, order: Order = "C") -> Array:
    """``x.copy()``."""
    y = copied(self, order)
    return y if self.shape or is_number(self) else no_number(y)


def copy_by_module(self: Array) -> Any:
    """``copy.copy(x)``. A Python number, which cannot change, is its own copy."""
    return self if self.aval.weak else copy_method(self)


def flatten_method(self: Array, order: Order = "C") -> Any:
    """``x.flatten()``."""
    return copy_op(ravel(self, order))


@implements(np.transpose)
def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """``numpy.transpose``."""
    a = _as_shown(a)
    ndim = len(a.shape)
    if axes is None:
        return _reversed(a)
    permutation = normalize_tuple(axes, ndim, "axes")
    if len(permutation) != ndim:
        raise ValueError("axes don't match array")
    return a if permutation == tuple(range(ndim)) else ops.transpose(a, permutation)


def transpose_method(self: Array, *axes: Any) -> Any:
    """``x.transpose()``, ``x.transpose(1, 0)`` or ``x.transpose((1, 0))``."""
    if not axes or (len(axes) == 1 and axes[0] is None):
        return _reversed(self)
    return transpose(self, axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes)


permute_dims = transpose


@implements(np.matrix_transpose, np.linalg.matrix_transpose)
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Return ``numpy.matrix_transpose``: the last two axes exchanged."""
    x = as_array(x)
    if len(x.shape) < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {len(x.shape)}")
    return swapaxes(x, -1, -2)


@implements(np.swapaxes)
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """``numpy.swapaxes``."""
    a = as_array(a)
    order = list(range(len(a.shape)))
    i, j = normalize_axis(axis1, len(order)), normalize_axis(axis2, len(order))
    order[i], order[j] = order[j], order[i]
    return transpose(a, order)


@implements(np.moveaxis)
def moveaxis(a: ArrayLike, source: Axes, destination: Axes) -> Array:
    """``numpy.moveaxis``."""
    a = _as_shown(a)
    ndim = len(a.shape)
    sources = normalize_tuple(source, ndim, "source")
    destinations = normalize_tuple(destination, ndim, "destination")
    if len(sources) != len(destinations):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [i for i in range(ndim) if i not in sources]
    for to, axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(to, axis)
    return transpose(a, order)


@implements(np.rollaxis)
def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Any:
    """``numpy.rollaxis``."""
    a = as_array(a)
    ndim = len(a.shape)
    axis = normalize_axis(axis, ndim)
    if not -ndim <= start <= ndim:
        raise np.exceptions.AxisError(f"'start' arg requires {-ndim} <= start < {ndim + 1}, but {start} was passed in")
    start += ndim * (start < 0)
    return moveaxis(a, axis, start - (axis < start))


@implements(np.squeeze)
def squeeze(a: ArrayLike, axis: Axes | None = None) -> Any:
    """``numpy.squeeze``."""
    a = _as_shown(a)
    ones = tuple([i for i, n in enumerate(a.shape) if n == 1])
    axes = ones if axis is None else normalize_tuple(axis, len(a.shape))
    if any(a.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return ops.reshape(a, ops.squeezed_shape(aval_of(a), axes))


@implements(np.expand_dims)
def expand_dims(a: ArrayLike, axis: Axes) -> Array:
    """``numpy.expand_dims``."""
    a = as_array(a)
    count = 1 if isinstance(axis, int | np.integer) else len(axis)
    return ops.expand_dims(a, normalize_tuple(axis, len(a.shape) + count))


@implements(np.broadcast_to)
def broadcast_to(array: ArrayLike, shape: Axes, subok: bool = False) -> Array:
    """``numpy.broadcast_to``."""
    del subok
    array = as_array(array)
    whole = to_shape(shape)
    if type(array) is np.ndarray:
        return np.broadcast_to(array, whole)
    try:
        fits = np.broadcast_shapes(array.shape, whole) == whole
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"operands could not be broadcast together with remapped shapes [original->remapped]: {array.shape} and "
            f"requested shape {whole}"
        )
    y = broadcast_op(array, whole)
    return y if whole else no_number(y)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """``numpy.broadcast_arrays``."""
    del subok
    arrays = [as_array(x) for x in args]
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    return tuple([no_number(broadcast_to(x, shape)) for x in arrays])


def _at_least(x: ArrayLike, ndim: int) -> Any:
    x = as_array(x)
    shape = x.shape
    if len(shape) >= ndim:
        return x
    if ndim == 3 and len(shape) == 2:
        return ops.reshape(x, (*shape, 1))
    if ndim == 3 and len(shape) == 1:
        return ops.reshape(x, (1, *shape, 1))
    return ops.reshape(x, (1,) * (ndim - len(shape)) + shape)


@implements(np.atleast_1d)
def atleast_1d(*arys: ArrayLike) -> Any:
    """``numpy.atleast_1d``."""
    arrays = tuple([_at_least(x, 1) for x in arys])
    return arrays[0] if len(arrays) == 1 else arrays


@implements(np.atleast_2d)
def atleast_2d(*arys: ArrayLike) -> Any:
    """``numpy.atleast_2d``."""
    arrays = tuple([_at_least(x, 2) for x in arys])
    return arrays[0] if len(arrays) == 1 else arrays


@implements(np.atleast_3d)
def atleast_3d(*arys: ArrayLike) -> Any:
    """``numpy.atleast_3d``."""
    arrays = tuple([_at_least(x, 3) for x in arys])
    return arrays[0] if len(arrays) == 1 else arrays


@implements(np.shape)
def shape(a: ArrayLike) -> tuple[int, ...]:
    """``numpy.shape``."""
    return tuple(as_array(a).shape)


@implements(np.ndim)
def ndim(a: ArrayLike) -> int:
    """``numpy.ndim``."""
    return len(as_array(a).shape)


@implements(np.size)
def size(a: ArrayLike, axis: Axes | None = None) -> int:
    """``numpy.size``."""
    lengths = as_array(a).shape
    return math.prod(lengths if axis is None else [lengths[i] for i in normalize_tuple(axis, len(lengths))])


def t_attribute(self: Array) -> Array:
    """``x.T``."""
    return view(self, ops.transpose_p, {"permutation": (1, 0)}) if len(self.shape) == 2 else _reversed(self)
