"""Eigenvalues and eigenvectors of general matrices, which need not be Hermitian."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._ops.elementwise.cast import cast, complex_dtype, imag_p, make_complex, real_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.linalg.matrices import adjoint, conjugated, product, scaled_columns, swapped
from funcgrad._ops.linalg.solve import solve
from funcgrad._ops.linalg.spectral import reciprocal_gaps
from funcgrad._ops.reduce.reduce import argmax
from funcgrad._types import Array, Lax, Value


def _pivots(v: Value) -> tuple[Any, Any]:
    """Return the largest component of each vector, which LAPACK makes real, and its position as ones among zeros."""
    real, imaginary = real_p(v), imag_p(v)
    axis = len(v.shape) - 2
    # If two are equally large up to rounding, take the one without an imaginary part.
    sizes = select(imaginary == 0, real * real, 0)
    chosen = expand_dims(argmax(sizes, axis), (axis,))
    ones = cast(np.arange(v.shape[-2]).reshape(-1, 1) == chosen, real.dtype)
    return ones, reduce_sum(ones * real, (axis,))


class _EigDerivative:
    """With ``x = v w v^-1`` and ``P = v^-1 X v``: ``w`` changes by P's diagonal, ``v`` by ``v (P / gaps) + v c``.

    The numbers ``c`` keep LAPACK's choices: vectors have length 1, and their largest component is real.
    """

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        results = primitive(*primals, **params)
        return results, _eig_bars, (*results, primals[0].dtype)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        w, v = primitive(*primals, **params)
        axis = len(v.shape) - 2
        inner = solve(v, product(cast(tangents[0], v.dtype), v))
        v_dot = product(v, reciprocal_gaps(w, v.dtype) * inner)
        ones, pivots = _pivots(v)
        longer = reduce_sum(real_p(conjugated(v) * v_dot), (axis,))
        turned = reduce_sum(ones * imag_p(v_dot), (axis,)) / pivots
        return [w, v], [diagonal(inner), v_dot - scaled_columns(v, make_complex(longer, turned))]


def _eig_bars(y_bars: list, w: Value, v: Value, dtype: np.dtype) -> list:
    w_bar, v_bar = y_bars
    inner: Any = None
    if v_bar is not None:
        along = product(swapped(v), v_bar)
        kept = diagonal(along)
        ones, pivots = _pivots(v)
        # The transposes of the formulas of `c`.
        longer = scaled_columns(swapped(product(adjoint(v), v)), cast(real_p(kept), v.dtype))
        zeros = 0 * pivots
        turned = scaled_columns(product(swapped(v), cast(ones, v.dtype)), make_complex(zeros, imag_p(kept) / pivots))
        inner = reciprocal_gaps(w, v.dtype) * (along - longer - turned)
    if w_bar is not None:
        diagonal_part = embed_diagonal(w_bar, v.shape[-2:])
        inner = diagonal_part if inner is None else inner + diagonal_part
    x_bar = solve(swapped(v), product(inner, swapped(v)))
    return [x_bar if dtype.kind == "c" else bind(real_p, (x_bar,), NO_PARAMS)]


def _eig_numpy(x: Array) -> list[Any]:
    return [y.astype(complex_dtype(x.dtype), copy=False) for y in np.linalg.eig(x)]


def _eig_xla(lax: Lax, x: Array) -> list[Any]:
    return list(lax.linalg.eig(x, compute_left_eigenvectors=False))


# Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation", 2008, section
# 3.1, for vectors up to their lengths and phases. LAPACK chooses these (the manual of its routine geev).
eig_p = CompoundPrimitive(
    "eig",
    operands=("x",),
    numpy=_eig_numpy,
    xla=_eig_xla,
    aval=lambda x: [Aval(x.shape[:-1], complex_dtype(x.dtype)), Aval(x.shape, complex_dtype(x.dtype))],
    derivative=_EigDerivative(),
    batch=batch_same,
    cost=lambda w, x: 25 * x.size * x.shape[-1],
    multiple_results=True,
)
eig_p.fails = True


def eig(x: Value) -> tuple[Any, Any]:
    """Return the eigenvalues of (stacks of) square matrices, always complex, and the eigenvectors as columns.

    If eigenvalues are equal, the derivative of the vectors is NaN. XLA supports this on CPUs only.
    """
    w, v = bind(eig_p, (x,), NO_PARAMS)
    return w, v
