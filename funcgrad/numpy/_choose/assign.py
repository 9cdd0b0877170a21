"""Assignment: ``x[i] = v`` and ``x += v`` on traced arrays, with NumPy's rules for shapes, dtypes and aliases."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer
from funcgrad._core.numbers import PYTHON_NUMBERS
from funcgrad._core.trace.place import is_number, is_place, settled
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.shown import ByNumbers
from funcgrad._ops.index.write import without_leading, write, write_new
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._types import Array, ArrayLike, IndexLike
from funcgrad.errors import TracerAssignmentError
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.out import assign, check_kept
from funcgrad.numpy._choose.indexing import masked_part, parse
from funcgrad.numpy._choose.selection import Selected, widened


def setitem(self: Tracer, key: IndexLike, value: ArrayLike, /) -> None:
    """Assign ``x[key] = value``, as NumPy does."""
    if is_place(value) and value._viewed is self and _shows(value, key):
        # The statement ``x[key] += v`` ends with this call. The value has been written already.
        return
    if not self.shape:
        _check_assignable(self)
    if type(value) is not Selected:
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


def _with_mask(x: Tracer, key: IndexLike, value: Any) -> tuple[Any, Any] | None:
    """Return the values to write and the part of ``x``, for a mask with unknown numbers, alone or among slices.

    The selection of such a mask has no known shape, but can be written to. Where the trace follows the numbers of a
    call, and the selection's shape is needed, return ``None``: the positions of the mask are an index then.
    """
    found = masked_part(x, key, writes=True)
    if found is None:
        return None
    part, mask, rest, follows = found
    if follows and _has_selected_axis(value, rest):
        return None
    if type(value) is Selected:
        value = _as_assigned(x, value.values_for(mask, rest))
    elif _has_selected_axis(value, rest):
        raise TracerAssignmentError(
            "x[mask] = v: the mask is traced, so how many elements it selects is not known, and the value "
            f"{value.shape} has an axis for them. Write x[...] = np.where(mask, values, x), with values of the "
            "shape of x."
        )
    else:
        value = Selected.beside(value, mask, rest)
    values = broadcast_to(without_leading(value, part.shape), part.shape)
    return part, select(widened(mask, rest, part.shape), values, settled(part))


def _has_selected_axis(value: Any, rest: int) -> bool:
    """Return whether an array has an axis that counts the selected elements, if its length is not 1."""
    given = () if type(value) is Selected else getattr(value, "shape", ())
    axis = len(given) - rest - 1
    return axis >= 0 and given[axis] != 1


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
