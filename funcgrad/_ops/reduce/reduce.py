"""Reductions other than the sum: product, extrema and their positions, all and any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import bind_one
from funcgrad._core.forms import NO_FORMS, Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import CONSTANT, PerOperand
from funcgrad._ops.elementwise.arithmetic import max_xla, min_xla
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.batching import batch_axes
from funcgrad._ops.layout.broadcast import native, reduce_sum, reduced_shape, spread
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._ops.reduce.cumulative import products_of_others
from funcgrad._ops.reduce.sort import INDEX_DTYPE
from funcgrad._types import Array, Lax, Value

Axes = tuple[int, ...]
# XLA's own reductions of complex numbers skip NaN. For each: the function of a pair, and a number that always loses.
_COMPLEX_EXTREMA = {"reduce_max": (max_xla, -np.inf), "reduce_min": (min_xla, np.inf)}


def _reduction(
    name: str,
    ufunc: np.ufunc,
    xla: str,
    derivative: Any,
    *,
    dtype: np.dtype | None = None,
    identity: bool = True,
    forms: Forms = NO_FORMS,
) -> Primitive:
    def reduce_numpy(x: Array, *, axes: Axes, keepdims: bool) -> Array:
        # A Python number has no dtype, and no axes to reduce.
        own = x.dtype if hasattr(x, "dtype") else None
        return ufunc.reduce(x, axis=axes, dtype=dtype or (own and native(own)), keepdims=keepdims)

    def reduce_xla(lax: Lax, x: Array, *, axes: Axes, keepdims: bool) -> Array:
        y = x
        if axes and x.dtype.kind == "c" and xla in _COMPLEX_EXTREMA:
            pair, worst = _COMPLEX_EXTREMA[xla]
            y = lax.reduce(x, x.dtype.type(complex(worst, worst)), lambda a, b: pair(lax, a, b), axes)
        elif axes:
            y = getattr(lax, xla)(x, axes)
        return lax.reshape(y, reduced_shape(x.shape, axes, True)) if keepdims else y

    def reduced_aval(x: Aval, *, axes: Axes, keepdims: bool) -> Aval:
        if not identity and any(x.shape[i] == 0 for i in axes):
            raise ValueError(f"{name}: the array {x} is empty along axes {axes}; needed at least one element.")
        return Aval(reduced_shape(x.shape, axes, keepdims), dtype or native(x.dtype))

    return Primitive(
        name,
        operands=("x",),
        numpy=reduce_numpy,
        xla=reduce_xla,
        aval=reduced_aval,
        derivative=derivative,
        batch=batch_axes("axes"),
        cost=lambda y, x, **_: x.size,
        forms=forms,
    )


def _kept(y: Value, x_shape: tuple[int, ...], axes: Axes, keepdims: bool) -> Value:
    """Return a reduction's result in a shape that broadcasts against the operand."""
    return y if keepdims or len(axes) == len(x_shape) else reshape(y, reduced_shape(x_shape, axes, True))


def _winners(x: Value, y: Value, axes: Axes, keepdims: bool) -> tuple[Any, Any, Any]:
    """Return where the extremum is attained and how often; and NaN where it is NaN (which equals nothing), else 0."""
    mask = x == _kept(y, x.shape, axes, keepdims)
    count = reduce_sum(cast(mask, y.dtype), axes, keepdims)
    known = y == y  # noqa: PLR0124  (NaN alone differs from itself)
    return mask, select(known, count, 1), select(known, 0, y)


def _extremum_bar(y_bar: Value, x: Value, y: Value, axes: Axes, keepdims: bool) -> Value:
    """Share the cotangent among equal elements; if the extremum is NaN, all get NaN. Both as in JAX."""
    if not axes:
        return y_bar
    if type(y_bar) is np.ndarray and type(x) is np.ndarray and type(y) is np.ndarray:
        # As operations of ours this takes twice the time on small arrays. The product finds a NaN in a third of the
        # time of a reduction.
        flat = y.reshape(-1)
        square = flat.dot(flat)
        if square == square:  # noqa: PLR0124  (NaN alone differs from itself)
            kept = reduced_shape(x.shape, axes, True)
            mask = x == y.reshape(kept)
            share = y_bar.reshape(kept) / np.add.reduce(mask.astype(y_bar.dtype), axes, keepdims=True)
            x_bar = np.zeros(mask.shape, share.dtype)
            np.copyto(x_bar, share, where=mask)
            return x_bar
    mask, count, fill = _winners(x, y, axes, keepdims)
    share = _kept(y_bar / count, x.shape, axes, keepdims)
    return select(mask, share, _kept(fill, x.shape, axes, keepdims))


def _extremum_push(x_dot: Value, x: Value, y: Value, axes: Axes, keepdims: bool) -> Value:
    if not axes:
        return x_dot
    mask, count, fill = _winners(x, y, axes, keepdims)
    return reduce_sum(select(mask, x_dot, 0), axes, keepdims) / count + fill


_EXTREMUM = PerOperand(("x",), [_extremum_bar], [_extremum_push])

reduce_max_p = _reduction(
    "reduce_max",
    np.maximum,
    "reduce_max",
    _EXTREMUM,
    identity=False,
    forms=Forms(basic=Basic.REDUCTION, ufunc=np.maximum),
)
reduce_min_p = _reduction(
    "reduce_min",
    np.minimum,
    "reduce_min",
    _EXTREMUM,
    identity=False,
    forms=Forms(basic=Basic.REDUCTION, ufunc=np.minimum),
)


def _others(x: Value, axes: Axes) -> Any:
    """Return, for each element, the product of the others that it is multiplied with."""
    if len(axes) == 1:
        return products_of_others(x, axes[0])
    order = (*(i for i in range(len(x.shape)) if i not in axes), *axes)
    moved = transpose(x, order)
    last = len(order) - len(axes)
    size = 1
    for n in moved.shape[last:]:
        size *= n
    others = products_of_others(reshape(moved, (*moved.shape[:last], size)), last)
    return transpose(reshape(others, moved.shape), tuple([order.index(i) for i in range(len(order))]))


def _prod_bar(y_bar: Value, x: Value, axes: Axes, keepdims: bool) -> Any:
    if not axes:
        return y_bar
    return spread(y_bar, x.shape, axes, keepdims) * _others(x, axes)


def _prod_push(x_dot: Value, x: Value, axes: Axes, keepdims: bool) -> Any:
    if not axes:
        return x_dot
    return reduce_sum(x_dot * _others(x, axes), axes, keepdims)


reduce_prod_p = _reduction(
    "reduce_prod",
    np.multiply,
    "reduce_prod",
    PerOperand(("x",), [_prod_bar], [_prod_push]),
    forms=Forms(basic=Basic.REDUCTION, ufunc=np.multiply),
)
reduce_and_p = _reduction("reduce_and", np.logical_and, "reduce_and", CONSTANT, dtype=np.dtype(bool))
reduce_or_p = _reduction("reduce_or", np.logical_or, "reduce_or", CONSTANT, dtype=np.dtype(bool))


def reduce_max(x: Value, axes: Axes, keepdims: bool = False) -> Value:
    """Return the greatest element over ``axes`` (non-negative)."""
    return bind_one(reduce_max_p, x, {"axes": axes, "keepdims": keepdims})


def reduce_min(x: Value, axes: Axes, keepdims: bool = False) -> Any:
    """Return the least element over ``axes`` (non-negative)."""
    return bind_one(reduce_min_p, x, {"axes": axes, "keepdims": keepdims})


def reduce_prod(x: Value, axes: Axes, keepdims: bool = False) -> Value:
    """Return the product over ``axes`` (non-negative), in the dtype of ``x``."""
    return bind_one(reduce_prod_p, x, {"axes": axes, "keepdims": keepdims})


def reduce_and(x: Value, axes: Axes, keepdims: bool = False) -> Value:
    """Return whether all elements of a boolean array over ``axes`` are true."""
    return bind_one(reduce_and_p, x, {"axes": axes, "keepdims": keepdims})


def reduce_or(x: Value, axes: Axes, keepdims: bool = False) -> Value:
    """Return whether any element of a boolean array over ``axes`` is true."""
    return bind_one(reduce_or_p, x, {"axes": axes, "keepdims": keepdims})


def _place_aval(x: Aval, *, axis: int) -> Aval:
    if x.shape[axis] == 0:
        raise ValueError(f"argmax: the array {x} is empty along axis {axis}; needed at least one element.")
    return Aval((*x.shape[:axis], *x.shape[axis + 1 :]), INDEX_DTYPE)


def _place_xla(lax: Lax, x: Array, name: str, axis: int) -> Array:
    """Return positions; complex numbers compare by real, then imaginary part, and the first NaN comes before all."""
    dtype = lax.canonical_dtype(INDEX_DTYPE)
    if x.dtype.kind != "c":
        return getattr(lax, name)(x, axis, dtype)
    reduce = getattr(lax, name.replace("arg", "reduce_"))
    best = lax.full_like(x, True, bool)
    for part in (lax.real(x), lax.imag(x)):
        worst = lax.full_like(part, -np.inf if name == "argmax" else np.inf)
        extreme = reduce(lax.select(best, part, worst), (axis,))
        best = lax.bitwise_and(best, lax.eq(part, lax.broadcast_in_dim(extreme, x.shape, _others_of(x, axis))))
    unknown = lax.ne(x, x)
    any_unknown = lax.reduce_or(unknown, (axis,))
    places = [lax.argmax(lax.convert_element_type(mask, np.int32), axis, dtype) for mask in (unknown, best)]
    return lax.select(any_unknown, *places)


def _others_of(x: Value, axis: int) -> tuple[int, ...]:
    return tuple([i for i in range(x.ndim) if i != axis])


def _place(name: str, numpy: Callable[..., Any]) -> Primitive:
    return Primitive(
        name,
        operands=("x",),
        numpy=lambda x, *, axis: numpy(x, axis),
        xla=lambda lax, x, *, axis: _place_xla(lax, x, name, axis),
        aval=_place_aval,
        derivative=CONSTANT,
        batch=batch_axes("axis"),
        cost=lambda y, x, **_: x.size,
    )


argmax_p = _place("argmax", np.argmax)
argmin_p = _place("argmin", np.argmin)


def argmax(x: Value, axis: int) -> Value:
    """Return the index of the (first) greatest element along an axis."""
    return argmax_p(x, axis=axis)


def argmin(x: Value, axis: int) -> Any:
    """Return the index of the (first) least element along an axis."""
    return argmin_p(x, axis=axis)
