"""Samples drawn by rejection: gamma-distributed numbers, numbers derived from these, and Poisson's counts."""

from __future__ import annotations

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.random import bits
from funcgrad._ops.random import gamma as ops
from funcgrad._ops.random.poisson import poisson as counts
from funcgrad._ops.reduce.softmax import log_softmax_p
from funcgrad._types import Array, ArrayLike, DTypeLike, Key
from funcgrad.random._keys import Shape, as_key, float_dtype, parameter_shape, real_parameter

_SINGLE = np.dtype(np.float32)


def gamma(key: Key, a: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Draw numbers of the gamma distribution of shape ``a`` and scale 1 (Marsaglia and Tsang, 2000).

    They have a first-order derivative with respect to ``a``: that of the quantile at a fixed probability (Figurnov,
    Mohamed and Mnih, 2018). Multiply by a factor for another scale.

    Args:
        key: ``uint32[2]``.
        a: the shape parameters, above 0.
        shape: a shape to which that of ``a`` broadcasts; the shape of ``a`` by default.
        dtype: float32 or float64 (the default).

    Returns:
        The samples of ``jax.random.gamma``, up to rounding. For small ``a`` many are 0: see `loggamma`.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is another, or ``a`` does not broadcast to the shape.

    Example:
        >>> import funcgrad as fg
        >>> key = fg.random.key(0)
        >>> fg.random.gamma(key, 2.5, (3,)).round(6)
        array([1.80488 , 1.53856 , 4.442492])
        >>> fg.grad(lambda a: fg.random.gamma(key, a))(2.5).round(6)
        np.float64(0.903393)
    """
    return _gamma("gamma", key, a, shape, dtype, log_space=False)


def loggamma(key: Key, a: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Draw the logarithms of gamma-distributed numbers, for small ``a``, where the numbers themselves underflow to 0.

    Args:
        key: ``uint32[2]``.
        a: the shape parameters, above 0; they have a first-order derivative.
        shape: a shape to which that of ``a`` broadcasts; the shape of ``a`` by default.
        dtype: float32 or float64 (the default).

    Returns:
        The samples of ``jax.random.loggamma``, up to rounding. The derivative is right even if the sample itself would
        be 0. JAX uses the least number of the dtype there.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is another, or ``a`` does not broadcast to the shape.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.loggamma(fg.random.key(0), 0.001, (2,)).round(3)
        array([-1113.026, -2280.536])
    """
    return _gamma("loggamma", key, a, shape, dtype, log_space=True)


def _precision(name: str, dtype: DTypeLike) -> np.dtype:
    dtype = float_dtype(name, dtype)
    if dtype.itemsize == 2:
        raise ValueError(
            f"random.{name}: the dtype is {dtype.name}; needed float32 or float64, the dtypes of the rejection test. "
            "Convert the result."
        )
    return dtype


def _gamma(name: str, key: Key, a: ArrayLike, shape: Shape | None, dtype: DTypeLike, *, log_space: bool) -> Array:
    key, dtype = as_key(name, key), _precision(name, dtype)
    a = real_parameter(name, a, dtype)
    return ops.gamma(key, broadcast_to(a, parameter_shape(name, shape, aval_of(a).shape)), log_space=log_space)


def beta(key: Key, a: ArrayLike, b: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Draw numbers of the beta distribution: one of two gamma-distributed numbers, divided by their sum.

    Args:
        key: ``uint32[2]``.
        a: the first shape parameters, above 0; they have a first-order derivative.
        b: the second shape parameters, above 0; they have a first-order derivative.
        shape: a shape to which both broadcast; by default their common shape.
        dtype: float32 or float64 (the default).

    Returns:
        The samples of ``jax.random.beta``, up to rounding.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is another, or the parameters do not broadcast to the shape.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.beta(fg.random.key(0), 2.0, 5.0, (3,)).round(6)
        array([0.241335, 0.4673  , 0.576391])
    """
    key, dtype = as_key("beta", key), _precision("beta", dtype)
    a, b = (real_parameter("beta", x, dtype) for x in (a, b))
    shape = parameter_shape("beta", shape, aval_of(a).shape, aval_of(b).shape)
    keys = bits.split(key, (2,))
    first, second = (
        ops.gamma(each, broadcast_to(x, shape), log_space=True) for each, x in zip(keys, (a, b), strict=True)
    )
    most = fnp.maximum(first, second)
    first, second = fnp.exp(first - most), fnp.exp(second - most)
    return first / (first + second)


def dirichlet(key: Key, alpha: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Draw vectors of the Dirichlet distribution: gamma-distributed numbers, divided by their sum.

    Args:
        key: ``uint32[2]``.
        alpha: ``[..., n]``, the parameters, above 0; they have a first-order derivative.
        shape: a shape to which the leading axes broadcast; the shape of the leading axes by default.
        dtype: float32 or float64 (the default).

    Returns:
        The samples of ``jax.random.dirichlet``, ``[*shape, n]``, up to rounding.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is another, ``alpha`` does not broadcast to the shape, or ``alpha`` has no axis.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.random.dirichlet(fg.random.key(0), np.array([1.0, 2.0, 3.0])).round(6)
        array([0.070653, 0.167056, 0.762291])
    """
    key, dtype = as_key("dirichlet", key), _precision("dirichlet", dtype)
    alpha = real_parameter("dirichlet", alpha, dtype)
    sizes = aval_of(alpha).shape
    if not sizes:
        raise ValueError(
            f"random.dirichlet: alpha is {aval_of(alpha)}; needed a vector of parameters, [..., n]. Use random.beta "
            "for two parameters."
        )
    whole = (*parameter_shape("dirichlet", shape, sizes[:-1]), sizes[-1])
    logarithms = ops.gamma(key, broadcast_to(alpha, whole), log_space=True)
    return fnp.exp(log_softmax_p(logarithms, axes=(len(whole) - 1,)))


def poisson(key: Key, lam: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None) -> Array:
    """Draw counts of the Poisson distribution.

    Args:
        key: ``uint32[2]``.
        lam: the rates, converted to single precision; they have no derivative.
        shape: a shape to which that of ``lam`` broadcasts; the shape of ``lam`` by default.
        dtype: an integer dtype; int64 by default.

    Returns:
        The counts of ``jax.random.poisson``; -1 for rates that are negative or NaN. The acceptance of a count depends
        on logarithms, which XLA rounds to single precision. So XLA gives another count than NumPy in 1 of 20,000
        samples for rates in the hundreds, and in 1 of 100 for rates in the hundred thousands.

    Raises:
        TypeError: ``key`` is no key, or the dtype is not an integer dtype.
        ValueError: ``lam`` does not broadcast to the shape.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.poisson(fg.random.key(0), 4.0, (6,))
        array([0, 1, 5, 5, 2, 2])
    """
    key, dtype = as_key("poisson", key), np.dtype(int if dtype is None else dtype)
    if dtype.kind not in "iu":
        raise TypeError(f"random.poisson: the dtype is {dtype.name}; needed an integer dtype. Omit it for int64.")
    rate = real_parameter("poisson", lam, _SINGLE)
    return counts(key, broadcast_to(rate, parameter_shape("poisson", shape, aval_of(rate).shape)), dtype)
