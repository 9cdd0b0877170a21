"""Convolutions as modules, with PyTorch's options, initial distributions and names."""

from __future__ import annotations

import math
from typing import Any

from funcgrad._types import Array, DeviceLike, DTypeLike, Padding, PerAxis
from funcgrad.nn import functional as F
from funcgrad.nn import init
from funcgrad.nn._functions.sizes import per_axis
from funcgrad.nn._module import Module
from funcgrad.nn._modules.made import fill_uniformly, length, parameter

_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Module):
    """The options of convolutions; ``_axes`` is the number of spatial axes."""

    _axes: int
    transposed = False

    def _set_options(
        self, channels: tuple[Any, Any], kernel_size: PerAxis, steps: tuple[Any, Any, Any, Any], groups: int, mode: str
    ) -> None:
        name, axes = type(self).__name__, self._axes
        stride, padding, dilation, output_padding = steps
        self.in_channels, self.out_channels = (
            length(name, argument, n) for argument, n in zip(("in_channels", "out_channels"), channels, strict=True)
        )
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        for argument, n in (("in_channels", self.in_channels), ("out_channels", self.out_channels)):
            if n % groups:
                raise ValueError(f"{argument} must be divisible by groups")
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, axes, 1)
        self.stride = per_axis(name, "stride", stride, axes, 1)
        self.padding = padding if isinstance(padding, str) else per_axis(name, "padding", padding, axes, 0)
        self.dilation = per_axis(name, "dilation", dilation, axes, 1)
        self.output_padding = per_axis(name, "output_padding", output_padding, axes, 0)
        if isinstance(padding, str) and padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
        if padding == "same" and any(step != 1 for step in self.stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
        if mode not in _MODES:
            raise ValueError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode='{mode}'")
        self.groups, self.padding_mode = groups, mode

    def _make_parameters(self, bias: bool, device: DeviceLike, dtype: DTypeLike) -> None:
        first, second = self.out_channels, self.in_channels // self.groups
        if self.transposed:
            first, second = self.in_channels, self.out_channels // self.groups
        self.weight = parameter((first, second, *self.kernel_size), device, dtype)
        self.register_parameter("bias", parameter((self.out_channels,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Fill weights and biases uniformly within ``1 / sqrt(fan_in)``."""
        if math.prod(self.weight.shape):
            init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fill_uniformly(self.bias, math.prod(self.weight.shape[1:]))

    def extra_repr(self) -> str:
        """Return sizes and the options that are not the default."""
        axes = self._axes
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * axes:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * axes:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * axes:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class _Forward(_Conv):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: PerAxis,
        stride: PerAxis = 1,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        steps = stride, padding, dilation, 0
        self._set_options((in_channels, out_channels), kernel_size, steps, groups, padding_mode)
        self._make_parameters(bias, device, dtype)

    def _paddings(self) -> list[int]:
        """Return the padding of each side in the order of `funcgrad.nn.functional.pad`, the last axis first."""
        if self.padding == "valid":
            return [0] * (2 * self._axes)
        if self.padding == "same":
            reach = [step * (k - 1) for step, k in zip(self.dilation, self.kernel_size, strict=True)]
            return [n for far in reversed(reach) for n in (far // 2, far - far // 2)]
        numbers: Any = self.padding
        return [n for pad in reversed(numbers) for n in (pad, pad)]

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, in, ...] -> [batch, out, ...]``, with or without the batch."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._paddings(), self.padding_mode), 0
        convolve = (F.conv1d, F.conv2d, F.conv3d)[self._axes - 1]
        return convolve(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Forward):
    """Convolve signals; see `funcgrad.nn.conv1d`.

    Weights and biases are initialized uniformly within ``1 / sqrt(in_channels / groups * kernel_size)``.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: the length of the kernel.
        stride: the step of the kernel.
        padding: the number of elements added at both ends, or ``"same"`` or ``"valid"``.
        dilation: the distance between the kernel's elements.
        groups: the number of groups of channels.
        bias: whether a bias is added.
        padding_mode: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Raises:
        ValueError: the sizes do not go together.

    Example:
        >>> from funcgrad import nn
        >>> nn.Conv1d(2, 4, 3, padding=1)
        Conv1d(2, 4, kernel_size=(3,), stride=(1,), padding=(1,))

    Source: ``torch.nn.Conv1d``.
    """

    _axes = 1


class Conv2d(_Forward):
    """Convolve images; the arguments are those of `Conv1d`, with a number for both axes or one for each.

    Source: ``torch.nn.Conv2d``.
    """

    _axes = 2


class Conv3d(_Forward):
    """Convolve volumes; the arguments are those of `Conv1d`, with a number for all axes or one for each.

    Source: ``torch.nn.Conv3d``.
    """

    _axes = 3


class _Transposed(_Conv):
    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: PerAxis,
        stride: PerAxis = 1,
        padding: Padding = 0,
        output_padding: PerAxis = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: PerAxis = 1,
        padding_mode: str = "zeros",
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        steps = stride, padding, dilation, output_padding
        self._set_options((in_channels, out_channels), kernel_size, steps, groups, padding_mode)
        self._make_parameters(bias, device, dtype)

    def forward(self, input: Array, output_size: PerAxis | None = None) -> Array:
        """Compute ``[batch, in, ...] -> [batch, out, ...]``; ``output_size`` chooses the lengths of the result."""
        convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self._axes - 1]
        more = self.output_padding if output_size is None else self._more(input, output_size)
        return convolve(input, self.weight, self.bias, self.stride, self.padding, more, self.groups, self.dilation)

    def _more(self, x: Array, output_size: Any) -> list[int]:
        """Return the output padding that leads to lengths of the result."""
        axes = self._axes
        lead = 2 if len(x.shape) == axes + 2 else 1
        asked = tuple(output_size)[lead:] if len(output_size) == lead + axes else tuple(output_size)
        if len(asked) != axes:
            raise ValueError(
                f"ConvTranspose{axes}D: for {len(x.shape)}D input, output_size must have {axes} or {lead + axes} "
                f"elements (got {len(asked)})"
            )
        least = [
            (n - 1) * step - 2 * pad + each * (k - 1) + 1
            for n, step, pad, each, k in zip(
                x.shape[lead:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True
            )
        ]
        most = [n + step - 1 for n, step in zip(least, self.stride, strict=True)]
        if any(not low <= n <= high for low, n, high in zip(least, asked, most, strict=True)):
            raise ValueError(
                f"requested an output size of {asked}, but valid sizes range from {least} to {most} (for an input of "
                f"torch.Size({list(x.shape[2:])}))"
            )
        return [n - low for n, low in zip(asked, least, strict=True)]


class ConvTranspose1d(_Transposed):
    """Compute the transpose of a convolution of signals; see `funcgrad.nn.conv_transpose1d`.

    Args:
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        kernel_size: the length of the kernel.
        stride: the distance between the elements of the input in the result.
        padding: the number of elements cut off at both ends.
        output_padding: the number of elements added at the end of the result.
        groups: the number of groups of channels.
        bias: whether a bias is added.
        dilation: the distance between the kernel's elements.
        padding_mode: ``"zeros"``.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Raises:
        ValueError: the sizes do not go together.

    Example:
        >>> from funcgrad import nn
        >>> nn.ConvTranspose1d(2, 4, 3, stride=2)
        ConvTranspose1d(2, 4, kernel_size=(3,), stride=(2,))

    Source: ``torch.nn.ConvTranspose1d``.
    """

    _axes = 1


class ConvTranspose2d(_Transposed):
    """Compute the transpose of a convolution of images; the arguments are those of `ConvTranspose1d`.

    Source: ``torch.nn.ConvTranspose2d``.
    """

    _axes = 2


class ConvTranspose3d(_Transposed):
    """Compute the transpose of a convolution of volumes; the arguments are those of `ConvTranspose1d`.

    Source: ``torch.nn.ConvTranspose3d``.
    """

    _axes = 3
