"""Eigenvalues of Hermitian matrices, and singular values, with their vectors.

If two values are equal, their vectors are not unique and have no derivative: it is NaN, without a warning. The
derivative
of the values is correct there too, because it does not use the gaps between values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._ops.elementwise.cast import cast, imag_p, make_complex, real_dtype, real_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
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


def _real_diagonal(x: Any) -> Any:
    values = diagonal(x)
    return real_p(values) if values.dtype.kind == "c" else values


def _on_diagonal(values: Any, dtype: np.dtype) -> Any:
    size = values.shape[-1]
    return embed_diagonal(cast(values, dtype), (size, size))


def _reciprocals(x: Any) -> Any:
    """Return ``1 / x``, with NaN instead of a warning where that is infinite."""
    zero = x == 0
    return select(zero, np.nan, 1 / select(zero, 1, x))


def reciprocal_gaps(values: Any, dtype: np.dtype) -> Any:
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


def _eigh_bars(y_bars: list, w: Any, v: Any) -> list:
    w_bar, v_bar = y_bars
    if v_bar is None:
        outer = scaled_columns(conjugated(v), cast(w_bar, v.dtype))
    else:
        inner = reciprocal_gaps(w, v.dtype) * product(swapped(v), v_bar)
        if w_bar is not None:
            inner = inner + _on_diagonal(w_bar, v.dtype)
        outer = product(conjugated(v), inner)
    return [hermitian_part(product(outer, swapped(v)))]


def _eigh_xla(lax: Any, x: Any, *, lower: bool) -> list[Any]:
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


def eigh(x: Any, *, lower: bool = True) -> tuple[Any, Any]:
    """Return the eigenvalues of (stacks of) Hermitian matrices in ascending order, and the eigenvectors as columns.

    Only the lower triangle is read, or the upper one if ``lower`` is false.
    """
    w, v = bind(eigh_p, (x,), {"lower": lower})
    return w, v


class _SvdDerivative:
    """With ``x = u s vh`` and ``P = u^H X v``: ``s`` changes by the real diagonal of ``P``.

    ``u`` and ``v`` turn within their spaces by the other elements of ``P``, over gaps of squares, and out of them by
    the
    part of ``X`` outside. A complex pair of vectors has a free common phase; ``u`` takes all of its change.
    """

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        results = primitive(*primals)
        return results, _svd_bars, tuple(results)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        u, s, vh = primitive(*primals)
        x_dot, dtype = tangents[0], u.dtype
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
        return [u, s, vh], [u_dot, _real_diagonal(inner), vh_dot]


def _phases(values: Any, s: Any) -> Any:
    """Return ``i Im(values) / s`` on a diagonal; 0 for real matrices."""
    if values.dtype.kind != "c":
        return 0
    turns = imag_p(values) * _reciprocals(s)
    return _on_diagonal(make_complex(0 * turns, turns), values.dtype)


def _svd_bars(y_bars: list, u: Any, s: Any, vh: Any) -> list:
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


def _svd_xla(lax: Any, x: Any) -> list[Any]:
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


def svd(x: Any) -> tuple[Any, Any, Any]:
    """Return ``u, s, vh`` with ``x = u s vh``: as many singular values as the shorter side, in descending order."""
    u, s, vh = bind(svd_p, (x,), NO_PARAMS)
    return u, s, vh
