"""Views: the results that share the memory of a tensor. As in PyTorch, a view is never the tensor itself.

For other tracers, NumPy's functions return the argument itself if nothing changes, because nobody can see the
difference. A tensor can be written to, and be compared with another one of the same memory. So a function that
rearranges always returns another tensor, a function that computes returns one with its own memory, and an element is a
view, not a number.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import is_integer
from funcgrad._core.bind import Tracer
from funcgrad._core.primitive import Primitive, remember_view
from funcgrad._ops.elementwise.cast import cast_p
from funcgrad._ops.layout.broadcast import broadcast_to_p
from funcgrad._ops.layout.shape import reshape_p
from funcgrad._types import Array, IndexLike, Tensor
from funcgrad.autograd._tape.base import TensorBase, is_tensor
from funcgrad.autograd._tape.mode import recording
from funcgrad.autograd._tape.refused import pytorchs_error
from funcgrad.autograd._torch import array_of, is_torchs
from funcgrad.numpy.extend import functions, normalize_axis
from funcgrad.numpy.extend import getitem as index

# The method of all tracers.
_array_function: Callable[..., Any] = vars(Tracer)["__array_function__"]

# NumPy's functions that return views.
_VIEWS = (
    "reshape ravel transpose matrix_transpose swapaxes moveaxis rollaxis squeeze expand_dims atleast_1d atleast_2d "
    "atleast_3d broadcast_arrays diagonal diag split array_split hsplit vsplit dsplit unstack real imag flip fliplr "
    "flipud rot90 einsum"
)
_PLAIN = frozenset({int, slice, type(None), type(...)})
_NAMES = frozenset(_VIEWS.split())


def shown(x: TensorBase, primitive: Primitive, params: dict) -> Tensor:
    """Return a view."""
    y = x._owner.apply(primitive, (x,), params)
    remember_view(y, x, primitive, params)
    y._inference = x._inference
    return y


def alias(x: TensorBase) -> Tensor:
    """Return another tensor with the same memory, recorded as a view."""
    made = shown(x, reshape_p, {"shape": x.shape})
    # JAX returns the same array if nothing changes.
    return hold(made, x._value.copy()) if made._value is x._value else made


def copied(x: TensorBase) -> Tensor:
    """Return a copy, through which gradients flow."""
    made = cast_p(x, dtype=x.dtype)
    # JAX does not copy an array that does not change, but a donated step may take its memory.
    return hold(made, x._value.copy()) if made._value is x._value else made


def hold(made: TensorBase, value: Array) -> Tensor:
    """Give a new result an equal value in other memory."""
    made._value = value
    if made._node is not None:
        made._node.value_id = id(value)
    return made


def viewing(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that rearranges: if it returns its argument, return another tensor of the same memory.

    It raises PyTorch's errors for shapes and axes.
    """

    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        try:
            y = function(self, *args, **options)
        except (ValueError, IndexError) as error:
            theirs = pytorchs_error(error, (self,))
            if theirs is None:
                raise
            raise theirs from None
        return alias(self) if y is self else y

    return method


def copying(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a method that computes: if it returns its argument, return a copy."""

    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        y = function(self, *args, **options)
        return copied(self) if y is self else y

    return method


def expanded(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return a view in which axes of length 1 are repeated."""
    # If nothing is repeated, the view is writable.
    if math.prod(shape) == x.size:
        return hold(shown(x, reshape_p, {"shape": shape}), x._value.reshape(shape))
    y = shown(x, broadcast_to_p, {"shape": shape})
    return hold(y, np.broadcast_to(x._value, shape)) if type(x._value) is np.ndarray else y


def getitem(self: Tensor, key: IndexLike, /) -> Tensor:
    """Return ``x[key]``.

    An element is a view without axes, which NumPy gives for an ellipsis at the end of the index.
    """
    entries = key if type(key) is tuple else (key,)
    entries = tuple([entry if type(entry) in _PLAIN else _entry(entry) for entry in entries])
    try:
        if len(entries) >= len(self.shape) and not any(entry is Ellipsis for entry in entries):
            return index(self, (*entries, ...))
        return index(self, entries if type(key) is tuple else entries[0])
    except IndexError as error:
        if (empty := _of_nothing(self, entries)) is not None:
            return empty
        theirs = pytorchs_error(error, (self, *entries))
        if theirs is None:
            raise
        raise theirs from None


def _of_nothing(x: Tensor, entries: tuple) -> Any:
    """Return ``x[entries]`` if it has no elements; ``None`` if it has. PyTorch does not check its index arrays then."""
    if len(entries) > len(x.shape) or not all(map(_is_of_one_axis, entries)):
        return None
    lengths = zip(entries, x.shape, strict=False)
    inside = [np.zeros(np.shape(entry), int) if np.shape(entry) and n else entry for entry, n in lengths]
    try:
        y = index(x, tuple(inside))
    except IndexError:
        return None
    return None if y.size else y


def _is_of_one_axis(entry: IndexLike) -> bool:
    """Return whether an entry of an index is an integer, a slice or an array of positions."""
    positions = np.asarray(entry) if isinstance(entry, list) else entry
    return isinstance(entry, int | slice) or (hasattr(positions, "dtype") and is_integer(positions.dtype))


def _entry(entry: IndexLike) -> Any:
    """Convert a tensor of one integer to the integer, which selects a view."""
    if is_tensor(entry) and not entry.shape and is_integer(entry.dtype):
        return int(entry._value)
    return array_of(entry) if is_torchs(entry) else entry


def iterate(self: Tensor) -> Iterator[Any]:
    """Return ``iter(x)``, over the first axis. The elements are views."""
    if not self.shape:
        raise TypeError("iteration over a 0-d tensor")
    return (one_of("Unbind", i, getitem(self, i)) for i in range(self.shape[0]))


def one_of(name: str, i: int, y: TensorBase) -> TensorBase:
    """Mark one of several views that a PyTorch function returns together. None of them can be written to in place."""
    if recording.get():
        y._several = name, i
    return y


def unbind(self: Tensor, dim: int = 0) -> tuple[Any, ...]:
    """Return the parts along an axis, without it, as views."""
    if not self.shape:
        raise RuntimeError("Dimension specified as 0 but tensor has no dimensions")
    axis = normalize_axis(dim, len(self.shape))
    before = (slice(None),) * axis
    return tuple([one_of("Unbind", i, getitem(self, (*before, i))) for i in range(self.shape[axis])])


def split(self: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Any, ...]:
    """Return parts of one length along an axis, with a shorter last one, or parts of given lengths, as views."""
    if not self.shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    axis = normalize_axis(dim, len(self.shape))
    length = self.shape[axis]
    if isinstance(split_size, int):
        if split_size < 0 or (not split_size and length):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
        name = "Split"
        sizes = [min(split_size, length - i) for i in range(0, length, split_size or 1)] or [0]
    else:
        name, sizes = "SplitWithSizes", list(split_size)
        if sum(sizes) != length or min(sizes, default=0) < 0:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's size at dimension "
                f"{dim}), but got split_sizes={sizes}"
            )
    before = (slice(None),) * axis
    ends = [0, *itertools.accumulate(sizes)]
    return tuple(
        [one_of(name, i, getitem(self, (*before, slice(*pair)))) for i, pair in enumerate(itertools.pairwise(ends))]
    )


def chunk(self: Tensor, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """Return at most this many parts along an axis, of one length except for the last, as views."""
    if not self.shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    length = self.shape[normalize_axis(dim, len(self.shape))]
    # An axis of length 0 gives as many parts as asked for.
    return split(self, -(-length // chunks), dim) if length else split(self, [0] * chunks, dim)


def array_function(self: Tensor, function: Any, types: Any, args: tuple, kwargs: dict) -> Tensor:
    """Apply NumPy's protocol as for any tracer, and then fix the memory of the results."""
    ours = functions.get(function)
    if ours is None:
        return _array_function(self, function, types, args, kwargs)
    y = ours(*args, **kwargs)
    if len(args) == 1 and args[0] is self and y is not self and type(y) is type(self):
        value = y._value
        if type(value) is np.ndarray and value.base is None and value is not self._value:
            # The common case: a result with its own memory.
            return y
    if function is np.broadcast_to and is_tensor(y):
        return expanded(args[0], y.shape) if args and is_tensor(args[0]) else y
    if is_tensor(y):
        return _with_own_memory(y, function, args)
    return type(y)([_with_own_memory(one, function, args) for one in y]) if type(y) in (tuple, list) else y


def _with_own_memory(y: Tensor, function: Any, args: tuple) -> Tensor:
    """Return a result with the memory that NumPy's would have."""
    if not is_tensor(y):
        return y
    operands = list(_tensors(args))
    if function.__name__ in _NAMES:
        return alias(y) if any(y is x for x in operands) else y
    shared = any(y is x or y._value is x._value for x in operands)
    if getattr(y._value, "base", None) is not None:
        shared = shared or any(np.may_share_memory(y._value, x._value) for x in operands)
    return copied(y) if shared else y


def _tensors(args: Iterable[Any]) -> Iterator[Any]:
    for x in args:
        if is_tensor(x):
            yield x
        elif type(x) in (list, tuple):
            yield from _tensors(x)
