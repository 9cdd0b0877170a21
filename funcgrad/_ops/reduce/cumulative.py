"""Cumulative sums, products and extrema along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Forms
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._core.trace.derivative import Multilinear, PerOperand
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.batching import batch_axes
from funcgrad._ops.layout.broadcast import batch_all, native
from funcgrad._ops.layout.depends import running
from funcgrad._ops.layout.fill import ones_like, zeros_like
from funcgrad._ops.reduce.sort import gather_along_axis, scatter_along_axis
from funcgrad._types import Array, Lax, Value

# Up to this length a loop over the axis is faster than halving it.
_LOOP_LIMIT = 16


def _running(ufunc: np.ufunc) -> Callable[..., Any]:
    def run(x: Value, *, axis: int, reverse: bool) -> Value:
        if not reverse:
            return ufunc.accumulate(x, axis, native(x.dtype))
        return np.flip(ufunc.accumulate(np.flip(x, axis), axis, native(x.dtype)), axis)

    return run


def _xla(name: str) -> Callable[..., Any]:
    return lambda lax, x, *, axis, reverse: getattr(lax, name)(x, axis, reverse)


def _cumulative(name: str, ufunc: np.ufunc, derivative: Any) -> Primitive:
    return Primitive(
        name,
        operands=("x",),
        numpy=_running(ufunc),
        xla=_xla(name),
        aval=lambda x, *, axis, reverse: Aval(x.shape, native(x.dtype)),
        derivative=derivative,
        batch=batch_axes("axis"),
        cost=lambda y, x, **_: x.size,
        forms=Forms(depends=running),
    )


cumsum_p = _cumulative(
    "cumsum", np.add, Multilinear(("x",), [lambda y_bar, axis, reverse: cumsum(y_bar, axis, reverse=not reverse)])
)


def cumsum(x: Value, axis: int, *, reverse: bool = False) -> Value:
    """Return cumulative sums along an axis, from its end if ``reverse``."""
    return cumsum_p(x, axis=axis, reverse=reverse)


def _recurrence_numpy(a: Array, b: Array, *, axis: int, reverse: bool) -> Array:
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    y = _recur(a[::-1], b[::-1])[::-1] if reverse else _recur(a, b)
    return np.moveaxis(y, 0, axis)


def _recur(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Compute the recurrence along the first axis. Two steps at a time form a recurrence of half the length."""
    n = len(b)
    y = np.empty(b.shape, b.dtype)
    if n <= _LOOP_LIMIT:
        y[:1] = b[:1]
        for i in range(1, n):
            y[i] = a[i] * y[i - 1] + b[i]
        return y
    first, second = slice(0, n // 2 * 2, 2), slice(1, None, 2)
    y[1::2] = _recur(a[second] * a[first], a[second] * b[first] + b[second])
    y[:1] = b[:1]
    y[2::2] = a[2::2] * y[1 : n - 1 : 2] + b[2::2]
    return y


def _recurrence_xla(lax: Lax, a: Array, b: Array, *, axis: int, reverse: bool) -> Array:
    def join(x: tuple, y: tuple) -> tuple:
        return lax.mul(x[0], y[0]), lax.add(lax.mul(y[0], x[1]), y[1])

    return lax.associative_scan(join, (a, b), reverse=reverse, axis=axis)[1] if b.size else b


def _recurrence_b_bar(y_bar: Value, a: Value, axis: int, reverse: bool) -> Any:
    # The cotangent runs in the other direction. The factor from y[i] to y[i + 1] is the factor on the way back.
    return recurrence(shifted(a, axis, reverse=not reverse), y_bar, axis, reverse=not reverse)


def _recurrence_a_bar(y_bar: Value, a: Value, y: Value, axis: int, reverse: bool) -> Any:
    return _recurrence_b_bar(y_bar, a, axis, reverse) * shifted(y, axis, reverse=reverse)


def _recurrence_a_push(a_dot: Value, a: Value, y: Value, axis: int, reverse: bool) -> Any:
    return recurrence(a, a_dot * shifted(y, axis, reverse=reverse), axis, reverse=reverse)


# Cumulative products and their derivatives of every order are such recurrences. They never divide, so zeros are safe.
recurrence_p = CompoundPrimitive(
    "recurrence",
    operands=("a", "b"),
    numpy=_recurrence_numpy,
    xla=_recurrence_xla,
    aval=lambda a, b, *, axis, reverse: Aval(b.shape, b.dtype),
    derivative=PerOperand(
        ("a", "b"),
        [_recurrence_a_bar, _recurrence_b_bar],
        [_recurrence_a_push, lambda b_dot, a, axis, reverse: recurrence(a, b_dot, axis, reverse=reverse)],
    ),
    batch=batch_all("axis"),
    cost=lambda y, a, b, **_: 2 * b.size,
    forms=Forms(depends=running),
)


def recurrence(a: Value, b: Value, axis: int, *, reverse: bool = False) -> Any:
    """Return ``y[i] = a[i] * y[i - 1] + b[i]`` along an axis, from ``y[-1] = 0``; from its end if ``reverse``.

    Both operands have one shape and dtype; ``a[0]`` is not used.
    """
    return recurrence_p(a, b, axis=axis, reverse=reverse)


def shifted(x: Value, axis: int, *, reverse: bool = False, fill: int = 0) -> Value:
    """Return ``y[i] = x[i - 1]`` along an axis, with 0 or 1 for ``y[0]``; ``y[i] = x[i + 1]`` if ``reverse``."""
    n = x.shape[axis]
    if not n:
        return x
    edge = slice_axis(x, axis, 0, 1)
    edge = ones_like(edge) if fill else zeros_like(edge)
    return concatenate([slice_axis(x, axis, 1, n), edge] if reverse else [edge, slice_axis(x, axis, 0, n - 1)], axis)


def _cumprod_bar(y_bar: Value, x: Value, y: Value, axis: int, reverse: bool) -> Any:
    before = shifted(y, axis, reverse=reverse, fill=1)
    return before * _recurrence_b_bar(y_bar, x, axis, reverse)


def _cumprod_push(x_dot: Value, x: Value, y: Value, axis: int, reverse: bool) -> Any:
    return recurrence(x, x_dot * shifted(y, axis, reverse=reverse, fill=1), axis, reverse=reverse)


cumprod_p = _cumulative("cumprod", np.multiply, PerOperand(("x",), [_cumprod_bar], [_cumprod_push]))


def cumprod(x: Value, axis: int, *, reverse: bool = False) -> Value:
    """Return cumulative products along an axis, from its end if ``reverse``."""
    return cumprod_p(x, axis=axis, reverse=reverse)


def products_of_others(x: Value, axis: int) -> Any:
    """Return, for each element, the product of all others along an axis.

    This is the derivative of the product, also at zeros.
    """
    before = shifted(cumprod(x, axis), axis, fill=1)
    after = shifted(cumprod(x, axis, reverse=True), axis, reverse=True, fill=1)
    return before * after


def _places(x: Value, y: Value, axis: int, *, reverse: bool) -> Any:
    """Return, for each cumulative extremum, the position of the latest element that attains it."""
    n = x.shape[axis]
    places = np.arange(n).reshape((n,) + (1,) * (len(x.shape) - axis - 1))
    if reverse:
        return cummin_p(select(x == y, places, n - 1), axis=axis, reverse=True)
    return cummax_p(select(x == y, places, 0), axis=axis, reverse=False)


def _unless_nan(t: Value, y: Value) -> Any:
    """Set the derivative to 0 from the first NaN on, where no element is the extremum, as `maximum` and JAX do."""
    return select(y == y, t, 0)  # noqa: PLR0124  (NaN alone differs from itself)


def _extremum_bar(y_bar: Value, x: Value, y: Value, axis: int, reverse: bool) -> Any:
    return scatter_along_axis(_unless_nan(y_bar, y), _places(x, y, axis, reverse=reverse), axis, x.shape[axis])


def _extremum_push(x_dot: Value, x: Value, y: Value, axis: int, reverse: bool) -> Any:
    return _unless_nan(gather_along_axis(x_dot, _places(x, y, axis, reverse=reverse), axis), y)


cummax_p = _cumulative("cummax", np.maximum, PerOperand(("x",), [_extremum_bar], [_extremum_push]))
cummin_p = _cumulative("cummin", np.minimum, PerOperand(("x",), [_extremum_bar], [_extremum_push]))
