"""Systems with sparse matrices, by SuperLU."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import bind, untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.sparse import ROWS, block_diagonal, first_places, matrix, sparse_product
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._types import Array, Lax, Value

scipy_solvers = LazyModule("scipy.sparse.linalg")


def _solved(values: Value, columns: Value, starts: Value, b: Value, *, turned: bool) -> Value:
    size = b.shape[0]
    if not b.size:
        return np.empty(b.shape, b.dtype)
    with untraced():
        a = matrix(np.asarray(values), np.asarray(columns), np.asarray(starts), (size, size))
        try:
            # SuperLU takes columns, so the rows of a matrix give the factors of its transpose.
            factors = scipy_solvers.splu(a.T.tocsc())
        except RuntimeError as error:
            raise np.linalg.LinAlgError(
                f"Singular matrix: a sparse one of {size} rows has no inverse ({error}). Look for rows or columns "
                "without elements."
            ) from error
        return factors.solve(np.asarray(b), "N" if turned else "T").astype(b.dtype, copy=False)


def _solve_xla(
    lax: Lax, values: Array, rows: Array, columns: Array, starts: Array, b: Array, *, turned: bool
) -> list[Any]:
    def solved(values: Value, columns: Value, starts: Value, b: Value) -> list[Any]:
        try:
            return [_solved(values, columns, starts, b, turned=turned)]
        except np.linalg.LinAlgError:
            return [np.full(b.shape, np.nan, b.dtype)]

    return lax.pure_callback(solved, [Aval(b.shape, b.dtype)], values, columns, starts, b)


class _Derivative:
    """Use the implicit function of ``a y = b``, as other systems do; only the stored elements of ``a`` take part."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        results = primitive(*primals, **params)
        return results, _bars, (primals[0], primals[1:4], results[0], active, params)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        values, *places, b = primals
        (y,) = primitive(*primals, **params)
        values_dot, b_dot = tangents[0], tangents[4]
        if values_dot is not None:
            shape = (b.shape[0], b.shape[0])
            rows, columns, starts = places
            moved = sparse_product(values_dot, rows, columns, starts, y, shape=shape, turned=params["turned"])
            b_dot = -moved if b_dot is None else b_dot - moved
        return [y], [sparse_solve(values, tuple(places), b_dot, **params)]


def _bars(y_bars: list, values: Value, places: tuple, y: Value, active: int, params: dict) -> list:
    turned, (rows, columns, _) = params["turned"], places
    b_bar = sparse_solve(values, places, y_bars[0], turned=not turned)
    if not active & 1:
        return [None, None, None, None, b_bar]
    to, of = (columns, rows) if turned else (rows, columns)
    terms = index_p(b_bar, to, index=ROWS) * index_p(y, of, index=ROWS)
    return [-reduce_sum(terms, tuple(range(1, len(terms.shape)))), None, None, None, b_bar]


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    values, *places, b = operands
    places = first_places(places, batched)
    if not batched[0] and not batched[4]:
        y = sparse_solve(values, tuple(places), b, **params)
        return [broadcast_to(y, (size, *y.shape))]
    if not batched[0]:
        # The batch becomes further columns.
        first = transpose(b, (1, 0, *range(2, len(b.shape))))
        joined = reshape(first, (first.shape[0], size * (b.shape[2] if len(b.shape) > 2 else 1)))
        y = sparse_solve(values, tuple(places), joined, **params)
        return [transpose(reshape(y, first.shape), (1, 0, *range(2, len(b.shape))))]
    b = b if batched[4] else broadcast_to(b, (size, *b.shape))
    n = b.shape[1]
    whole, found, _ = block_diagonal(size, (n, n), values, tuple(places))
    y = sparse_solve(whole, tuple(found), reshape(b, (size * n, *b.shape[2:])), **params)
    return [reshape(y, b.shape)]


sparse_solve_p = CompoundPrimitive(
    "sparse_solve",
    operands=("values", "rows", "columns", "starts", "b"),
    numpy=lambda values, rows, columns, starts, b, *, turned: [_solved(values, columns, starts, b, turned=turned)],
    xla=_solve_xla,
    aval=lambda values, rows, columns, starts, b, *, turned: [Aval(b.shape, b.dtype)],
    derivative=_Derivative(),
    batch=_batch,
    cost=lambda y, values, rows, columns, starts, b, *, turned: 20 * values.size + 4 * b.size,
    multiple_results=True,
)
sparse_solve_p.fails = True


def sparse_solve(values: Value, places: tuple, b: Value, *, turned: bool = False) -> Value:
    """Return ``y`` with ``a y = b``, or with ``a.T y = b`` if ``turned``.

    The elements of ``a`` are stored row by row; ``places`` has their rows, their columns, and the starts of the rows.

    If the matrix is singular, NumPy raises ``LinAlgError`` and XLA returns NaN. XLA calls SuperLU on the host.
    """
    return bind(sparse_solve_p, (values, *places, b), {"turned": turned})[0]
