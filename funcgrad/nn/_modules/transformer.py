"""The layers of transformers, stacks of them, and the whole."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import Array, DeviceLike, DTypeLike
from funcgrad.autograd import Tensor, tensor
from funcgrad.autograd.extend import default_dtype
from funcgrad.nn import functional as F
from funcgrad.nn import init
from funcgrad.nn._containers import ModuleList
from funcgrad.nn._module import Module
from funcgrad.nn._modules.attention import MultiheadAttention
from funcgrad.nn._modules.dropout import Dropout
from funcgrad.nn._modules.linear import Linear
from funcgrad.nn._modules.normalization import LayerNorm

Activation = Callable[[Any], Any]


def _activation(given: str | Activation) -> Activation:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return F.relu if given == "relu" else F.gelu


class _Layer(Module):
    """The parts that encoder and decoder layers share."""

    # The names of the attentions; a normalization and a dropout belong to each, and to the feed-forward network.
    _attentions: tuple[str, ...]
    self_attn: Any
    multihead_attn: Any
    norm1: Any
    norm2: Any
    norm3: Any
    dropout1: Any
    dropout2: Any
    dropout3: Any

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        heads: dict[str, Any] = {"dropout": dropout, "batch_first": batch_first, **made}
        for name in self._attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, **heads))
        self.linear1 = Linear(d_model, dim_feedforward, **made)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **made)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, **made))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _forwarded(self, x: Array, last: Module) -> Array:
        return last(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def _with(self, x: Array, norm: Module, part: Callable[[Any], Any]) -> Array:
        """Add a part to its input, with the normalization before or after."""
        return x + part(norm(x)) if self.norm_first else norm(x + part(x))


class TransformerEncoderLayer(_Layer):
    """Compute self-attention and a feed-forward network, each added to its input and normalized.

    Args:
        d_model: the length of the last axis.
        nhead: the number of heads.
        dim_feedforward: the width of the feed-forward network.
        dropout: the probability of dropout, dimensionless.
        activation: ``"relu"``, ``"gelu"``, or a function.
        layer_norm_eps: added to variances.
        batch_first: whether the batch is the first axis.
        norm_first: normalize before attention and network, rather than after.
        bias: whether linear layers and normalizations have biases.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> nn.TransformerEncoderLayer(4, 2, 8)(tensor(np.ones((3, 2, 4), np.float32))).shape
        (3, 2, 4)

    Source: ``torch.nn.TransformerEncoderLayer``; Vaswani et al. (2017), section 3.1.
    """

    _attentions = ("self_attn",)

    def forward(
        self, src: Array, src_mask: Array = None, src_key_padding_mask: Array = None, is_causal: bool = False
    ) -> Array:
        """Compute ``f32[length, batch, d_model] -> f32[length, batch, d_model]``; the masks are those of attention."""

        def attended(x: Array) -> Array:
            how: Any = {"attn_mask": src_mask, "key_padding_mask": src_key_padding_mask, "is_causal": is_causal}
            return self.dropout1(self.self_attn(x, x, x, need_weights=False, **how)[0])

        x = self._with(src, self.norm1, attended)
        return self._with(x, self.norm2, lambda x: self._forwarded(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Compute self-attention, attention to a memory, and a feed-forward network.

    The arguments are those of `TransformerEncoderLayer`.

    Source: ``torch.nn.TransformerDecoderLayer``.
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Array,
        memory: Array,
        tgt_mask: Array = None,
        memory_mask: Array = None,
        tgt_key_padding_mask: Array = None,
        memory_key_padding_mask: Array = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Array:
        """Compute ``f32[targets, batch, d_model]`` from targets and the memory ``f32[sources, batch, d_model]``."""

        def own(x: Array) -> Array:
            how: Any = {"attn_mask": tgt_mask, "key_padding_mask": tgt_key_padding_mask, "is_causal": tgt_is_causal}
            return self.dropout1(self.self_attn(x, x, x, need_weights=False, **how)[0])

        def remembered(x: Array) -> Array:
            how: Any = {"attn_mask": memory_mask, "key_padding_mask": memory_key_padding_mask}
            attend = self.multihead_attn
            found = attend(x, memory, memory, need_weights=False, is_causal=memory_is_causal, **how)
            return self.dropout2(found[0])

        x = self._with(tgt, self.norm1, own)
        x = self._with(x, self.norm2, remembered)
        return self._with(x, self.norm3, lambda x: self._forwarded(x, self.dropout3))


class TransformerEncoder(Module):
    """Apply copies of an encoder layer one after the other.

    Args:
        encoder_layer: the layer, which is copied.
        num_layers: the number of copies.
        norm: a normalization of the result, or ``None``.
        enable_nested_tensor: ignored; accepted because PyTorch has it.
        mask_check: ignored; accepted because PyTorch has it.

    Source: ``torch.nn.TransformerEncoder``.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm: Module | None = norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self, src: Array, mask: Array = None, src_key_padding_mask: Array = None, is_causal: bool | None = None
    ) -> Array:
        """Compute ``f32[length, batch, d_model] -> f32[length, batch, d_model]``; the masks are those of attention."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """Apply copies of a decoder layer one after the other.

    Source: ``torch.nn.TransformerDecoder``.
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(decoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm: Module | None = norm

    def forward(
        self,
        tgt: Array,
        memory: Array,
        tgt_mask: Array = None,
        memory_mask: Array = None,
        tgt_key_padding_mask: Array = None,
        memory_key_padding_mask: Array = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Array:
        """Compute ``f32[targets, batch, d_model]`` from targets and the memory ``f32[sources, batch, d_model]``."""
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encode sources and decode targets with attention to them.

    Args:
        d_model: the length of the last axis.
        nhead: the number of heads.
        num_encoder_layers: the number of encoder layers.
        num_decoder_layers: the number of decoder layers.
        dim_feedforward: the width of the feed-forward networks.
        dropout: the probability of dropout, dimensionless.
        activation: ``"relu"``, ``"gelu"``, or a function.
        custom_encoder: another encoder, or ``None``.
        custom_decoder: another decoder, or ``None``.
        layer_norm_eps: added to variances.
        batch_first: whether the batch is the first axis.
        norm_first: normalize before attention and networks, rather than after.
        bias: whether linear layers and normalizations have biases.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> model = nn.Transformer(4, 2, 1, 1, 8)
        >>> model(tensor(np.ones((3, 2, 4), np.float32)), tensor(np.ones((5, 2, 4), np.float32))).shape
        (5, 2, 4)

    Source: ``torch.nn.Transformer``; Vaswani et al., *Attention is all you need* (2017).
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        made: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        sizes = d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first

        def norm() -> Module:
            return LayerNorm(d_model, layer_norm_eps, **made)

        if custom_encoder is None:
            layer = TransformerEncoderLayer(*sizes, **made)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*sizes, **made)
            custom_decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        self.decoder = custom_decoder
        for p in self.parameters():
            if len(p.shape) > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src: Array,
        tgt: Array,
        src_mask: Array = None,
        tgt_mask: Array = None,
        memory_mask: Array = None,
        src_key_padding_mask: Array = None,
        tgt_key_padding_mask: Array = None,
        memory_key_padding_mask: Array = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Array:
        """Compute ``f32[targets, batch, d_model]`` from sources and targets; the masks are those of attention."""
        axis = 0 if self.batch_first else 1
        if len(src.shape) == 3 and src.shape[axis] != tgt.shape[axis]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if not src.shape[-1] == tgt.shape[-1] == self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, is_causal=src_is_causal)
        masks = tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        return self.decoder(tgt, memory, *masks, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: DeviceLike = None, dtype: DTypeLike = None) -> Tensor:
        """Return the mask of causal attention: ``-inf`` above the diagonal, 0 elsewhere."""
        del device
        above = np.triu(np.ones((sz, sz), bool), 1)
        return tensor(np.where(above, -np.inf, 0.0), dtype=default_dtype() if dtype is None else dtype)
