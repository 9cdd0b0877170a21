"""Functions that select elements: take and similar functions, diagonals, triangles."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from funcgrad._core.aval import aval_of, is_integer, result_dtype
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import FULL, SLOT, Index
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.copy import copy
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.layout.triangle import lower_triangle, upper_triangle
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.concrete import concrete_value
from funcgrad.numpy._base.convert import as_value, dtype_of, strong
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._base.plain import is_plain, tests_itself
from funcgrad.numpy._choose.bounds import read
from funcgrad.numpy._choose.masks import nonzero_of
from funcgrad.numpy._layout.shape import broadcast_arrays, ravel
from funcgrad.numpy._math.elementwise import maximum, minimum

Mode = Literal["raise", "wrap", "clip"]
TakeMode = Literal["raise", "wrap", "clip", "fill"]


@tests_itself
@implements(np.take)
@takes_out
def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    out: Array = None,
    mode: TakeMode = "raise",
    fill_value: ArrayLike = None,
) -> Array:
    """``numpy.take``, with JAX's mode ``"fill"``: an index out of bounds gives ``fill_value``.

    A program on XLA cannot raise. There the result is NaN, the least signed integer, the greatest unsigned one, or
    ``True``, which are also the default values to fill in.
    """
    if mode != "fill" and is_plain([a, indices]):
        return np.take(a, indices, axis, mode=mode)
    a, indices = as_value(a), as_value(indices)
    if dtype_of(indices).kind == "b" and mode != "fill":
        # NumPy converts the bools to 0 and 1: they are no mask here.
        indices = cast(strong(indices), np.dtype(np.intp))
    if not is_integer(dtype_of(indices)):
        raise TypeError(f"numpy.take: the indices are of dtype {dtype_of(indices)}; needed integers.")
    if axis is None or not aval_of(a).shape:
        # As in NumPy, a number has one axis here.
        a, axis = ravel(a), axis or 0
    axis = normalize_axis(axis, len(a.shape))
    entries = (FULL,) * axis
    if mode == "fill":
        return read(a, Index((*entries, SLOT)), (strong(indices),), "fill", fill_value)
    if mode != "raise":
        indices = _bounded(indices, a.shape[axis], mode)
    if type(indices) is int:
        return copy(index_p(a, index=Index((*entries, indices))))
    taken = index_p(a, indices, index=Index((*entries, SLOT)))
    if type(taken) is np.ndarray and not taken.flags.c_contiguous:
        # NumPy's function puts elements in C order. Its indexing puts those of the first axis last.
        return taken.copy()
    # With a single position NumPy's indexing gives a view.
    return taken if aval_of(indices).shape else copy(taken)


def _bounded(indices: ArrayLike, length: int, mode: str) -> Any:
    if mode == "wrap":
        return indices % length
    if mode != "clip":
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    return minimum(maximum(indices, 0), length - 1)


@implements(np.take_along_axis)
def take_along_axis(arr: ArrayLike, indices: ArrayLike, axis: int | None = -1) -> Array:
    """``numpy.take_along_axis``."""
    arr = as_value(arr)
    if axis is None:
        arr, axis = ravel(arr), 0
    return index_p(arr, *along_axis(arr, indices, axis), index=Index((SLOT,) * len(arr.shape)))


def along_axis(arr: ArrayLike, indices: ArrayLike, axis: int) -> tuple[Any, ...]:
    """Return the index arrays for an index array along one axis."""
    indices = as_value(indices)
    ndim = len(arr.shape)
    if not is_integer(dtype_of(indices)):
        raise IndexError("`indices` must be an integer array")
    if len(indices.shape) != ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    axis = normalize_axis(axis, ndim)
    return tuple(
        indices if i == axis else np.arange(n).reshape((1,) * i + (-1,) + (1,) * (ndim - i - 1))
        for i, n in enumerate(arr.shape)
    )


@implements(np.compress)
@takes_out
def compress(condition: ArrayLike, a: ArrayLike, axis: int | None = None, out: Array = None) -> Any:
    """``numpy.compress``."""
    (positions,) = nonzero_of(as_value(condition), "numpy.compress")
    return take(a, positions, axis)


@implements(np.extract)
def extract(condition: ArrayLike, arr: ArrayLike) -> Any:
    """``numpy.extract``."""
    return compress(ravel(condition), arr)


@implements(np.choose)
@takes_out
def choose(a: ArrayLike, choices: ArrayLike, out: Array = None, mode: Mode = "raise") -> Any:
    """``numpy.choose``."""
    a = as_value(a)
    if aval_of(a).dtype.kind not in "biu":
        raise TypeError(f"choose: the numbers of the choices are {aval_of(a)}; needed integers. Use astype(int).")
    a = cast(a, np.dtype(int)) if aval_of(a).dtype.kind == "b" else a
    values = [as_value(choice) for choice in choices]
    dtype = result_dtype(*values)
    # Python's numbers are weak in the choice of the dtype. After that they are arrays, and -1 is the greatest unsigned
    # one.
    values = [cast(strong(value), dtype) for value in values]
    if mode != "raise":
        a = _bounded(a, len(values), mode)
    a, *values = broadcast_arrays(a, *values)
    return take_along_axis(values, reshape(a, (1, *a.shape)), 0)[0]


def choose_method(self: Array, *choices: Any, out: Array = None, mode: Mode = "raise") -> Any:
    """``x.choose((a, b))`` or ``x.choose(a, b)``."""
    return choose(self, choices[0] if len(choices) == 1 else choices, out, mode)


@implements(np.diag)
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Return ``numpy.diag``: the matrix with a diagonal, or the diagonal of a matrix."""
    v = as_value(v)
    if len(v.shape) == 1:
        size = v.shape[0] + abs(k)
        return embed_diagonal(v, (size, size), k)
    if len(v.shape) != 2:
        raise ValueError("Input must be 1- or 2-d.")
    return diagonal(v, k)


@implements(np.diagflat)
def diagflat(v: ArrayLike, k: int = 0) -> Any:
    """``numpy.diagflat``."""
    return diag(ravel(v), k)


def _triangle(m: ArrayLike, k: int, *, lower: bool) -> Array:
    m = as_value(m)
    if len(m.shape) == 1:
        # NumPy repeats a vector as the rows of a square.
        m = broadcast_to(m, m.shape * 2)
    return lower_triangle(m, int(k)) if lower else upper_triangle(m, int(k))


@implements(np.tril)
def tril(m: ArrayLike, k: int = 0) -> Array:
    """``numpy.tril``."""
    return _triangle(m, k, lower=True)


@implements(np.triu)
def triu(m: ArrayLike, k: int = 0) -> Array:
    """``numpy.triu``."""
    return _triangle(m, k, lower=False)


@implements(np.nonzero)
def nonzero(a: ArrayLike) -> tuple[Any, ...]:
    """``numpy.nonzero``: plain arrays, as positions carry no derivative. It needs the numbers, or follows them."""
    return nonzero_of(as_value(a), "numpy.nonzero")


@implements(np.flatnonzero)
def flatnonzero(a: ArrayLike) -> Any:
    """``numpy.flatnonzero``."""
    return nonzero_of(np.ravel(as_value(a)), "numpy.flatnonzero")[0]


@implements(np.argwhere)
def argwhere(a: ArrayLike) -> Any:
    """``numpy.argwhere``."""
    a = as_value(a)
    if np.shape(a) == ():
        return np.argwhere(concrete_value(a, "numpy.argwhere"))
    return np.stack(nonzero_of(a, "numpy.argwhere"), axis=-1)
