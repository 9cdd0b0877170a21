"""Determinants by sign and logarithm; value and derivative use one elimination."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._ops.elementwise.arithmetic import abs_p, div_p, eq_p, log_p, mul_p, sign_p
from funcgrad._ops.elementwise.cast import cast, imag_p, make_complex, real_dtype, real_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.diagonal import diagonal
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.linalg.factor import lu, lu_solve
from funcgrad._ops.linalg.matrices import identity_like
from funcgrad._ops.reduce.reduce import reduce_prod
from funcgrad._types import Value


def _last_axis(x: Value) -> tuple[int]:
    return (len(x.shape) - 1,)


def times(a: Value, b: Value) -> Value:
    """Return the product by the primitive: operators of XLA arrays would need JAX's 64-bit mode."""
    return bind(mul_p, (a, b), NO_PARAMS)


def parity(pivots: Value, dtype: np.dtype) -> Value:
    """Return -1 to the power of the number of exchanges."""
    kept = bind(eq_p, (pivots, np.arange(pivots.shape[-1], dtype=pivots.dtype)), NO_PARAMS)
    return reduce_prod(select(kept, dtype.type(1), dtype.type(-1)), _last_axis(pivots))


def _sign_and_logarithm(factors: Value, pivots: Value) -> tuple[Any, Any]:
    sign, logarithm = sign_and_logarithm(diagonal(factors))
    return times(parity(pivots, factors.dtype), sign), logarithm


def sign_and_logarithm(pivot_values: Value) -> tuple[Any, Any]:
    """Return the sign of the product over the last axis, and the logarithm of its absolute value."""
    sizes = bind(abs_p, (pivot_values,), NO_PARAMS)
    zero = bind(eq_p, (sizes, 0), NO_PARAMS)
    safe = select(zero, 1, sizes)
    logarithm = reduce_sum(select(zero, -np.inf, bind(log_p, (safe,), NO_PARAMS)), _last_axis(sizes))
    if pivot_values.dtype.kind == "c":
        # The primitive ``sign`` has no derivative, but the sign of a complex number changes with it.
        signs = bind(div_p, (pivot_values, cast(safe, pivot_values.dtype)), NO_PARAMS)
    else:
        signs = bind(sign_p, (pivot_values,), NO_PARAMS)
    return reduce_prod(signs, _last_axis(signs)), logarithm


def _inverse_transposed(factors: Value, permutation: Value) -> Any:
    return lu_solve(factors, permutation, identity_like(factors), transpose_a=True)


def scaled(x: Value, factors: Value) -> Value:
    """Return each matrix times its number."""
    return expand_dims(factors, (len(factors.shape), len(factors.shape) + 1)) * x


class _SlogdetDerivative:
    """``d log(det) = trace(x^-1 X)``: the real part changes the logarithm, the imaginary part turns the sign."""

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


def _slogdet_bars(y_bars: list, factors: Value, permutation: Value, sign: Value) -> list:
    sign_bar, logarithm_bar = y_bars
    if sign.dtype.kind != "c" and logarithm_bar is None:
        # The sign of a real determinant is constant, so the matrix, which may be singular, is not inverted.
        return [None]
    inverse = _inverse_transposed(factors, permutation)
    if sign.dtype.kind != "c":
        return [scaled(inverse, logarithm_bar)]
    zero = 0 * real_p(sign)
    real = zero if logarithm_bar is None else logarithm_bar
    return [scaled(inverse, make_complex(real, zero if sign_bar is None else imag_p(sign_bar * sign)))]


slogdet_p = CompoundPrimitive(
    "slogdet",
    operands=("x",),
    numpy=lambda x: list(np.linalg.slogdet(x)),
    xla=lambda lax, x: list(_sign_and_logarithm(*lu(x)[:2])),
    aval=lambda x: [Aval(x.shape[:-2], x.dtype), Aval(x.shape[:-2], real_dtype(x.dtype))],
    derivative=_SlogdetDerivative(),
    batch=batch_same,
    cost=lambda y, x: 2 * x.size * x.shape[-1] // 3,
    multiple_results=True,
    forms=Forms(basic=Basic.SLOGDET),
)


def slogdet(x: Value) -> tuple[Any, Any]:
    """Return the sign of the determinant of each matrix, and the logarithm of its absolute value."""
    sign, logarithm = bind(slogdet_p, (x,), NO_PARAMS)
    return sign, logarithm
