"""Normalizations with PyTorch's arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._ops.reduce.standardize import Norm
from funcgrad._types import Array, ShapeLike
from funcgrad.autograd import no_grad
from funcgrad.autograd.extend import is_tensor
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.normalization import Statistics, moved, normalized, per_channel, standardized
from funcgrad.nn._functions.refusals import check_dim, floating, narrowed, refuse_integers, single, widened


def layer_norm(
    input: Array, normalized_shape: ShapeLike, weight: Array = None, bias: Array = None, eps: float = 1e-5
) -> Any:
    """Normalize over the last axes.

    ``(x - mean) / sqrt(variance + eps) * weight + bias``

    Args:
        input: ``f32[..., *normalized_shape]``.
        normalized_shape: the lengths of the axes to normalize over.
        weight: ``f32[*normalized_shape]``, or ``None``.
        bias: ``f32[*normalized_shape]``, or ``None``.
        eps: added to the variance, in its units.

    Returns:
        An array like ``input``.

    Raises:
        RuntimeError: the last axes have other lengths.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.layer_norm(np.array([[1.0, 3.0]]), (2,)).round(4)
        array([[-1.,  1.]])

    Source: Ba et al., *Layer normalization* (2016), eq. 4.
    """
    shape = _shape(normalized_shape)
    _check_shape(inexact(input), shape, weight, bias)
    x = widened("LayerNormKernelImpl", input, weight, bias)
    rows = math.prod(x.shape[: len(x.shape) - len(shape)])
    return narrowed(standardized(x, weight, bias, Norm((rows, math.prod(shape)), (1,), (1,), eps))[0], input)


def rms_norm(input: Array, normalized_shape: ShapeLike, weight: Array = None, eps: float | None = None) -> Any:
    """Divide by the root of the mean square over the last axes.

    Args:
        input: ``f32[..., *normalized_shape]``.
        normalized_shape: the lengths of the axes to normalize over.
        weight: ``f32[*normalized_shape]``, or ``None``.
        eps: added to the mean square, in its units; the machine epsilon of the dtype by default.

    Returns:
        An array like ``input``.

    Raises:
        RuntimeError: the last axes have other lengths.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.rms_norm(np.array([[3.0, 4.0]]), (2,)).round(4)
        array([[0.8485, 1.1314]])

    Source: Zhang and Sennrich, *Root mean square layer normalization* (2019), eq. 4.
    """
    x, shape = single(floating("rms_norm", input)), _shape(normalized_shape)
    _check_shape(x, shape, weight, None)
    axes = tuple(range(len(x.shape) - len(shape), len(x.shape)))
    squares = fnp.mean(fnp.square(x), axis=axes, keepdims=True)
    return narrowed(normalized(x, squares, float(np.finfo(x.dtype).eps) if eps is None else eps, weight, None), input)


def _shape(given: Any) -> tuple[int, ...]:
    shape = (int(given),) if isinstance(given, int | np.integer) else tuple(given)
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, "
            "but got normalized_shape = []"
        )
    return shape


def _check_shape(x: Array, shape: tuple[int, ...], weight: Array, bias: Array) -> None:
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and tuple(parameter.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(parameter.shape)} and normalized_shape = {list(shape)}"
            )
    if tuple(x.shape[len(x.shape) - len(shape) :]) != shape or len(x.shape) < len(shape):
        wanted = ", ".join(["*", *map(str, shape)])
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [{wanted}], but got input of "
            f"size{list(x.shape)}"
        )


def batch_norm(
    input: Array,
    running_mean: Array,
    running_var: Array,
    weight: Array = None,
    bias: Array = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalize each channel over the batch, or with running statistics if not training.

    Args:
        input: ``f32[batch, channels, ...]``.
        running_mean: ``f32[channels]``, or ``None``; in training it is updated in place.
        running_var: ``f32[channels]``, or ``None``; in training it is updated in place with the unbiased variance.
        weight: ``f32[channels]``, or ``None``.
        bias: ``f32[channels]``, or ``None``.
        training: use the statistics of the batch.
        momentum: the share of the batch in the running statistics, dimensionless.
        eps: added to the variance, in its units.

    Returns:
        An array like ``input``.

    Raises:
        RuntimeError: a parameter has another number of elements than there are channels.
        ValueError: in training a channel has one element only.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.batch_norm(np.array([[1.0], [3.0]]), None, None, training=True).round(4)
        array([[-1.],
               [ 1.]])

    Source: Ioffe and Szegedy, *Batch normalization* (2015), algorithm 1.
    """
    return batch_norm_and_statistics(input, (running_mean, running_var), weight, bias, training, momentum, eps)[0]


def batch_norm_and_statistics(
    input: Any, running: tuple[Any, Any], weight: Any, bias: Any, training: bool, momentum: float, eps: float
) -> tuple[Any, Statistics | None]:
    """Return the result of `batch_norm`, and the statistics of the batch if they were used."""
    y, statistics = batch_normalized(input, running, weight, bias, training=training, eps=eps)
    if statistics is not None:
        _update(running, statistics, momentum)
    return y, statistics


def batch_normalized(
    input: Any, running: tuple[Any, Any], weight: Any, bias: Any, *, training: bool, eps: float
) -> tuple[Any, Statistics | None]:
    """Return the normalized input, and the statistics of the batch if they were used."""
    x = floating("batch_norm", input)
    if training:
        check_several(x)
    for name, held in zip(("running_mean", "running_var", "weight", "bias"), (*running, weight, bias), strict=True):
        if held is not None and math.prod(held.shape) != x.shape[1]:
            raise RuntimeError(f"{name} should contain {x.shape[1]} elements not {math.prod(held.shape)}")
    ndim, x = len(x.shape), widened("batch_norm", x, weight, bias, *running)
    if training:
        norm = Norm(x.shape, (0,), (1,), eps) if ndim == 2 else Norm(_flattened(x), (0, 2), (1,), eps)
        y, statistics = standardized(x, weight, bias, norm)
        return narrowed(y, input), statistics
    if running[0] is None or running[1] is None:
        raise RuntimeError(
            f"{'running_mean' if running[0] is None else 'running_var'} must be defined in evaluation mode"
        )
    weight, bias = per_channel(weight, ndim), per_channel(bias, ndim)
    mean, variance = per_channel(running[0], ndim), per_channel(running[1], ndim)
    return narrowed(normalized(fnp.subtract(x, mean), variance, eps, weight, bias), input), None


def _flattened(x: Array) -> tuple[int, int, int]:
    """Return the shape of an array with its axes after the channels as one."""
    return x.shape[0], x.shape[1], math.prod(x.shape[2:])


def check_several(x: Array) -> None:
    """Refuse a batch with one element for each channel: its variance would be 0."""
    if math.prod(x.shape) == x.shape[1]:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size torch.Size({list(x.shape)})"
        )


def _update(running: tuple[Any, Any], statistics: Statistics, momentum: float) -> None:
    with no_grad():
        for held, found in zip(running, (statistics.mean, statistics.unbiased), strict=True):
            if held is not None:
                _write(held, moved(held, found, momentum))


def _write(held: Array, value: Any) -> None:
    if is_tensor(held):
        with no_grad():
            held.copy_(value.detach() if is_tensor(value) else value)
    else:
        held[...] = value


def instance_norm(
    input: Array,
    running_mean: Array = None,
    running_var: Array = None,
    weight: Array = None,
    bias: Array = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Normalize each channel of each sample over its spatial axes; the arguments are those of `batch_norm`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.instance_norm(np.array([[[1.0, 3.0]]])).round(4)
        array([[[-1.,  1.]]])

    Source: Ulyanov et al., *Instance normalization* (2016), eq. 3.
    """
    y, statistics = instance_normalized(
        input, (running_mean, running_var), weight, bias, training=use_input_stats, eps=eps
    )
    if statistics is not None:
        _update((running_mean, running_var), statistics, momentum)
    return y


def instance_normalized(
    input: Any, running: tuple[Any, Any], weight: Any, bias: Any, *, training: bool, eps: float
) -> tuple[Any, Statistics | None]:
    """Return the normalized input, and the mean over the batch of each channel's statistics if they were used."""
    if not training:
        return batch_normalized(input, running, weight, bias, training=False, eps=eps)
    x = widened("batch_norm", floating("batch_norm", input), weight, bias)
    if math.prod(x.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size torch.Size({list(x.shape)})"
        )
    y, statistics = standardized(x, weight, bias, Norm(_flattened(x), (2,), (1,), eps))
    if statistics is None:
        return narrowed(y, input), None
    means = [fnp.mean(each, axis=0) for each in (statistics.mean, statistics.variance)]
    return narrowed(y, input), Statistics(means[0], means[1], statistics.elements)


def group_norm(input: Array, num_groups: int, weight: Array = None, bias: Array = None, eps: float = 1e-5) -> Any:
    """Normalize each group of channels of each sample.

    Args:
        input: ``f32[batch, channels, ...]``.
        num_groups: the number of groups, which divides the number of channels.
        weight: ``f32[channels]``, or ``None``.
        bias: ``f32[channels]``, or ``None``.
        eps: added to the variance, in its units.

    Returns:
        An array like ``input``.

    Raises:
        RuntimeError: the channels cannot be divided into that many groups.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.group_norm(np.array([[1.0, 3.0, 5.0, 9.0]]), 2).round(4)
        array([[-1.,  1., -1.,  1.]])

    Source: Wu and He, *Group normalization* (2018), eq. 7.
    """
    x = inexact(input)
    if len(x.shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(x.shape)}")
    if x.shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(x.shape)} and num_groups={num_groups}"
        )
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None and tuple(parameter.shape) != (x.shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of "
                f"shape {list(parameter.shape)} and input of shape {list(x.shape)}"
            )
    x = widened("GroupNormKernelImpl", input, weight, bias)
    shape = x.shape[0], num_groups, x.shape[1] // num_groups, math.prod(x.shape[2:])
    return narrowed(standardized(x, weight, bias, Norm(shape, (2, 3), (1, 2), eps))[0], input)


def local_response_norm(input: Array, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """Divide by a power of the mean square of neighbouring channels.

    ``x / (k + alpha * mean of x**2 over size channels) ** beta``

    Args:
        input: ``f32[batch, channels, ...]``.
        size: the number of neighbouring channels.
        alpha: the factor of the mean square, in inverse units of ``x**2``.
        beta: the exponent, dimensionless.
        k: the constant, dimensionless.

    Returns:
        An array like ``input``.

    Raises:
        ValueError: the input has fewer than three axes.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.local_response_norm(np.ones((1, 1, 2)), 1, alpha=3.0, beta=0.5)
        array([[[0.5, 0.5]]])

    Source: Krizhevsky et al., *ImageNet classification* (2012), section 3.3.
    """
    x = inexact(input)
    if len(x.shape) < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {len(x.shape)} dimensions)"
        )
    squares = fnp.pad(fnp.square(x), [(0, 0), (size // 2, (size - 1) // 2), *[(0, 0)] * (len(x.shape) - 2)])
    total = squares[:, : x.shape[1]]
    for start in range(1, size):
        total = fnp.add(total, squares[:, start : start + x.shape[1]])
    return fnp.divide(x, fnp.power(fnp.add(fnp.multiply(total, alpha / size), k), beta))


def normalize(input: Array, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Array = None) -> Any:
    """Divide by the norm along an axis, or by ``eps`` if the norm is smaller.

    Args:
        input: an array.
        p: which norm.
        dim: the axis.
        eps: the least divisor, in the units of ``input``.
        out: a tensor to write the result into.

    Returns:
        An array like ``input``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.normalize(np.array([[3.0, 4.0]]))
        array([[0.6, 0.8]])
    """
    refuse_integers("linalg.vector_norm: Expected a floating point or complex tensor as input. Got {}", input)
    x = inexact(input)
    check_dim(x, dim)
    y = fnp.divide(x, fnp.maximum(vector_norm(x, p, dim), eps))
    if out is None:
        return y
    _write(out, y)
    return out


def vector_norm(x: Array, p: float, dim: int, keepdims: bool = True) -> Any:
    """Return the norm along an axis; its derivative at 0 is 0, as in PyTorch."""
    if p == 2:
        squares = fnp.sum(fnp.square(single(x)), axis=dim, keepdims=keepdims)
        return narrowed(root_of_squares_p(squares), x)
    return fnp.linalg.norm(x, ord=p, axis=dim, keepdims=keepdims)
