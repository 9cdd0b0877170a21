"""Assignment: ``x[i] = v`` and ``x += v`` on traced arrays, with NumPy's rules for shapes, dtypes and aliases."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import EllipsisType, NoneType
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.numbers import PYTHON_NUMBERS
from funcgrad._core.trace.place import is_number, is_place, settled
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.shown import ByNumbers
from funcgrad._ops.index.write import check_fits, write, write_new
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ArrayLike, IndexLike
from funcgrad.errors import TracerAssignmentError
from funcgrad.numpy._base.concrete import innermost
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.out import assign, check_kept
from funcgrad.numpy._choose.indexing import getitem, parse


def setitem(self: Tracer, key: IndexLike, value: ArrayLike, /) -> None:
    """Assign ``x[key] = value``, as NumPy does."""
    if is_place(value) and value._viewed is self and _shows(value, key):
        # The statement ``x[key] += v`` ends with this call. The value has been written already.
        return
    if not self.shape:
        _check_assignable(self)
    value = _as_assigned(self, as_value(value))
    if type(key) is int:
        write(self, value, Index((key,)))
        return
    masked = _with_mask(self, key, value)
    if masked is not None:
        write(*masked, asked="x[mask] = v")
        return
    x, index, arrays = parse(self, key)
    write(x, value, index, arrays)


def _shows(view: Any, key: IndexLike) -> bool:
    """Return whether a view was taken by this key, or by the same traced integers."""
    step = view._viewed_by
    entries = key if type(key) is tuple else (key,)
    if isinstance(step, ByNumbers):
        found, numbers = step.index.entries, iter(step.arrays)
        return len(entries) == len(found) and all(
            settled(entry) is next(numbers) if own is SLOT else entry is own
            for entry, own in zip(entries, found, strict=True)
        )
    found = view._viewed_at["index"].entries if step is index_p else ()
    return len(entries) == len(found) and all(entry is own for entry, own in zip(entries, found, strict=True))


def _check_assignable(x: Tracer) -> None:
    """Refuse a number: NumPy's numbers cannot be assigned into."""
    if is_number(x):
        raise TypeError(f"'{x.dtype.name}' object does not support item assignment")


def _as_assigned(x: Tracer, value: ArrayLike) -> Array:
    """Return a value in the dtype of the array that it is written to; refuse a traced one that would lose a part."""
    dtype = x.dtype
    if type(value) in PYTHON_NUMBERS or type(value) is bool:
        return dtype.type(value)
    source = value.dtype
    if source is dtype or source == dtype:
        return value
    value = settled(value)
    check_kept(x, value, "x[i] = v")
    return cast(value, dtype)


def _with_mask(x: Tracer, key: IndexLike, value: ArrayLike) -> tuple[Any, Any] | None:
    """Return the values to write and the part of ``x``, for a mask with unknown numbers, alone or among slices.

    The selection of such a mask has no known shape, but can be written to. Where the trace follows the numbers of a
    call, and the selection's shape is needed, return ``None``: the positions of the mask are an index then.
    """
    entries = key if type(key) is tuple else (key,)
    found = [i for i, entry in enumerate(entries) if isinstance(entry, Tracer) and _is_traced_mask(entry)]
    if not found:
        return None
    i = found[0]
    beside = entries[:i] + entries[i + 1 :]
    follows = all(innermost(entries[j])._owner.follows for j in found)
    if len(found) > 1 or not all(type(entry) in _BASIC for entry in beside) or _separated(entries, i):
        if follows:
            return None
        raise TracerAssignmentError(
            "x[..., mask, ...] = v: the mask is traced, so the number of elements that it selects is not known, and "
            "the index has other index arrays, or an integer that is not next to the mask. Write x[...] = "
            "np.where(mask, values, x)."
        )
    mask = settled(entries[i])
    rank = len(mask.shape)
    part = x if len(entries) == 1 else getitem(x, (*entries[:i], *[slice(None)] * rank, *entries[i + 1 :]))
    axis = sum(entry is None or type(entry) is slice for entry in entries[:i])
    if Ellipsis in entries[:i]:
        axis = len(part.shape) - rank - sum(entry is None or type(entry) is slice for entry in entries[i + 1 :])
    if follows and _selected_axis(value, len(part.shape) - axis - rank) is not None:
        return None
    return part, _masked(part, mask, value, axis)


_BASIC = frozenset({int, slice, NoneType, EllipsisType})


def _is_traced_mask(entry: Tracer) -> bool:
    return entry.dtype.kind == "b" and isinstance(innermost(entry), Tracer)


def _separated(entries: tuple, i: int) -> bool:
    """Return whether other entries are between an integer and the mask. NumPy then puts the selected axes first."""
    return "-" in "".join("i" if type(entry) is int or j == i else "-" for j, entry in enumerate(entries)).strip("-")


def _selected_axis(value: ArrayLike, rest: int) -> int | None:
    """Return the axis of a value that counts the selected elements, if its length is not 1."""
    given = getattr(value, "shape", ())
    axis = len(given) - rest - 1
    return axis if axis >= 0 and given[axis] != 1 else None


def _masked(x: ArrayLike, mask: ArrayLike, value: ArrayLike, axis: int) -> Array:
    """Return ``x`` with a value where the mask of its axes from ``axis`` on is true.

    Other axes may have other values.
    """
    rank = len(mask.shape)
    if mask.shape != x.shape[axis : axis + rank]:
        raise IndexError(
            f"boolean index did not match indexed array: the mask is {aval_of(mask)} and the array {x.aval}; needed a "
            f"mask of its axes from {axis} on. Index with a mask of that shape."
        )
    rest = len(x.shape) - axis - rank
    given = getattr(value, "shape", ())
    selected = len(given) - rest - 1
    if selected >= 0:
        if _selected_axis(value, rest) is not None:
            raise TracerAssignmentError(
                f"x[mask] = v: the mask is traced, so how many elements it selects is not known, and the value {given} "
                "has an axis for them. Write x[...] = np.where(mask, values, x), with values of the shape of x."
            )
        value = reshape(value, (*given[:selected], *[1] * rank, *given[selected + 1 :]))
    extra = len(value.shape) - len(x.shape)
    if extra > 0 and set(value.shape[:extra]) == {1}:
        value = reshape(value, value.shape[extra:])
    check_fits(value.shape, x.shape)
    wide = broadcast_to(reshape(mask, (*mask.shape, *[1] * rest)), x.shape)
    return select(wide, broadcast_to(value, x.shape), settled(x))


_makes_new: ContextVar[bool] = ContextVar("funcgrad_operators_make_new_arrays", default=False)


@contextlib.contextmanager
def immutable() -> Iterator[None]:
    """Let ``x += y`` make a new array inside the context, as it does for JAX's arrays, which never change.

    Other names of the array keep the old value. ``x[i] = v`` writes as it does outside.
    """
    token = _makes_new.set(True)
    try:
        yield
    finally:
        _makes_new.reset(token)


def in_place(ufunc: np.ufunc, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the method of an operator such as ``+=``. It writes into the array, so all names of it see the result."""
    asked = f"x {_SIGNS[ufunc]} y"

    def method(self: Tracer, other: ArrayLike, /) -> Any:
        # After NotImplemented Python computes x + y, and the name stands for the new array.
        if _makes_new.get() or (not self.shape and is_number(self)):
            return NotImplemented
        y = function(self, other)
        if y is NotImplemented:
            return y
        if isinstance(y, Tracer) and y.dtype == self.dtype and y.shape == self.shape:
            write_new(self, y, asked)
            return self
        return assign(self, y, ufunc, (self, other), asked)

    return method


_SIGNS = {
    np.add: "+=",
    np.subtract: "-=",
    np.multiply: "*=",
    np.true_divide: "/=",
    np.power: "**=",
    np.matmul: "@=",
    np.floor_divide: "//=",
    np.remainder: "%=",
    np.bitwise_and: "&=",
    np.bitwise_or: "|=",
    np.bitwise_xor: "^=",
    np.left_shift: "<<=",
    np.right_shift: ">>=",
}
