"""NumPy's indexing rules for tracers, and iteration."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from types import EllipsisType, NoneType
from typing import Any, TypeGuard

import numpy as np

from funcgrad._core.aval import aval_of, is_integral
from funcgrad._core.bind import Tracer, is_value
from funcgrad._core.trace.place import settled, shown
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index, normalized_slice
from funcgrad._ops.index.scatter import shows_part
from funcgrad._ops.index.shown import ByNumbers, is_shown
from funcgrad._ops.layout.copy import copy
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._types import Array, ArrayLike, IndexLike
from funcgrad.errors import NonConcreteBooleanIndexError, TracerAssignmentError
from funcgrad.numpy._base.concrete import innermost
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.foreign import is_foreign_array
from funcgrad.numpy._choose.masks import is_followed, positions_of
from funcgrad.numpy._choose.selection import Selected

_PLAIN = frozenset({int, NoneType, EllipsisType})
_ENDS = frozenset({int, NoneType})
# The parameters of reads at small integers, which loops read again and again. Making them takes a fifth of such a read.
_FEW = {k: {"index": Index((k,))} for k in range(-8, 32)}
_INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean arrays are valid "
    "indices"
)


def getitem(self: Tracer, key: IndexLike, /) -> Array:
    """``x[key]``. An integer, a slice, and tuples of what is static, go straight to the trace."""
    kind = type(key)
    if kind is int:
        params = _FEW.get(key) or {"index": Index((key,))}
    elif kind is tuple:
        for entry in key:
            if type(entry) not in _PLAIN and not _is_plain_slice(entry):
                return _general(self, key)
        params = {"index": Index(key)}
    elif _is_plain_slice(key) or kind in _PLAIN:
        params = {"index": Index((key,))}
    else:
        return _general(self, key)
    y = self._owner.apply(index_p, (self,), params)
    if type(y) is type(self) and y._tells_views and y._owner is self._owner:
        # As `remember_view` does.
        y._viewed, y._viewed_by, y._viewed_at = self, index_p, params
    return y


def _is_plain_slice(entry: IndexLike) -> bool:
    return (
        type(entry) is slice and type(entry.start) in _ENDS and type(entry.stop) in _ENDS and type(entry.step) in _ENDS
    )


def _general(x: ArrayLike, key: IndexLike) -> Any:
    try:
        x, index, arrays = parse(x, key)
    except NonConcreteBooleanIndexError:
        if (found := masked_part(x, key)) is None:
            raise
        return Selected(*found[:3])
    if arrays and all(map(_is_unknown, arrays)) and not _has_array(key) and is_shown(x.shape, index):
        return shown(x, ByNumbers(index, arrays))
    y = index_p(x, *arrays, index=index)
    return copy(y) if not arrays and _has_array(key) and shows_part(x.shape, {"index": index}) else y


def masked_part(x: Any, key: IndexLike, *, writes: bool = False) -> tuple[Any, Any, int, bool] | None:
    """Return the part of an array that a mask with unknown numbers selects from; ``None`` if the key has no such mask.

    The result has the part, the mask, the number of axes behind those of the mask, and whether the trace follows the
    mask's numbers.
    """
    entries = key if type(key) is tuple else (key,)
    found = [i for i, entry in enumerate(entries) if isinstance(entry, Tracer) and _is_traced_mask(entry)]
    if not found:
        return None
    i = found[0]
    beside = entries[:i] + entries[i + 1 :]
    follows = all(is_followed(innermost(entries[j])) for j in found)
    if len(found) > 1 or not all(type(entry) in _BASIC for entry in beside) or _separated(entries, i):
        if follows or not writes:
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
    if mask.shape != part.shape[axis : axis + rank]:
        raise IndexError(
            f"boolean index did not match indexed array: the mask is {aval_of(mask)} and the array {aval_of(part)}; "
            f"needed a mask of its axes from {axis} on. Index with a mask of that shape."
        )
    return part, mask, len(part.shape) - axis - rank, follows


_BASIC = frozenset({int, slice, NoneType, EllipsisType})


def _is_traced_mask(entry: Tracer) -> bool:
    return entry.dtype.kind == "b" and isinstance(innermost(entry), Tracer)


def _separated(entries: tuple, i: int) -> bool:
    """Return whether other entries are between an integer and the mask. NumPy then puts the selected axes first."""
    return "-" in "".join("i" if type(entry) is int or j == i else "-" for j, entry in enumerate(entries)).strip("-")


def _is_unknown(value: ArrayLike) -> bool:
    """Return whether an index array is a traced integer: in NumPy it selects a view, as any integer does."""
    return isinstance(value, Tracer) and not value.shape


def _has_array(key: IndexLike) -> bool:
    """Return whether an index is an integer array without axes: NumPy copies the elements that it selects."""
    return any(isinstance(entry, np.ndarray) for entry in (key if type(key) is tuple else (key,)))


def parse(x: ArrayLike, key: IndexLike) -> tuple[Any, Index, tuple]:
    """Return the array, the static part of the index, and the index arrays. A mask without axes adds an axis."""
    entries = key if type(key) is tuple else (key,)
    values = [_entry(entry) for entry in entries]
    if not any(_is_mask(value) for value in values):
        arrays = tuple([value for value in values if hasattr(value, "dtype")])
        return x, Index(tuple([SLOT if hasattr(value, "dtype") else value for value in values])), arrays
    return _without_masks(x, values)


def _entry(entry: IndexLike) -> Any:
    """Return one entry as an int, a slice of ints, ``None``, ``...``, or an array of integers or booleans."""
    if type(entry) in _PLAIN or _is_plain_slice(entry):
        return entry
    if isinstance(entry, slice):
        return normalized_slice(entry)
    if isinstance(entry, range):
        entry = list(entry)
    if issubclass(type(entry), bool | np.bool_):
        return np.asarray(entry)
    if isinstance(entry, list | tuple):
        value = as_value(entry)
        # NumPy takes a list without elements for one of integers.
        return np.zeros(value.shape, np.intp) if 0 in value.shape else _array_entry(value)
    if not is_value(entry) and not is_foreign_array(entry):
        return _to_integer(entry)
    return _array_entry(as_value(entry))


def _to_integer(entry: IndexLike) -> int:
    try:
        return operator.index(entry)
    except TypeError:
        raise IndexError(_INVALID) from None


def _array_entry(value: ArrayLike) -> Any:
    dtype = aval_of(value).dtype
    if not is_integral(dtype):
        raise IndexError("arrays used as indices must be of integer (or boolean) type" if np.shape(value) else _INVALID)
    if dtype.kind != "b" and issubclass(type(value), np.ndarray | np.generic) and value.ndim == 0:
        return int(value)
    return value


def _is_mask(value: ArrayLike) -> TypeGuard[np.ndarray]:
    return hasattr(value, "dtype") and value.dtype.kind == "b"


def _without_masks(x: ArrayLike, values: list[Any]) -> tuple[Any, Index, tuple]:
    """Masks replaced by the positions of their true elements."""
    masks = sum(_is_mask(value) for value in values)
    entries: list[Any] = []
    arrays: list[Any] = []
    from_masks = 0
    axis = 0
    for i, value in enumerate(values):
        if value is Ellipsis:
            axis = len(x.shape) - sum(map(_consumed, values[i + 1 :]))
        elif value is not None and not _is_mask(value):
            axis += 1
        if not _is_mask(value):
            entries.append(SLOT if hasattr(value, "dtype") else value)
            arrays += [value] if hasattr(value, "dtype") else []
            continue
        if not value.shape:
            x = expand_dims(x, (axis,))
        else:
            _check_mask(value, x.shape, axis)
        positions = positions_of(value)
        entries += [SLOT] * len(positions)
        arrays += positions
        from_masks += len(positions)
        axis += len(positions)
    return x, Index(tuple(entries), unique=masks == 1 and entries.count(SLOT) == from_masks), tuple(arrays)


def _consumed(value: ArrayLike) -> int:
    if value is None:
        return 0
    return len(value.shape) if _is_mask(value) else 1


def _check_mask(mask: ArrayLike, shape: tuple[int, ...], start: int) -> None:
    if start + mask.ndim > len(shape):
        raise IndexError(
            f"too many indices for array: array is {len(shape)}-dimensional, but {start + mask.ndim} were indexed"
        )
    for axis, n in enumerate(mask.shape, start):
        # NumPy takes a mask of nothing for any length.
        if n and n != shape[axis]:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis}; size of axis is {shape[axis]} but size "
                f"of corresponding boolean axis is {n}"
            )


def length(self: Tracer) -> int:
    """``len(x)``."""
    if not self.shape:
        raise TypeError("len() of unsized object")
    return self.shape[0]


def iterate(self: Tracer) -> Iterator[Any]:
    """``iter(x)``, over the first axis."""
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    return (getitem(self, i) for i in range(self.shape[0]))
