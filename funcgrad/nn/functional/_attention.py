"""Attention with PyTorch's arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_inexact
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.shape import reshape
from funcgrad._transforms.custom.stop_gradient import stop_gradient
from funcgrad._types import Array, DTypeLike
from funcgrad.nn._functions.activations import softmax
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.linear import linear
from funcgrad.nn._functions.refusals import refuse_integers
from funcgrad.nn.functional._dropout import dropout
from funcgrad.nn.functional._losses import constant
from funcgrad.numpy.extend import as_value


def _attended(scores: Array) -> Array:
    """Return the softmax along the last axis, and 0 where all scores are ``-inf``, as PyTorch does."""
    largest = stop_gradient(fnp.max(scores, axis=-1, keepdims=True))
    largest = fnp.where(fnp.equal(largest, -np.inf), 0, largest)
    powers = fnp.exp(fnp.subtract(scores, largest))
    total = fnp.sum(powers, axis=-1, keepdims=True)
    return fnp.divide(powers, fnp.where(fnp.equal(total, 0), 1, total))


def scaled_dot_product_attention(
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """Compute ``softmax(query @ key.T * scale + mask) @ value``.

    Args:
        query: ``f32[..., targets, width]``.
        key: ``f32[..., sources, width]``.
        value: ``f32[..., sources, out]``.
        attn_mask: true where a source counts, or numbers that are added to the scores; it broadcasts.
        dropout_p: the probability of dropout of the weights, dimensionless; it is not turned off in evaluation.
        is_causal: whether targets see only sources up to their own number.
        scale: the factor of the scores; ``1 / sqrt(width)`` by default.
        enable_gqa: repeat the heads of key and value, axis -3, to those of the query.

    Returns:
        ``f32[..., targets, out]``; 0 where no source counts.

    Raises:
        RuntimeError: both a mask and ``is_causal`` are given.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> one = np.array([[1.0], [3.0]])
        >>> F.scaled_dot_product_attention(0 * one, one, one, is_causal=True)
        array([[1.],
               [2.]])

    Source: Vaswani et al., *Attention is all you need* (2017), eq. 1.
    """
    refuse_integers("expected scalar type Float but found {}", query)
    q, k, v = inexact(query), inexact(key), inexact(value)
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        k, v = (fnp.repeat(x, q.shape[-3] // x.shape[-3], axis=-3) for x in (k, v))
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scores = fnp.matmul(fnp.multiply(q, factor), fnp.swapaxes(k, -1, -2))
    if is_causal:
        attn_mask = np.tri(q.shape[-2], k.shape[-2], dtype=bool)
    if attn_mask is not None:
        mask = as_value(constant(attn_mask))
        is_bool = np.dtype(mask.dtype) == bool
        scores = fnp.where(mask, scores, -np.inf) if is_bool else fnp.add(scores, cast(mask, scores.dtype))
    weights = softmax(scores) if attn_mask is None else _attended(scores)
    return fnp.matmul(dropout(weights, dropout_p) if dropout_p else weights, v)


def additive(name: str, mask: Array, dtype: DTypeLike) -> Any:
    """Return a mask as numbers that are added to scores: ``-inf`` where a boolean mask is true."""
    if mask is None:
        return None
    mask = as_value(constant(mask))
    if np.dtype(mask.dtype) == bool:
        return fnp.where(mask, np.asarray(-np.inf, dtype), np.asarray(0, dtype))
    if not is_inexact(mask.dtype):
        raise AssertionError(f"only bool and floating types of {name} are supported")
    return cast(mask, dtype)


def multi_head_attention_forward(
    query: Array,
    key: Array,
    value: Array,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Array,
    in_proj_bias: Array,
    bias_k: Array,
    bias_v: Array,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Array,
    out_proj_bias: Array,
    training: bool = True,
    key_padding_mask: Array = None,
    need_weights: bool = True,
    attn_mask: Array = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Array = None,
    k_proj_weight: Array = None,
    v_proj_weight: Array = None,
    static_k: Array = None,
    static_v: Array = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """Compute attention with several heads; `funcgrad.nn.MultiheadAttention` has the parameters.

    Args:
        query: ``f32[targets, batch, embed]``, or without the batch.
        key: ``f32[sources, batch, key width]``.
        value: ``f32[sources, batch, value width]``.
        embed_dim_to_check: the length of the last axis of the query.
        num_heads: the number of heads, which divides it.
        in_proj_weight: ``f32[3 * embed, embed]``.
        in_proj_bias: ``f32[3 * embed]``, or ``None``.
        bias_k: ``f32[1, 1, embed]``, a further key, or ``None``.
        bias_v: ``f32[1, 1, embed]``, a further value, or ``None``.
        add_zero_attn: whether there is a further source of zeros.
        dropout_p: the probability of dropout of the weights, dimensionless.
        out_proj_weight: ``f32[embed, embed]``.
        out_proj_bias: ``f32[embed]``, or ``None``.
        training: whether dropout is on.
        key_padding_mask: ``bool[batch, sources]``: true for sources that do not count; or numbers added to scores.
        need_weights: whether the weights are returned.
        attn_mask: ``bool[targets, sources]`` or ``bool[batch * heads, targets, sources]``: true for pairs that do not
            count; or numbers added to scores.
        use_separate_proj_weight: whether the next three arguments replace ``in_proj_weight``.
        q_proj_weight: ``f32[embed, embed]``.
        k_proj_weight: ``f32[embed, key width]``.
        v_proj_weight: ``f32[embed, value width]``.
        static_k: not supported.
        static_v: not supported.
        average_attn_weights: whether the weights are averaged over heads.
        is_causal: a hint that ``attn_mask`` is causal.

    Returns:
        ``f32[targets, batch, embed]``, and the weights ``f32[batch, targets, sources]`` or ``None``.

    Raises:
        AssertionError: lengths do not fit; the texts are PyTorch's.
        RuntimeError: the shape of a mask does not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> x, one = np.ones((3, 1, 2)), np.eye(2)
        >>> y, weights = F.multi_head_attention_forward(
        ...     x, x, x, 2, 1, np.ones((6, 2)), None, None, None, False, 0.0, one, None
        ... )
        >>> y.shape, weights.shape
        ((3, 1, 2), (1, 3, 3))
    """
    if static_k is not None or static_v is not None:
        raise NotImplementedError(
            "multi_head_attention_forward: static_k and static_v were given; needed None. Call "
            "scaled_dot_product_attention with the projected keys and values."
        )
    q, k, v = inexact(query), inexact(key), inexact(value)
    batched = len(q.shape) == 3
    _check_ndims(q, k, v)
    if not batched:
        q, k, v = (fnp.expand_dims(x, 1) for x in (q, k, v))
        key_padding_mask = None if key_padding_mask is None else fnp.expand_dims(constant(key_padding_mask), 0)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    _check_widths(q, k, v, (embed_dim_to_check, num_heads, use_separate_proj_weight))
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected((q, k, v), in_proj_weight, in_proj_bias, separate)
    mask = _mask(q, k, num_heads, attn_mask, key_padding_mask)
    batch = q.shape[1]
    if bias_k is not None:
        k, v = (
            fnp.concatenate([x, fnp.broadcast_to(bias, (1, *x.shape[1:]))]) for x, bias in ((k, bias_k), (v, bias_v))
        )
    if add_zero_attn:
        k, v = (fnp.pad(x, [(0, 1), (0, 0), (0, 0)]) for x in (k, v))
    further = k.shape[0] - (0 if mask is None else mask.shape[-1])
    mask = mask if mask is None or not further else fnp.pad(mask, [(0, 0)] * 3 + [(0, further)])
    heads = [_heads(x, num_heads) for x in (q, k, v)]
    p = dropout_p if training else 0.0
    if need_weights:
        y, weights = _weighted(heads, mask, p)
    else:
        y, weights = scaled_dot_product_attention(heads[0], heads[1], heads[2], mask, p), None
    y = reshape(fnp.transpose(y, (2, 0, 1, 3)), (q.shape[0], batch, embed_dim_to_check))
    y = linear(y, out_proj_weight, out_proj_bias)
    if weights is not None and average_attn_weights:
        weights = fnp.mean(weights, axis=1)
    if batched:
        return y, weights
    return y[:, 0], None if weights is None else weights[0]


def _check_ndims(q: Array, k: Array, v: Array) -> None:
    ndim = len(q.shape)
    if ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor")
    if len(k.shape) != ndim or len(v.shape) != ndim:
        kind = "batched" if ndim == 3 else "unbatched"
        raise AssertionError(
            f"For {kind} ({ndim}-D) `query`, expected `key` and `value` to be {ndim}-D but found {len(k.shape)}-D and "
            f"{len(v.shape)}-D tensors respectively"
        )


def _check_widths(q: Array, k: Array, v: Array, how: tuple[int, int, bool]) -> None:
    embed, heads, separate = how
    if q.shape[-1] != embed:
        raise AssertionError(f"was expecting embedding dimension of {embed}, but got {q.shape[-1]}")
    if embed % heads:
        raise AssertionError(f"embed_dim {embed} not divisible by num_heads {heads}")
    shapes = [f"torch.Size({list(x.shape[:2] if separate else x.shape)})" for x in (k, v)]
    if shapes[0] != shapes[1]:
        if separate:
            raise AssertionError(f"key's sequence and batch dims {shapes[0]} do not match value's {shapes[1]}")
        raise AssertionError(f"key shape {shapes[0]} does not match value shape {shapes[1]}")


def _projected(inputs: tuple, weight: Array, bias: Array, separate: tuple | None) -> list[Any]:
    """Return query, key and value after their projections."""
    biases = [None] * 3 if bias is None else fnp.split(bias, 3)
    q, k, v = inputs
    if separate is None and q is k is v:
        return fnp.split(linear(q, weight, bias), 3, axis=-1)
    weights = fnp.split(weight, 3) if separate is None else separate
    return [linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]


def _heads(x: Array, heads: int) -> Array:
    """Return ``[length, batch, embed]`` as ``[batch, heads, length, width]``."""
    length, batch, embed = x.shape
    return fnp.transpose(reshape(x, (length, batch, heads, embed // heads)), (1, 2, 0, 3))


def _weighted(heads: list[Any], mask: Array, p: float) -> tuple[Any, Any]:
    """Return the attended values and the weights of each head."""
    q, k, v = heads
    scores = fnp.matmul(fnp.multiply(q, 1 / math.sqrt(q.shape[-1])), fnp.swapaxes(k, -1, -2))
    weights = softmax(scores if mask is None else fnp.add(scores, mask))
    weights = dropout(weights, p) if p else weights
    return fnp.matmul(weights, v), weights


def _mask(q: Array, k: Array, heads: int, attn_mask: Array, key_padding_mask: Array) -> Any:
    """Return both masks as numbers ``[batch or 1, heads or 1, targets or 1, sources]``; ``None`` without masks."""
    targets, sources, batch = q.shape[0], k.shape[0], q.shape[1]
    mask = additive("attn_mask", attn_mask, q.dtype)
    if mask is not None:
        ndim = len(mask.shape)
        if ndim not in (2, 3):
            raise RuntimeError(f"attn_mask's dimension {ndim} is not supported")
        needed = (targets, sources) if ndim == 2 else (batch * heads, targets, sources)
        if tuple(mask.shape) != needed:
            raise RuntimeError(
                f"The shape of the {ndim}D attn_mask is torch.Size({list(mask.shape)}), but should be {needed}."
            )
        mask = reshape(mask, (1, 1, *needed) if ndim == 2 else (batch, heads, targets, sources))
    padding = additive("key_padding_mask", key_padding_mask, q.dtype)
    if padding is None:
        return mask
    if len(padding.shape) != 2:
        raise AssertionError(
            "For batched (3-D) `query`, expected `key_padding_mask` to be `None` or 2-D but found "
            f"{len(padding.shape)}-D tensor instead"
        )
    for axis, needed in enumerate((batch, sources)):
        if padding.shape[axis] != needed:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{axis}] to be {needed}, but got {padding.shape[axis]}"
            )
    padding = reshape(padding, (batch, 1, 1, sources))
    return padding if mask is None else fnp.add(mask, padding)
