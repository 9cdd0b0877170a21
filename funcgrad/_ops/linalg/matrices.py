"""Products, triangles and parts of (stacks of) matrices, for the derivatives of linear algebra."""

from __future__ import annotations

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.contract.dot import matmul_p
from funcgrad._ops.elementwise.cast import conj_p
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
from funcgrad._ops.layout.fill import full_like_p
from funcgrad._ops.layout.shape import expand_dims, transpose
from funcgrad._ops.layout.triangle import lower_triangle
from funcgrad._types import Value


def swapped(x: Value) -> Value:
    """Return the transposed matrices."""
    ndim = len(x.shape)
    return transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def conjugated(x: Value) -> Value:
    """Return the complex conjugate; a real array is returned as it is."""
    return bind(conj_p, (x,), NO_PARAMS) if x.dtype.kind == "c" else x


def adjoint(x: Value) -> Value:
    """Return the conjugate transposes."""
    return conjugated(swapped(x))


def product(a: Value, b: Value) -> Value:
    """Return the matrix product; both have one dtype and one leading shape."""
    return bind(matmul_p, (a, b), NO_PARAMS)


def scaled_columns(x: Value, scales: Value) -> Value:
    """Return each column of ``x`` times its element of ``scales``."""
    return x * expand_dims(scales, (len(scales.shape) - 1,))


def scaled_rows(x: Value, scales: Value) -> Value:
    """Return each row of ``x`` times its element of ``scales``."""
    return x * expand_dims(scales, (len(scales.shape),))


def identity_like(x: Value) -> Value:
    """Return the identity matrix for each of these square matrices, in their dtype.

    It is computed from them: a NumPy array would be a constant of their size in every graph.
    """
    ones = bind(full_like_p, (diagonal(x),), {"value": 1})
    return embed_diagonal(ones, x.shape[-2:])


def halved_lower_triangle(x: Value) -> Value:
    """Return the lower triangle with half of the diagonal; with its adjoint it adds up to a Hermitian matrix."""
    return lower_triangle(x) - embed_diagonal(0.5 * diagonal(x), x.shape[-2:])


def hermitian_part(x: Value) -> Value:
    """Return the mean of the matrices and their adjoints: its own transpose in the pairing without conjugation."""
    return 0.5 * (x + adjoint(x))
