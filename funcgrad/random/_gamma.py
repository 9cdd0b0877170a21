"""What is drawn by rejection: gamma-distributed numbers, those that are made of them, and Poisson's counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.random import bits
from funcgrad._ops.random import gamma as ops
from funcgrad._ops.random.poisson import poisson as counts
from funcgrad._ops.reduce.softmax import log_softmax_p
from funcgrad.random._keys import Shape, as_key, float_dtype, parameter_shape, real_parameter

_SINGLE = np.dtype(np.float32)


def gamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Numbers of the gamma distribution of shape ``a`` and scale 1, by Marsaglia's and Tsang's method (2000).

    They have a derivative by ``a``, of first order: that of the quantile at a fixed probability (Figurnov, Mohamed and
    Mnih, 2018). Another scale is a factor.

    Args:
        key: ``uint32[2]``.
        a: the shape parameters, above 0.
        shape: a shape to which that of ``a`` broadcasts; that of ``a`` if left out.
        dtype: float32 or float64; that if left out.

    Returns:
        What ``jax.random.gamma`` draws, to rounding. For small ``a`` many are 0: see `loggamma`.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is another, or the shape does not fit.

    Example:
        >>> import funcgrad as fg
        >>> key = fg.random.key(0)
        >>> fg.random.gamma(key, 2.5, (3,)).round(6)
        array([1.80488 , 1.53856 , 4.442492])
        >>> fg.grad(lambda a: fg.random.gamma(key, a))(2.5).round(6)
        np.float64(0.903393)
    """
    return _gamma("gamma", key, a, shape, dtype, log_space=False)


def loggamma(key: Any, a: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """The logarithms of gamma-distributed numbers, which small ``a`` make too small to be told from 0.

    Args:
        key: ``uint32[2]``.
        a: the shape parameters, above 0; by them there is a derivative of first order.
        shape: a shape to which that of ``a`` broadcasts; that of ``a`` if left out.
        dtype: float32 or float64; that if left out.

    Returns:
        What ``jax.random.loggamma`` draws, to rounding. The derivative is right where the sample itself would be 0,
        too, for which JAX takes the least number of the dtype.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is another, or the shape does not fit.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.loggamma(fg.random.key(0), 0.001, (2,)).round(3)
        array([-1113.026, -2280.536])
    """
    return _gamma("loggamma", key, a, shape, dtype, log_space=True)


def _precision(name: str, dtype: Any) -> np.dtype:
    dtype = float_dtype(name, dtype)
    if dtype.itemsize == 2:
        raise ValueError(
            f"random.{name}: the dtype is {dtype.name}; needed float32 or float64, in which samples are accepted. "
            "Convert the result."
        )
    return dtype


def _gamma(name: str, key: Any, a: Any, shape: Shape | None, dtype: Any, *, log_space: bool) -> Any:
    key, dtype = as_key(name, key), _precision(name, dtype)
    a = real_parameter(name, a, dtype)
    return ops.gamma(key, broadcast_to(a, parameter_shape(name, shape, aval_of(a).shape)), log_space=log_space)


def beta(key: Any, a: Any, b: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Numbers of the beta distribution: the share of one gamma-distributed number in the sum of two.

    Args:
        key: ``uint32[2]``.
        a: the first shape parameters, above 0; by them there is a derivative of first order.
        b: the second ones, likewise.
        shape: a shape to which both broadcast; their common one if left out.
        dtype: float32 or float64; that if left out.

    Returns:
        What ``jax.random.beta`` draws, to rounding.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is another, or the shape does not fit.

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


def dirichlet(key: Any, alpha: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Vectors of Dirichlet's distribution: the shares of gamma-distributed numbers in their sum.

    Args:
        key: ``uint32[2]``.
        alpha: ``[..., n]``, the parameters, above 0; by them there is a derivative of first order.
        shape: a shape to which the leading axes broadcast; these if left out.
        dtype: float32 or float64; that if left out.

    Returns:
        ``[*shape, n]``: what ``jax.random.dirichlet`` draws, to rounding.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is another, the shape does not fit, or ``alpha`` has no axis.

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
            f"random.dirichlet: alpha is {aval_of(alpha)}; needed a vector of parameters, [..., n]. Of two of them "
            "random.beta draws."
        )
    whole = (*parameter_shape("dirichlet", shape, sizes[:-1]), sizes[-1])
    logarithms = ops.gamma(key, broadcast_to(alpha, whole), log_space=True)
    return fnp.exp(log_softmax_p(logarithms, axes=(len(whole) - 1,)))


def poisson(key: Any, lam: Any, shape: Shape | None = None, dtype: Any = None) -> Any:
    """Counts of Poisson's distribution.

    Args:
        key: ``uint32[2]``.
        lam: the rates, of which single precision counts; they have no derivative.
        shape: a shape to which that of ``lam`` broadcasts; that of ``lam`` if left out.
        dtype: an integer's; int64 if left out.

    Returns:
        What ``jax.random.poisson`` draws; -1 for rates that are negative or NaN. Whether a count is accepted depends on
        logarithms, which XLA rounds to single precision: for rates in the hundreds one count in 20,000 is another than
        on NumPy, for rates in the hundred thousands one in a hundred.

    Raises:
        TypeError: ``key`` is no key, or the dtype no integer's.
        ValueError: the shape does not fit.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.poisson(fg.random.key(0), 4.0, (6,))
        array([0, 1, 5, 5, 2, 2])
    """
    key, dtype = as_key("poisson", key), np.dtype(int if dtype is None else dtype)
    if dtype.kind not in "iu":
        raise TypeError(f"random.poisson: the dtype is {dtype.name}; needed an integer's. Leave it out for int64.")
    rate = real_parameter("poisson", lam, _SINGLE)
    return counts(key, broadcast_to(rate, parameter_shape("poisson", shape, aval_of(rate).shape)), dtype)
