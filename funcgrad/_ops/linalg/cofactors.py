"""The determinant and its derivatives. They are polynomials of the elements, so they exist for singular matrices too.

The first derivative, the cofactors, uses the elimination that gave the value. The second uses singular values, because
elimination is inaccurate where pivots are zero. The third and further ones use the inverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.elementwise.arithmetic import abs_p, gt_p, lt_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.logic import logical_and_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.broadcast import batch_all, broadcast_to, reduce_sum
from funcgrad._ops.layout.diagonal import diagonal, embed_diagonal
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.layout.triangle import upper_triangle
from funcgrad._ops.linalg.determinant import parity, scaled, sign_and_logarithm, times
from funcgrad._ops.linalg.factor import PIVOT_DTYPE, lu
from funcgrad._ops.linalg.matrices import conjugated, identity_like, product, scaled_columns, swapped
from funcgrad._ops.linalg.permutation import unpermuted
from funcgrad._ops.linalg.solve import solve
from funcgrad._ops.linalg.spectral import svd
from funcgrad._ops.linalg.triangular import triangular_solve
from funcgrad._ops.reduce.cumulative import cumprod, shifted
from funcgrad._ops.reduce.reduce import reduce_max, reduce_prod
from funcgrad._types import Value


def _determinant(factors: Value, pivots: Value) -> Value:
    return times(parity(pivots, factors.dtype), _product(diagonal(factors)))


def _product(values: Value) -> Value:
    """Return the product over the last axis; by logarithms, as NumPy does, if an intermediate product overflows."""
    axes = (len(values.shape) - 1,)
    plain = reduce_prod(values, axes)
    sign, logarithm = sign_and_logarithm(values)
    size = bind(abs_p, (plain,), NO_PARAMS)
    within = bind(logical_and_p, (bind(lt_p, (size, np.inf), NO_PARAMS), bind(gt_p, (size, 0), NO_PARAMS)), NO_PARAMS)
    by_logarithm = times(sign, cast(bind(exp_p, (logarithm,), NO_PARAMS), values.dtype))
    return select(within, plain, by_logarithm)


def _cofactors(factors: Value, pivots: Value, permutation: Value) -> Value:
    """Return the derivative of the determinant by each element, also where a pivot is zero.

    The cofactors of ``U = [[V, u], [0, d]]`` are ``det(V) W^-T``, all rows but the last times ``d``, where ``W`` is
    ``U`` with 1 for ``d``. The cofactors of a product are the product of the factors' cofactors.
    """
    size = factors.shape[-1]
    pivot_values = diagonal(factors)
    axis = len(pivot_values.shape) - 1
    last = slice_axis(pivot_values, axis, size - 1, size)
    nonzero = _without_zeros(pivot_values)
    others = _product(slice_axis(nonzero, axis, 0, size - 1))
    filled = select(np.arange(size) == size - 1, 1, nonzero)
    filled = upper_triangle(factors, 1) + embed_diagonal(filled, (size, size))
    scales = concatenate([broadcast_to(last, (*last.shape[:-1], size - 1)), last * 0 + 1], axis)
    inverse = triangular_solve(filled, identity_like(factors), lower=False)
    cofactors = triangular_solve(
        factors, swapped(scaled_columns(inverse, scales)), transpose_a=True, unit_diagonal=True
    )
    return unpermuted(scaled(cofactors, parity(pivots, factors.dtype) * others), permutation)


def _without_zeros(pivot_values: Value) -> Value:
    """Return pivots with each zero replaced by a number of the size of rounding.

    Cofactors are polynomials of the elements, so they change by rounding only; the inverse would not exist.
    """
    sizes = bind(abs_p, (pivot_values,), NO_PARAMS)
    limits = np.finfo(sizes.dtype)
    greatest = reduce_max(sizes, (len(sizes.shape) - 1,), keepdims=True)
    least = float(limits.eps) * greatest + float(limits.tiny)
    return select(sizes == 0, broadcast_to(cast(least, pivot_values.dtype), pivot_values.shape), pivot_values)


class _DetDerivative:
    """``d det = sum(cofactors * X)``, for the determinant alone or with the elimination that gave it.

    The factors carry no derivative: the cofactors get theirs from the matrix.
    """

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        results = bind(eliminated_det_p, primals, NO_PARAMS)
        shown = results if primitive is eliminated_det_p else results[:1]
        return shown, _det_bars, (primals[0], *results[1:])

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        (x,), (x_dot,) = primals, tangents
        results = bind(eliminated_det_p, primals, NO_PARAMS)
        shown = results if primitive is eliminated_det_p else results[:1]
        rest = [None] * (len(shown) - 1)
        if not x.shape[-1]:
            return shown, [None, *rest]
        cofactors = bind(cofactors_p, (x, *results[1:]), NO_PARAMS)
        ndim = len(x.shape)
        return shown, [reduce_sum(times(cofactors, x_dot), (ndim - 2, ndim - 1)), *rest]


def _det_bars(y_bars: list, x: Value, factors: Value, pivots: Value, permutation: Value) -> list:
    if y_bars[0] is None or not x.shape[-1]:
        return [None]
    return [scaled(bind(cofactors_p, (x, factors, pivots, permutation), NO_PARAMS), y_bars[0])]


det_p = CompoundPrimitive(
    "det",
    operands=("x",),
    numpy=lambda x: [np.linalg.det(x)],
    xla=lambda lax, x: [_determinant(*lu(x)[:2])],
    aval=lambda x: [Aval(x.shape[:-2], x.dtype)],
    derivative=_DetDerivative(),
    batch=batch_same,
    cost=lambda y, x: 2 * x.size * x.shape[-1] // 3,
    multiple_results=True,
    forms=Forms(basic=Basic.DET),
)


def det(x: Value) -> Value:
    """Return the determinant of each matrix."""
    return bind(det_p, (x,), NO_PARAMS)[0]


def _eliminated(x: Value) -> list[Any]:
    factors, pivots, permutation = lu(x)
    return [_determinant(factors, pivots), factors, pivots, permutation]


# The determinant together with the results of `lu`, for functions that go on to the cofactors.
eliminated_det_p = CompoundPrimitive(
    "eliminated_det",
    operands=("x",),
    numpy=_eliminated,
    xla=lambda lax, x: _eliminated(x),
    aval=lambda x: [
        Aval(x.shape[:-2], x.dtype),
        x,
        Aval(x.shape[:-1], PIVOT_DTYPE),
        Aval(x.shape[:-1], PIVOT_DTYPE),
    ],
    derivative=_DetDerivative(),
    batch=batch_same,
    cost=lambda y, x: 2 * x.size * x.shape[-1] // 3,
    multiple_results=True,
)


def _cofactors_of(x: Value, factors: Value, pivots: Value, permutation: Value) -> Value:
    return _cofactors(factors, pivots, permutation)


# The derivative uses the matrix, the value uses its elimination.
cofactors_p = CompoundPrimitive(
    "cofactors",
    operands=("x", "factors", "pivots", "permutation"),
    numpy=_cofactors_of,
    xla=lambda lax, *operands: _cofactors_of(*operands),
    aval=lambda x, *_: x,
    derivative=PerOperand(
        ("x", "factors", "pivots", "permutation"),
        [lambda y_bar, x: _curvature(x, y_bar), None, None, None],
        [lambda x_dot, x: _curvature(x, x_dot), None, None, None],
    ),
    batch=batch_all(),
    cost=lambda y, x, *_: 2 * x.size * x.shape[-1],
)


def _pair_products(s: Value) -> Value:
    """Return the product of all other numbers for each pair of numbers; 0 for a number with itself."""
    axis, places = len(s.shape) - 1, np.arange(s.shape[-1])
    before = shifted(cumprod(s, axis), axis, fill=1)
    after = shifted(cumprod(s, axis, reverse=True), axis, reverse=True, fill=1)
    square = (*s.shape, s.shape[-1])
    later = select(places > places[:, None], broadcast_to(expand_dims(s, (axis,)), square), 1)
    between = shifted(cumprod(later, axis + 1), axis + 1, fill=1)
    products = times(times(expand_dims(before, (axis + 1,)), between), expand_dims(after, (axis,)))
    products = upper_triangle(products, 1)
    return products + swapped(products)


def _curvature_value(x: Value, t: Value) -> Value:
    """Return the derivative of the cofactors along ``t``, by ``x = u s vh``.

    It is the derivative of the cofactors of ``s`` along ``u^H t v``, multiplied by ``u`` and ``vh`` again.
    """
    u, s, vh = svd(x)
    turned = product(product(conjugated(swapped(u)), t), conjugated(swapped(vh)))
    products = cast(_pair_products(s), x.dtype)
    column = expand_dims(diagonal(turned), (len(s.shape),))
    on_diagonal = times(product(products, column), identity_like(turned))
    inner = on_diagonal - times(products, swapped(turned))
    return scaled(product(product(conjugated(u), inner), conjugated(vh)), times(det(u), det(vh)))


def _third(x: Value, t: Value, z: Value) -> Any:
    """Return the derivative of ``det(x) (trace(J t) J - J t J)^T`` along ``z``, with the inverse ``J``."""
    inverse = solve(x, identity_like(x))
    jt, jz = product(inverse, t), product(inverse, z)
    t_trace, z_trace, both = _trace(jt), _trace(jz), _trace(product(jz, jt))
    jtj, jzj = product(jt, inverse), product(jz, inverse)
    inner = scaled(inverse, t_trace * z_trace - both) - scaled(jtj, z_trace) - scaled(jzj, t_trace)
    inner = inner + product(jz, jtj) + product(jt, jzj)
    return scaled(swapped(inner), det(x))


def _trace(x: Value) -> Any:
    return reduce_sum(diagonal(x), (len(x.shape) - 2,))


# Linear in ``t``. The second and the third derivative are symmetric forms, so each rule is its own transpose.
cofactor_curvature_p = CompoundPrimitive(
    "cofactor_curvature",
    operands=("x", "t"),
    numpy=_curvature_value,
    xla=lambda lax, x, t: _curvature_value(x, t),
    aval=lambda x, t: x,
    derivative=PerOperand(
        ("x", "t"),
        [lambda y_bar, x, t: _third(x, t, y_bar), lambda y_bar, x: _curvature(x, y_bar)],
        [lambda x_dot, x, t: _third(x, t, x_dot), lambda t_dot, x: _curvature(x, t_dot)],
    ),
    batch=batch_all(),
    cost=lambda y, x, t: 20 * x.size * x.shape[-1],
)


def _curvature(x: Value, t: Value) -> Value:
    """Return the derivative of the cofactors of each matrix along ``t``."""
    return bind(cofactor_curvature_p, (x, t), NO_PARAMS)
