"""Elementwise tests, logical and bitwise operations, and choices by comparison."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import is_integral
from funcgrad._core.forms import Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.elementwise.arithmetic import eq_p, max_p, max_xla, min_p, min_xla
from funcgrad._ops.elementwise.families import elementwise, predicate
from funcgrad._ops.elementwise.select import select
from funcgrad._types import Array, Lax, Value


def _isnan_xla(lax: Lax, x: Array) -> Array:
    return lax.ne(x, x)


def _isfinite_xla(lax: Lax, x: Array) -> Array:
    if x.dtype.kind == "c":
        return lax.bitwise_and(lax.is_finite(lax.real(x)), lax.is_finite(lax.imag(x)))
    return lax.full_like(x, True, bool) if is_integral(x.dtype) else lax.is_finite(x)


def _isinf_xla(lax: Lax, x: Array) -> Array:
    if x.dtype.kind == "c":
        return lax.bitwise_or(_isinf_xla(lax, lax.real(x)), _isinf_xla(lax, lax.imag(x)))
    if is_integral(x.dtype):
        return lax.full_like(x, False, bool)
    return lax.eq(lax.abs(x), lax.full_like(x, np.inf))


isnan_p = predicate("isnan", "x", numpy=np.isnan, xla=_isnan_xla)
isinf_p = predicate("isinf", "x", numpy=np.isinf, xla=_isinf_xla)
isfinite_p = predicate("isfinite", "x", numpy=np.isfinite, xla=_isfinite_xla)


def _logical_xla(name: str) -> Any:
    """Return a bitwise operation on the truth values of operands of any dtype."""

    def apply(lax: Lax, *xs: Value) -> Any:
        truths = [x if x.dtype == bool else lax.ne(x, lax.full_like(x, 0)) for x in xs]
        return getattr(lax, name)(*truths)

    return apply


logical_and_p = predicate("logical_and", "a b", numpy=np.logical_and, xla=_logical_xla("bitwise_and"))
logical_or_p = predicate("logical_or", "a b", numpy=np.logical_or, xla=_logical_xla("bitwise_or"))
logical_xor_p = predicate("logical_xor", "a b", numpy=np.logical_xor, xla=_logical_xla("bitwise_xor"))
logical_not_p = predicate("logical_not", "x", numpy=np.logical_not, xla=_logical_xla("bitwise_not"))


def _bitwise(name: str, operands: str, ufunc: Callable[..., Any], xla: str | Callable[..., Any]) -> Primitive:
    return elementwise(name, operands, numpy=ufunc, xla=xla, maps=CONSTANT, operator=True)


def _right_shift_xla(lax: Lax, a: Array, b: Array) -> Array:
    return (lax.shift_right_arithmetic if a.dtype.kind == "i" else lax.shift_right_logical)(a, b)


bitwise_and_p = _bitwise("bitwise_and", "a b", np.bitwise_and, "bitwise_and")
bitwise_or_p = _bitwise("bitwise_or", "a b", np.bitwise_or, "bitwise_or")
bitwise_xor_p = _bitwise("bitwise_xor", "a b", np.bitwise_xor, "bitwise_xor")
bitwise_not_p = _bitwise("bitwise_not", "x", np.invert, "bitwise_not")
left_shift_p = _bitwise("left_shift", "a b", np.left_shift, "shift_left")
right_shift_p = _bitwise("right_shift", "a b", np.right_shift, _right_shift_xla)


def _ignore_nan(name: str) -> Any:
    def choose(lax: Lax, a: Value, b: Value) -> Value:
        # If both are NaN, the first is the result, as in NumPy.
        return lax.select(_isnan_xla(lax, b), a, lax.select(_isnan_xla(lax, a), b, getattr(lax, name)(a, b)))

    return choose


def _winner_map(t: Value, x: Value, other: Value, y: Value) -> Any:
    """Return all of ``t`` where ``x`` is the result, and half of it where both operands are."""
    return select(eq_p(x, y), select(eq_p(other, y), 0.5 * t, t), 0)


_WINNER_MAPS = [lambda t, a, b, y: _winner_map(t, a, b, y), lambda t, a, b, y: _winner_map(t, b, a, y)]

fmax_p = elementwise("fmax", "a b", numpy=np.fmax, xla=_ignore_nan("max"), maps=_WINNER_MAPS)
fmin_p = elementwise("fmin", "a b", numpy=np.fmin, xla=_ignore_nan("min"), maps=_WINNER_MAPS)


def _clip_numpy(x: Array, low: Array, high: Array) -> Array:
    # `np.clip` computes the same, but its wrappers take 4 us.
    return np.minimum(np.maximum(x, low), high)


def _clip_expanded(x: Value, low: Value, high: Value) -> Any:
    return min_p(max_p(x, low), high)


def _clip_xla(lax: Lax, x: Array, low: Array, high: Array) -> Array:
    return min_xla(lax, max_xla(lax, x, low), high)


def _greater_share(t: Value, x: Value, other: Value) -> Value:
    """Return all of ``t`` where ``x`` is greater than the other, and half of it where both are equal."""
    return select(x > other, t, select(x == other, 0.5 * t, 0))


def _below_high(t: Value, x: Value, low: Value, high: Value) -> Value:
    """Return the part of ``t`` that does not belong to the upper bound."""
    return _greater_share(t, high, max_p(x, low))


# min(high, max(x, low)); equal values share the derivative.
clip_p = elementwise(
    "clip",
    "x low high",
    numpy=_clip_numpy,
    xla=_clip_xla,
    maps=[
        lambda t, x, low, high: _greater_share(_below_high(t, x, low, high), x, low),
        lambda t, x, low, high: _greater_share(_below_high(t, x, low, high), low, x),
        lambda t, x, low, high: _greater_share(t, max_p(x, low), high),
    ],
    flops=2,
    forms=Forms(expand=_clip_expanded, new_memory=True),
)

# PyTorch's version: a value that equals a bound gets the whole derivative.
clamp_p = elementwise(
    "clamp",
    "x low high",
    numpy=_clip_numpy,
    xla=_clip_xla,
    maps=[
        lambda t, x, low, high: select((x >= low) & (x <= high), t, 0),
        lambda t, x, low, high: select((x < low) & (low <= high), t, 0),
        lambda t, x, low, high: select((x > high) | (low > high), t, 0),
    ],
    flops=2,
    forms=Forms(expand=_clip_expanded, new_memory=True),
)


def _heaviside_xla(lax: Lax, a: Array, b: Array) -> Array:
    zero = lax.full_like(a, 0)
    step = lax.select(lax.lt(a, zero), zero, lax.full_like(a, 1))
    return lax.select(_isnan_xla(lax, a), a, lax.select(lax.eq(a, zero), b, step))


heaviside_p = elementwise(
    "heaviside", "a b", numpy=np.heaviside, xla=_heaviside_xla, maps=[None, lambda t, a: select(a == 0, t, 0)]
)
