"""Samples read directly from the bits: uniform numbers, integers, and booleans of a given probability."""

from __future__ import annotations

from typing import Literal

import ml_dtypes
import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.random import bits as ops
from funcgrad._types import Array, ArrayLike, DTypeLike, Key
from funcgrad.numpy.extend import as_value
from funcgrad.random._keys import FLOATS, Shape, as_key, as_shape, float_dtype, parameter_shape, real_parameter


def bits(key: Key, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw random bits.

    Args:
        key: ``uint32[2]``.
        shape: the shape of the result.
        dtype: an unsigned integer dtype; uint64 by default.

    Returns:
        The bits of ``jax.random.bits``, exactly.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is not an unsigned integer dtype.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.bits(fg.random.key(0), (3,), "uint8")
        array([167, 146,  40], dtype=uint8)
    """
    key = as_key("bits", key)
    found = np.dtype(np.uint64 if dtype is None else dtype)
    if found.kind != "u":
        raise ValueError(
            f"random.bits: the dtype is {found.name}; needed uint8, uint16, uint32 or uint64. Use randint for signed "
            "integers."
        )
    return ops.bits(key, as_shape("bits", shape), found)


def uniform(
    key: Key, shape: Shape = (), dtype: DTypeLike = None, minval: ArrayLike = 0.0, maxval: ArrayLike = 1.0
) -> Array:
    """Draw uniform numbers from ``minval`` (included) to ``maxval`` (excluded).

    Args:
        key: ``uint32[2]``.
        shape: the shape of the result.
        dtype: float16, bfloat16, float32 or float64 (the default).
        minval: the lower end; it broadcasts to the shape, and has a derivative.
        maxval: the upper end; it broadcasts to the shape, and has a derivative.

    Returns:
        The samples of ``jax.random.uniform``: exactly between 0 and 1, up to rounding between other ends.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is not a floating-point one, or the ends do not broadcast to the shape.

    Example:
        >>> import funcgrad as fg
        >>> key = fg.random.key(0)
        >>> fg.random.uniform(key, (2,)).round(6)
        array([0.418457, 0.216295])
        >>> fg.grad(lambda high: fg.random.uniform(key, maxval=high))(3.0).round(6)
        np.float64(0.418457)
    """
    key, shape, dtype = as_key("uniform", key), as_shape("uniform", shape), float_dtype("uniform", dtype)
    if type(minval) is type(maxval) is float and (minval, maxval) == (0.0, 1.0):
        return ops.unit(key, shape, dtype)
    low, high = (real_parameter("uniform", x, dtype) for x in (minval, maxval))
    parameter_shape("uniform", shape, aval_of(low).shape, aval_of(high).shape)
    return between(ops.unit(key, shape, dtype), low, high)


def between(u: ArrayLike, low: ArrayLike, high: ArrayLike) -> Array:
    """Scale numbers from [0, 1) to other ends; rounding never gives a number below the lower end."""
    return fnp.maximum(low, u * (high - low) + low)


def bernoulli(key: Key, p: ArrayLike = 0.5, shape: Shape | None = None, mode: Literal["low", "high"] = "low") -> Array:
    """Draw booleans that are True with probability ``p``.

    Args:
        key: ``uint32[2]``.
        p: probabilities, floating-point.
        shape: a shape to which that of ``p`` broadcasts; the shape of ``p`` by default.
        mode: ``"high"`` draws twice the bits, which tiny probabilities need.

    Returns:
        The booleans of ``jax.random.bernoulli``.

    Raises:
        TypeError: ``key`` is no key, or ``p`` is not floating-point.
        ValueError: ``p`` does not broadcast to the shape, or the mode is unknown.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.bernoulli(fg.random.key(0), 0.3, (5,))
        array([False,  True, False, False, False])
    """
    key, p = as_key("bernoulli", key), as_value(p)
    if mode not in ("low", "high"):
        raise ValueError(f'random.bernoulli: mode is {mode!r}; needed "low" or "high". Omit it for "low".')
    aval = aval_of(p)
    if aval.dtype not in FLOATS:
        raise TypeError(f"random.bernoulli: p is {aval}; needed floating-point probabilities. Convert it: float(p).")
    shape = parameter_shape("bernoulli", shape, aval.shape)
    p = cast(p, aval.dtype)
    if mode == "low":
        return ops.unit(key, shape, aval.dtype) < p
    coarse, fine = ops.unit(key, (2, *shape), aval.dtype)
    return fine * aval.dtype.type(2.0 ** -ml_dtypes.finfo(aval.dtype).nmant) < p - coarse


def rademacher(key: Key, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw 1 and -1, equally likely.

    Args:
        key: ``uint32[2]``.
        shape: the shape of the result.
        dtype: any dtype that holds -1; int64 by default.

    Returns:
        The signs of ``jax.random.rademacher``.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype has no -1.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.rademacher(fg.random.key(0), (4,))
        array([ 1,  1, -1, -1])
    """
    dtype = np.dtype(int if dtype is None else dtype)
    if dtype.kind not in "ifc" and dtype not in FLOATS:
        raise ValueError(
            f"random.rademacher: the dtype is {dtype.name}; needed a dtype that holds -1. Omit it for int64."
        )
    heads = bernoulli(key, 0.5, as_shape("rademacher", shape))
    return cast(2 * cast(heads, np.dtype(np.int8)) - 1, dtype)


def randint(key: Key, shape: Shape, minval: ArrayLike, maxval: ArrayLike, dtype: DTypeLike = None) -> Array:
    """Draw integers from ``minval`` (included) to ``maxval`` (excluded), equally likely.

    Args:
        key: ``uint32[2]``.
        shape: the shape of the result.
        minval: the lower end; it broadcasts to the shape.
        maxval: the upper end; it broadcasts to the shape. If it is not above ``minval``, the result is ``minval``.
        dtype: an integer dtype; int64 by default. Ends outside its range are clipped to it.

    Returns:
        The integers of ``jax.random.randint``.

    Raises:
        TypeError: ``key`` is no key, or the dtype is not an integer dtype.
        ValueError: the ends do not broadcast to the shape.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.randint(fg.random.key(0), (6,), 1, 7)
        array([4, 6, 6, 6, 4, 2])
    """
    key, shape = as_key("randint", key), as_shape("randint", shape)
    dtype = np.dtype(int if dtype is None else dtype)
    if dtype.kind not in "iu":
        raise TypeError(f"random.randint: the dtype is {dtype.name}; needed an integer dtype. Omit it for int64.")
    low, high = (_integers(x) for x in (minval, maxval))
    parameter_shape("randint", shape, low.shape if np.ndim(minval) else (), high.shape if np.ndim(maxval) else ())
    if dtype.itemsize < 4:
        info, wide = np.iinfo(dtype), np.dtype(np.int32)
        low = fnp.clip(_brought_to(low, wide), info.min, info.max)
        high = fnp.clip(_brought_to(high, wide), info.min, info.max + 1)
        return cast(_integers_between(key, shape, low, high, wide), dtype)
    return _integers_between(key, shape, low, high, dtype)


def _integers(x: ArrayLike) -> Array:
    """Return an end of the range as an array with axes: NumPy would warn when a scalar wraps around."""
    x = fnp.atleast_1d(as_value(x))
    return x if x.dtype.kind in "iu" else cast(x, np.dtype(np.int64))


def _brought_to(x: ArrayLike, dtype: np.dtype) -> Array:
    """Convert integers to another dtype; integers outside its range become its least or greatest integer."""
    to, own = np.iinfo(dtype), np.iinfo(x.dtype)
    return cast(fnp.clip(x, max(to.min, own.min), min(to.max, own.max)), dtype)


def _integers_between(key: Key, shape: tuple[int, ...], low: ArrayLike, high: ArrayLike, dtype: np.dtype) -> Array:
    """Draw twice the bits of the dtype, modulo the number of integers, so that small ones are hardly more likely."""
    unsigned = ops.UNSIGNED[8 * dtype.itemsize]
    beyond = high > min(np.iinfo(dtype).max, np.iinfo(high.dtype).max)
    low, high = _brought_to(low, dtype), _brought_to(high, dtype)
    some = high > low
    none = cast(fnp.logical_not(some), unsigned)
    span = fnp.where(some, cast(high, unsigned) - cast(low, unsigned) + cast(beyond, unsigned), none)
    # The number of all integers of the dtype does not fit into the dtype, so it wraps to 0.
    whole = span == 0
    span = span + cast(whole, unsigned)
    factor = fnp.full_like(span, 2 ** (4 * dtype.itemsize)) % span
    factor = factor * factor % span
    drawn = shape or (1,)
    upper, lower = (ops.bits(each, drawn, unsigned) for each in ops.split(key, (2,)))
    offset = fnp.where(whole, lower, (upper % span * factor + lower % span) % span)
    return reshape(broadcast_to(low, drawn) + cast(offset, dtype), shape)
