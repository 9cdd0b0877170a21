"""Arrays from lists, numbers and other arrays; conversion of dtypes; questions about dtypes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact, is_integer, is_real, result_dtype
from funcgrad._core.bind import NO_PARAMS, Tracer, bind
from funcgrad._core.numbers import require_room
from funcgrad._core.trace.place import array_like, is_number, is_place, new_place, settled, shows_part
from funcgrad._ops.elementwise.arithmetic import abs_p, pow_p, sign_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.rounding import floor_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.transcendental import log10_p
from funcgrad._ops.layout import fill
from funcgrad._ops.layout.broadcast import broadcast_to as broadcast_op
from funcgrad._ops.layout.copy import copy as copy_op
from funcgrad._ops.layout.copy import fresh, holder, in_one_piece, kept_here
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ArrayLike, DTypeLike, ShapeLike, Tensor
from funcgrad.numpy._base.concrete import innermost, known_value, no_number
from funcgrad.numpy._base.convert import as_value, promote, promote_weakly, strong
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.foreign import is_number_dtype
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._layout.shape import as_array, axes_in_order, broadcast_arrays, copied, moveaxis, to_shape

Order = Literal["C", "F", "A", "K"]

broadcast_shapes = np.broadcast_shapes
diag_indices = np.diag_indices
mask_indices = np.mask_indices
indices = np.indices
ix_ = np.ix_
tril_indices = np.tril_indices
triu_indices = np.triu_indices


def taking(y: ArrayLike) -> Array:
    """Return a newly made plain array as one that takes traced values while a transform runs."""
    if type(y) is not np.ndarray or not is_number_dtype(y.dtype):
        return y
    # If the memory belongs to another array, other code may read it, so the first write copies it.
    return new_place(y, owned=y.base is None)


@implements(np.astype)
def astype(x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = True, device: None = None) -> Array:
    """``numpy.astype``."""
    del device
    x = as_array(x)
    if isinstance(x, np.ndarray):
        return x.astype(dtype, copy=copy)
    y = cast(x, np.dtype(dtype))
    return kept_here(fresh(y, x)) if copy else y


def astype_method(
    self: Tracer, dtype: DTypeLike, order: Order = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Array:
    """``x.astype(dtype)``."""
    del subok
    if not np.can_cast(self.dtype, dtype, casting):
        raise TypeError(
            f"Cannot cast array data from {self.dtype!r} to {np.dtype(dtype)!r} according to the rule {casting!r}"
        )
    y = cast(self, np.dtype(dtype))
    if order != "K" and not in_one_piece(y, "F" if axes_in_order(y, order)[:1] != (0,) else "C"):
        return copied(y, order)
    if not copy:
        return y
    y = kept_here(copied(y, order) if y is self else y)
    return y if self.shape or is_number(self) else no_number(y)


@implements(np.copy)
def copy(a: ArrayLike, order: Order = "K", subok: bool = False) -> Tensor:
    """``numpy.copy``."""
    a = as_array(a)
    return taking(np.array(a, order=order, subok=subok)) if isinstance(a, np.ndarray) else no_number(copied(a, order))


@implements(np.full_like)
def full_like(
    a: ArrayLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    order: Order = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: None = None,
) -> Array:
    """``numpy.full_like``; a traced fill value keeps its derivative."""
    del subok, device
    a, fill_value = as_array(a), as_value(fill_value)
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    lengths = tuple(a.shape) if shape is None else to_shape(shape)
    if type(fill_value) in (int, float, complex, bool):
        if type(fill_value) is int and is_integer(dtype):
            require_room(fill_value, dtype)
        elif (type(fill_value) is float and is_integer(dtype)) or (type(fill_value) is complex and is_real(dtype)):
            fill_value = np.asarray(fill_value).astype(dtype).item()
        if lengths == a.shape and dtype == a.dtype and axes_in_order(a, order) == tuple(range(len(lengths))):
            y = fill.full_like_p(settled(a), value=fill_value)
        else:
            like = a if isinstance(a, np.ndarray) else array_like(a)
            y = np.full_like(like, fill_value, dtype, order, shape=lengths)
        return new_place(np.asarray(y) if issubclass(type(y), np.generic) else y)
    return new_place(no_number(copy_op(broadcast_op(cast(fill_value, dtype), lengths))))


@implements(np.zeros_like)
def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: Order = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: None = None,
) -> Array:
    """Return ``numpy.zeros_like``: a constant of the engine of ``a``."""
    return full_like(a, 0, dtype, order, subok, shape, device=device)


@implements(np.ones_like)
def ones_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: Order = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: None = None,
) -> Array:
    """Return ``numpy.ones_like``: a constant of the engine of ``a``."""
    return full_like(a, 1, dtype, order, subok, shape, device=device)


@implements(np.empty_like)
def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike = None,
    order: Order = "K",
    subok: bool = True,
    shape: ShapeLike | None = None,
    *,
    device: None = None,
) -> Any:
    """Return ``numpy.empty_like``, with zeros: arbitrary numbers would not be reproducible."""
    return full_like(prototype, 0, dtype, order, subok, shape, device=device)


@implements(np.linspace)
@in_numpys_mode
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike = None,
    *,
    axis: int = 0,
    device: None = None,
) -> Any:
    """Return ``numpy.linspace``, differentiable by its ends."""
    del device
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    start, stop = as_value(start), as_value(stop)
    if not is_inexact(result_dtype(start, stop)):
        start, stop = cast(strong(start), np.dtype(float)), cast(strong(stop), np.dtype(float))
    start, stop = broadcast_arrays(*promote_weakly(start, stop))
    parts = num - 1 if endpoint else num
    # NumPy computes it in this way, to the last bit: the last element is the end itself.
    step = (stop - start) / max(parts, 1)
    numbers = np.arange(num).reshape((num,) + (1,) * len(start.shape))
    y = cast(numbers, start.dtype) * step + start
    if endpoint and num > 1:
        y = select(numbers == num - 1, broadcast_op(stop, y.shape), y)
    if axis != 0:
        y = moveaxis(y, 0, axis)
    if dtype is not None:
        # For integers NumPy rounds down. A cast would round towards zero.
        y = cast(bind(floor_p, (y,), NO_PARAMS) if is_integer(np.dtype(dtype)) else y, np.dtype(dtype))
    y = taking(y)
    return (y, step if parts else np.nan) if retstep else y


@beside_numpys(np.logspace)
def logspace(  # noqa: PLR0917  (NumPy's arguments)
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike = None,
    axis: int = 0,
) -> Any:
    """``numpy.logspace``, differentiable by its ends and its base."""
    start, stop, base = as_value(start), as_value(stop), as_value(base)
    if aval_of(base).shape:
        start, stop, base = broadcast_arrays(start, stop, base)
    y = bind(pow_p, promote_weakly(base, linspace(start, stop, num, endpoint)), NO_PARAMS)
    return _as_asked(y, axis, dtype)


def _as_asked(y: ArrayLike, axis: int, dtype: DTypeLike) -> Any:
    y = y if axis == 0 else moveaxis(y, 0, axis)
    return y if dtype is None else cast(y, np.dtype(dtype))


@beside_numpys(np.geomspace)
def geomspace(
    start: ArrayLike, stop: ArrayLike, num: int = 50, endpoint: bool = True, dtype: DTypeLike = None, axis: int = 0
) -> Any:
    """Return ``numpy.geomspace``, differentiable by its ends. Between complex ends the angle changes evenly too."""
    first, last = broadcast_arrays(*promote(as_array(start) * 1.0, as_array(stop) * 1.0))
    known = [known_value(x) for x in (first, last)]
    if any(x is not None and np.any(x == 0) for x in known):
        raise ValueError("Geometric sequence cannot include zero: an end is 0. Use linspace, or leave zero out.")
    computed = np.result_type(first.dtype, np.empty((), dtype).dtype)
    first, last = cast(first, computed), cast(last, computed)
    # The first end is rotated to the positive numbers, and the result is rotated back.
    sign = first / cast(abs_p(first), computed) if computed.kind == "c" else bind(sign_p, (first,), NO_PARAMS)
    first, last = first / sign, last / sign
    ends = [bind(log10_p, (x,), NO_PARAMS) for x in (first, last)]
    y = logspace(ends[0], ends[1], num, endpoint, base=10.0)
    # The ends are the given ones, to the last bit.
    numbers = np.arange(num).reshape((num,) + (1,) * len(first.shape))
    y = select(numbers == 0, broadcast_op(first, y.shape), y)
    if num > 1 and endpoint:
        y = select(numbers == num - 1, broadcast_op(last, y.shape), y)
    return _as_asked(y * sign, axis, dtype)


@implements(np.meshgrid)
def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Any, ...]:
    """``numpy.meshgrid``."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    axes = list(range(ndim))
    if indexing == "xy" and ndim > 1:
        axes[:2] = [1, 0]
    vectors = [reshape(x, (1,) * i + x.shape + (1,) * (ndim - i - 1)) for i, x in _vectors(xi, axes)]
    arrays = vectors if sparse else broadcast_arrays(*vectors)
    return tuple([copy_op(x) for x in arrays] if copy else arrays)


def _vectors(xi: tuple, axes: list[int]) -> list[tuple[int, Any]]:
    arrays = [as_array(x) for x in xi]
    return [(i, reshape(x, (int(np.prod(x.shape)),))) for i, x in zip(axes, arrays, strict=True)]


def _untraced(x: ArrayLike) -> Any:
    return x.dtype if isinstance(x, Tracer) else x


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """``numpy.result_type``."""
    return np.result_type(*map(_untraced, arrays_and_dtypes))


@implements(np.can_cast)
def can_cast(from_: DTypeLike, to: DTypeLike, casting: Any = "safe") -> bool:
    """``numpy.can_cast``."""
    return np.can_cast(_untraced(from_), _untraced(to), casting)


@implements(np.may_share_memory)
def may_share_memory(a: ArrayLike, b: ArrayLike, /, max_work: int | None = None) -> bool:
    """``numpy.may_share_memory``."""
    del max_work
    # An array that NumPy made from a traced array, as in `rng.permutation(x)`, counts as the array itself.
    return not isinstance(a, Tracer) or not isinstance(b, Tracer) or _memory_of(a) is _memory_of(b)


def _memory_of(x: Tracer) -> Any:
    """Return an object that identifies the memory of an array."""
    while shows_part(x) and x._viewed is not None:
        x = x._viewed
    if is_place(x):
        return x._memory
    bare = innermost(x)
    return holder(bare) if isinstance(bare, np.ndarray) else x
