"""NumPy's functions and methods that write into an array, for traced arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.numbers import PYTHON_NUMBERS
from funcgrad._core.trace.place import is_number, settled
from funcgrad._core.tracebacks import takes_traced
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index
from funcgrad._ops.index.plan import SLOT
from funcgrad._ops.index.write import WHOLE, check_fits, without_leading, write
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import ArrayLike
from funcgrad.errors import TracerAssignmentError
from funcgrad.numpy._base.concrete import known_value
from funcgrad.numpy._base.convert import as_value, strong
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._base.out import check_cast, check_kept
from funcgrad.numpy._choose.assign import setitem
from funcgrad.numpy._choose.flat import bounded, cycled, write_flat
from funcgrad.numpy._choose.take import along_axis
from funcgrad.numpy._math.complex import imag, real
from funcgrad.numpy._reduce.cumulative import cumsum, flat
from funcgrad.numpy._reduce.reductions import truth
from funcgrad.numpy._reduce.sorting import partition, sort


def check_target(x: ArrayLike, name: str) -> None:
    """Refuse to write into an array that takes no traced values, or into a value that is no array."""
    if not isinstance(x, Tracer):
        raise TracerAssignmentError(
            f"numpy.{name}: a traced value was to be written into an array {aval_of(as_value(x))} of plain numbers, "
            f"where it would carry no derivative. {takes_traced()}"
        )
    if is_number(x):
        raise TypeError(f"numpy.{name}: argument 1 must be an array, and is a number {x.aval}.")


@implements(np.copyto)
def copyto(dst: ArrayLike, src: ArrayLike, casting: Any = "same_kind", where: ArrayLike = True) -> None:
    """``numpy.copyto``."""
    check_target(dst, "copyto")
    src = as_value(src)
    if type(src) in PYTHON_NUMBERS or type(src) is bool:
        # NumPy decides which numbers a dtype accepts.
        number = np.empty((), dst.dtype)
        np.copyto(number, src, casting=casting)
        src = number
    else:
        check_cast(dst, src, None, (), casting, "numpy.copyto")
    src = cast(settled(src), dst.dtype)
    if where is not True:
        src = _chosen(dst, truth(where), broadcast_to(without_leading(src, dst.shape), dst.shape))
    write(dst, src, WHOLE, (), "numpy.copyto")


def _chosen(x: Tracer, mask: ArrayLike, values: ArrayLike) -> Any:
    """Return the values where a mask is true, else the elements of the array."""
    return select(broadcast_to(settled(mask), x.shape), values, broadcast_to(settled(x), x.shape))


def _prepared(x: Tracer, values: ArrayLike, name: str) -> Any:
    """Return values in the dtype of the array; refuse traced values that would lose a part."""
    values = settled(strong(values))
    check_kept(x, values, f"numpy.{name}")
    return cast(values, x.dtype)


@implements(np.put)
def put(a: ArrayLike, ind: ArrayLike, v: ArrayLike, mode: str = "raise") -> None:
    """Write values at positions in C order: ``numpy.put``."""
    check_target(a, "put")
    if not math.prod(a.shape) and math.prod(aval_of(as_value(ind)).shape):
        raise IndexError(f"put: cannot replace elements of an empty array, {aval_of(a)}. Leave the call out.")
    positions = flat(strong(bounded(ind, math.prod(a.shape), mode)))
    if positions.shape[0] and math.prod(aval_of(as_value(v)).shape):
        write_flat(a, positions, v)


@implements(np.put_along_axis)
def put_along_axis(arr: ArrayLike, indices: ArrayLike, values: ArrayLike, axis: int | None = -1) -> None:
    """``numpy.put_along_axis``."""
    check_target(arr, "put_along_axis")
    if axis is not None:
        setitem(arr, along_axis(arr, indices, axis), values)
        return
    indices = strong(indices)
    if len(indices.shape) != 1:
        raise ValueError("when axis=None, `indices` must have a single dimension.")
    values = strong(values)
    check_fits(values.shape, indices.shape)
    write_flat(arr, bounded(indices, math.prod(arr.shape), "raise"), broadcast_to(values, indices.shape))


@implements(np.putmask)
def putmask(a: ArrayLike, mask: ArrayLike, values: ArrayLike) -> None:
    """Write where a mask is true: ``numpy.putmask``. Values are repeated to the array's size, one for each element."""
    check_target(a, "putmask")
    mask = truth(mask)
    if math.prod(mask.shape) != math.prod(a.shape):
        raise ValueError("putmask: mask and data must be the same size")
    values = _prepared(a, values, "putmask")
    if math.prod(values.shape):
        values = reshape(cycled(values, math.prod(a.shape)), a.shape)
        write(a, _chosen(a, reshape(mask, a.shape), values), WHOLE, (), "numpy.putmask")


@implements(np.place)
def place(arr: ArrayLike, mask: ArrayLike, vals: ArrayLike) -> None:
    """Write values one after the other where the mask is true, repeated as needed: ``numpy.place``."""
    check_target(arr, "place")
    mask = flat(truth(mask))
    if mask.shape[0] != math.prod(arr.shape):
        raise ValueError("place: mask and data must be the same size")
    values = flat(_prepared(arr, vals, "place"))
    n = values.shape[0]
    if not n:
        known = known_value(mask)
        if known is not None and not np.any(known):
            return
        raise ValueError("Cannot insert from an empty array!")
    # The first true element takes the first value. The count before it is not used.
    turns = (cumsum(mask) - 1) % n
    chosen = reshape(index(values, (SLOT,), (turns,)), arr.shape)
    write(arr, _chosen(arr, reshape(mask, arr.shape), chosen), WHOLE, (), "numpy.place")


@implements(np.fill_diagonal)
def fill_diagonal(a: ArrayLike, val: ArrayLike, wrap: bool = False) -> None:
    """``numpy.fill_diagonal``."""
    check_target(a, "fill_diagonal")
    shape = a.shape
    if len(shape) < 2:
        raise ValueError("array must be at least 2-d")
    end = None
    if len(shape) == 2:
        step = shape[1] + 1
        end = None if wrap else shape[1] * shape[1]
    elif len(set(shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    else:
        step = 1 + sum(math.prod(shape[: i + 1]) for i in range(len(shape) - 1))
    write_flat(a, np.arange(math.prod(shape))[:end:step], val)


def fill_method(self: Tracer, value: ArrayLike) -> None:
    """``x.fill(value)``."""
    value = as_value(value)
    if aval_of(value).shape:
        raise ValueError("setting an array element with a sequence.")
    setitem(self, Ellipsis, value)


def sort_method(self: Tracer, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    """``x.sort()``, in place."""
    check_target(self, "ndarray.sort")
    setitem(self, Ellipsis, sort(settled(self), axis, kind, order, stable=stable))


def partition_method(self: Tracer, kth: ArrayLike, axis: int = -1, kind: Any = None, order: Any = None) -> None:
    """``x.partition(kth)``, in place."""
    check_target(self, "ndarray.partition")
    setitem(self, Ellipsis, partition(settled(self), kth, axis, kind, order))


def set_real(self: Tracer, value: ArrayLike) -> None:
    """``x.real = v``."""
    setitem(real(self), Ellipsis, value)


def set_imag(self: Tracer, value: ArrayLike) -> None:
    """``x.imag = v``."""
    if self.dtype.kind != "c":
        raise TypeError("array does not have imaginary part to set")
    setitem(imag(self), Ellipsis, value)


def set_flat(self: Tracer, value: ArrayLike) -> None:
    """Assign ``x.flat = v``: the values one after the other, repeated as needed."""
    write_flat(self, np.arange(math.prod(self.shape)), value)


def refused_method(name: str, remedy: str) -> Callable[..., NoReturn]:
    """Return a method that refuses a change which a traced array cannot make."""

    def method(self: Tracer, *_: Any, **__: Any) -> NoReturn:
        raise TracerAssignmentError(f"x.{name}: it changes a traced array {self.aval} in place. {remedy}")

    method.__name__, method.__doc__ = name, f"Refused for traced arrays. {remedy}"
    return method
