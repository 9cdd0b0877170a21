"""Elementwise functions that ``jax.lax`` has and ``jax.numpy`` has not, or with other arguments."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy.extend import known_value
from funcgrad.scipy import special


class Precision(enum.Enum):
    """``jax.lax.Precision``: how exactly products are computed. All are computed exactly here."""

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2


class RoundingMethod(enum.IntEnum):
    """``jax.lax.RoundingMethod``: where `round` takes halves to."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Any:  # noqa: A002  (JAX's names)
    """``jax.lax.clamp``: cut numbers at a lower and an upper bound."""
    return fnp.clip(x, min, max)


def complex(x: ArrayLike, y: ArrayLike) -> Any:  # noqa: A001  (JAX's name)
    """``jax.lax.complex``: complex numbers of real and imaginary parts."""
    return fnp.asarray(x) + 1j * fnp.asarray(y)


def div(x: ArrayLike, y: ArrayLike) -> Any:
    """``jax.lax.div``: the quotient; that of integers is cut toward zero."""
    x, y = fnp.asarray(x), fnp.asarray(y)
    if fnp.result_type(x, y).kind not in "iu":
        return fnp.divide(x, y)
    quotient = fnp.floor_divide(fnp.abs(x), fnp.abs(y))
    return fnp.where((x < 0) != (y < 0), -quotient, quotient)


def integer_pow(x: ArrayLike, y: int) -> Any:
    """``jax.lax.integer_pow``: a fixed whole power."""
    return fnp.power(x, y)


def polygamma(m: ArrayLike, x: ArrayLike) -> Any:
    """``jax.lax.polygamma``: a derivative of `digamma`, the one of the order ``m``, which is known."""
    orders = np.asarray(known_value(m)).astype(int)
    first, *others = np.unique(orders).tolist()
    y = special.polygamma(first, x)
    for order in others:
        y = fnp.where(orders == order, special.polygamma(order, x), y)
    return y


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:  # noqa: A001  (JAX's name)
    """``jax.lax.round``: the nearest whole number; halves go away from zero unless asked otherwise."""
    if int(rounding_method) == RoundingMethod.TO_NEAREST_EVEN:
        return fnp.rint(x)
    return fnp.copysign(fnp.floor(fnp.abs(x) + 0.5), x)


def rsqrt(x: ArrayLike) -> Array:
    """``jax.lax.rsqrt``: ``1 / sqrt(x)``."""
    return 1 / fnp.sqrt(x)


def shift_right_logical(x: ArrayLike, y: ArrayLike) -> Any:
    """``jax.lax.shift_right_logical``: shift the bits and fill with zeros."""
    x = fnp.asarray(x)
    unsigned = np.dtype(f"u{x.dtype.itemsize}")
    return fnp.right_shift(x.view(unsigned), fnp.asarray(y).astype(unsigned)).view(x.dtype)


def clz(x: ArrayLike) -> Any:
    """``jax.lax.clz``: the number of zero bits before the first one."""
    x = fnp.asarray(x)
    bits = 8 * x.dtype.itemsize
    y = x.view(np.dtype(f"u{x.dtype.itemsize}"))
    for shift in (1, 2, 4, 8, 16, 32):
        if shift < bits:
            y |= fnp.right_shift(y, y.dtype.type(shift))
    return (bits - fnp.bitwise_count(y)).astype(x.dtype)


def population_count(x: ArrayLike) -> Any:
    """``jax.lax.population_count``: the number of bits that are one."""
    x = fnp.asarray(x)
    return fnp.bitwise_count(x.view(np.dtype(f"u{x.dtype.itemsize}"))).astype(x.dtype)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Any:
    """``jax.lax.bitcast_convert_type``: the same bits read as another dtype."""
    operand, dtype = fnp.asarray(operand), np.dtype(new_dtype)
    wide, narrow = operand.dtype.itemsize, dtype.itemsize
    if wide == narrow:
        return operand.view(dtype)
    if wide > narrow:
        return fnp.expand_dims(operand, -1).view(dtype)
    return operand.view(dtype)[..., 0]


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Any:
    """``jax.lax.convert_element_type``: the array in another dtype."""
    return fnp.astype(fnp.asarray(operand), np.dtype(new_dtype))
