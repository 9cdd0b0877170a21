"""Permute the rows of matrices, and undo it."""

from __future__ import annotations

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import CompoundPrimitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.layout.broadcast import batch_all, broadcast_to
from funcgrad._ops.layout.depends import permuting
from funcgrad._types import Array, Lax, Value


def _numpy(x: Array, permutation: Array, *, back: bool) -> Array:
    where = permutation[..., None]
    if not back:
        return np.take_along_axis(x, where, -2)
    y = np.empty_like(x)
    np.put_along_axis(y, where, x, -2)
    return y


def _xla(lax: Lax, x: Array, permutation: Array, *, back: bool) -> Array:
    # Move whole rows. With single elements XLA needs a tenth more operations in the gradient of a linear system.
    if not x.size:
        return x
    row = x.ndim - 2
    stack = tuple(range(row))
    places = lax.expand_dims(permutation, (row + 1,))
    if back:
        numbers = lax.ScatterDimensionNumbers((row + 1,), (row,), (row,), stack, stack)
        return lax.scatter(lax.full_like(x, 0), places, x, numbers, unique_indices=True, mode="clip")
    numbers = lax.GatherDimensionNumbers((row + 1,), (row,), (row,), stack, stack)
    sizes = (*(1,) * (row + 1), x.shape[-1])
    return lax.gather(x, places, numbers, sizes, unique_indices=True, mode="clip")


def _transpose(y_bar: Value, permutation: Value, back: bool) -> Value:
    return permuted_p(y_bar, permutation, back=not back)


# Each row is read or written once.
permuted_p = CompoundPrimitive(
    "permuted_rows",
    operands=("x", "permutation"),
    numpy=_numpy,
    xla=_xla,
    aval=lambda x, permutation, **_: Aval(x.shape, x.dtype),
    derivative=Multilinear(("x", "permutation"), [_transpose, None]),
    batch=batch_all(),
    cost=lambda y, x, permutation, **_: 0,
    forms=Forms(basic=Basic.PERMUTED_ROWS, depends=permuting),
)


def permuted(x: Value, permutation: Value) -> Value:
    """Return the rows of each matrix in the order of its permutation."""
    return permuted_p(x, broadcast_to(permutation, x.shape[:-1]), back=False)


def unpermuted(x: Value, permutation: Value) -> Value:
    """Return the rows in the order before the permutation."""
    return permuted_p(x, broadcast_to(permutation, x.shape[:-1]), back=True)
