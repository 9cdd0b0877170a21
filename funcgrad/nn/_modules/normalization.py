"""Normalizations as modules, with running statistics and PyTorch's names."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import Array, DeviceLike, DTypeLike, ShapeLike
from funcgrad.autograd import no_grad, tensor
from funcgrad.nn import functional as F
from funcgrad.nn import init
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.normalization import Statistics, bare, moved
from funcgrad.nn._module import Module
from funcgrad.nn._modules.made import empty, parameter
from funcgrad.nn._pure import update_buffer
from funcgrad.nn.functional._normalization import batch_normalized, instance_normalized


class LayerNorm(Module):
    """Normalize over the last axes; see `funcgrad.nn.functional.layer_norm`.

    Args:
        normalized_shape: the lengths of the last axes, or the length of the last axis.
        eps: added to the variance, in its units.
        elementwise_affine: whether there are weights, initially 1, and biases, initially 0.
        bias: whether there are biases.
        device: the present one.
        dtype: of the parameters; float32 by default.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import no_grad, tensor
        >>> nn.LayerNorm(2)(tensor([1.0, 3.0])).detach()
        tensor([-1.0000,  1.0000])

    Source: ``torch.nn.LayerNorm``.
    """

    def __init__(
        self,
        normalized_shape: ShapeLike,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = parameter(self.normalized_shape, device, dtype) if elementwise_affine else None
        self.register_parameter("weight", made)
        made = parameter(self.normalized_shape, device, dtype) if elementwise_affine and bias else None
        self.register_parameter("bias", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0."""
        _reset_affine(self)

    def forward(self, input: Array) -> Any:
        """Compute ``[..., *shape] -> [..., *shape]``."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        shape, affine = self.normalized_shape, self.elementwise_affine
        return f"{shape}, eps={self.eps}, elementwise_affine={affine}, bias={self.bias is not None}"


class RMSNorm(Module):
    """Divide by the root of the mean square over the last axes; see `funcgrad.nn.functional.rms_norm`.

    Source: ``torch.nn.RMSNorm``.
    """

    def __init__(
        self,
        normalized_shape: ShapeLike,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _sizes(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = parameter(self.normalized_shape, device, dtype) if elementwise_affine else None
        self.register_parameter("weight", made)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input: Array) -> Any:
        """Compute ``[..., *shape] -> [..., *shape]``."""
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalize each group of channels; see `funcgrad.nn.functional.group_norm`.

    Source: ``torch.nn.GroupNorm``.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter("weight", parameter((num_channels,), device, dtype) if affine else None)
        self.register_parameter("bias", parameter((num_channels,), device, dtype) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0."""
        _reset_affine(self)

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Return the options."""
        shape = f"{self.num_groups}, {self.num_channels}"
        return f"{shape}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class LocalResponseNorm(Module):
    """Divide by the mean square of neighbouring channels; see `funcgrad.nn.functional.local_response_norm`.

    Source: ``torch.nn.LocalResponseNorm``.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``."""
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        """Return the options."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _Running(Module):
    """A normalization with running statistics of each channel, which training updates."""

    _optional_in_state = ("num_batches_tracked",)
    _version = 2
    # The numbers of axes that inputs may have, and the words of the error.
    _ndims: tuple[int, ...]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self.register_parameter("weight", parameter((num_features,), device, dtype) if affine else None)
        self.register_parameter("bias", parameter((num_features,), device, dtype) if affine and bias else None)
        kept = track_running_stats
        self.register_buffer("running_mean", empty((num_features,), device, dtype) if kept else None)
        self.register_buffer("running_var", empty((num_features,), device, dtype) if kept else None)
        self.register_buffer("num_batches_tracked", tensor(np.array(0)) if kept else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Set the running means to 0 and the running variances to 1."""
        if self.track_running_stats:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Set weights to 1 and biases to 0, and the running statistics to their initial values."""
        self.reset_running_stats()
        _reset_affine(self)

    def _update(self, statistics: Statistics, count: Array) -> None:
        """Move the running statistics toward those of a batch; without momentum they are the mean of all batches."""
        factor = cast(fnp.divide(1, count), self.running_mean.dtype) if self.momentum is None else self.momentum
        with no_grad():
            for name, found in (("running_mean", statistics.mean), ("running_var", statistics.unbiased)):
                update_buffer(self, name, moved(self._buffers[name], found, factor))

    def extra_repr(self) -> str:
        """Return the options."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_Running):
    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``."""
        x = inexact(input)
        if len(x.shape) not in self._ndims:
            wanted = " or ".join(f"{n}D" for n in self._ndims)
            raise ValueError(f"expected {wanted} input (got {len(x.shape)}D input)")
        running = self.running_mean, self.running_var
        by_batch = self.training or running[0] is running[1] is None
        y, statistics = batch_normalized(input, running, self.weight, self.bias, training=by_batch, eps=self.eps)
        if self.training and self.track_running_stats:
            held = bare(self.num_batches_tracked)
            count = fnp.add(self.num_batches_tracked, 1) if held is None else np.asarray(held + 1)
            if statistics is not None:  # A batch without elements counts, but has no statistics.
                self._update(statistics, count)
            update_buffer(self, "num_batches_tracked", count)
        return y


class BatchNorm1d(_BatchNorm):
    """Normalize each channel over the batch; see `funcgrad.nn.functional.batch_norm`.

    In training the statistics are those of the batch, and running statistics are updated. In evaluation the running
    statistics are used.

    Args:
        num_features: the number of channels.
        eps: added to the variance, in its units.
        momentum: the share of a batch in the running statistics; ``None`` for their plain mean.
        affine: whether there are weights, initially 1, and biases, initially 0.
        track_running_stats: whether there are running statistics.
        device: the present one.
        dtype: of the parameters; float32 by default.
        bias: whether there are biases.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import no_grad, tensor
        >>> norm = nn.BatchNorm1d(1)
        >>> norm(tensor([[1.0], [3.0]])).detach()
        tensor([[-1.0000],
                [ 1.0000]])
        >>> norm.running_mean
        tensor([0.2000])

    Source: ``torch.nn.BatchNorm1d``.
    """

    _ndims = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Normalize each channel of images over the batch; the arguments are those of `BatchNorm1d`.

    Source: ``torch.nn.BatchNorm2d``.
    """

    _ndims = (4,)


class BatchNorm3d(_BatchNorm):
    """Normalize each channel of volumes over the batch; the arguments are those of `BatchNorm1d`.

    Source: ``torch.nn.BatchNorm3d``.
    """

    _ndims = (5,)


class SyncBatchNorm(_BatchNorm):
    """Normalize each channel over the batch, of this process: the arguments are those of `BatchNorm1d`.

    Source: ``torch.nn.SyncBatchNorm`` for one process.
    """

    _ndims = (2, 3, 4, 5)


class _InstanceNorm(_Running):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike = None,
        dtype: DTypeLike = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Array) -> Any:
        """Compute ``[batch, channels, ...] -> [batch, channels, ...]``, with or without the batch."""
        x = inexact(input)
        if len(x.shape) not in self._ndims:
            wanted = " or ".join(f"{n}D" for n in self._ndims)
            raise ValueError(f"expected {wanted} input (got {len(x.shape)}D input)")
        batched = len(x.shape) == self._ndims[1]
        self._check_channels(len(x.shape) - self._ndims[0], x)
        by_batch = self.training or not self.track_running_stats
        y, statistics = instance_normalized(
            input if batched else fnp.expand_dims(input, 0),
            (self.running_mean, self.running_var),
            self.weight,
            self.bias,
            training=by_batch,
            eps=self.eps,
        )
        if statistics is not None and self.training and self.track_running_stats:
            # As in PyTorch, batches are not counted here.
            self._update(statistics, np.inf)
        return y if batched else y[0]

    def _check_channels(self, axis: int, x: Array) -> None:
        if x.shape[axis] == self.num_features:
            return
        if self.affine:
            raise ValueError(
                f"expected input's size at dim={axis} to match num_features ({self.num_features}), but got: "
                f"{x.shape[axis]}."
            )
        warnings.warn(
            f"input's size at dim={axis} does not match num_features. You can silence this warning by not passing in "
            "num_features, which is not used because affine=False",
            stacklevel=3,
        )


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each sample; see `funcgrad.nn.functional.instance_norm`.

    Source: ``torch.nn.InstanceNorm1d``.
    """

    _ndims = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of each image; see `funcgrad.nn.functional.instance_norm`.

    Source: ``torch.nn.InstanceNorm2d``.
    """

    _ndims = (3, 4)


class InstanceNorm3d(_InstanceNorm):
    """Normalize each channel of each volume; see `funcgrad.nn.functional.instance_norm`.

    Source: ``torch.nn.InstanceNorm3d``.
    """

    _ndims = (4, 5)


def _sizes(given: Any) -> tuple[int, ...]:
    return (int(given),) if isinstance(given, int | np.integer) else tuple([int(n) for n in given])


def _reset_affine(module: Any) -> None:
    if module.weight is not None:
        init.ones_(module.weight)
    if module.bias is not None:
        init.zeros_(module.bias)
