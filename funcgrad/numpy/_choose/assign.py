"""Assignment: ``x[i] = v`` and ``x += v`` on traced arrays, with NumPy's rules for shapes, dtypes and aliases."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import Tracer
from funcgrad._core.numbers import PYTHON_NUMBERS
from funcgrad._core.trace.place import Place, is_view, settled
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.plan import Index
from funcgrad._ops.index.write import WHOLE, check_fits, shape_text, write
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad.errors import TracerAssignmentError
from funcgrad.numpy._base.concrete import innermost
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._choose.indexing import parse


def setitem(self: Tracer, key: Any, value: Any, /) -> None:
    """``x[key] = value``, as NumPy's."""
    _check_assignable(self)
    value = _as_assigned(self, as_value(value))
    if type(key) is int:
        write(self, value, Index((key,)))
        return
    mask = _traced_mask(key)
    if mask is not None:
        write(self, _masked(self, mask, value), asked="x[mask] = v")
        return
    x, index, arrays = parse(self, key)
    write(x, value, index, arrays)


def _check_assignable(x: Tracer) -> None:
    """Refuse a number: it is no array, and NumPy's cannot be assigned into."""
    if not x.shape and is_number(x):
        raise TypeError(f"'{x.dtype.name}' object does not support item assignment")


def is_number(x: Tracer) -> bool:
    """Whether a traced value without axes is a number, and no array that can be written to."""
    return not x.shape and type(x) is not Place and type(innermost(x)) is not np.ndarray


def _as_assigned(x: Tracer, value: Any) -> Any:
    """A value in the dtype of the array that it goes into; a traced one is not cut."""
    dtype = x.dtype
    if type(value) in PYTHON_NUMBERS or type(value) is bool:
        return dtype.type(value)
    source = value.dtype
    if source is dtype or source == dtype:
        return value
    if isinstance(value, Tracer) and is_inexact(source) and not np.can_cast(source, dtype, "same_kind"):
        raise TracerAssignmentError(
            f"x[i] = v: the array is {x.aval} and the value {value.aval}, traced: its derivative would be cut. "
            f"Make the array of a float dtype, or write a value converted by .astype({dtype.name})."
        )
    return cast(value, dtype)


def _traced_mask(key: Any) -> Any:
    """A mask whose numbers are not known: what it selects has no shape, but can be written to."""
    key = settled(key)
    if isinstance(key, Tracer) and key.dtype.kind == "b" and isinstance(innermost(key), Tracer):
        return key
    return None


def _masked(x: Tracer, mask: Any, value: Any) -> Any:
    """``x`` with a value where the mask is true; it may differ along the axes that the mask does not have."""
    rank = len(mask.shape)
    if mask.shape != x.shape[:rank]:
        raise IndexError(
            f"boolean index did not match indexed array: the mask is {aval_of(mask)} and the array {x.aval}; needed a "
            "mask of the array's first axes. Index with a mask of that shape."
        )
    rest = x.shape[rank:]
    given = getattr(value, "shape", ())
    if len(given) > len(rest):
        raise TracerAssignmentError(
            f"x[mask] = v: the mask is traced, so how many elements it selects is not known, and the value {given} has "
            "an axis for them. Write x[...] = np.where(mask, values, x), with values of the shape of x."
        )
    check_fits(given, rest)
    wide = broadcast_to(reshape(mask, (*mask.shape, *[1] * len(rest))), x.shape)
    return select(wide, broadcast_to(value, x.shape), settled(x))


def assign(x: Any, y: Any, ufunc: np.ufunc | None, operands: tuple, asked: str) -> Any:
    """Write a result whole, as ``out=`` does: its dtype may be of the same kind; returns ``x``."""
    _check_cast(x, y, ufunc, operands)
    y = cast(y, x.dtype)
    shape = getattr(y, "shape", ())
    if np.broadcast_shapes(shape, x.shape) != x.shape:
        raise ValueError(
            f"non-broadcastable output operand with {shape_text(x.shape)} doesn't match the broadcast "
            f"{shape_text(np.broadcast_shapes(shape, x.shape))}"
        )
    write(x, y, WHOLE, (), asked)
    return x


def _check_cast(x: Any, y: Any, ufunc: np.ufunc | None, operands: tuple) -> None:
    source = aval_of(y).dtype
    if np.can_cast(source, x.dtype, "same_kind"):
        return
    if ufunc is not None:
        # NumPy says it, with the error that it has for it.
        like = [np.ones(0, aval_of(each).dtype) for each in operands]
        ufunc(*like, out=np.empty(0, x.dtype))
    raise TypeError(f"Cannot cast array data from {source!r} to {x.dtype!r} according to the rule 'same_kind'")


def in_place(ufunc: np.ufunc, function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The method of an operator such as ``+=``.

    Where the variable is the only name of the array, which neither is a view nor has one, nobody can tell whether it
    was written to: the result takes its place, as if it were written ``x = x + y``.
    """
    asked = f"x {_SIGNS[ufunc]} y"

    def method(self: Tracer, other: Any, /) -> Any:
        count = sys.getrefcount(self)
        if not self.shape and is_number(self):
            return NotImplemented
        y = function(self, other)
        if y is NotImplemented:
            return y
        if count <= _ALONE and not is_view(self) and y.shape == self.shape and y.dtype == self.dtype:
            return y
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


class _Counted:
    """Counts the references to the left-hand side of ``x += y`` where one variable holds it."""

    def __iadd__(self, other: Any, /) -> int:
        return sys.getrefcount(self)


def _references() -> Any:
    x: Any = _Counted()
    x += None
    return x


_ALONE: int = _references()
