"""Pads, resizing, windows and sums over channels as modules; the functions are in `funcgrad.nn.functional`."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, Padding, PerAxis, ScalarLike, ShapeLike
from funcgrad.nn import functional as F
from funcgrad.nn._functions.sizes import per_axis
from funcgrad.nn._module import Module


class _Pad(Module):
    _axes: int
    _mode: str

    def __init__(self, padding: Padding) -> None:
        super().__init__()
        least = -(2**31)
        self.padding = per_axis(type(self).__name__, "padding", padding, 2 * self._axes, least)

    def forward(self, input: Array) -> Array:
        """Compute the longer array."""
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class _CircularPad(_Pad):
    _mode = "circular"

    def forward(self, input: Array) -> Array:
        """Compute the longer array."""
        if len(input.shape) not in (self._axes + 1, self._axes + 2):
            raise ValueError(f"expected {self._axes + 1}D or {self._axes + 2}D input (got {len(input.shape)}D input)")
        return super().forward(input)


class _ConstantPad(_Pad):
    _mode = "constant"

    def __init__(self, padding: Padding, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Array) -> Array:
        """Compute the longer array."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"padding={self.padding}, value={self.value}"


class CircularPad1d(_CircularPad):
    """Continue signals at their ends with their other ends; see `funcgrad.nn.functional.pad`."""

    _axes = 1


class ReflectionPad1d(_Pad):
    """Continue signals at their ends with their mirror images; see `funcgrad.nn.functional.pad`."""

    _axes = 1
    _mode = "reflect"


class ReplicationPad1d(_Pad):
    """Continue signals at their ends with their last elements; see `funcgrad.nn.functional.pad`."""

    _axes = 1
    _mode = "replicate"


class ConstantPad1d(_ConstantPad):
    """Continue signals at their ends with one number; see `funcgrad.nn.functional.pad`."""

    _axes = 1


class ZeroPad1d(ConstantPad1d):
    """Continue signals at their ends with zeros; see `funcgrad.nn.functional.pad`."""

    def __init__(self, padding: Padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class CircularPad2d(_CircularPad):
    """Continue images at their ends with their other ends; see `funcgrad.nn.functional.pad`."""

    _axes = 2


class ReflectionPad2d(_Pad):
    """Continue images at their ends with their mirror images; see `funcgrad.nn.functional.pad`."""

    _axes = 2
    _mode = "reflect"


class ReplicationPad2d(_Pad):
    """Continue images at their ends with their last elements; see `funcgrad.nn.functional.pad`."""

    _axes = 2
    _mode = "replicate"


class ConstantPad2d(_ConstantPad):
    """Continue images at their ends with one number; see `funcgrad.nn.functional.pad`."""

    _axes = 2


class ZeroPad2d(ConstantPad2d):
    """Continue images at their ends with zeros; see `funcgrad.nn.functional.pad`."""

    def __init__(self, padding: Padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class CircularPad3d(_CircularPad):
    """Continue volumes at their ends with their other ends; see `funcgrad.nn.functional.pad`."""

    _axes = 3


class ReflectionPad3d(_Pad):
    """Continue volumes at their ends with their mirror images; see `funcgrad.nn.functional.pad`."""

    _axes = 3
    _mode = "reflect"


class ReplicationPad3d(_Pad):
    """Continue volumes at their ends with their last elements; see `funcgrad.nn.functional.pad`."""

    _axes = 3
    _mode = "replicate"


class ConstantPad3d(_ConstantPad):
    """Continue volumes at their ends with one number; see `funcgrad.nn.functional.pad`."""

    _axes = 3


class ZeroPad3d(ConstantPad3d):
    """Continue volumes at their ends with zeros; see `funcgrad.nn.functional.pad`."""

    def __init__(self, padding: Padding) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        """Return the padding."""
        return f"{self.padding}"


class Upsample(Module):
    """Resize the spatial axes; see `funcgrad.nn.functional.interpolate`.

    Source: ``torch.nn.Upsample``.
    """

    def __init__(
        self,
        size: ShapeLike | None = None,
        scale_factor: ScalarLike = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            scale_factor = tuple([float(factor) for factor in scale_factor])
        elif scale_factor:
            scale_factor = float(scale_factor)
        self.scale_factor = scale_factor or None
        self.mode, self.align_corners, self.recompute_scale_factor = mode, align_corners, recompute_scale_factor

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``."""
        first = self.size, self.scale_factor, self.mode, self.align_corners
        return F.interpolate(input, *first, self.recompute_scale_factor)

    def extra_repr(self) -> str:
        """Return the options."""
        known = f"size={self.size!r}" if self.scale_factor is None else f"scale_factor={self.scale_factor!r}"
        return f"{known}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resize images by the nearest element."""

    def __init__(self, size: ShapeLike | None = None, scale_factor: ScalarLike = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resize images by linear interpolation, with the corners kept."""

    def __init__(self, size: ShapeLike | None = None, scale_factor: ScalarLike = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


class PixelShuffle(Module):
    """Move channels into space; see `funcgrad.nn.functional.pixel_shuffle`."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Array) -> Array:
        """Compute ``[..., c * r**2, h, w] -> [..., c, h * r, w * r]``."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Move space into channels; see `funcgrad.nn.functional.pixel_unshuffle`."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Array) -> Array:
        """Compute ``[..., c, h * r, w * r] -> [..., c * r**2, h, w]``."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        """Return the factor."""
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleave the channels of groups; see `funcgrad.nn.functional.channel_shuffle`."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        """Return the number of groups."""
        return f"groups={self.groups}"


class Unfold(Module):
    """Return the windows of images as columns; see `funcgrad.nn.functional.unfold`."""

    def __init__(self, kernel_size: PerAxis, dilation: PerAxis = 1, padding: Padding = 0, stride: PerAxis = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, height, width] -> [batch, channels * kernel, windows]``."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the options."""
        first = f"kernel_size={self.kernel_size}, dilation={self.dilation}"
        return f"{first}, padding={self.padding}, stride={self.stride}"


class Fold(Unfold):
    """Add columns up to images; see `funcgrad.nn.functional.fold`."""

    def __init__(
        self,
        output_size: PerAxis,
        kernel_size: PerAxis,
        dilation: PerAxis = 1,
        padding: Padding = 0,
        stride: PerAxis = 1,
    ) -> None:
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels * kernel, windows] -> [batch, channels, *output_size]``."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"output_size={self.output_size}, {super().extra_repr()}"


class CrossMapLRN2d(Module):
    """Divide by the mean square of neighbouring channels, as Torch 7 did.

    ``x / (k + alpha * s / size) ** beta``, where ``s`` is the sum of squares over about ``size`` channels.

    Args:
        size: the number of neighbouring channels.
        alpha: the factor of the mean square, in inverse units of ``x**2``.
        beta: the exponent, dimensionless.
        k: the constant, dimensionless.

    Raises:
        ValueError: the input does not have four axes.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.CrossMapLRN2d(1, alpha=3.0, beta=0.5)(np.ones((1, 1, 1, 2)))
        array([[[[0.5, 0.5]]]])

    Source: ``torch.nn.CrossMapLRN2d``. PyTorch's sum never leaves out channel 0 once it has entered; so does this one.
    Gradients are those of the values; PyTorch's are not for even sizes.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, height, width] -> [batch, channels, height, width]``."""
        if len(input.shape) != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {len(input.shape)}D instead.")
        window = self._window(input.shape[1]).astype(input.dtype)
        sums = fnp.einsum("cd,ndhw->nchw", window, fnp.square(input))
        return input / (sums * (self.alpha / self.size) + self.k) ** self.beta

    def _window(self, channels: int) -> np.ndarray:
        """Return which squares each channel's sum has; PyTorch takes them from one channel's sum to the next one's."""
        ahead = (self.size - 1) // 2 + 1
        squares = np.eye(channels)
        rows = [squares[:ahead].sum(0)]
        for c in range(1, channels):
            row = rows[-1].copy()
            if c < channels - ahead + 1:
                row += squares[c + ahead - 1]
            if c > ahead:
                row -= squares[c - ahead]
            rows.append(row)
        return np.stack(rows)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
