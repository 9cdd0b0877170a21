"""Tables of vectors as modules."""

from __future__ import annotations

from typing import Any, Self

from funcgrad._types import Array, DeviceLike, DTypeLike
from funcgrad.autograd import no_grad
from funcgrad.nn import functional as F
from funcgrad.nn import init
from funcgrad.nn._module import Module
from funcgrad.nn._modules.made import length, parameter
from funcgrad.nn._parameter import Parameter
from funcgrad.nn.functional._embedding import check_padding


class _Table(Module):
    def _make(self, sizes: tuple[int, int], padding_idx: int | None, weight: Array, made: tuple[Any, Any]) -> None:
        name = type(self).__name__
        self.num_embeddings = length(name, "num_embeddings", sizes[0])
        self.embedding_dim = length(name, "embedding_dim", sizes[1])
        self.padding_idx = None if padding_idx is None else check_padding(padding_idx, self.num_embeddings)
        if weight is None:
            self.weight = parameter((self.num_embeddings, self.embedding_dim), *made)
            self.reset_parameters()
        elif tuple(weight.shape) != (self.num_embeddings, self.embedding_dim):
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(weight)

    def reset_parameters(self) -> None:
        """Fill with standard normal numbers, and the row of the padding with zeros."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0


class Embedding(_Table):
    """Look up rows of a table; see `funcgrad.nn.functional.embedding`.

    The table is initialized with standard normal numbers, and the row of the padding with zeros.

    Args:
        num_embeddings: the number of rows.
        embedding_dim: the length of a row.
        padding_idx: the index of a row that gets no gradient.
        max_norm: scale the rows that are used, in place, to at most this norm.
        norm_type: which norm.
        scale_grad_by_freq: divide the gradient of a row by the number of its uses in the call.
        sparse: return the gradient by the table as rows; it applies to `funcgrad.grad`.
        device: the present one.
        dtype: of the table; float32 by default.

    Raises:
        AssertionError: ``padding_idx`` is no row.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> nn.Embedding(10, 3)(tensor([1, 5])).shape
        (2, 3)

    Source: ``torch.nn.Embedding``.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Array = None,
        _freeze: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self._make((num_embeddings, embedding_dim), padding_idx, _weight, (device, dtype))
        self.weight.requires_grad_(not _freeze)

    def forward(self, input: Array) -> Array:
        """Compute ``i64[...] -> f32[..., embedding_dim]``."""
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        """Return sizes and the options that are not the default."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        text += "" if self.max_norm is None else f", max_norm={self.max_norm}"
        text += "" if self.norm_type == 2 else f", norm_type={self.norm_type}"
        text += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        return text + (", sparse=True" if self.sparse else "")

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Array,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Self:
        """Return a module with the given table. By default the table is not trained."""
        if len(embeddings.shape) != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        return cls(
            rows,
            width,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


class EmbeddingBag(_Table):
    """Look up rows of a table and pool each bag of them; see `funcgrad.nn.functional.embedding_bag`.

    Source: ``torch.nn.EmbeddingBag``.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Array = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.max_norm, self.norm_type, self.mode = max_norm, norm_type, mode
        self.scale_grad_by_freq, self.sparse = scale_grad_by_freq, sparse
        self.include_last_offset = include_last_offset
        self._make((num_embeddings, embedding_dim), padding_idx, _weight, (device, dtype))

    def forward(self, input: Array, offsets: Array = None, per_sample_weights: Array = None) -> Array:
        """Compute ``i64[bags, n] -> f32[bags, embedding_dim]``."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Return sizes and the options that are not the default."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += "" if self.max_norm is None else f", max_norm={self.max_norm}"
        text += "" if self.norm_type == 2 else f", norm_type={self.norm_type}"
        text += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Array,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Self:
        """Return a module with a table that is given, by default one that is not trained."""
        if len(embeddings.shape) != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, width = embeddings.shape
        made = cls(
            rows,
            width,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            _weight=embeddings,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad_(not freeze)
        return made
