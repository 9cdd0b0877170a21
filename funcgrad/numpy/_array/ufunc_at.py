"""``np.add.at(x, indices, v)``: a ufunc applied in place, once for each of several equal indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.trace.place import settled
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index, selected_shape
from funcgrad._ops.index.scatter import scatter_add_p
from funcgrad._ops.index.write import WHOLE, check_fits, write
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy._base.concrete import innermost
from funcgrad.numpy._base.convert import operands_for, strong
from funcgrad.numpy._base.dispatch import find_special, refuse, ufuncs
from funcgrad.numpy._base.out import check_kept
from funcgrad.numpy._choose.flat import unravelled
from funcgrad.numpy._choose.indexing import parse
from funcgrad.numpy._choose.writes import check_target
from funcgrad.numpy._reduce.cumulative import flat


def ufunc_at(ufunc: np.ufunc, x: ArrayLike, indices: ArrayLike, *operands: ArrayLike) -> None:
    """Apply ``ufunc.at``, unbuffered: an element that is selected twice is computed twice.

    Raises:
        TracerAssignmentError: the array takes no traced values, or those of this dtype.
        UnsupportedFunctionError: equal indices are not known, and the ufunc is no sum.
    """
    name = f"{ufunc.__name__}.at"
    if ufunc.signature or ufunc.nout > 1:
        raise TypeError(f"numpy.{name}: needed a ufunc of elements with one result.")
    if len(operands) != ufunc.nin - 1:
        raise ValueError("second operand needed for ufunc" if ufunc.nin > 1 else "second operand provided for unary")
    check_target(x, name)
    if ufunc not in ufuncs and not find_special(ufunc):
        refuse(name)
    target, index, arrays = parse(x, indices)
    arrays = tuple([settled(a) for a in arrays])
    shape = selected_shape(index, target.shape, tuple([a.shape for a in arrays]))
    values = tuple([_spread(strong(v), shape) for v in operands])
    if ufunc in (np.add, np.subtract) and _is_sum_in(ufunc, target, values[0]):
        v = cast(values[0] if ufunc is np.add else -values[0], target.dtype)
        write(target, scatter_add_p(settled(target), v, *arrays, index=index), WHOLE, (), f"numpy.{name}")
        return
    for where, part in _rounds(ufunc, target, index, arrays, shape):
        old = index_p(settled(target), *part[1], index=part[0])
        new = ufuncs[ufunc](old, *[flat(v)[where] if where is not None else v for v in values])
        check_kept(target, new, f"numpy.{name}")
        write(target, cast(new, target.dtype), part[0], part[1], f"numpy.{name}")


def _spread(v: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return an operand in the shape of the selected elements."""
    given = v.shape
    extra = len(given) - len(shape)
    if extra > 0 and set(given[:extra]) == {1}:
        v = reshape(v, given[extra:])
    try:
        check_fits(v.shape, shape)
    except ValueError:
        raise ValueError("array is not broadcastable to correct shape") from None
    return broadcast_to(v, shape)


def _is_sum_in(ufunc: np.ufunc, x: ArrayLike, v: ArrayLike) -> bool:
    """Return whether the sum is computed in the array's own dtype, so that equal places can be added first."""
    like = (np.ones(0, aval_of(x).dtype), np.ones(0, aval_of(v).dtype))
    return x.dtype.kind != "b" and all(a.dtype == x.dtype for a in operands_for(ufunc, like))


def _rounds(
    ufunc: np.ufunc, x: ArrayLike, index: Index, arrays: tuple, shape: tuple[int, ...]
) -> list[tuple[Any, tuple[Index, tuple]]]:
    """Yield operands and places that are processed together, no place twice."""
    if not arrays or index.unique:
        return [(None, (index, arrays))]
    known = [innermost(a) for a in arrays]
    if not all(issubclass(type(a), np.ndarray | np.generic) for a in known):
        raise UnsupportedFunctionError(
            f"numpy.{ufunc.__name__}.at: the indices are traced, so it is not known which of them are equal. Sums "
            "(np.add.at, np.subtract.at) work without this. Otherwise take the indices from static arguments, or write "
            "a loop over x[i] = f(x[i], v)."
        )
    places = np.arange(x.size).reshape(x.shape)[index.filled(tuple(known))].ravel()
    if not places.size:
        return []
    # Count the equal indices before each index.
    order = np.argsort(places, kind="stable")
    counted = np.arange(places.size)
    begins = np.r_[True, np.diff(places[order]) != 0]
    turns = np.empty(places.size, int)
    turns[order] = counted - np.maximum.accumulate(np.where(begins, counted, 0))
    if not turns.any():
        return [(None, (index, arrays))]
    rounds: list[tuple[Any, tuple[Index, tuple]]] = []
    for turn in range(turns.max() + 1):
        (where,) = np.nonzero(turns == turn)
        rounds.append((where, _selected(unravelled(places[where], x.shape))))
    return rounds


def _selected(arrays: tuple) -> tuple[Index, tuple]:
    return Index((SLOT,) * len(arrays), unique=True), arrays
