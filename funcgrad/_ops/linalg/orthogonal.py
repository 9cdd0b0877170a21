"""QR factors by Householder's method, and the pseudoinverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.elementwise.arithmetic import div_p, gt_p, mul_p
from funcgrad._ops.elementwise.cast import cast, imag_p, make_complex
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
from funcgrad._ops.layout.triangle import lower_triangle
from funcgrad._ops.linalg.matrices import adjoint, conjugated, identity_like, product, scaled_rows, swapped
from funcgrad._ops.linalg.spectral import svd
from funcgrad._ops.linalg.triangular import triangular_solve
from funcgrad._ops.reduce.reduce import reduce_max
from funcgrad._types import Array, Lax, Value


def _turn(x: Value) -> Value:
    """Return the skew-Hermitian matrix with the lower triangle and the imaginary diagonal of ``x``."""
    below = lower_triangle(x, -1)
    return below - adjoint(below) + _imaginary_diagonal(x)


def _imaginary_diagonal(x: Value) -> Value:
    if x.dtype.kind != "c":
        return 0
    parts = imag_p(diagonal(x))
    return embed_diagonal(make_complex(0 * parts, parts), x.shape[-2:])


class _QrDerivative:
    """With ``x = q r`` and ``C = q^H X r^-1``: ``q`` turns by the skew part of ``C``, ``r`` changes by the rest."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        results = primitive(*primals)
        return results, _qr_bars, tuple(results)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        q, r = primitive(*primals)
        moved = triangular_solve(r, tangents[0], left_side=False, lower=False)
        inner = product(adjoint(q), moved)
        left = inner - _turn(inner)
        return [q, r], [moved - product(q, left), product(left, r)]


def _qr_bars(y_bars: list, q: Value, r: Value) -> list:
    """Return the transpose of the tangents, from right to left."""
    q_bar, r_bar = y_bars
    left = 0
    if r_bar is not None:
        left = product(r_bar, swapped(r))
    if q_bar is not None:
        left = left - product(swapped(q), q_bar)
    inner = left - lower_triangle(left - adjoint(left), -1) - _imaginary_diagonal(left)
    moved = product(conjugated(q), inner)
    if q_bar is not None:
        moved = moved + q_bar
    return [triangular_solve(r, moved, left_side=False, lower=False, transpose_a=True)]


# Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2010, section 2; complex as in JAX.
qr_p = CompoundPrimitive(
    "qr",
    operands=("x",),
    numpy=lambda x: list(np.linalg.qr(x)),
    xla=lambda lax, x: list(lax.linalg.qr(x, full_matrices=False)),
    aval=lambda x: [x, Aval((*x.shape[:-2], x.shape[-1], x.shape[-1]), x.dtype)],
    derivative=_QrDerivative(),
    batch=batch_same,
    cost=lambda q, x: 4 * x.size * x.shape[-1],
    multiple_results=True,
)


def qr(x: Value) -> tuple[Any, Any]:
    """Return ``q, r`` with ``x = q r``, for matrices with at least as many rows as columns.

    ``r`` has a real diagonal.
    """
    q, r = bind(qr_p, (x,), NO_PARAMS)
    return q, r


def _pinv_xla(lax: Lax, x: Array, *, rtol: float) -> Array:
    u, s, vh = svd(x)
    if not x.size:
        return swapped(x)
    cutoff = bind(mul_p, (reduce_max(s, (len(s.shape) - 1,), keepdims=True), rtol), NO_PARAMS)
    kept = bind(gt_p, (s, cutoff), NO_PARAMS)
    inverse = select(kept, bind(div_p, (1, select(kept, s, 1)), NO_PARAMS), 0)
    return product(adjoint(vh), scaled_rows(adjoint(u), cast(inverse, x.dtype)))


def _residual_maps(x: Value, y: Value) -> tuple[Any, Any]:
    """Return ``1 - x y`` and ``1 - y x``: the projections to the complement of the range, and to the null space."""
    left, right = product(x, y), product(y, x)
    return identity_like(left) - left, identity_like(right) - right


def _pinv_push(x_dot: Value, x: Value, y: Value) -> Value:
    unreached, unseen = _residual_maps(x, y)
    y_adjoint, change = adjoint(y), adjoint(x_dot)
    first = product(y, product(y_adjoint, product(change, unreached)))
    second = product(product(product(unseen, change), y_adjoint), y)
    return first + second - product(product(y, x_dot), y)


def _pinv_pull(y_bar: Value, x: Value, y: Value) -> Value:
    unreached, unseen = _residual_maps(x, y)
    y_conjugate, change = conjugated(y), adjoint(y_bar)
    first = product(product(product(conjugated(unreached), change), y_conjugate), swapped(y))
    second = product(swapped(y), product(y_conjugate, product(change, conjugated(unseen))))
    return first + second - product(product(swapped(y), y_bar), swapped(y))


# Golub and Pereyra, "The differentiation of pseudo-inverses and nonlinear least squares problems", 1973, equation 4.12.
# It holds where the rank does not change.
pinv_p = CompoundPrimitive(
    "pinv",
    operands=("x",),
    numpy=lambda x, *, rtol: np.linalg.pinv(x, rtol),
    xla=_pinv_xla,
    aval=lambda x, *, rtol: Aval((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype),
    derivative=PerOperand(("x",), [_pinv_pull], [_pinv_push]),
    batch=batch_same,
    cost=lambda y, x, **_: 20 * x.size * min(x.shape[-2:]),
)


def pinv(x: Value, rtol: float) -> Value:
    """Return the pseudoinverse; singular values up to ``rtol`` times the largest count as zero."""
    return bind(pinv_p, (x,), {"rtol": rtol})
