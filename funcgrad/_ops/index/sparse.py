"""Products with sparse matrices. Their elements are stored row by row, with the numbers of their rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import bind, untraced
from funcgrad._core.forms import Forms
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.depends import sparse_products
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._types import Array, Lax, Value

scipy_sparse = LazyModule("scipy.sparse")

ROWS = Index((SLOT,))
FIRST = Index((0,))
AFTER_FIRST = Index((slice(1, None),))


def matrix(values: Value, columns: Value, starts: Value, shape: tuple[int, int]) -> Any:
    """Return SciPy's matrix of these elements."""
    return scipy_sparse.csr_array((values, columns, starts), shape=shape, copy=False)


def _product_numpy(
    values: Array, rows: Array, columns: Array, starts: Array, x: Array, *, shape: tuple[int, int], turned: bool
) -> Array:
    with untraced():
        a = matrix(values, columns, starts, shape)
        return (a.T if turned else a) @ x


def _product_xla(
    lax: Lax,
    values: Array,
    rows: Array,
    columns: Array,
    starts: Array,
    x: Array,
    *,
    shape: tuple[int, int],
    turned: bool,
) -> Array:
    to, of = (columns, rows) if turned else (rows, columns)
    terms = reshape(values, (values.size,) + (1,) * (x.ndim - 1)) * x[of]
    return lax.full((shape[turned], *x.shape[1:]), 0, x.dtype).at[to].add(terms)


def _by_values(y_bar: Value, rows: Value, columns: Value, x: Value, turned: bool) -> Any:
    """Return, for each element, its factor times the cotangent of the result that it was added to."""
    to, of = (columns, rows) if turned else (rows, columns)
    terms = index_p(y_bar, to, index=ROWS) * index_p(x, of, index=ROWS)
    return reduce_sum(terms, tuple(range(1, len(terms.shape))))


# The positions of the elements and how to read them: ``rows, columns, starts, shape, turned``.
Read = tuple[Any, Any, Any, tuple[int, int], bool]


def _read(values: Value, x: Value, read: Read, back: bool = False) -> Any:
    rows, columns, starts, shape, turned = read
    return sparse_product(values, rows, columns, starts, x, shape=shape, turned=turned != back)


def block_diagonal(size: int, shape: tuple[int, int], values: Value, places: tuple) -> tuple[Any, list[Any], tuple]:
    """Return one matrix with a batch of matrices along its diagonal; all have their elements in the same positions."""
    rows, columns, starts = places
    count = values.shape[-1]

    def along(places: Value, pitch: int) -> Any:
        steps = (pitch * np.arange(size)).astype(places.dtype)[:, None]
        return reshape(add_p(steps, places), (size * places.shape[0],))

    ends = along(index_p(starts, index=AFTER_FIRST), count)
    found = [along(rows, shape[0]), along(columns, shape[1]), concatenate([np.zeros((1,), ends.dtype), ends], 0)]
    return reshape(values, (size * count,)), found, (size * shape[0], size * shape[1])


def first_places(places: Sequence[Any], batched: Sequence[bool]) -> list[Any]:
    """Return the positions of one matrix; all matrices of a batch have the same."""
    return [index_p(place, index=FIRST) if flag else place for place, flag in zip(places, batched[1:4], strict=True)]


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
    values, *places, x = operands
    places = first_places(places, batched)
    if not batched[0] and not batched[4]:
        y = bind(primitive, (values, *places, x), params)
        return broadcast_to(y, (size, *y.shape))
    if not batched[0]:
        ndim = len(x.shape)
        # The batch becomes further columns.
        first = transpose(x, (1, 0, *range(2, ndim)))
        joined = reshape(first, (first.shape[0], int(np.prod(first.shape[1:]))))
        y = bind(primitive, (values, *places, joined), params)
        y = reshape(y, (y.shape[0], *first.shape[1:]))
        return transpose(y, (1, 0, *range(2, ndim)))
    x = x if batched[4] else broadcast_to(x, (size, *x.shape))
    whole, found, shape = block_diagonal(size, params["shape"], values, tuple(places))
    stacked = reshape(x, (size * x.shape[1], *x.shape[2:]))
    y = bind(primitive, (whole, *found, stacked), {**params, "shape": shape})
    return reshape(y, (size, y.shape[0] // size, *x.shape[2:]))


sparse_product_p = CompoundPrimitive(
    "sparse_product",
    operands=("values", "rows", "columns", "starts", "x"),
    numpy=_product_numpy,
    xla=_product_xla,
    aval=lambda values, rows, columns, starts, x, *, shape, turned: Aval((shape[turned], *x.shape[1:]), x.dtype),
    derivative=PerOperand(
        ("values", "rows", "columns", "starts", "x"),
        [
            _by_values,
            *[None] * 3,
            lambda t, values, rows, columns, starts, shape, turned: _read(
                values, t, (rows, columns, starts, shape, turned), back=True
            ),
        ],
        [
            lambda t, rows, columns, starts, x, shape, turned: _read(t, x, (rows, columns, starts, shape, turned)),
            *[None] * 3,
            lambda t, values, rows, columns, starts, shape, turned: _read(
                values, t, (rows, columns, starts, shape, turned)
            ),
        ],
    ),
    batch=_batch,
    cost=lambda y, values, rows, columns, starts, x, **_: 2 * values.size * max(x.size // max(x.shape[0], 1), 1),
    forms=Forms(depends=sparse_products),
)


def sparse_product(
    values: Value, rows: Value, columns: Value, starts: Value, x: Value, *, shape: tuple[int, int], turned: bool = False
) -> Any:
    """Return ``a @ x`` for a sparse matrix and a vector or matrix of one dtype; ``a.T @ x`` if ``turned``.

    The elements are stored row by row: ``values[starts[i] : starts[i + 1]]`` are those of row ``i``.
    """
    return bind(sparse_product_p, (values, rows, columns, starts, x), {"shape": shape, "turned": turned})
