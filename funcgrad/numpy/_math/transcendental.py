"""Exponentials, logarithms, roots, circular and hyperbolic functions."""

from __future__ import annotations

import math

import numpy as np

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise import arithmetic, transcendental, trigonometric
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.special.bessel import i0_p
from funcgrad._types import ArrayLike, Tensor
from funcgrad.numpy._base.concrete import no_number
from funcgrad.numpy._base.convert import as_value, dtype_of, operands_for
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._math.elementwise import binary, multiply, unary

exp = unary(np.exp, transcendental.exp_p)
exp2 = unary(np.exp2, transcendental.exp2_p)
expm1 = unary(np.expm1, transcendental.expm1_p)
log2 = unary(np.log2, transcendental.log2_p)
log10 = unary(np.log10, transcendental.log10_p)
log1p = unary(np.log1p, transcendental.log1p_p)
cbrt = unary(np.cbrt, transcendental.cbrt_p)
square = unary(np.square, transcendental.square_p)
reciprocal = unary(np.reciprocal, transcendental.reciprocal_p)
fabs = unary(np.fabs, arithmetic.abs_p)
hypot = binary(np.hypot, transcendental.hypot_p)
logaddexp = binary(np.logaddexp, transcendental.logaddexp_p)
logaddexp2 = binary(np.logaddexp2, transcendental.logaddexp2_p)

sin = unary(np.sin, trigonometric.sin_p)
cos = unary(np.cos, trigonometric.cos_p)
tan = unary(np.tan, trigonometric.tan_p)
arcsin = asin = unary(np.arcsin, trigonometric.arcsin_p)
arccos = acos = unary(np.arccos, trigonometric.arccos_p)
arctan = atan = unary(np.arctan, trigonometric.arctan_p)
arctan2 = atan2 = binary(np.arctan2, trigonometric.arctan2_p)
sinh = unary(np.sinh, trigonometric.sinh_p)
cosh = unary(np.cosh, trigonometric.cosh_p)
tanh = unary(np.tanh, trigonometric.tanh_p)
arcsinh = asinh = unary(np.arcsinh, trigonometric.arcsinh_p)
arccosh = acosh = unary(np.arccosh, trigonometric.arccosh_p)
arctanh = atanh = unary(np.arctanh, trigonometric.arctanh_p)


@implements(np.deg2rad, np.radians)
def deg2rad(x: ArrayLike, /) -> Tensor:
    """``numpy.deg2rad``."""
    return multiply(operands_for(np.deg2rad, (x,))[0], math.pi / 180)


@implements(np.rad2deg, np.degrees)
def rad2deg(x: ArrayLike, /) -> Tensor:
    """``numpy.rad2deg``."""
    return multiply(operands_for(np.rad2deg, (x,))[0], 180 / math.pi)


radians, degrees = deg2rad, rad2deg


@implements(np.sinc)
def sinc(x: ArrayLike) -> Tensor:
    """Return ``numpy.sinc``, with right derivatives of any order at 0 too."""
    x = as_value(x)
    if dtype_of(x).kind not in "fc":
        x = cast(x, np.dtype(float))
    return bind(trigonometric.sinc_p, (x,), NO_PARAMS)


@implements(np.i0)
def i0(x: ArrayLike) -> Tensor:
    """Return ``numpy.i0``: the modified Bessel function of order 0."""
    x = as_value(x)
    if dtype_of(x).kind == "c":
        raise TypeError(
            f"numpy.i0: the argument is of dtype {dtype_of(x)}; i0 not supported for complex values. Take its .real."
        )
    # SciPy's function has no half precision. NumPy's returns the dtype of its argument.
    half = dtype_of(x) == np.float16
    if half or dtype_of(x).kind != "f":
        x = cast(x, np.dtype(np.float32 if half else float))
    y = bind(i0_p, (x,), NO_PARAMS)
    return no_number(cast(y, np.dtype(np.float16)) if half else y)
