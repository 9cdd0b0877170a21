"""Eigenvalues of Hermitian matrices, and singular values, with their vectors.

If two values are equal, their vectors are not unique and have no derivative: it is NaN, without a warning. The
derivative of the values is correct there too, because it does not use the gaps between values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._ops.elementwise.cast import cast, imag_p, make_complex, real_dtype, real_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
from funcgrad._ops.layout.fill import full_like_p
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.linalg.matrices import (
    adjoint,
    conjugated,
    hermitian_part,
    identity_like,
    product,
    scaled_columns,
    scaled_rows,
    swapped,
)
from funcgrad._types import Array, Lax, Value
from funcgrad.errors import NotDifferentiableError


def _real_diagonal(x: Value) -> Value:
    values = diagonal(x)
    return real_p(values) if values.dtype.kind == "c" else values


def _on_diagonal(values: Value, dtype: np.dtype) -> Value:
    size = values.shape[-1]
    return embed_diagonal(cast(values, dtype), (size, size))


def _reciprocals(x: Value) -> Value:
    """Return ``1 / x``, with NaN instead of a warning where that is infinite."""
    zero = x == 0
    return select(zero, np.nan, 1 / select(zero, 1, x))


def reciprocal_gaps(values: Value, dtype: np.dtype) -> Value:
    """Return ``1 / (values[j] - values[i])`` at row ``i`` and column ``j``; 0 on the diagonal, NaN for equal values."""
    ndim = len(values.shape)
    gaps = expand_dims(values, (ndim - 1,)) - expand_dims(values, (ndim,))
    identity = identity_like(gaps)
    return cast(_reciprocals(gaps + identity) - identity, dtype)


class _EighDerivative:
    """With ``x = v w v^H`` and ``D = v^H X v``: ``w`` changes by the diagonal, ``v`` by ``v (D / gaps)``."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        results = primitive(*primals, **params)
        return results, _eigh_bars, tuple(results)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        w, v = primitive(*primals, **params)
        inner = product(adjoint(v), product(hermitian_part(tangents[0]), v))
        return [w, v], [_real_diagonal(inner), product(v, reciprocal_gaps(w, v.dtype) * inner)]


def _eigh_bars(y_bars: list, w: Value, v: Value) -> list:
    w_bar, v_bar = y_bars
    if v_bar is None:
        outer = scaled_columns(conjugated(v), cast(w_bar, v.dtype))
    else:
        inner = reciprocal_gaps(w, v.dtype) * product(swapped(v), v_bar)
        if w_bar is not None:
            inner = inner + _on_diagonal(w_bar, v.dtype)
        outer = product(conjugated(v), inner)
    return [hermitian_part(product(outer, swapped(v)))]


def _eigh_xla(lax: Lax, x: Array, *, lower: bool) -> list[Any]:
    v, w = lax.linalg.eigh(x, lower=lower, symmetrize_input=False)
    return [w, v]


# Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008, section
# 3.1. The value reads one triangle, and the derivative is that of a Hermitian matrix, both as in NumPy and PyTorch.
eigh_p = CompoundPrimitive(
    "eigh",
    operands=("x",),
    numpy=lambda x, *, lower: list(np.linalg.eigh(x, "L" if lower else "U")),
    xla=_eigh_xla,
    aval=lambda x, *, lower: [Aval(x.shape[:-1], real_dtype(x.dtype)), x],
    derivative=_EighDerivative(),
    batch=batch_same,
    cost=lambda w, x, *, lower: 9 * x.size * x.shape[-1],
    multiple_results=True,
)
eigh_p.fails = True


def eigh(x: Value, *, lower: bool = True) -> tuple[Any, Any]:
    """Return the eigenvalues of (stacks of) Hermitian matrices in ascending order, and the eigenvectors as columns.

    Only the lower triangle is read, or the upper one if ``lower`` is false.
    """
    w, v = bind(eigh_p, (x,), {"lower": lower})
    return w, v


class _SvdDerivative:
    """With ``x = u s vh`` and ``P = u^H X v``: ``s`` changes by the real diagonal of ``P``.

    ``u`` and ``v`` turn within their spaces by the other elements of ``P``, over gaps of squares, and out of them by
    the part of ``X`` outside. A complex pair of vectors has a free common phase; ``u`` takes all of its change.
    """

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        results = primitive(*primals)
        return results, _svd_bars, tuple(results)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        u, s, vh = primitive(*primals)
        return [u, s, vh], _svd_dots(tangents[0], u, s, vh)


def _svd_dots(x_dot: Value, u: Value, s: Value, vh: Value) -> list:
    """Return the tangents of ``u``, ``s`` and ``vh``, each with as many vectors as there are singular values."""
    dtype = u.dtype
    along_v = product(x_dot, adjoint(vh))
    along_u = product(adjoint(u), x_dot)
    inner = product(along_u, adjoint(vh))
    gaps = reciprocal_gaps(s * s, dtype)
    scales, inverse = cast(s, dtype), cast(_reciprocals(s), dtype)
    scaled = scaled_columns(inner, scales)
    u_turn = gaps * (scaled + adjoint(scaled)) + _phases(diagonal(inner), s)
    scaled = scaled_rows(inner, scales)
    v_turn = gaps * (scaled + adjoint(scaled))
    u_dot, vh_dot = product(u, u_turn), -product(v_turn, vh)
    rows, columns = x_dot.shape[-2:]
    if rows > columns:
        u_dot = u_dot + scaled_columns(along_v - product(u, inner), inverse)
    if columns > rows:
        vh_dot = vh_dot + scaled_rows(along_u - product(inner, vh), inverse)
    return [u_dot, _real_diagonal(inner), vh_dot]


def _phases(values: Value, s: Value) -> Value:
    """Return ``i Im(values) / s`` on a diagonal; 0 for real matrices."""
    if values.dtype.kind != "c":
        return 0
    turns = imag_p(values) * _reciprocals(s)
    return _on_diagonal(make_complex(0 * turns, turns), values.dtype)


def _svd_bars(y_bars: list, u: Value, s: Value, vh: Value) -> list:
    """Return the transpose of the tangents, term by term."""
    u_bar, s_bar, vh_bar = y_bars
    dtype = u.dtype
    scales, inverse = cast(s, dtype), cast(_reciprocals(s), dtype)
    gaps = None if u_bar is None and vh_bar is None else reciprocal_gaps(s * s, dtype)
    inner = 0 if s_bar is None else _on_diagonal(s_bar, dtype)
    outside = 0
    if u_bar is not None:
        turn = product(swapped(u), u_bar)
        bar = gaps * turn
        inner = inner + scaled_columns(bar + adjoint(bar), scales) + _phases(diagonal(turn), s)
        if u.shape[-2] > u.shape[-1]:
            beside = scaled_columns(u_bar - product(conjugated(u), turn), inverse)
            outside = product(beside, conjugated(vh))
    if vh_bar is not None:
        turn = product(vh_bar, swapped(vh))
        bar = gaps * turn
        inner = inner - scaled_rows(bar + adjoint(bar), scales)
        if vh.shape[-1] > vh.shape[-2]:
            beside = scaled_rows(vh_bar - product(turn, conjugated(vh)), inverse)
            outside = outside + product(conjugated(u), beside)
    return [product(product(conjugated(u), inner), conjugated(vh)) + outside]


def _svd_xla(lax: Lax, x: Array) -> list[Any]:
    return list(lax.linalg.svd(x, full_matrices=False))


def _svd_aval(x: Aval) -> list[Aval]:
    *stack, rows, columns = x.shape
    rank = min(rows, columns)
    return [
        Aval((*stack, rows, rank), x.dtype),
        Aval((*stack, rank), real_dtype(x.dtype)),
        Aval((*stack, rank, columns), x.dtype),
    ]


# Giles, section 3.2; for the vectors: Townsend, "Differentiating the singular value decomposition", 2016.
svd_p = CompoundPrimitive(
    "svd",
    operands=("x",),
    numpy=lambda x: list(np.linalg.svd(x, full_matrices=False)),
    xla=_svd_xla,
    aval=_svd_aval,
    derivative=_SvdDerivative(),
    batch=batch_same,
    cost=lambda u, x: 14 * x.size * u.shape[-1],
    multiple_results=True,
)
svd_p.fails = True


def svd(x: Value) -> tuple[Any, Any, Any]:
    """Return ``u, s, vh`` with ``x = u s vh``: as many singular values as the shorter side, in descending order."""
    u, s, vh = bind(svd_p, (x,), NO_PARAMS)
    return u, s, vh


def _is_unique(further: Any, count: int) -> bool:
    """Whether the vectors that complete a basis are unique but for their sign: one real vector is.

    Without any singular values, the matrix is empty: nothing can change the vectors.
    """
    return not count or (1 in further.shape[-2:] and further.dtype.kind != "c")


def _nan_if_used(bar: Value) -> Any:
    """Return 0 for a cotangent of zeros, and NaN for another one; if its numbers are known, raise instead."""
    if type(bar) is np.ndarray and np.any(bar):
        raise NotDifferentiableError(
            f"linalg.svd: a derivative was asked of the vectors that complete the basis (full_matrices=True), "
            f"{aval_of(bar)}. They are any basis of their space, and so have none. Use the first vectors alone "
            "(full_matrices=False): np.eye(m) - u @ u.conj().T is the projector on the others."
        )
    ndim = len(bar.shape)
    found = reduce_sum(select(bar == 0, 0, bar.dtype.type(np.nan)), (ndim - 2, ndim - 1))
    return expand_dims(found, (ndim - 2, ndim - 1))


class _FullSvdDerivative:
    """The derivative of `svd_p`, and of one further real vector.

    A further column ``c`` of ``u`` stays orthogonal to the columns of ``x``: it turns by ``-u / s vh X^H c``.
    """

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        results = primitive(*primals)
        return results, _full_svd_bars, tuple(results)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        results = primitive(*primals)
        (u, further_u), s, (vh, further_vh) = _parted(*results)
        u_dot, s_dot, vh_dot = _svd_dots(tangents[0], u, s, vh)
        back = adjoint(tangents[0])
        inverse = cast(_reciprocals(s), u.dtype)
        if further_u is not None:
            turned = -product(scaled_columns(u, inverse), product(vh, product(back, further_u)))
            u_dot = concatenate(
                [u_dot, turned if _is_unique(turned, s.shape[-1]) else full_like_p(turned, value=np.nan)],
                len(u.shape) - 1,
            )
        if further_vh is not None:
            turned = -product(product(product(further_vh, back), scaled_columns(u, inverse)), vh)
            vh_dot = concatenate(
                [vh_dot, turned if _is_unique(turned, s.shape[-1]) else full_like_p(turned, value=np.nan)],
                len(u.shape) - 2,
            )
        return results, [u_dot, s_dot, vh_dot]


def _parted(u: Value, s: Value, vh: Value) -> tuple[tuple[Any, Any], Any, tuple[Any, Any]]:
    """Return the vectors that belong to singular values, and those that complete the basis, ``None`` without any."""
    count, ndim = s.shape[-1], len(u.shape)
    parts = []
    for x, axis in ((u, ndim - 1), (vh, ndim - 2)):
        size = x.shape[axis]
        further = None if size == count else slice_axis(x, axis, count, size)
        parts.append((x if further is None else slice_axis(x, axis, 0, count), further))
    return parts[0], s, parts[1]


def _full_svd_bars(y_bars: list, u: Value, s: Value, vh: Value) -> list:
    (u, further_u), s, (vh, further_vh) = _parted(u, s, vh)
    ndim, count = len(u.shape), s.shape[-1]
    u_bar, s_bar, vh_bar = y_bars
    scaled = scaled_columns(u, cast(_reciprocals(s), u.dtype))
    outside = 0
    if u_bar is not None and further_u is not None:
        bar = slice_axis(u_bar, ndim - 1, count, u_bar.shape[-1])
        u_bar = slice_axis(u_bar, ndim - 1, 0, count)
        if _is_unique(further_u, count):
            outside = -product(product(product(further_u, swapped(bar)), scaled), vh)
        else:
            outside = _nan_if_used(bar)
    if vh_bar is not None and further_vh is not None:
        bar = slice_axis(vh_bar, ndim - 2, count, vh_bar.shape[-2])
        vh_bar = slice_axis(vh_bar, ndim - 2, 0, count)
        if _is_unique(further_vh, count):
            outside = -product(scaled, product(product(vh, swapped(bar)), further_vh))
        else:
            outside = _nan_if_used(bar)
    (x_bar,) = _svd_bars([u_bar, s_bar, vh_bar], u, s, vh)
    return [x_bar + outside]


def _full_svd_aval(x: Aval) -> list[Aval]:
    *stack, rows, columns = x.shape
    values = Aval((*stack, min(rows, columns)), real_dtype(x.dtype))
    return [Aval((*stack, rows, rows), x.dtype), values, Aval((*stack, columns, columns), x.dtype)]


svd_full_p = CompoundPrimitive(
    "svd_full",
    operands=("x",),
    numpy=lambda x: list(np.linalg.svd(x, full_matrices=True)),
    xla=lambda lax, x: list(lax.linalg.svd(x, full_matrices=True)),
    aval=_full_svd_aval,
    derivative=_FullSvdDerivative(),
    batch=batch_same,
    cost=lambda u, x: 14 * x.size * u.shape[-1],
    multiple_results=True,
)
svd_full_p.fails = True


def full_svd(x: Value) -> tuple[Any, Any, Any]:
    """Return ``u, s, vh`` as `svd` does, with the vectors that complete both bases."""
    square = x.shape[-2] == x.shape[-1]
    u, s, vh = bind(svd_p if square else svd_full_p, (x,), NO_PARAMS)
    return u, s, vh
