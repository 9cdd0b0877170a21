"""Sorting, searching, and the order statistics that rest on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.reduce import sort as ops
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.convert import promote
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._reduce.cumulative import along, flat
from funcgrad.numpy._reduce.reductions import as_array


@implements(np.sort)
def sort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
    """``numpy.sort``."""
    del kind, order, stable
    a, axis = _along(a, axis)
    return ops.sort(a, axis)


@implements(np.argsort)
def argsort(a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> Any:
    """``numpy.argsort``: always stable; the result carries no derivative."""
    del kind, order, stable
    return ops.argsort(*along(as_array(a), axis))


@implements(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """``numpy.partition``: sorts, which is a partition at every place."""
    del kth, kind, order
    return sort(a, axis)


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: int | None = -1, kind: Any = None, order: Any = None) -> Any:
    """``numpy.argpartition``: sorts, which is a partition at every place."""
    del kth, kind, order
    return argsort(a, axis)


def _along(a: Any, axis: int | None) -> tuple[Any, int]:
    a = as_array(a)
    return (flat(a), 0) if axis is None else (a, normalize_axis(axis, len(a.shape)))


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """``numpy.searchsorted``; the result carries no derivative."""
    a, v = promote(as_array(a), as_array(v))
    if sorter is not None:
        a = ops.gather_along_axis(a, as_array(sorter), 0)
    return ops.searchsorted(a, v, side)


@beside_numpys(np.lexsort)
def lexsort(keys: Any, axis: int = -1) -> Any:
    """``numpy.lexsort``: by the last key, among equals by the one before; the result carries no derivative."""
    rows = [as_array(key) for key in keys]
    axis = normalize_axis(axis, len(rows[0].shape))
    order = ops.argsort(rows[0], axis)
    for key in rows[1:]:
        order = ops.gather_along_axis(order, ops.argsort(ops.gather_along_axis(key, order, axis), axis), axis)
    return order


@beside_numpys(np.sort_complex)
def sort_complex(a: Any) -> Any:
    """``numpy.sort_complex``: complex128, but of complex64 and of small integers."""
    y = sort(a)
    if y.dtype.kind == "c":
        return y
    return cast(y, np.dtype(np.complex64 if y.dtype.char in "bhBH" else np.complex128))
