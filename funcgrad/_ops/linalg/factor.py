"""Factors of square matrices: Cholesky, and LU by elimination with pivots."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._core.trace.derivative import CONSTANT, PerOperand
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.triangle import lower_triangle, upper_triangle
from funcgrad._ops.linalg.elimination import PIVOT_DTYPE, eliminated, orders_of_rows
from funcgrad._ops.linalg.matrices import halved_lower_triangle, hermitian_part, identity_like, product, swapped
from funcgrad._ops.linalg.permutation import permuted, unpermuted
from funcgrad._ops.linalg.triangular import triangular_solve
from funcgrad._types import Value


def _cholesky_push(x_dot: Value, y: Value) -> Value:
    """Return ``L phi(L^-1 X L^-H)``; ``phi`` takes the lower triangle and half of the diagonal (Murray, equation 8)."""
    inner = triangular_solve(y, hermitian_part(x_dot))
    inner = triangular_solve(y, inner, left_side=False, transpose_a=True, conjugate_a=True)
    return product(y, halved_lower_triangle(inner))


def _cholesky_pull(y_bar: Value, y: Value) -> Value:
    """Return the transpose of `_cholesky_push`, from right to left (Murray, equation 10)."""
    inner = halved_lower_triangle(product(swapped(y), y_bar))
    inner = triangular_solve(y, inner, transpose_a=True)
    return hermitian_part(triangular_solve(y, inner, left_side=False, conjugate_a=True))


# The value reads the lower triangle, as in NumPy. The derivative uses all elements of a Hermitian matrix, as in
# PyTorch. I. Murray, "Differentiation of the Cholesky decomposition", 2016 (arXiv:1602.07527).
cholesky_p = CompoundPrimitive(
    "cholesky",
    operands=("x",),
    numpy=np.linalg.cholesky,
    xla=lambda lax, x: lax.linalg.cholesky(x, symmetrize_input=False),
    aval=lambda x: x,
    derivative=PerOperand(("x",), [_cholesky_pull], [_cholesky_push]),
    batch=batch_same,
    cost=lambda y, x: x.size * x.shape[-1] // 3,
    forms=Forms(basic=Basic.CHOLESKY),
)
cholesky_p.fails = True


def cholesky(x: Value) -> Value:
    """Return the lower triangular ``L`` with ``L L^H = x``, for (stacks of) Hermitian positive definite matrices.

    Only the lower triangle is read; pass the adjoint to use the upper one.

    If a matrix is not positive definite, NumPy raises ``LinAlgError`` and XLA returns NaN.
    """
    return bind(cholesky_p, (x,), NO_PARAMS)


class _LuDerivative:
    """The pivots are constant near every matrix; each factor takes its triangle of ``L^-1 P X U^-1``."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        results = primitive(*primals)
        return results, _lu_bars, (results[0], results[2])

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        factors, pivots, permutation = primitive(*primals)
        inner = _unit_lower_solve(factors, permuted(tangents[0], permutation))
        inner = triangular_solve(factors, inner, left_side=False, lower=False)
        moved = product(_unit_lower(factors), lower_triangle(inner, -1))
        moved = moved + product(upper_triangle(inner), upper_triangle(factors))
        return [factors, pivots, permutation], [moved, None, None]


def _unit_lower(factors: Value) -> Value:
    """Return the lower factor, whose diagonal of ones is not stored."""
    return lower_triangle(factors, -1) + identity_like(factors)


def _unit_lower_solve(factors: Value, b: Value, *, transpose_a: bool = False) -> Value:
    return triangular_solve(factors, b, transpose_a=transpose_a, unit_diagonal=True)


def _lu_bars(y_bars: list, factors: Value, permutation: Value) -> list:
    y_bar = y_bars[0]
    if y_bar is None:
        return [None]
    below = lower_triangle(product(swapped(_unit_lower(factors)), lower_triangle(y_bar, -1)), -1)
    above = upper_triangle(product(upper_triangle(y_bar), swapped(upper_triangle(factors))))
    outer = _unit_lower_solve(factors, below + above, transpose_a=True)
    outer = triangular_solve(factors, outer, left_side=False, lower=False, transpose_a=True)
    return [unpermuted(outer, permutation)]


lu_p = CompoundPrimitive(
    "lu",
    operands=("x",),
    numpy=eliminated,
    xla=lambda lax, x: list(lax.linalg.lu(x)),
    aval=lambda x: [x, Aval(x.shape[:-1], PIVOT_DTYPE), Aval(x.shape[:-1], PIVOT_DTYPE)],
    derivative=_LuDerivative(),
    batch=batch_same,
    cost=lambda y, x: 2 * x.size * x.shape[-1] // 3,
    multiple_results=True,
    forms=Forms(basic=Basic.LU),
)


def lu(x: Value) -> tuple[Any, Any, Any]:
    """Eliminate with exchange of rows: ``x[permutation] = L U``, for (stacks of) square matrices.

    Returns:
        both factors in one matrix (without the diagonal of ones of ``L``), for each step the row that its row was
        exchanged with, and the resulting permutation of rows.
    """
    factors, pivots, permutation = bind(lu_p, (x,), NO_PARAMS)
    return factors, pivots, permutation


permutation_of_pivots_p = CompoundPrimitive(
    "permutation_of_pivots",
    operands=("pivots",),
    numpy=orders_of_rows,
    xla=lambda lax, pivots: lax.linalg.lu_pivots_to_permutation(pivots, pivots.shape[-1]),
    aval=lambda pivots: pivots,
    derivative=CONSTANT,
    batch=batch_same,
    cost=lambda y, pivots: 2 * y.size,
)


def permutation_of_pivots(pivots: Value) -> Value:
    """Return the order of rows after each row is exchanged with its pivot, one after the other."""
    return bind(permutation_of_pivots_p, (pivots,), NO_PARAMS)


def lu_solve(
    factors: Value, permutation: Value, b: Value, *, transpose_a: bool = False, conjugate_a: bool = False
) -> Value:
    """Return ``y`` with ``op(x) y = b``, from the factors of ``x``."""
    form = {"transpose_a": transpose_a, "conjugate_a": conjugate_a}
    if not transpose_a:
        y = triangular_solve(factors, permuted(b, permutation), unit_diagonal=True, **form)
        return triangular_solve(factors, y, lower=False, **form)
    y = triangular_solve(factors, b, lower=False, **form)
    return unpermuted(triangular_solve(factors, y, unit_diagonal=True, **form), permutation)
