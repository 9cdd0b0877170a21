"""Linear systems with a general matrix. One elimination serves the value and the derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._core.trace.jet import Coefficients, Series, quotient
from funcgrad._ops.layout.depends import solved
from funcgrad._ops.linalg.factor import lu, lu_solve
from funcgrad._ops.linalg.matrices import product, swapped
from funcgrad._ops.linalg.triangular import batch_right_sides
from funcgrad._types import Array, Lax, Value


class _SolveDerivative:
    """Use the implicit function of ``a y = b``: tangents and cotangents use the kept factors of ``a``."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        a, b = primals
        factors, _, permutation = lu(a)
        y = lu_solve(factors, permutation, b)
        return [y], _bars, (factors, permutation, y, active)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        (a, b), (a_dot, b_dot) = primals, tangents
        factors, _, permutation = lu(a)
        y = lu_solve(factors, permutation, b)
        if a_dot is not None:
            moved = product(a_dot, y)
            b_dot = -moved if b_dot is None else b_dot - moved
        return [y], [lu_solve(factors, permutation, b_dot)]

    def coefficients(
        self, primitive: Primitive, xs: Sequence[Series], ys: Sequence[Series], params: dict
    ) -> Coefficients:
        a, b = xs
        factors, _, permutation = lu(a[0])
        return lambda k: [quotient(k, ys[0], a, b, lambda rest: lu_solve(factors, permutation, rest), product)]


def _bars(y_bars: list, factors: Value, permutation: Value, y: Value, active: int) -> list:
    b_bar = lu_solve(factors, permutation, y_bars[0], transpose_a=True)
    return [-product(b_bar, swapped(y)) if active & 1 else None, b_bar]


def _solve_xla(lax: Lax, a: Array, b: Array) -> list[Any]:
    factors, _, permutation = lu(a)
    return [lu_solve(factors, permutation, b)]


solve_p = CompoundPrimitive(
    "solve",
    operands=("a", "b"),
    numpy=lambda a, b: [np.linalg.solve(a, b)],
    xla=_solve_xla,
    aval=lambda a, b: [Aval(b.shape, b.dtype)],
    derivative=_SolveDerivative(),
    batch=batch_right_sides,
    cost=lambda y, a, b: 2 * a.size * a.shape[-1] // 3 + 2 * b.size * a.shape[-1],
    multiple_results=True,
    forms=Forms(basic=Basic.SOLVE, depends=solved),
)
solve_p.fails = True


def solve(a: Value, b: Value) -> Value:
    """Return ``y`` with ``a y = b``, for (stacks of) matrices of one dtype and one leading shape.

    If a matrix is singular, NumPy raises ``LinAlgError`` and XLA returns infinities or NaN.
    """
    return bind(solve_p, (a, b), NO_PARAMS)[0]
