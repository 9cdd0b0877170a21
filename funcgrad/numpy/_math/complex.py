"""Complex numbers: their parts, conjugates and angles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS, Tracer, bind
from funcgrad._core.numbers import is_weak
from funcgrad._ops.elementwise.arithmetic import ne_p
from funcgrad._ops.elementwise.cast import conj_p, imag_p, real_p
from funcgrad._ops.elementwise.rounding import signbit_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.trigonometric import arctan2_p
from funcgrad._ops.layout.copy import fresh
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.numpy._base.concrete import as_number, concrete_value, no_number
from funcgrad.numpy._base.convert import as_value, dtype_of, operands_for, promote
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.out import deliver
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._math.elementwise import named, of_numbers


def _conjugate(x: ArrayLike, /) -> Tensor:
    (z,) = operands_for(np.conjugate, (x,))
    return bind(conj_p, (z,), NO_PARAMS) if dtype_of(z).kind == "c" else as_number(fresh(z, x))


conjugate = named(of_numbers(_conjugate), np.conjugate)


def conjugate_method(self: Tracer, out: Any = None) -> Tensor:
    """Return ``x.conj()``; without ``out``, a real array is returned itself."""
    y = _conjugate(self) if self.dtype.kind == "c" else self
    return y if out is None else deliver(out, y, "conjugate", np.conjugate, (self,))


conj = conjugate


@implements(np.real)
def real(val: ArrayLike) -> Array:
    """``numpy.real``."""
    x = as_value(val)
    return real_p(x) if dtype_of(x).kind == "c" else x


@implements(np.imag)
def imag(val: ArrayLike) -> Tensor:
    """``numpy.imag``."""
    x = as_value(val)
    if dtype_of(x).kind == "c":
        return imag_p(x)
    # The imaginary part of a Python number is a Python number.
    return dtype_of(x).type(0).item() if is_weak(x) else zeros_like(x)


@implements(np.angle)
@in_numpys_mode
def angle(z: ArrayLike, deg: bool = False) -> Tensor:
    """Return ``numpy.angle``: the argument of a complex number, in radians or degrees."""
    (z,) = promote(as_value(z))
    if z.dtype.kind == "c":
        result = arctan2_p(imag_p(z), real_p(z))
    else:
        z = operands_for(np.arctan2, (0, z))[1]
        # The result equals arctan2(0, z), but has no derivative, which would be NaN at z = 0.
        result = select(signbit_p(z), math.pi, zeros_like(z))
        result = select(ne_p(z, z), np.nan, result)
    return result * (180 / math.pi) if deg else result


@beside_numpys(np.real_if_close)
def real_if_close(a: ArrayLike, tol: float = 100) -> Any:
    """Return ``numpy.real_if_close``. The imaginary parts have to be known."""
    x = as_value(a)
    if dtype_of(x).kind != "c":
        return no_number(x)
    limit = tol * np.finfo(dtype_of(x)).eps if tol > 1 else tol
    is_close = np.all(np.abs(imag(x)) < limit)
    asked = "numpy.real_if_close, whose dtype depends on the imaginary parts,"
    return real(x) if concrete_value(is_close, asked) else x
