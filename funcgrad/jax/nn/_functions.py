"""The functions of ``jax.nn``, with its defaults."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import nn
from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import Array, ArrayLike, DTypeLike, Key
from funcgrad.numpy.extend import dtype_of
from funcgrad.scipy import special


def celu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Any:
    """``jax.nn.celu``: ``max(x, 0) + min(0, alpha * (exp(x / alpha) - 1))``."""
    return fnp.where(fnp.asarray(x) > 0, x, alpha * fnp.expm1(fnp.minimum(x, 0.0) / alpha))


def elu(x: ArrayLike, alpha: ArrayLike = 1.0) -> Array:
    """``jax.nn.elu``: ``x`` above 0, ``alpha * (exp(x) - 1)`` below."""
    above = fnp.asarray(x) > 0
    return fnp.where(above, x, alpha * fnp.expm1(fnp.where(above, 0.0, x)))


def selu(x: ArrayLike) -> Any:
    """``jax.nn.selu``: `elu` with the constants that keep mean and variance (Klambauer et al., 2017)."""
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def gelu(x: ArrayLike, approximate: bool = True) -> Array:
    """``jax.nn.gelu``: ``x`` times the normal distribution function, by default in its approximation with tanh."""
    return nn.gelu(x, "tanh" if approximate else "none")


def glu(x: ArrayLike, axis: int = -1) -> Any:
    """``jax.nn.glu``: the first half along an axis times the sigmoid of the second."""
    a, b = fnp.split(fnp.asarray(x), 2, axis)
    return a * nn.sigmoid(b)


def hard_sigmoid(x: ArrayLike) -> Any:
    """``jax.nn.hard_sigmoid``: ``relu6(x + 3) / 6``."""
    return relu6(fnp.add(x, 3.0)) / 6.0


def hard_silu(x: ArrayLike) -> Any:
    """``jax.nn.hard_silu``: ``x * hard_sigmoid(x)``."""
    return fnp.asarray(x) * hard_sigmoid(x)


def hard_tanh(x: ArrayLike) -> Any:
    """``jax.nn.hard_tanh``: ``x`` between -1 and 1, which are also its bounds."""
    x = fnp.asarray(x)
    return fnp.where(x > 1, 1.0, fnp.where(x < -1, -1.0, x))


def identity(x: ArrayLike) -> Any:
    """``jax.nn.identity``: the argument."""
    return fnp.asarray(x)


def leaky_relu(x: ArrayLike, negative_slope: ArrayLike = 0.01) -> Any:
    """``jax.nn.leaky_relu``: ``x`` above 0, ``negative_slope * x`` below."""
    x = fnp.asarray(x)
    return fnp.where(x >= 0, x, negative_slope * x)


def log1mexp(x: ArrayLike) -> Any:
    """``jax.nn.log1mexp``: ``log(1 - exp(-x))`` for positive ``x``, exact near 0 and far from it."""
    x = fnp.asarray(x)
    near = x < np.log(2.0)
    return fnp.where(near, fnp.log(-fnp.expm1(-fnp.where(near, x, 1.0))), fnp.log1p(-fnp.exp(-fnp.where(near, 1.0, x))))


def log_sigmoid(x: ArrayLike) -> Any:
    """``jax.nn.log_sigmoid``: ``log(sigmoid(x))``."""
    return -softplus(-fnp.asarray(x))


def logsumexp(
    a: ArrayLike,
    axis: Any = None,
    b: ArrayLike = None,
    keepdims: bool = False,
    return_sign: bool = False,
    where: ArrayLike = None,
) -> Any:
    """``jax.nn.logsumexp``: ``log(sum(b * exp(a)))``; elements outside of ``where`` do not count."""
    if where is not None:
        a = fnp.where(where, a, -np.inf)
    return special.logsumexp(a, axis=axis, b=b, keepdims=keepdims, return_sign=return_sign)


def logmeanexp(x: ArrayLike, axis: Any = None, where: ArrayLike = None, keepdims: bool = False) -> Any:
    """``jax.nn.logmeanexp``: ``log(mean(exp(x)))``."""
    counted = fnp.ones(fnp.shape(x)) if where is None else fnp.broadcast_to(where, fnp.shape(x)) * 1.0
    total = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    return total - fnp.log(fnp.sum(counted, axis=axis, keepdims=keepdims)).astype(total.dtype)


def log_softmax(x: ArrayLike, axis: Any = -1, where: ArrayLike = None) -> Array:
    """``jax.nn.log_softmax``: the logarithm of `softmax`."""
    if where is None:
        return nn.log_softmax(x, axis)
    x = fnp.asarray(x)
    return fnp.where(where, x - logsumexp(x, axis=axis, keepdims=True, where=where), -np.inf)


def softmax(x: ArrayLike, axis: Any = -1, where: ArrayLike = None) -> Array:
    """``jax.nn.softmax``: ``exp(x) / sum(exp(x))`` along an axis; 0 outside of ``where``."""
    if where is None:
        return nn.softmax(x, axis)
    x = fnp.asarray(x)
    return fnp.where(where, nn.softmax(fnp.where(where, x, np.finfo(x.dtype).min), axis), 0.0)


def mish(x: ArrayLike) -> Any:
    """``jax.nn.mish``: ``x * tanh(softplus(x))``."""
    return fnp.asarray(x) * fnp.tanh(softplus(x))


def one_hot(x: ArrayLike, num_classes: int, *, dtype: DTypeLike = None, axis: int = -1) -> Array:
    """``jax.nn.one_hot``: for each whole number a row of zeros with a one at its place."""
    x = fnp.asarray(x)
    places = axis % (x.ndim + 1)
    numbers = np.arange(num_classes).reshape([-1 if k == places else 1 for k in range(x.ndim + 1)])
    return cast(fnp.expand_dims(x, places) == numbers, np.dtype(float if dtype is None else dtype))


def relu6(x: ArrayLike) -> Any:
    """``jax.nn.relu6``: ``min(max(x, 0), 6)``; the derivative is 0 at both bounds."""
    x = fnp.asarray(x)
    return fnp.where(x <= 0, 0.0, fnp.where(x >= 6, 6.0, x))


def silu(x: ArrayLike) -> Any:
    """``jax.nn.silu``: ``x * sigmoid(x)``."""
    return fnp.asarray(x) * nn.sigmoid(x)


def soft_sign(x: ArrayLike) -> Any:
    """``jax.nn.soft_sign``: ``x / (abs(x) + 1)``."""
    x = fnp.asarray(x)
    return x / (fnp.abs(x) + 1)


def softplus(x: ArrayLike) -> Any:
    """``jax.nn.softplus``: ``log(1 + exp(x))``."""
    return fnp.logaddexp(x, 0.0)


def sparse_plus(x: ArrayLike) -> Any:
    """``jax.nn.sparse_plus``: 0 below -1, ``x`` above 1, ``(x + 1)**2 / 4`` between."""
    x = fnp.asarray(x)
    return fnp.where(x <= -1.0, 0.0, fnp.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


def sparse_sigmoid(x: ArrayLike) -> Any:
    """``jax.nn.sparse_sigmoid``: ``(x + 1) / 2``, cut at 0 and 1."""
    return 0.5 * fnp.clip(fnp.add(x, 1.0), 0.0, 2.0)


def squareplus(x: ArrayLike, b: ArrayLike = 4) -> Any:
    """``jax.nn.squareplus``: ``(x + sqrt(x**2 + b)) / 2``."""
    x = fnp.asarray(x)
    return (x + fnp.sqrt(x**2 + b)) / 2


def standardize(
    x: ArrayLike,
    axis: Any = -1,
    mean: ArrayLike = None,
    variance: ArrayLike = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike = True,
) -> Any:
    """``jax.nn.standardize``: subtract the mean and divide by the standard deviation along an axis."""
    x = fnp.asarray(x)
    mean = fnp.mean(x, axis=axis, keepdims=True, where=where) if mean is None else mean
    if variance is None:
        variance = fnp.mean((x - mean) ** 2, axis=axis, keepdims=True, where=where)
    return (x - mean) / fnp.sqrt(fnp.add(variance, epsilon))


def dot_product_attention(
    query: ArrayLike,
    key: Key,
    value: ArrayLike,
    bias: ArrayLike = None,
    mask: ArrayLike = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike = None,
    key_value_seq_lengths: ArrayLike = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
) -> Any:
    """``jax.nn.dot_product_attention``: the mean of values, weighted by the softmax of products of queries and keys.

    Args:
        query: ``f[batch, targets, heads, size]``, or without the batch.
        key: ``f[batch, sources, key heads, size]``; the number of heads is a multiple of that of key heads.
        value: an array like ``key``.
        bias: an array ``[batch, heads, targets, sources]``, with axes of length 1 or not, which is added to the
            products.
        mask: booleans of that shape; false ones do not count.
        scale: the factor of the products, ``1 / sqrt(size)`` by default.
        is_causal: whether a target sees only sources up to its own place.
        query_seq_lengths: how many targets of each element of the batch count.
        key_value_seq_lengths: how many sources of each element of the batch count.
        local_window_size: how many sources before and after its place a target sees.
        implementation: which of its implementations JAX would use; it changes nothing here.

    Returns:
        An array of the shape of ``query``.

    Source: Vaswani et al., *Attention is all you need* (2017), equation 1. JAX takes the softmax in float32, and this
    function in the dtype of the operands.
    """
    del implementation
    query, key, value = map(fnp.asarray, (query, key, value))
    if query.ndim == 3:
        whole = dot_product_attention(
            *(query[None], key[None], value[None], bias, mask),
            scale=scale,
            is_causal=is_causal,
            query_seq_lengths=query_seq_lengths,
            key_value_seq_lengths=key_value_seq_lengths,
            local_window_size=local_window_size,
        )
        return whole[0]
    repeats = query.shape[2] // key.shape[2]
    key, value = fnp.repeat(key, repeats, 2), fnp.repeat(value, repeats, 2)
    factor = 1 / np.sqrt(query.shape[3]) if scale is None else scale
    logits = fnp.einsum("btnh,bsnh->bnts", query, key) * cast(fnp.asarray(factor), query.dtype)
    logits = logits if bias is None else logits + bias
    allowed = _allowed(query.shape[1], key.shape[1], is_causal, local_window_size)
    for more in (
        mask,
        _counted(query_seq_lengths, query.shape[1], 3),
        _counted(key_value_seq_lengths, key.shape[1], 2),
    ):
        allowed = allowed if more is None else fnp.logical_and(allowed, more)
    logits = fnp.where(allowed, logits, cast(np.asarray(-0.7 * float(np.finfo(np.float32).max)), dtype_of(logits)))
    y = fnp.einsum("bnts,bsnh->btnh", nn.softmax(logits), value)
    counted = _counted(query_seq_lengths, query.shape[1], 3)
    return y if counted is None else y * counted.reshape(-1, query.shape[1], 1, 1)


def _allowed(targets: int, sources: int, is_causal: bool, window: int | tuple[int, int] | None) -> np.ndarray:
    """Return which sources each target sees, by their places."""
    steps = np.arange(sources)[None, :] - np.arange(targets)[:, None]
    allowed = steps <= 0 if is_causal else np.ones(steps.shape, bool)
    if window is not None:
        before, after = (window, window) if isinstance(window, int) else window
        allowed = allowed & (steps >= -before) & (steps <= after)
    return allowed


def _counted(lengths: ArrayLike, size: int, axis: int) -> Any:
    """Return which places count, with axes ``[batch, 1, targets, sources]``."""
    if lengths is None:
        return None
    flags = np.arange(size)[None, :] < fnp.asarray(lengths)[:, None]
    return flags.reshape(-1, 1, *((size, 1) if axis == 3 else (1, size)))
