"""Pooling as modules; the functions are in `funcgrad.nn.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._types import Array, OutputSize, Padding, PerAxis, ScalarLike
from funcgrad.nn import functional as F
from funcgrad.nn._functions.sizes import per_axis
from funcgrad.nn._module import Module


class _MaxPool(Module):
    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        dilation: PerAxis = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def _how(self) -> tuple:
        return self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices

    def extra_repr(self) -> str:
        """Return the options."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """Compute the maximum of each window of signals; see `funcgrad.nn.functional.max_pool1d`.

    Args:
        kernel_size: the length of the window.
        stride: the step of the window; its length by default.
        padding: the number of ignored elements added at both ends.
        dilation: the distance between the window's elements.
        return_indices: also return the positions of the maxima, for `MaxUnpool1d`.
        ceil_mode: whether to keep a last window that ends outside.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> nn.MaxPool1d(2)(tensor([[1.0, 5.0, 2.0, 3.0]]))
        tensor([[5., 3.]])

    Source: ``torch.nn.MaxPool1d``.
    """

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``, with or without the batch."""
        return F.max_pool1d(input, *self._how())


class MaxPool2d(_MaxPool):
    """Compute the maximum of each window of images; see `funcgrad.nn.functional.max_pool2d`.

    Source: ``torch.nn.MaxPool2d``.
    """

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``, with or without the batch."""
        return F.max_pool2d(input, *self._how())


class MaxPool3d(_MaxPool):
    """Compute the maximum of each window of volumes; see `funcgrad.nn.functional.max_pool3d`.

    Source: ``torch.nn.MaxPool3d``.
    """

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``, with or without the batch."""
        return F.max_pool3d(input, *self._how())


class _MaxUnpool(Module):
    _axes: int

    def __init__(self, kernel_size: PerAxis, stride: PerAxis | None = None, padding: Padding = 0) -> None:
        super().__init__()
        name, axes = type(self).__name__, self._axes
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, axes, 1)
        self.stride = self.kernel_size if stride is None else per_axis(name, "stride", stride, axes, 1)
        self.padding = per_axis(name, "padding", padding, axes, 0)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Put maxima of signals back to their positions; see `funcgrad.nn.functional.max_unpool1d`.

    Source: ``torch.nn.MaxUnpool1d``.
    """

    _axes = 1

    def forward(self, input: Array, indices: Array, output_size: PerAxis | None = None) -> Array:
        """Compute the output from maxima and their positions."""
        return F.max_unpool1d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool2d(_MaxUnpool):
    """Put maxima of images back to their positions; see `funcgrad.nn.functional.max_unpool2d`.

    Source: ``torch.nn.MaxUnpool2d``.
    """

    _axes = 2

    def forward(self, input: Array, indices: Array, output_size: PerAxis | None = None) -> Array:
        """Compute the output from maxima and their positions."""
        return F.max_unpool2d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool3d(_MaxUnpool):
    """Put maxima of volumes back to their positions; see `funcgrad.nn.functional.max_unpool3d`.

    Source: ``torch.nn.MaxUnpool3d``.
    """

    _axes = 3

    def forward(self, input: Array, indices: Array, output_size: PerAxis | None = None) -> Array:
        """Compute the output from maxima and their positions."""
        return F.max_unpool3d(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class AvgPool1d(Module):
    """Compute the mean of each window of signals; see `funcgrad.nn.functional.avg_pool1d`.

    Source: ``torch.nn.AvgPool1d``.
    """

    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = per_axis("AvgPool1d", "kernel_size", kernel_size, 1, 1)
        self.stride = self.kernel_size if stride is None else per_axis("AvgPool1d", "stride", stride, 1, 1)
        self.padding = per_axis("AvgPool1d", "padding", padding, 1, 0)
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, length] -> [batch, channels, ...]``, with or without the batch."""
        how = self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        return F.avg_pool1d(input, *how)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _AvgPool(Module):
    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: Padding = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def _how(self) -> tuple:
        first = self.kernel_size, self.stride, self.padding
        return *first, self.ceil_mode, self.count_include_pad, self.divisor_override

    def extra_repr(self) -> str:
        """Return the options."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(_AvgPool):
    """Compute the mean of each window of images; see `funcgrad.nn.functional.avg_pool2d`.

    Source: ``torch.nn.AvgPool2d``.
    """

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``, with or without the batch."""
        return F.avg_pool2d(input, *self._how())


class AvgPool3d(_AvgPool):
    """Compute the mean of each window of volumes; see `funcgrad.nn.functional.avg_pool3d`.

    Source: ``torch.nn.AvgPool3d``.
    """

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``, with or without the batch."""
        return F.avg_pool3d(input, *self._how())


class _LPPool(Module):
    def __init__(
        self, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def extra_repr(self) -> str:
        """Return the options."""
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """Compute the norm of each window of signals; see `funcgrad.nn.functional.lp_pool1d`.

    Source: ``torch.nn.LPPool1d``.
    """

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``, with or without the batch."""
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPool):
    """Compute the norm of each window of images; see `funcgrad.nn.functional.lp_pool2d`.

    Source: ``torch.nn.LPPool2d``.
    """

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``, with or without the batch."""
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPool):
    """Compute the norm of each window of volumes; see `funcgrad.nn.functional.lp_pool3d`.

    Source: ``torch.nn.LPPool3d``.
    """

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``, with or without the batch."""
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _AdaptiveAvgPool(Module):
    _pool: Callable[..., Any]

    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Array) -> Array:
        """Compute ``[batch, channels, ...] -> [batch, channels, *output_size]``, with or without the batch."""
        return self._pool(input, self.output_size)

    def extra_repr(self) -> str:
        """Return the size of the output."""
        return f"output_size={self.output_size}"


class _AdaptiveMaxPool(_AdaptiveAvgPool):
    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, ...] -> [batch, channels, *output_size]``, with or without the batch."""
        return self._pool(input, self.output_size, self.return_indices)


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Compute means of signals to a given size; see `funcgrad.nn.functional.adaptive_avg_pool1d`.

    Source: ``torch.nn.AdaptiveAvgPool1d``.
    """

    _pool = staticmethod(F.adaptive_avg_pool1d)


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Compute maxima of signals to a given size; see `funcgrad.nn.functional.adaptive_max_pool1d`.

    Source: ``torch.nn.AdaptiveMaxPool1d``.
    """

    _pool = staticmethod(F.adaptive_max_pool1d)


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Compute means of images to a given size; see `funcgrad.nn.functional.adaptive_avg_pool2d`.

    Source: ``torch.nn.AdaptiveAvgPool2d``.
    """

    _pool = staticmethod(F.adaptive_avg_pool2d)


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Compute maxima of images to a given size; see `funcgrad.nn.functional.adaptive_max_pool2d`.

    Source: ``torch.nn.AdaptiveMaxPool2d``.
    """

    _pool = staticmethod(F.adaptive_max_pool2d)


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Compute means of volumes to a given size; see `funcgrad.nn.functional.adaptive_avg_pool3d`.

    Source: ``torch.nn.AdaptiveAvgPool3d``.
    """

    _pool = staticmethod(F.adaptive_avg_pool3d)


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Compute maxima of volumes to a given size; see `funcgrad.nn.functional.adaptive_max_pool3d`.

    Source: ``torch.nn.AdaptiveMaxPool3d``.
    """

    _pool = staticmethod(F.adaptive_max_pool3d)


class _FractionalMaxPool(Module):
    _axes: int
    _pool: Any

    def __init__(
        self,
        kernel_size: PerAxis,
        output_size: OutputSize = None,
        output_ratio: ScalarLike = None,
        return_indices: bool = False,
        _random_samples: Array = None,
    ) -> None:
        super().__init__()
        name, axes = type(self).__name__, self._axes
        self.kernel_size = per_axis(name, "kernel_size", kernel_size, axes, 1)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        self.output_size = None if output_size is None else per_axis(name, "output_size", output_size, axes, 1)
        is_one = not isinstance(output_ratio, list | tuple)
        self.output_ratio = None if output_ratio is None else (output_ratio,) * axes if is_one else (*output_ratio,)
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, ...] -> [batch, channels, *output_size]``, with or without the batch."""
        sizes = self.output_size, self.output_ratio
        return self._pool(input, self.kernel_size, *sizes, self.return_indices, self._random_samples)


class FractionalMaxPool2d(_FractionalMaxPool):
    """Compute maxima of images to any size; see `funcgrad.nn.functional.fractional_max_pool2d`.

    Source: ``torch.nn.FractionalMaxPool2d``.
    """

    _axes, _pool = 2, staticmethod(F.fractional_max_pool2d)


class FractionalMaxPool3d(_FractionalMaxPool):
    """Compute maxima of volumes to any size; see `funcgrad.nn.functional.fractional_max_pool3d`.

    Source: ``torch.nn.FractionalMaxPool3d``.
    """

    _axes, _pool = 3, staticmethod(F.fractional_max_pool3d)
