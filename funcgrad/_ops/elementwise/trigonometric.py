"""Elementwise circular and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._ops.elementwise.arithmetic import sqrt_p, squared
from funcgrad._ops.elementwise.cuts import hyperbolic, odd_angle, odd_imaginary, odd_parts
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._types import Value

sin_p = elementwise("sin", "x", numpy=np.sin, xla="sin", maps=[lambda t, x: t * cos_p(x)], flops=10)
cos_p = elementwise("cos", "x", numpy=np.cos, xla="cos", maps=[lambda t, x: t * -sin_p(x)], flops=10)
tan_p = elementwise("tan", "x", numpy=np.tan, xla="tan", maps=[lambda t, y: t * (squared(y) + 1)], flops=10)


def _plus_one(x: Value) -> Any:
    """Return ``x + 1``, keeping the sign of a zero imaginary part. That sign selects the side of a branch cut."""
    return x - -1


def _arcsin_map(t: Value, x: Value, x_aval: Aval) -> Value:
    if x_aval.dtype.kind == "c":
        return t / (sqrt_p(-(x - 1)) * sqrt_p(_plus_one(x)))
    # The product keeps the digits that 1 - x * x loses near the ends.
    return t / sqrt_p((1 - x) * (1 + x))


def _arccos_map(t: Value, x: Value, x_aval: Aval) -> Value:
    return _arcsin_map(-t, x, x_aval)


arcsin_p = elementwise("arcsin", "x", numpy=np.arcsin, xla=odd_imaginary("asin"), maps=[_arcsin_map], flops=10)
arccos_p = elementwise(
    "arccos", "x", numpy=np.arccos, xla=odd_imaginary("acos", opposite=True), maps=[_arccos_map], flops=10
)
arctan_p = elementwise(
    "arctan", "x", numpy=np.arctan, xla=odd_angle("atan", angle=0), maps=[lambda t, x: t / (x * x + 1)], flops=10
)
arctan2_p = elementwise(
    "arctan2",
    "a b",
    numpy=np.arctan2,
    xla="atan2",
    maps=[lambda t, a, b: t * (b / (a * a + b * b)), lambda t, a, b: t * (-a / (a * a + b * b))],
    flops=15,
)

sinh_p = elementwise("sinh", "x", numpy=np.sinh, xla=hyperbolic("sinh"), maps=[lambda t, x: t * cosh_p(x)], flops=10)
cosh_p = elementwise("cosh", "x", numpy=np.cosh, xla=hyperbolic("cosh"), maps=[lambda t, x: t * sinh_p(x)], flops=10)
tanh_p = elementwise("tanh", "x", numpy=np.tanh, xla="tanh", maps=[lambda t, y: t * (1 - squared(y))], flops=10)
arcsinh_p = elementwise(
    "arcsinh", "x", numpy=np.arcsinh, xla=odd_parts("asinh"), maps=[lambda t, x: t / sqrt_p(_plus_one(x * x))], flops=10
)


def _arccosh_map(t: Value, x: Value, x_aval: Aval) -> Any:
    if x_aval.dtype.kind == "c":
        # Two roots: the root of the product is on the wrong branch in the left half plane.
        return t / (sqrt_p(x - 1) * sqrt_p(_plus_one(x)))
    return t / sqrt_p((x - 1) * (x + 1))


arccosh_p = elementwise("arccosh", "x", numpy=np.arccosh, xla=odd_imaginary("acosh"), maps=[_arccosh_map], flops=10)
arctanh_p = elementwise(
    "arctanh",
    "x",
    numpy=np.arctanh,
    xla=odd_angle("atanh", angle=1),
    maps=[lambda t, x: t / ((1 - x) * (1 + x))],
    flops=10,
)
