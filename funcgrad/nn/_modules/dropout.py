"""Dropout as modules, which do nothing in evaluation mode."""

from __future__ import annotations

from funcgrad._types import Array
from funcgrad.nn import functional as F
from funcgrad.nn._module import Module


class _Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Return the options."""
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Set each element to 0 with probability ``p`` in training; see `funcgrad.nn.functional.dropout`.

    Args:
        p: the probability, dimensionless.
        inplace: write the result into the input.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> layer = nn.Dropout(0.5)
        >>> sorted(set(layer(tensor([1.0] * 100)).tolist()))
        [0.0, 2.0]
        >>> layer.eval()(tensor([1.0, 2.0]))
        tensor([1., 2.])

    Source: ``torch.nn.Dropout``.
    """

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Set each channel of signals to 0 with probability ``p`` in training.

    Source: ``torch.nn.Dropout1d``.
    """

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Set each channel of images to 0 with probability ``p`` in training.

    Source: ``torch.nn.Dropout2d``.
    """

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Set each channel of volumes to 0 with probability ``p`` in training.

    Source: ``torch.nn.Dropout3d``.
    """

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Drop elements in training so that mean and variance are kept; see `funcgrad.nn.functional.alpha_dropout`.

    Source: ``torch.nn.AlphaDropout``.
    """

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.alpha_dropout(input, self.p, self.training, self.inplace)


class FeatureAlphaDropout(_Dropout):
    """Drop channels in training so that mean and variance are kept.

    Source: ``torch.nn.FeatureAlphaDropout``.
    """

    def forward(self, input: Array) -> Array:
        """Compute the output."""
        return F.feature_alpha_dropout(input, self.p, self.training, self.inplace)
