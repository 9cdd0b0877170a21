"""Samples of continuous distributions, as formulas of uniform numbers, so that parameters have derivatives."""

from __future__ import annotations

import math
from typing import Literal

import ml_dtypes
import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._ops.elementwise.activation import erf_p
from funcgrad._ops.elementwise.cast import cast, make_complex, real_dtype
from funcgrad._ops.elementwise.special.normal import erfinv_p
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.random import bits as ops
from funcgrad._types import Array, ArrayLike, DTypeLike, Key
from funcgrad.numpy.extend import as_value, promote
from funcgrad.random._keys import FLOATS, Shape, as_key, as_shape, float_dtype, parameter_shape, real_parameter
from funcgrad.random._uniform import between

_SQRT2 = math.sqrt(2)


def normal(key: Key, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw normal numbers with mean 0 and variance 1: ``sqrt(2) * erfinv(u)`` for ``u`` uniform from -1 to 1.

    Another mean or deviation is arithmetic, which has derivatives: ``mean + deviation * normal(key)``.

    Args:
        key: ``uint32[2]``.
        shape: the shape of the result.
        dtype: float16, bfloat16, float32 or float64 (the default); or complex64 or complex128, whose parts have a
            variance of 1/2 each.

    Returns:
        The samples of ``jax.random.normal``, up to the rounding of ``erfinv``.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is another.

    Example:
        >>> import funcgrad as fg
        >>> key = fg.random.key(0)
        >>> fg.random.normal(key, (2,)).round(6)
        array([-0.205842, -0.784766])
        >>> fg.grad(lambda deviation: 2 + deviation * fg.random.normal(key))(1.0).round(6)
        np.float64(-0.205842)
    """
    key, shape = as_key("normal", key), as_shape("normal", shape)
    asked = np.dtype(float if dtype is None else dtype)
    if asked.kind != "c":
        return _normal(key, shape, float_dtype("normal", asked))
    part = float_dtype("normal", real_dtype(asked))
    re, im = (_normal(each, shape, part) for each in ops.split(key, (2,)))
    return make_complex(re, im) / asked.type(_SQRT2)


def _normal(key: Key, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    one = dtype.type(1)
    least = np.nextafter(-one, dtype.type(0))
    return _quantile(between(ops.unit(key, shape, dtype), least, one))


def _quantile(u: ArrayLike) -> Array:
    """Return ``sqrt(2) * erfinv(u)``, computed in single precision for half precision."""
    dtype = u.dtype
    wide = cast(u, np.dtype(np.float32)) if dtype.itemsize == 2 else u
    return dtype.type(_SQRT2) * cast(erfinv_p(wide), dtype)


def truncated_normal(
    key: Key, lower: ArrayLike, upper: ArrayLike, shape: Shape | None = None, dtype: DTypeLike = None
) -> Array:
    """Draw normal numbers between two bounds: ``sqrt(2) * erfinv(u)``, ``u`` uniform between the bounds' ``erf``.

    Args:
        key: ``uint32[2]``.
        lower: the lower bounds, which have derivatives.
        upper: the upper bounds, which have derivatives.
        shape: a shape to which the bounds broadcast; by default their common shape.
        dtype: as for `uniform`.

    Returns:
        The samples of ``jax.random.truncated_normal``, up to rounding, which is large far from 0, where ``erf`` is
        close to 1.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is not a floating-point one, or the bounds do not broadcast to the shape.

    Example:
        >>> import funcgrad as fg
        >>> key = fg.random.key(0)
        >>> fg.random.truncated_normal(key, -1.0, 2.0, (3,)).round(6)
        array([ 0.003013, -0.42419 ,  1.63392 ])
        >>> fg.grad(lambda upper: fg.random.truncated_normal(key, -1.0, upper))(2.0).round(6)
        np.float64(0.056632)
    """
    key, dtype = as_key("truncated_normal", key), float_dtype("truncated_normal", dtype)
    lower, upper = (real_parameter("truncated_normal", x, dtype) for x in (lower, upper))
    shape = parameter_shape("truncated_normal", shape, aval_of(lower).shape, aval_of(upper).shape)
    root = dtype.type(_SQRT2)
    u = between(ops.unit(key, shape, dtype), erf_p(lower / root), erf_p(upper / root))
    infinity = dtype.type(np.inf)
    least = fnp.nextafter(stop_gradient_p(lower), infinity)
    return fnp.clip(_quantile(u), least, fnp.nextafter(stop_gradient_p(upper), -infinity))


def exponential(key: Key, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw exponential numbers of rate 1: ``-log(1 - u)``.

    Args:
        key: ``uint32[2]``.
        shape: the shape of the result.
        dtype: as for `uniform`.

    Returns:
        The samples of ``jax.random.exponential``, up to rounding; divide by a rate for another rate.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is not a floating-point one.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.exponential(fg.random.key(0), (2,)).round(6)
        array([0.542071, 0.243723])
    """
    u = _unit("exponential", key, shape, dtype)
    return -fnp.log1p(-u)


def laplace(key: Key, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw numbers of the Laplace distribution: ``sign(u) * log(1 - abs(u))`` for ``u`` from -1 to 1.

    Args:
        key: ``uint32[2]``.
        shape: the shape of the result.
        dtype: as for `uniform`.

    Returns:
        The samples of ``jax.random.laplace``, up to rounding.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is not a floating-point one.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.laplace(fg.random.key(0), (2,)).round(6)
        array([0.178034, 0.837963])
    """
    u = _unit("laplace", key, shape, dtype)
    u = between(u, u.dtype.type(-1 + ml_dtypes.finfo(u.dtype).epsneg), u.dtype.type(1))
    return fnp.sign(u) * fnp.log1p(-abs(u))


def cauchy(key: Key, shape: Shape = (), dtype: DTypeLike = None) -> Array:
    """Draw numbers of the Cauchy distribution: ``tan(pi * (u - 1/2))``.

    Args:
        key: ``uint32[2]``.
        shape: the shape of the result.
        dtype: as for `uniform`.

    Returns:
        The samples of ``jax.random.cauchy``, up to rounding.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is not a floating-point one.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.cauchy(fg.random.key(0), (2,)).round(6)
        array([-0.26193 , -1.237846])
    """
    u = _unit("cauchy", key, shape, dtype)
    number = u.dtype.type
    u = between(u, number(ml_dtypes.finfo(u.dtype).eps), number(1))
    return fnp.tan(number(math.pi) * (u - number(0.5)))


def gumbel(key: Key, shape: Shape = (), dtype: DTypeLike = None, mode: Literal["low", "high"] | None = None) -> Array:
    """Draw numbers of the Gumbel distribution: ``-log(-log(u))``.

    Args:
        key: ``uint32[2]``.
        shape: the shape of the result.
        dtype: as for `uniform`.
        mode: ``"high"`` draws twice the bits, which rare large numbers need; ``"low"`` is the default.

    Returns:
        The samples of ``jax.random.gumbel``, up to rounding.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: the dtype is not a floating-point one, or the mode is unknown.

    Example:
        >>> import funcgrad as fg
        >>> fg.random.gumbel(fg.random.key(0), (2,)).round(6)
        array([ 0.137906, -0.425993])
    """
    key, shape, dtype = as_key("gumbel", key), as_shape("gumbel", shape), float_dtype("gumbel", dtype)
    if mode not in (None, "low", "high"):
        raise ValueError(f'random.gumbel: mode is {mode!r}; needed "low" or "high". Omit it for "low".')
    info, number = ml_dtypes.finfo(dtype), dtype.type
    if mode == "high":
        upper, lower = ops.unit(key, (2, *shape), dtype)
        fine = upper + number(2.0**-info.nmant) * lower + number(info.tiny)
        return -fnp.log(-fnp.log1p(-fnp.where(upper >= number(0.5), upper, fine)))
    u = between(ops.unit(key, shape, dtype), number(info.tiny), number(1))
    return -fnp.log(-fnp.log(u))


def _unit(name: str, key: Key, shape: Shape, dtype: DTypeLike) -> Array:
    return ops.unit(as_key(name, key), as_shape(name, shape), float_dtype(name, dtype))


def multivariate_normal(
    key: Key,
    mean: ArrayLike,
    cov: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike = None,
    method: Literal["cholesky", "eigh", "svd"] = "cholesky",
) -> Array:
    """Draw normal vectors: ``mean + factor @ z`` for standard normal ``z``, where ``factor @ factor.T`` is ``cov``.

    Args:
        key: ``uint32[2]``.
        mean: ``[..., n]``; it has a derivative.
        cov: ``[..., n, n]``, symmetric and positive definite (semidefinite with ``"eigh"`` and ``"svd"``). It has a
            derivative, but not at equal eigenvalues with these two methods.
        shape: a shape to which the leading axes of both broadcast; by default their common shape.
        dtype: of ``z``; by default the dtype of ``mean`` and ``cov``.
        method: the factorization that gives the factor.

    Returns:
        The samples of ``jax.random.multivariate_normal``, ``[*shape, n]``, up to rounding.

    Raises:
        TypeError: ``key`` is no key.
        ValueError: shapes do not fit, or the method is unknown.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> key, cov = fg.random.key(0), np.array([[2.0, 0.5], [0.5, 1.0]])
        >>> fg.random.multivariate_normal(key, np.zeros(2), cov).round(6)
        array([-0.291105, -0.806857])
        >>> fg.grad(lambda cov: fg.random.multivariate_normal(key, np.zeros(2), cov).sum())(cov).shape
        (2, 2)
    """
    key = as_key("multivariate_normal", key)
    mean, cov = promote(as_value(mean), as_value(cov))
    common = aval_of(mean).dtype if aval_of(mean).dtype in FLOATS else np.dtype(float)
    mean, cov = (real_parameter("multivariate_normal", x, common) for x in (mean, cov))
    if not mean.ndim or cov.ndim < 2 or cov.shape[-2:] != (mean.shape[-1],) * 2:
        raise ValueError(
            f"random.multivariate_normal: the mean is {aval_of(mean)}, the covariance {aval_of(cov)}; needed [..., n] "
            "and [..., n, n]. Give a vector as the mean, and a square matrix of its length."
        )
    shape = parameter_shape("multivariate_normal", shape, mean.shape[:-1], cov.shape[:-2])
    dtype = float_dtype("multivariate_normal", common if dtype is None else dtype)
    z = _normal(key, (*shape, mean.shape[-1]), dtype)
    return mean + fnp.matmul(_factor(cov, method), expand_dims(z, (z.ndim,)))[..., 0]


def _factor(cov: ArrayLike, method: str) -> Array:
    if method == "cholesky":
        return fnp.linalg.cholesky(cov)
    if method == "eigh":
        values, vectors = fnp.linalg.eigh(cov)
    elif method == "svd":
        vectors, values, _ = fnp.linalg.svd(cov)
    else:
        raise ValueError(
            f'random.multivariate_normal: method is {method!r}; needed "cholesky", "eigh" or "svd". Omit it for '
            '"cholesky".'
        )
    return vectors * fnp.sqrt(values[..., None, :])
