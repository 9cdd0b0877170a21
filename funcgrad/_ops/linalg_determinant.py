"""Determinants, as they are and by sign and logarithm; their derivatives come from one elimination."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.primitive import Primitive
from funcgrad._ops._batching import batch_same
from funcgrad._ops._matrices import identity_like, scaled_columns, swapped
from funcgrad._ops.arithmetic import abs_p, div_p, eq_p, log_p, mul_p, sign_p
from funcgrad._ops.broadcast import broadcast_to, reduce_sum
from funcgrad._ops.cast import cast, imag_p, make_complex, real_dtype, real_p
from funcgrad._ops.diagonal import diagonal, embed_diagonal
from funcgrad._ops.index import slice_axis
from funcgrad._ops.join import concatenate
from funcgrad._ops.linalg_factor import lu, lu_solve, unpermuted
from funcgrad._ops.linalg_triangular import triangular_solve
from funcgrad._ops.reduce import reduce_max, reduce_prod
from funcgrad._ops.select import select
from funcgrad._ops.shape import expand_dims
from funcgrad._ops.triangle import upper_triangle


def _last_axis(x: Any) -> tuple[int]:
    return (len(x.shape) - 1,)


def _times(a: Any, b: Any) -> Any:
    """The product by the primitive: the operators of XLA's arrays would need JAX's 64-bit mode around them."""
    return bind(mul_p, (a, b), NO_PARAMS)


def _parity(pivots: Any, dtype: np.dtype) -> Any:
    """-1 to the number of exchanges."""
    kept = bind(eq_p, (pivots, np.arange(pivots.shape[-1], dtype=pivots.dtype)), NO_PARAMS)
    return reduce_prod(select(kept, dtype.type(1), dtype.type(-1)), _last_axis(pivots))


def _sign_and_logarithm(factors: Any, pivots: Any) -> tuple[Any, Any]:
    pivot_values = diagonal(factors)
    sizes = bind(abs_p, (pivot_values,), NO_PARAMS)
    zero = bind(eq_p, (sizes, 0), NO_PARAMS)
    safe = select(zero, 1, sizes)
    logarithm = reduce_sum(select(zero, -np.inf, bind(log_p, (safe,), NO_PARAMS)), _last_axis(sizes))
    if factors.dtype.kind == "c":
        # Not the primitive ``sign``, which has no derivative: of complex numbers the sign changes with them.
        signs = bind(div_p, (pivot_values, cast(safe, factors.dtype)), NO_PARAMS)
    else:
        signs = bind(sign_p, (pivot_values,), NO_PARAMS)
    return _times(_parity(pivots, factors.dtype), reduce_prod(signs, _last_axis(signs))), logarithm


def _inverse_transposed(factors: Any, permutation: Any) -> Any:
    return lu_solve(factors, permutation, identity_like(factors), transpose_a=True)


def _scaled(x: Any, factors: Any) -> Any:
    """Each matrix times its number."""
    return expand_dims(factors, (len(factors.shape), len(factors.shape) + 1)) * x


class _SlogdetDerivative:
    """``d log(det) = trace(x^-1 X)``: the real part moves the logarithm, the imaginary part turns the sign."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        factors, pivots, permutation = lu(primals[0])
        sign, logarithm = _sign_and_logarithm(factors, pivots)
        return [sign, logarithm], _slogdet_bars, (factors, permutation, sign)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        factors, pivots, permutation = lu(primals[0])
        sign, logarithm = _sign_and_logarithm(factors, pivots)
        change = diagonal(lu_solve(factors, permutation, tangents[0]))
        change = reduce_sum(change, _last_axis(change))
        if sign.dtype.kind != "c":
            return [sign, logarithm], [None, change]
        turned = sign * make_complex(0 * logarithm, imag_p(change))
        return [sign, logarithm], [turned, real_p(change)]


def _slogdet_bars(y_bars: list, factors: Any, permutation: Any, sign: Any) -> list:
    sign_bar, logarithm_bar = y_bars
    inverse = _inverse_transposed(factors, permutation)
    if sign.dtype.kind != "c":
        return [None if logarithm_bar is None else _scaled(inverse, logarithm_bar)]
    zero = 0 * real_p(sign)
    real = zero if logarithm_bar is None else logarithm_bar
    return [_scaled(inverse, make_complex(real, zero if sign_bar is None else imag_p(sign_bar * sign)))]


slogdet_p = Primitive(
    "slogdet",
    operands=("x",),
    numpy=lambda x: list(np.linalg.slogdet(x)),
    xla=lambda lax, x: list(_sign_and_logarithm(*lu(x)[:2])),
    aval=lambda x: [Aval(x.shape[:-2], x.dtype), Aval(x.shape[:-2], real_dtype(x.dtype))],
    derivative=_SlogdetDerivative(),
    batch=batch_same,
    cost=lambda y, x: 2 * x.size * x.shape[-1] // 3,
    multiple_results=True,
)


def _determinant(factors: Any, pivots: Any) -> Any:
    pivot_values = diagonal(factors)
    return _times(_parity(pivots, factors.dtype), reduce_prod(pivot_values, _last_axis(pivot_values)))


def _cofactors(factors: Any, pivots: Any, permutation: Any) -> Any:
    """The derivative of the determinant by each element, also where a pivot is zero.

    Those of ``U = [[V, u], [0, d]]`` are ``det(V) W^-T`` with the rows but the last times ``d``, where ``W`` is
    ``U`` with 1 for ``d``; those of a product are the product of those of its factors.
    """
    size = factors.shape[-1]
    pivot_values = diagonal(factors)
    axis = len(pivot_values.shape) - 1
    last = slice_axis(pivot_values, axis, size - 1, size)
    nonzero = _without_zeros(pivot_values)
    others = reduce_prod(slice_axis(nonzero, axis, 0, size - 1), (axis,))
    filled = select(np.arange(size) == size - 1, 1, nonzero)
    filled = upper_triangle(factors, 1) + embed_diagonal(filled, (size, size))
    scales = concatenate([broadcast_to(last, (*last.shape[:-1], size - 1)), last * 0 + 1], axis)
    inverse = triangular_solve(filled, identity_like(factors), lower=False)
    cofactors = triangular_solve(
        factors, swapped(scaled_columns(inverse, scales)), transpose_a=True, unit_diagonal=True
    )
    return unpermuted(_scaled(cofactors, _parity(pivots, factors.dtype) * others), permutation)


def _without_zeros(pivot_values: Any) -> Any:
    """Pivots of which those that are zero are as small as rounding is beside the others.

    Cofactors are polynomials of the elements: they change as little as that, where the inverse would not exist.
    """
    sizes = bind(abs_p, (pivot_values,), NO_PARAMS)
    limits = np.finfo(sizes.dtype)
    greatest = reduce_max(sizes, (len(sizes.shape) - 1,), keepdims=True)
    least = float(limits.eps) * greatest + float(limits.tiny)
    return select(sizes == 0, broadcast_to(cast(least, pivot_values.dtype), pivot_values.shape), pivot_values)


class _DetDerivative:
    """``d det = sum(cofactors * X)``."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        kept = lu(primals[0])
        return [_determinant(*kept[:2])], _det_bars, kept

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        (x,), (x_dot,) = primals, tangents
        factors, pivots, permutation = lu(x)
        y = _determinant(factors, pivots)
        if not x.shape[-1]:
            return [y], [None]
        ndim = len(x.shape)
        return [y], [reduce_sum(_cofactors(factors, pivots, permutation) * x_dot, (ndim - 2, ndim - 1))]


def _det_bars(y_bars: list, factors: Any, pivots: Any, permutation: Any) -> list:
    return [_scaled(_cofactors(factors, pivots, permutation), y_bars[0]) if factors.shape[-1] else None]


det_p = Primitive(
    "det",
    operands=("x",),
    numpy=lambda x: [np.linalg.det(x)],
    xla=lambda lax, x: [_determinant(*lu(x)[:2])],
    aval=lambda x: [Aval(x.shape[:-2], x.dtype)],
    derivative=_DetDerivative(),
    batch=batch_same,
    cost=lambda y, x: 2 * x.size * x.shape[-1] // 3,
    multiple_results=True,
)


def slogdet(x: Any) -> tuple[Any, Any]:
    """The sign of the determinant of each matrix, and the logarithm of its size."""
    sign, logarithm = bind(slogdet_p, (x,), NO_PARAMS)
    return sign, logarithm


def det(x: Any) -> Any:
    """The determinant of each matrix."""
    return bind(det_p, (x,), NO_PARAMS)[0]
