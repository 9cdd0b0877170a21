"""Softmax and its relatives as modules; the functions are in `funcgrad.nn.functional`."""

from __future__ import annotations

from typing import Any

from funcgrad.nn import functional as F
from funcgrad.nn._module import Module


class GLU(Module):
    """Compute ``a * sigmoid(b)`` with the two halves of the input along an axis."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Any) -> Any:
        """Compute the output, half as long as the input."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Return the axis."""
        return f"dim={self.dim}"


class _AlongAxis(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        """Return the axis."""
        return f"dim={self.dim}"


class Softmax(_AlongAxis):
    """Compute ``exp(x) / sum(exp(x))`` along an axis."""

    def forward(self, input: Any) -> Any:
        """Compute the output."""
        return F.softmax(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongAxis):
    """Compute ``log(softmax(x))`` along an axis."""

    def forward(self, input: Any) -> Any:
        """Compute the output."""
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongAxis):
    """Compute ``softmax(-x)`` along an axis."""

    def forward(self, input: Any) -> Any:
        """Compute the output."""
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """Compute the softmax over the channels of images."""

    def forward(self, input: Any) -> Any:
        """Compute ``[batch, channels, height, width] -> [batch, channels, height, width]``."""
        if len(input.shape) not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {len(input.shape)}D instead")
        return F.softmax(input, -3)
