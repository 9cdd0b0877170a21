"""``all_gather``: the values of all elements of a named axis of ``vmap``, in each of them.

The second operand is the number of the element, ``arange`` along the axis. It is a traced value of the mapping, so the
primitive reaches the right trace even where the first operand is the same for all elements. Sums and extrema over the
axis are reductions of the result, which is not mapped, so they are computed once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.batch import NamedAxis, Shared, axis_of
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.index.gather import index as select
from funcgrad._ops.index.plan import SLOT
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum
from funcgrad._ops.layout.shape import transpose
from funcgrad._types import Value


def _transpose(y_bar: Value, index: Any, axis: NamedAxis) -> Any:
    """Sum what all elements do with a value, and return each element's own part of the sum."""
    return select(reduce_sum(all_gather_p(y_bar, index, axis=axis), (0,)), (SLOT,), (index,))


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
    x, index = operands
    if axis_of(size) is params["axis"]:
        return Shared(x if batched[0] else broadcast_to(x, (int(size), *aval_of(x).shape)))
    if batched[1]:
        # A program of another mapping may have repeated the numbers.
        index = select(index, (0,))
    y = primitive(x, index, **params)
    return transpose(y, (1, 0, *range(2, len(y.shape)))) if batched[0] else Shared(y)


all_gather_p = Primitive(
    "all_gather",
    operands=("x", "index"),
    numpy=lambda x, index, *, axis: np.repeat(np.asarray(x)[np.newaxis], axis.size, 0),
    xla=lambda lax, x, index, *, axis: lax.broadcast(x, (axis.size,)),
    aval=lambda x, index, *, axis: Aval((axis.size, *x.shape), x.dtype),
    derivative=Multilinear(("x", "index"), [_transpose, None]),
    batch=_batch,
    cost=lambda y, x, index, *, axis: 0,
)


def all_gather(x: Value, index: Any, axis: NamedAxis) -> Value:
    """Return the values of all elements along a new first axis. ``index`` is the number of the element."""
    return all_gather_p(x, index, axis=axis)
