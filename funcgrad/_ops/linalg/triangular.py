"""Triangular systems. NumPy has no function for them, so its products and inverses solve them block by block.

SciPy's BLAS could do it in one call, but SciPy's wheels bring a second OpenBLAS with threads of its own. The threads of
each library spin for 0.1 s after a call, on cores that the other library then waits for. The gradient of a Gaussian
process of 200 points took 13 ms in the median and up to 112, and 2.5 ms on one thread. Therefore SciPy's BLAS is only
called for work that it does on one thread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import bind
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._core.trace.jet import Coefficients, Series, quotient
from funcgrad._ops.layout.broadcast import batch_all
from funcgrad._ops.layout.depends import solved
from funcgrad._ops.layout.shape import inverse_permutation, reshape, transpose
from funcgrad._ops.layout.triangle import lower_triangle, upper_triangle
from funcgrad._ops.linalg.matrices import conjugated, product, swapped
from funcgrad._types import Array, Lax, Value

blas = LazyModule("scipy.linalg.blas")
lapack = LazyModule("scipy.linalg.lapack")

_SOLVERS = {"f": "strsm", "d": "dtrsm", "F": "ctrsm", "D": "ztrsm"}
_INVERTERS = {"f": "strtri", "d": "dtrtri", "F": "ctrtri", "D": "ztrtri"}

# Stacks of smaller matrices go to NumPy's solver, which loops in C. For 256 systems of 3 by 3, calls of BLAS take 380
# us, NumPy takes 60. From 16 by 16 on BLAS is faster, because it need not eliminate.
_SMALL = 16
# SciPy's BLAS solves for fewer elements on the right, and for a single right side, in the calling thread.
_UNTHREADED = 1000
_BLOCK = 32


def _triangular_solve_numpy(a: Array, b: Array, **form: bool) -> list[Any]:
    if not form["unit_diagonal"] and not a.diagonal(0, -2, -1).all():
        raise np.linalg.LinAlgError("Singular matrix")
    if not b.size:
        return [np.empty(b.shape, b.dtype)]
    if a.ndim > 2 and a.shape[-1] < _SMALL:
        return [_by_elimination(a, b, **form)]
    if b.shape[-1 if form["left_side"] else -2] > 1 and b.shape[-1] * b.shape[-2] >= _UNTHREADED:
        y = _by_blocks(a, b, **form)
        if np.isfinite(y).all():
            return [y]
        # Zeros were multiplied by infinities or NaN. BLAS skips the zeros, so its infinities and NaN are correct.
    return [_by_blas(a, b, **form)]


def _by_elimination(
    a: Value, b: Value, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Value:
    a = _whole(a.conj() if conjugate_a else a, lower, unit_diagonal)
    a = a.swapaxes(-1, -2) if transpose_a == left_side else a
    return np.linalg.solve(a, b) if left_side else np.linalg.solve(a, b.swapaxes(-1, -2)).swapaxes(-1, -2)


def _by_blas(
    a: Value, b: Value, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Value:
    if conjugate_a and not transpose_a:
        a = a.conj()
    solve = getattr(blas, _SOLVERS[a.dtype.char])
    form = 0 if not transpose_a else 2 if conjugate_a else 1

    def solved(a: Value, b: Value) -> Value:
        # BLAS stores columns, so it gets and returns the transposed matrices, without a copy.
        return solve(1, a.T, b.T, side=left_side, lower=not lower, trans_a=form, diag=unit_diagonal).T

    if b.ndim == 2:
        return solved(a, b)
    y = np.empty(b.shape, b.dtype)
    for i in np.ndindex(b.shape[:-2]):
        y[i] = solved(a[i], b[i])
    return y


def _by_blocks(
    a: Value, b: Value, *, left_side: bool, lower: bool, transpose_a: bool, conjugate_a: bool, unit_diagonal: bool
) -> Any:
    y = (b if left_side else b.swapaxes(-1, -2)).copy()
    a = a.conj() if conjugate_a else a
    if transpose_a == left_side:
        a, lower = a.swapaxes(-1, -2), not lower
    with np.errstate(all="ignore"):
        substitute(a, y, lower=lower, unit_diagonal=unit_diagonal)
    return y if left_side else np.ascontiguousarray(y.swapaxes(-1, -2))


def substitute(a: Value, x: np.ndarray, *, lower: bool, unit_diagonal: bool) -> None:
    """Solve in place, by halves down to blocks that are solved with their inverse.

    Du Croz and Higham, "Stability of methods for matrix inversion", 1992. An inverse loses as many digits as its block
    is ill-conditioned; one step of refinement restores them.
    """
    n = a.shape[-1]
    if x.ndim == 2 and x.size < _UNTHREADED:
        solve = getattr(blas, _SOLVERS[x.dtype.char])
        x[...] = solve(1, a.T, x.T, side=1, lower=not lower, diag=unit_diagonal).T
        return
    if n <= _BLOCK:
        block = _whole(a, lower, unit_diagonal)
        inverse = _inverse(block, lower)
        y = inverse @ x
        x[...] = y + inverse @ (x - block @ y)
        return
    half = (n + _BLOCK - 1) // _BLOCK // 2 * _BLOCK
    first, second = slice(0, half), slice(half, n)
    if not lower:
        first, second = second, first
    substitute(a[..., first, first], x[..., first, :], lower=lower, unit_diagonal=unit_diagonal)
    x[..., second, :] -= a[..., second, first] @ x[..., first, :]
    substitute(a[..., second, second], x[..., second, :], lower=lower, unit_diagonal=unit_diagonal)


def _inverse(block: np.ndarray, lower: bool) -> np.ndarray:
    invert = getattr(lapack, _INVERTERS[block.dtype.char])
    if block.ndim == 2:
        return invert(block, lower)[0]
    inverse = np.empty_like(block)
    for i in np.ndindex(block.shape[:-2]):
        inverse[i] = invert(block[i], lower)[0]
    return inverse


def _whole(a: Value, lower: bool, unit_diagonal: bool) -> np.ndarray:
    """Return a triangle with the other elements filled in, for a general solver."""
    whole = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        diagonal = np.arange(a.shape[-1])
        whole[..., diagonal, diagonal] = 1
    return whole


class _TriangularDerivative:
    """With ``op(a) y = b``: one more solve, with the transposed matrix, gives both cotangents."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        a, b = primals
        (y,) = primitive(a, b, **params)
        return [y], _bars, (a, y, active, params)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        (a, b), (a_dot, b_dot) = primals, tangents
        (y,) = primitive(a, b, **params)
        if a_dot is not None:
            a_dot = _operated(_triangle(a_dot, params), params)
            moved = product(a_dot, y) if params["left_side"] else product(y, a_dot)
            b_dot = -moved if b_dot is None else b_dot - moved
        return [y], [primitive(a, b_dot, **params)[0]]

    def coefficients(
        self, primitive: Primitive, xs: Sequence[Series], ys: Sequence[Series], params: dict
    ) -> Coefficients:
        a, b = xs

        def multiply(a: Value, y: Value) -> Any:
            a = _operated(_triangle(a, params), params)
            return product(a, y) if params["left_side"] else product(y, a)

        return lambda k: [quotient(k, ys[0], a, b, lambda rest: primitive(a[0], rest, **params)[0], multiply)]


def _triangle(x: Value, params: dict) -> Value:
    """Return the part of the matrix that is read."""
    k = int(params["unit_diagonal"])
    return lower_triangle(x, -k) if params["lower"] else upper_triangle(x, k)


def _operated(x: Value, params: dict) -> Value:
    """Return ``op(x)``; it is its own transpose in the pairing without conjugation."""
    x = swapped(x) if params["transpose_a"] else x
    return conjugated(x) if params["conjugate_a"] else x


def _bars(y_bars: list, a: Value, y: Value, active: int, params: dict) -> list:
    turned = {**params, "transpose_a": not params["transpose_a"]}
    (b_bar,) = bind(triangular_solve_p, (a, y_bars[0]), turned)
    if not active & 1:
        return [None, b_bar]
    outer = product(b_bar, swapped(y)) if params["left_side"] else product(swapped(y), b_bar)
    return [-_triangle(_operated(outer, params), params), b_bar]


def batch_right_sides(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> list[Any]:
    """If one matrix serves the whole batch, put the right sides next to each other and solve once."""
    if batched[0]:
        return _batch_both(primitive, size, operands, batched, params)
    a, b = operands
    ndim = len(b.shape)
    # The batch goes before the axis of the right sides: the last axis, or for a matrix on the right the first.
    place = ndim - 2 if params.get("left_side", True) else ndim - 3
    order = (*range(1, place + 1), 0, *range(place + 1, ndim))
    b = transpose(b, order)
    joined = math.prod(b.shape[place : place + 2])
    (y,) = bind(primitive, (a, reshape(b, (*b.shape[:place], joined, *b.shape[place + 2 :]))), params)
    return [transpose(reshape(y, b.shape), inverse_permutation(order))]


_batch_both = batch_all()


def _triangular_xla(lax: Lax, a: Array, b: Array, **params: bool) -> list[Any]:
    return [lax.linalg.triangular_solve(a, b, **params)]


triangular_solve_p = CompoundPrimitive(
    "triangular_solve",
    operands=("a", "b"),
    numpy=_triangular_solve_numpy,
    xla=_triangular_xla,
    aval=lambda a, b, **_: [Aval(b.shape, b.dtype)],
    derivative=_TriangularDerivative(),
    batch=batch_right_sides,
    cost=lambda y, a, b, **_: b.size * a.shape[-1],
    multiple_results=True,
    forms=Forms(basic=Basic.TRIANGULAR_SOLVE, depends=solved),
)
triangular_solve_p.fails = True


def triangular_solve(
    a: Value,
    b: Value,
    *,
    left_side: bool = True,
    lower: bool = True,
    transpose_a: bool = False,
    conjugate_a: bool = False,
    unit_diagonal: bool = False,
) -> Value:
    """Return ``y`` with ``op(a) y = b``, or with ``y op(a) = b`` if ``left_side`` is false.

    Only one triangle of ``a`` is read. Both are stacks of matrices, of one dtype and one leading shape.
    """
    params = {
        "left_side": left_side,
        "lower": lower,
        "transpose_a": transpose_a,
        "conjugate_a": conjugate_a and a.dtype.kind == "c",
        "unit_diagonal": unit_diagonal,
    }
    return bind(triangular_solve_p, (a, b), params)[0]
