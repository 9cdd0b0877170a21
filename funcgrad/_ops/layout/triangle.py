"""Triangles of matrices: the elements on one side of a diagonal, with zeros on the other."""

from __future__ import annotations

import numpy as np

from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.depends import moved
from funcgrad._types import Array, Lax, Value


def _triangle_numpy(x: Array, *, k: int, lower: bool) -> Array:
    return np.tril(x, k) if lower else np.triu(x, k)


def _triangle_xla(lax: Lax, x: Array, *, k: int, lower: bool) -> Array:
    # The program computes the mask. A constant mask would be as large as the matrix, in every compiled program.
    rows, columns = (lax.broadcasted_iota(np.int32, x.shape, x.ndim - axis) for axis in (2, 1))
    offsets = lax.sub(columns, rows)
    bound = lax.full_like(offsets, k)
    return lax.select(lax.le(offsets, bound) if lower else lax.ge(offsets, bound), x, lax.full_like(x, 0))


# A `select` with a mask would put a constant as large as the matrix into every graph.
triangle_p = Primitive(
    "triangle",
    operands=("x",),
    numpy=_triangle_numpy,
    xla=_triangle_xla,
    aval=lambda x, **_: x,
    derivative=Multilinear(("x",), [lambda y_bar, k, lower: triangle_p(y_bar, k=k, lower=lower)]),
    batch=batch_same,
    cost=lambda y, x, **_: 0,
    forms=Forms(basic=Basic.TRIANGLE, new_memory=True, depends=moved),
)


def lower_triangle(x: Value, k: int = 0) -> Value:
    """Return ``x`` on and below the diagonal ``k``, and 0 above."""
    return triangle_p(x, k=k, lower=True)


def upper_triangle(x: Value, k: int = 0) -> Value:
    """Return ``x`` on and above the diagonal ``k``, and 0 below."""
    return triangle_p(x, k=k, lower=False)
