"""Broadcast and sum. Each is the transpose of the other; all elementwise derivatives use them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import bind
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive, View, ViewPrimitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.layout.batching import BatchRule, batch_axes, moved_axes
from funcgrad._ops.layout.depends import elementwise, reduced
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Lax, Value

# Below this many elements filling a new array is faster than making a broadcast view (0.5 us against 2.4).
_FILL_LIMIT = 4096


def _broadcast_numpy(x: Array, *, shape: tuple[int, ...]) -> np.ndarray:
    if math.prod(shape) > _FILL_LIMIT:
        return np.broadcast_to(x, shape)
    filled = np.empty(shape, x.dtype if hasattr(x, "dtype") else aval_of(x).dtype)
    filled[...] = x
    return filled


def _broadcast_xla(lax: Lax, x: Array, *, shape: tuple[int, ...]) -> Array:
    offset = len(shape) - x.ndim
    return lax.broadcast_in_dim(lax.expand_dims(x, ()), shape, tuple(range(offset, len(shape))))


def _broadcast_transpose(y_bar: Value, x_shape: tuple[int, ...]) -> Value:
    return sum_to_shape(y_bar, x_shape)


def _broadcast_batch(primitive: Primitive, size: int, operands: tuple, batched: tuple, params: dict) -> Array:
    (x,) = operands
    shape = params["shape"]
    aligned = reshape(x, (size, *[1] * (len(shape) - len(x.shape) + 1), *x.shape[1:]))
    return broadcast_to(aligned, (size, *shape))


broadcast_to_p = ViewPrimitive(
    "broadcast_to",
    operands=("x",),
    numpy=_broadcast_numpy,
    xla=_broadcast_xla,
    aval=lambda x, *, shape: x.with_shape(shape),
    derivative=Multilinear(("x",), [_broadcast_transpose]),
    batch=_broadcast_batch,
    cost=lambda y, x, **_: 0,
    view=View(None, numpy=np.broadcast_to),
    forms=Forms(basic=Basic.BROADCAST, depends=elementwise),
)


def _sum_aval(x: Aval, *, axes: tuple[int, ...], keepdims: bool) -> Aval:
    return Aval(reduced_shape(x.shape, axes, keepdims), native(x.dtype))


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """Return the shape that remains after a reduction over ``axes``."""
    if keepdims and len(axes) == 1:
        return *shape[: axes[0]], 1, *shape[axes[0] + 1 :]
    if keepdims:
        return tuple(1 if i in axes else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in axes)


def native(dtype: np.dtype) -> np.dtype:
    """Return the dtype in the byte order of the machine: loops of ufuncs take no other, and return that one."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def _sum_numpy(x: Array, *, axes: tuple[int, ...], keepdims: bool) -> Array:
    if not axes and not hasattr(x, "dtype"):
        return x
    if x.dtype.kind in "fc" and not keepdims and len(axes) == x.ndim:
        return np.add.reduce(x, None)
    return np.add.reduce(x, axis=axes, dtype=native(x.dtype), keepdims=keepdims)


def _sum_xla(lax: Lax, x: Array, *, axes: tuple[int, ...], keepdims: bool) -> Array:
    # NumPy sums booleans in their own dtype by *or*.
    total = lax.reduce_sum if x.dtype != bool else lambda x, axes: lax.reduce(x, np.False_, lax.bitwise_or, axes)
    y = total(x, axes) if axes else x
    return lax.reshape(y, reduced_shape(x.shape, axes, True)) if keepdims else y


def _sum_transpose(y_bar: Value, x_shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Value:
    return spread(y_bar, x_shape, axes, keepdims)


reduce_sum_p = Primitive(
    "reduce_sum",
    operands=("x",),
    numpy=_sum_numpy,
    xla=_sum_xla,
    aval=_sum_aval,
    derivative=Multilinear(("x",), [_sum_transpose]),
    batch=batch_axes("axes"),
    cost=lambda y, x, **_: x.size,
    forms=Forms(basic=Basic.REDUCTION, ufunc=np.add, depends=reduced),
)


def broadcast_to(x: Value, shape: tuple[int, ...]) -> Value:
    """Return ``x`` broadcast to ``shape`` by NumPy's rule, or ``x`` itself if it has that shape."""
    return x if getattr(x, "shape", ()) == shape else broadcast_to_p(x, shape=shape)


def reduce_sum(x: Value, axes: tuple[int, ...], keepdims: bool = False) -> Value:
    """Return the sum over ``axes`` (non-negative), in the dtype of ``x``."""
    return reduce_sum_p(x, axes=axes, keepdims=keepdims)


def sum_to_shape(x: Value, shape: tuple[int, ...]) -> Value:
    """Return the sum over the axes that broadcasting from ``shape`` repeated: the transpose of broadcasting."""
    own = x.shape
    if own == shape:
        return x
    bare = type(x) is np.ndarray and x.dtype.kind in "fc"
    if bare and len(own) == 2 and own[0] <= _ONES_LIMIT >= own[1] and x.dtype.itemsize > 2:
        # The cotangent of a bias or a column. BLAS's product with ones takes a third of the time of a reduction.
        if shape == own[1:]:
            return ones_for_sums(own[0], x.dtype).dot(x)
        if shape == (own[0], 1):
            return x.dot(ones_for_sums(own[1], x.dtype)).reshape(shape)
    added = len(own) - len(shape)
    if bare and own[added:] == shape:
        return np.add.reduce(x, tuple(range(added)))
    stretched = tuple([i for i, n in enumerate(shape, added) if n == 1 and own[i] != 1])
    if bare and stretched and not added:
        return np.add.reduce(x, axis=stretched, keepdims=True)
    if stretched:
        x = reduce_sum(x, stretched, keepdims=True)
    return reduce_sum(x, tuple(range(added))) if added else x


_ONES_LIMIT = 4096


@lru_cache(maxsize=64)
def ones_for_sums(count: int, dtype: np.dtype) -> np.ndarray:
    """Return the vector of ones whose product with a matrix is a sum."""
    return np.ones(count, dtype)


def with_batch(x: Value, size: int, flag: bool) -> Value:
    """Return ``x`` with the batch leading, broadcast if it was not batched.

    Args:
        x: the operand.
        size: the length of the batch.
        flag: whether ``x`` has the batch as its first axis already.

    Returns:
        An array or tracer of shape ``(size, ...)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend
        >>> extend.with_batch(np.array([1.0, 2.0]), 2, False)
        array([[1., 2.],
               [1., 2.]])
        >>> extend.with_batch(np.array([1.0, 2.0]), 2, True)
        array([1., 2.])
    """
    if flag:
        return x
    shape = getattr(x, "shape", ())
    return broadcast_to(reshape(x, (1, *shape)), (size, *shape))


def batch_all(*names: str) -> BatchRule:
    """Batch a primitive of several operands; those without a batch are broadcast. These parameters are axes.

    Args:
        *names: names of parameters that are axes; each increases by one for the batch.

    Returns:
        The rule for a primitive's ``batch``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad import extend
        >>> common_bits_p = extend.Primitive(
        ...     "common_bits",
        ...     operands=("a", "b"),
        ...     numpy=np.bitwise_and,
        ...     xla="bitwise_and",
        ...     aval=lambda a, b: a,
        ...     derivative=extend.CONSTANT,
        ...     batch=extend.batch_all(),
        ...     cost=lambda y, *operands, **params: y.size,
        ... )
        >>> fg.vmap(common_bits_p, in_axes=(0, None))(np.array([[1, 2], [3, 4]]), np.array([1, 6]))
        array([[1, 2],
               [1, 4]])
    """

    def rule(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
        moved = {name: moved_axes(value) if name in names else value for name, value in params.items()}
        whole = tuple([with_batch(x, size, flag) for x, flag in zip(operands, batched, strict=True)])
        return bind(primitive, whole, moved)

    return rule


def spread(y: Value, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool = False) -> Value:
    """Return the result of a reduction over ``axes``, broadcast to the ``shape`` before the reduction."""
    bare = type(y) is np.ndarray
    if axes and not keepdims and len(y.shape) and len(axes) != len(shape):
        kept = reduced_shape(shape, axes, True)
        y = y.reshape(kept) if bare else reshape(y, kept)
    if (bare and y.shape != shape) or (shape and issubclass(type(y), np.floating)):
        return _broadcast_numpy(y, shape=shape)
    return broadcast_to(y, shape)
