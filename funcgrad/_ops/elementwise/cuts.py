"""Complex roots, logarithms and inverse functions on XLA, with NumPy's values on branch cuts and at infinity.

XLA reads no sign of a zero, so on a cut it always returns the value of one side: ``sqrt(-4 - 0j)`` is ``2j`` instead of
``-2j``. The sign that chooses the side is that of the operand's zero part (C99, annex G).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import Array, Lax, Value

Function = Callable[[Any, Any], Any]


def signbit_xla(lax: Lax, x: Array) -> Array:
    """Return whether the sign bit of a float is set."""
    bits = lax.bitcast_convert_type(x, np.dtype(f"i{x.dtype.itemsize}"))
    return lax.lt(bits, lax.full_like(bits, 0))


def _with_sign(lax: Lax, part: Value, of: Value, opposite: bool = False) -> Value:
    magnitude = lax.abs(part)
    negative, positive = (magnitude, lax.neg(magnitude)) if opposite else (lax.neg(magnitude), magnitude)
    return lax.select(signbit_xla(lax, of), negative, positive)


def odd_imaginary(name: str, opposite: bool = False) -> Function:
    """Return a function of ``lax`` whose imaginary part has the sign of the operand's one, or the opposite sign."""

    def function(lax: Lax, x: Value) -> Any:
        y = getattr(lax, name)(x)
        if x.dtype.kind != "c":
            return y
        return lax.complex(lax.real(y), _with_sign(lax, lax.imag(y), lax.imag(x), opposite))

    return function


def odd_parts(name: str) -> Function:
    """Return a function of ``lax`` whose parts have the signs of the operand's parts."""

    def function(lax: Lax, x: Value) -> Any:
        y = getattr(lax, name)(x)
        if x.dtype.kind != "c":
            return y
        return lax.complex(*[_with_sign(lax, part(y), part(x)) for part in (lax.real, lax.imag)])

    return function


def logarithm(name: str) -> Function:
    """Return a logarithm of ``lax``: the real part is infinite where one part is, even if the other one is NaN."""

    def function(lax: Lax, x: Value) -> Any:
        y = getattr(lax, name)(x)
        if x.dtype.kind != "c":
            return y
        real, infinity = lax.real(y), lax.full_like(lax.real(y), np.inf)
        infinite = lax.bitwise_or(*[lax.eq(lax.abs(part(x)), infinity) for part in (lax.real, lax.imag)])
        return lax.complex(lax.select(infinite, infinity, real), lax.imag(y))

    return function


def odd_angle(name: str, angle: int) -> Function:
    """Return ``atan`` or ``atanh`` of ``lax``: both parts have the operand's signs, and the angle keeps its NaN.

    The angle of ``atan`` is its real part (0), and that of ``atanh`` its imaginary part (1).
    """

    def function(lax: Lax, x: Value) -> Any:
        if x.dtype.kind != "c":
            return getattr(lax, name)(x)
        y, x = odd_parts(name)(lax, x), (lax.real(x), lax.imag(x))[angle]
        parts = [lax.real(y), lax.imag(y)]
        parts[angle] = lax.select(lax.ne(x, x), x, parts[angle])
        return lax.complex(*parts)

    return function


def hyperbolic(name: str) -> Function:
    """Return ``sinh`` or ``cosh`` of ``lax``. XLA's difference of exponentials loses digits near the imaginary axis."""

    def function(lax: Lax, x: Value) -> Any:
        y = getattr(lax, name)(x)
        if x.dtype.kind != "c":
            return y
        real, imag = lax.real(x), lax.imag(x)
        small = lax.bitwise_and(lax.lt(lax.abs(real), lax.full_like(real, 1)), lax.is_finite(imag))
        odd, even = lax.sinh(real), lax.cosh(real)
        of_real, of_imag = (odd, even) if name == "sinh" else (even, odd)
        exact = lax.complex(lax.mul(of_real, lax.cos(imag)), lax.mul(of_imag, lax.sin(imag)))
        return lax.select(small, exact, y)

    return function
