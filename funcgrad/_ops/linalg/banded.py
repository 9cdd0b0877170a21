"""Systems with banded matrices. The rows of an array are the diagonals: ``ab[upper + i - j, j]`` is ``a[i, j]``."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import bind, untraced
from funcgrad._core.forms import Forms
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum
from funcgrad._ops.layout.depends import solved
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.linalg.triangular import batch_right_sides
from funcgrad._types import Array, Lax, Value

scipy_linalg = LazyModule("scipy.linalg")


def _solve_numpy(ab: Array, b: Array, *, lower: int, upper: int) -> list[Any]:
    y = np.empty(b.shape, b.dtype)
    with untraced():
        for i in np.ndindex(b.shape[:-2]) if b.size else ():
            y[i] = scipy_linalg.solve_banded((lower, upper), ab[i], b[i], check_finite=False)
    return [y]


def _solve_xla(lax: Lax, ab: Array, b: Array, *, lower: int, upper: int) -> list[Any]:
    """Eliminate with exchange of rows, in a window of the rows that have an element in the column."""
    if not b.size:
        return [b]
    size, axis, reach = b.shape[-2], b.ndim - 2, lower + upper
    each, among = np.arange(lower + 1)[:, None], np.arange(reach + 1)
    # The positions of the window's columns in rows that store only the band.
    places = among - each + lower
    rows = _by_rows(lax, ab, lower, upper)

    def eliminated(k: Value, state: tuple) -> tuple:
        rows, right, found = state
        window = lax.dynamic_slice_in_dim(rows, k, lower + 1, axis)[..., each, places]
        whole = lax.concatenate([window, lax.dynamic_slice_in_dim(right, k, lower + 1, axis)], axis + 1)
        pivot = lax.argmax(abs(whole[..., 0]), axis, np.int32)[..., None, None]
        first = lax.reduce_sum(lax.select(_wide(lax, pivot == each, whole), whole, 0 * whole), (axis,))
        first = first[..., None, :]
        whole = lax.select(_wide(lax, pivot == each, whole), _wide(lax, whole[..., :1, :], whole), whole)
        rest = whole[..., 1:, :]
        rest = rest - rest[..., :1] / first[..., :1] * first
        found = lax.dynamic_update_slice_in_dim(found, first, k, axis)
        kept = lax.full_like(rows[..., :lower, :], 0).at[..., each[:-1], places[1:, 1:]].set(rest[..., 1 : reach + 1])
        rows = lax.dynamic_update_slice_in_dim(rows, kept, k + 1, axis)
        right = lax.dynamic_update_slice_in_dim(right, rest[..., reach + 1 :], k + 1, axis)
        return rows, right, found

    more = lax.full((*b.shape[:axis], lower, b.shape[-1]), 0, b.dtype)
    found = lax.full((*b.shape[:axis], size, reach + 1 + b.shape[-1]), 0, b.dtype)
    _, _, found = lax.fori_loop(0, size, eliminated, (rows, lax.concatenate([b, more], axis), found))

    def substituted(i: Value, y: Value) -> Value:
        k = size - 1 - i
        row = lax.dynamic_slice_in_dim(found, k, 1, axis)
        known = row[..., 1 : reach + 1] @ lax.dynamic_slice_in_dim(y, k + 1, reach, axis) if reach else 0
        value = (row[..., reach + 1 :] - known) / row[..., :1]
        return lax.dynamic_update_slice_in_dim(y, value, k, axis)

    y = lax.fori_loop(0, size, substituted, lax.full((*b.shape[:axis], size + reach, b.shape[-1]), 0, b.dtype))
    return [lax.slice_in_dim(y, 0, size, axis=axis)]


def _wide(lax: Lax, x: Value, like: Value) -> Value:
    return lax.broadcast_in_dim(x, like.shape, range(like.ndim))


def _by_rows(lax: Lax, ab: Value, lower: int, upper: int) -> Value:
    """Return the band row by row, with room for the elements that elimination fills, and empty rows at the end."""
    size, beside = ab.shape[-1], np.arange(lower + upper + 1)
    columns = np.arange(size)[:, None] - lower + beside
    taken = ab[..., lower + upper - beside, np.clip(columns, 0, size - 1)]
    inside = np.broadcast_to((columns >= 0) & (columns < size), taken.shape)
    taken = lax.select(inside, taken, 0 * lax.full_like(taken, 1))
    spread = [(0, 0, 0)] * (ab.ndim - 2)
    return lax.pad(taken, np.zeros((), taken.dtype), [*spread, (0, lower, 0), (0, lower, 0)])


def shifted(x: Value, k: int) -> Value:
    """Return the elements ``k`` places further along the last axis, with zeros beyond its ends."""
    axis, size = len(x.shape) - 1, x.shape[-1]
    if not k:
        return x
    empty = broadcast_to(np.zeros((), x.dtype), (*x.shape[:-1], min(abs(k), size)))
    if k > 0:
        return concatenate([slice_axis(x, axis, min(k, size), size), empty], axis)
    return concatenate([empty, slice_axis(x, axis, 0, max(size + k, 0))], axis)


def diagonals(ab: Value) -> list[Any]:
    """Return the rows of an array of diagonals, each ``f[..., n]``."""
    return [ab[..., i, :] for i in range(ab.shape[-2])]


def stacked(rows: list[Any]) -> Array:
    """Return the array of these diagonals."""
    axis = len(rows[0].shape) - 1
    return concatenate([expand_dims(row, (axis,)) for row in rows], axis)


def transposed(ab: Value, lower: int, upper: int) -> Value:
    """Return the transposed matrix, with ``upper`` diagonals below the main one and ``lower`` above."""
    rows = diagonals(ab)
    return stacked([shifted(rows[upper - k], k) for k in range(-lower, upper + 1)])


def _product(ab: Value, y: Value, upper: int) -> Value:
    """Return the matrix times ``y``."""
    last = len(y.shape) - 1
    turned = _swapped(y)
    terms = [shifted(expand_dims(row, (last - 1,)) * turned, upper - i) for i, row in enumerate(diagonals(ab))]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return _swapped(total)


def _swapped(x: Value) -> Value:
    return x.swapaxes(-1, -2)


class _BandedDerivative:
    """Use the implicit function of ``a y = b``, as other systems do; only the diagonals of ``a`` take part."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        ab, b = primals
        y = banded_solve(ab, b, **params)
        return [y], _bars, (ab, y, active, params)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        (ab, b), (ab_dot, b_dot) = primals, tangents
        y = banded_solve(ab, b, **params)
        if ab_dot is not None:
            moved = _product(ab_dot, y, params["upper"])
            b_dot = -moved if b_dot is None else b_dot - moved
        return [y], [banded_solve(ab, b_dot, **params)]


def _bars(y_bars: list, ab: Value, y: Value, active: int, params: dict) -> list:
    lower, upper = params["lower"], params["upper"]
    b_bar = banded_solve(transposed(ab, lower, upper), y_bars[0], lower=upper, upper=lower)
    if not active & 1:
        return [None, b_bar]
    bars, values, axis = _swapped(b_bar), _swapped(y), len(y.shape) - 2
    return [stacked([-reduce_sum(shifted(bars, k) * values, (axis,)) for k in range(-upper, lower + 1)]), b_bar]


banded_solve_p = CompoundPrimitive(
    "banded_solve",
    operands=("ab", "b"),
    numpy=_solve_numpy,
    xla=_solve_xla,
    aval=lambda ab, b, **_: [Aval(b.shape, b.dtype)],
    derivative=_BandedDerivative(),
    batch=batch_right_sides,
    cost=lambda y, ab, b, **_: 2 * ab.size * ab.shape[-2] + 2 * b.size * ab.shape[-2],
    multiple_results=True,
    forms=Forms(depends=solved),
)
banded_solve_p.fails = True


def banded_solve(ab: Value, b: Value, *, lower: int, upper: int) -> Value:
    """Return ``y`` with ``a y = b``, for (stacks of) matrices with ``lower`` and ``upper`` further diagonals.

    If a matrix is singular, NumPy raises ``LinAlgError`` and XLA returns infinities or NaN.
    """
    return bind(banded_solve_p, (ab, b), {"lower": lower, "upper": upper})[0]
