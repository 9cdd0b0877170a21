"""Attention with several heads as a module."""

from __future__ import annotations

from typing import Any

from funcgrad import numpy as fnp
from funcgrad._types import Array, DeviceLike, DTypeLike
from funcgrad.nn import functional as F
from funcgrad.nn import init
from funcgrad.nn._module import Module
from funcgrad.nn._modules.linear import Linear
from funcgrad.nn._modules.made import parameter


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` layer under the name that PyTorch prints for the output of attention."""


class MultiheadAttention(Module):
    """Compute attention with several heads; see `funcgrad.nn.functional.multi_head_attention_forward`.

    Input projections are initialized uniformly within ``sqrt(6 / (in + out))``, and biases with 0.

    Args:
        embed_dim: the length of the last axis of query and output.
        num_heads: the number of heads, which divides it.
        dropout: the probability of dropout of the weights, dimensionless.
        bias: whether the projections have biases.
        add_bias_kv: whether there is a further key and value, which are learned.
        add_zero_attn: whether there is a further source of zeros.
        kdim: the length of the last axis of keys; ``embed_dim`` by default.
        vdim: the length of the last axis of values; ``embed_dim`` by default.
        batch_first: whether the batch is the first axis.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Raises:
        AssertionError: the heads do not divide ``embed_dim``.
        ValueError: a length is not positive.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> x = tensor(np.ones((2, 3, 4), np.float32))
        >>> y, weights = nn.MultiheadAttention(4, 2, batch_first=True)(x, x, x)
        >>> y.shape, weights.shape
        ((2, 3, 4), (2, 3, 3))

    Source: ``torch.nn.MultiheadAttention``; Vaswani et al., *Attention is all you need* (2017), section 3.2.2.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        made = device, dtype
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim == self.vdim
        self.num_heads, self.dropout, self.batch_first = num_heads, dropout, batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        widths = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        for name, width in widths.items():
            own = None if self._qkv_same_embed_dim else parameter((embed_dim, width), *made)
            self.register_parameter(name, own)
        joint = parameter((3 * embed_dim, embed_dim), *made) if self._qkv_same_embed_dim else None
        self.register_parameter("in_proj_weight", joint)
        self.register_parameter("in_proj_bias", parameter((3 * embed_dim,), *made) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, parameter((1, 1, embed_dim), *made) if add_bias_kv else None)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if self._parameters[name] is not None:
                init.xavier_uniform_(self._parameters[name])
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for name in ("bias_k", "bias_v"):
            if self._parameters[name] is not None:
                init.xavier_normal_(self._parameters[name])

    def forward(
        self,
        query: Array,
        key: Array,
        value: Array,
        key_padding_mask: Array = None,
        need_weights: bool = True,
        attn_mask: Array = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Any, Any]:
        """Compute the output and the weights of attention.

        Args:
            query: ``f32[targets, batch, embed]``, or with ``batch_first`` the batch before, or without a batch.
            key: ``f32[sources, batch, kdim]``.
            value: ``f32[sources, batch, vdim]``.
            key_padding_mask: ``bool[batch, sources]``: true for sources that do not count.
            need_weights: whether the weights are returned.
            attn_mask: ``bool[targets, sources]`` or ``bool[batch * heads, targets, sources]``: true for pairs that do
                not count.
            average_attn_weights: whether the weights are averaged over heads.
            is_causal: a hint that ``attn_mask`` is causal.
        """
        swapped = self.batch_first and len(query.shape) == 3
        if swapped:
            # Equal inputs stay one object: their projections are one product.
            found = {id(x): fnp.swapaxes(x, 0, 1) for x in (query, key, value)}
            query, key, value = (found[id(x)] for x in (query, key, value))
        held = self._parameters
        y, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            held["in_proj_weight"],
            held["in_proj_bias"],
            held["bias_k"],
            held["bias_v"],
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            held["q_proj_weight"],
            held["k_proj_weight"],
            held["v_proj_weight"],
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (fnp.swapaxes(y, 0, 1) if swapped else y), weights
