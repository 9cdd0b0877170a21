"""Convolutions and transposed convolutions over one, two and three spatial axes, in PyTorch's layout."""

from __future__ import annotations

from typing import Any

from funcgrad._core.aval import aval_of
from funcgrad._ops.contract.conv import Window, conv, extent, turned
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Padding, PerAxis
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.sizes import Sizes, images, per_axis
from funcgrad.numpy import add
from funcgrad.numpy.extend import promote


def conv1d(
    x: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Convolve signals: each output is the sum of products of the kernel, not flipped, with a window of the input.

    Args:
        x: ``f32[batch, in, length]``, or ``f32[in, length]``.
        weight: ``f32[out, in / groups, kernel]``.
        bias: ``f32[out]``, or ``None``.
        stride: the step of the kernel.
        padding: the number of zeros added at both ends; ``"valid"`` adds none, ``"same"`` (for ``stride=1``) keeps the
            length, and adds an odd one at the end.
        dilation: the distance between the kernel's elements.
        groups: the number of groups of channels; each group has its own outputs.

    Returns:
        ``f32[batch, out, (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1]``.

    Raises:
        ValueError: the shapes or sizes do not match.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.conv1d(np.array([[1.0, 2.0, 4.0, 8.0]]), np.array([[[1.0, -1.0]]]), padding=(1,))
        array([[-1., -1., -2., -4.,  8.]])

    Source: ``torch.nn.functional.conv1d``.
    """
    return _conv("conv1d", x, weight, bias, (1, stride, padding, dilation, groups))


def conv2d(
    x: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Convolve images; the arguments are those of `conv1d`, with a number for both axes or one for each.

    Args:
        x: ``f32[batch, in, height, width]``, or ``f32[in, height, width]``.
        weight: ``f32[out, in / groups, kernel height, kernel width]``.
        bias: ``f32[out]``, or ``None``.
        stride: the step of the kernel.
        padding: the number of zeros added on each side, or ``"valid"`` or ``"same"``.
        dilation: the distance between the kernel's elements.
        groups: the number of groups of channels.

    Returns:
        ``f32[batch, out, ..., ...]``.

    Raises:
        ValueError: the shapes or sizes do not match.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad import nn
        >>> image = np.arange(9.0).reshape(1, 3, 3)
        >>> edge = np.array([[[[-1.0, 1.0], [-1.0, 1.0]]]])
        >>> nn.conv2d(image, edge)
        array([[[2., 2.],
                [2., 2.]]])
        >>> fg.grad(lambda edge: np.sum(nn.conv2d(image, edge)))(edge)
        array([[[[ 8., 12.],
                 [20., 24.]]]])

    Source: ``torch.nn.functional.conv2d``.
    """
    return _conv("conv2d", x, weight, bias, (2, stride, padding, dilation, groups))


def conv3d(
    x: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Convolve volumes; the arguments are those of `conv1d`, with a number for all axes or one for each.

    Args:
        x: ``f32[batch, in, depth, height, width]``, or without the batch.
        weight: ``f32[out, in / groups, kernel depth, kernel height, kernel width]``.
        bias: ``f32[out]``, or ``None``.
        stride: the step of the kernel.
        padding: the number of zeros added on each side, or ``"valid"`` or ``"same"``.
        dilation: the distance between the kernel's elements.
        groups: the number of groups of channels.

    Returns:
        ``f32[batch, out, ..., ..., ...]``.

    Raises:
        ValueError: the shapes or sizes do not match.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.conv3d(np.ones((1, 2, 2, 3)), np.ones((1, 1, 2, 2, 2)))
        array([[[[8., 8.]]]])

    Source: ``torch.nn.functional.conv3d``.
    """
    return _conv("conv3d", x, weight, bias, (3, stride, padding, dilation, groups))


def conv_transpose1d(
    x: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Array:
    """Compute the transpose of `conv1d` with respect to its input: the vector-Jacobian product of the same arguments.

    Args:
        x: ``f32[batch, in, length]``, or ``f32[in, length]``.
        weight: ``f32[in, out / groups, kernel]``.
        bias: ``f32[out]``, or ``None``.
        stride: the distance between the elements of ``x`` in the result.
        padding: the number of elements cut off at both ends.
        output_padding: the number of elements added at the end of the result; less than ``stride`` or ``dilation``.
        groups: the number of groups of channels.
        dilation: the distance between the kernel's elements.

    Returns:
        ``f32[batch, out, (length - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1]``.

    Raises:
        ValueError: the shapes or sizes do not match.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.conv_transpose1d(np.array([[1.0, 10.0]]), np.array([[[1.0, 2.0, 3.0]]]), stride=2)
        array([[ 1.,  2., 13., 20., 30.]])

    Source: ``torch.nn.functional.conv_transpose1d``.
    """
    return _conv_transpose("conv_transpose1d", x, weight, bias, (1, stride, padding, dilation, groups, output_padding))


def conv_transpose2d(
    x: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Array:
    """Compute the transpose of `conv2d`; the arguments are those of `conv_transpose1d`, for each axis or for both.

    Args:
        x: ``f32[batch, in, height, width]``, or without the batch.
        weight: ``f32[in, out / groups, kernel height, kernel width]``.
        bias: ``f32[out]``, or ``None``.
        stride: the distance between the elements of ``x`` in the result.
        padding: the number of elements cut off on each side.
        output_padding: the number of elements added at the end of each axis of the result.
        groups: the number of groups of channels.
        dilation: the distance between the kernel's elements.

    Returns:
        ``f32[batch, out, ..., ...]``.

    Raises:
        ValueError: the shapes or sizes do not match.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.conv_transpose2d(np.array([[[1.0, 2.0]]]), np.ones((1, 1, 2, 2)), stride=2)
        array([[[1., 1., 2., 2.],
                [1., 1., 2., 2.]]])

    Source: ``torch.nn.functional.conv_transpose2d``.
    """
    return _conv_transpose("conv_transpose2d", x, weight, bias, (2, stride, padding, dilation, groups, output_padding))


def conv_transpose3d(
    x: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Array:
    """Compute the transpose of `conv3d`; the arguments are those of `conv_transpose1d`, for each axis or for all.

    Args:
        x: ``f32[batch, in, depth, height, width]``, or without the batch.
        weight: ``f32[in, out / groups, kernel depth, kernel height, kernel width]``.
        bias: ``f32[out]``, or ``None``.
        stride: the distance between the elements of ``x`` in the result.
        padding: the number of elements cut off on each side.
        output_padding: the number of elements added at the end of each axis of the result.
        groups: the number of groups of channels.
        dilation: the distance between the kernel's elements.

    Returns:
        ``f32[batch, out, ..., ..., ...]``.

    Raises:
        ValueError: the shapes or sizes do not match.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.conv_transpose3d(np.ones((1, 1, 1, 2)), np.ones((1, 1, 1, 1, 2)))
        array([[[[1., 2., 1.]]]])

    Source: ``torch.nn.functional.conv_transpose3d``.
    """
    return _conv_transpose("conv_transpose3d", x, weight, bias, (3, stride, padding, dilation, groups, output_padding))


def _conv(function: str, x: Array, weight: Array, bias: Array, how: tuple) -> Array:
    axes, stride, padding, dilation, groups = how
    x, weight, batched = _operands(function, x, weight, axes)
    strides = per_axis(function, "stride", stride, axes, 1)
    dilations = per_axis(function, "dilation", dilation, axes, 1)
    reach = tuple([extent(k, each) - 1 for k, each in zip(weight.shape[2:], dilations, strict=True)])
    paddings = _paddings(function, padding, strides, reach)
    (groups,) = per_axis(function, "groups", groups, 1, 1)
    out, inner = weight.shape[:2]
    if x.shape[1] != inner * groups or out % groups:
        raise ValueError(
            f"{function}: x is {aval_of(x)} and weight is {aval_of(weight)} with groups={groups}; needed a weight of "
            f"shape [out, in / groups, ...], with in of {x.shape[1]} and out divided by {groups}."
        )
    window = Window(strides, paddings, (1,) * axes, dilations, groups)
    return _finished(function, conv(x, weight, _fitting(function, window, x, weight)), bias, batched)


def _too_much_padding(more: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]) -> Exception:
    """Return PyTorch's error, which names two axes or three; a signal's axis is the width."""
    axes = ("depth", "height", "width")[-max(len(more), 2) :]
    parts = [
        f"{name}_{axis}: {n}"
        for name, sizes, rest in (("output_padding", more, 0), ("stride", strides, 1), ("dilation", dilations, 1))
        for axis, n in zip(axes, (*[rest] * (len(axes) - len(sizes)), *sizes), strict=True)
    ]
    return RuntimeError(f"output padding must be smaller than either stride or dilation, but got {' '.join(parts)}")


def _conv_transpose(function: str, x: Array, weight: Array, bias: Array, how: tuple) -> Array:
    axes, stride, padding, dilation, groups, output_padding = how
    x, weight, batched = _operands(function, x, weight, axes)
    strides = per_axis(function, "stride", stride, axes, 1)
    dilations = per_axis(function, "dilation", dilation, axes, 1)
    cut = per_axis(function, "padding", padding, axes, 0)
    more = per_axis(function, "output_padding", output_padding, axes, 0)
    if any(n >= max(pair) for n, *pair in zip(more, strides, dilations, strict=True)):
        raise _too_much_padding(more, strides, dilations)
    (groups,) = per_axis(function, "groups", groups, 1, 1)
    if x.shape[1] != weight.shape[0] or weight.shape[0] % groups:
        raise ValueError(
            f"{function}: x is {aval_of(x)} and weight is {aval_of(weight)} with groups={groups}; needed a weight of "
            f"shape [in, out / groups, ...], with in of {x.shape[1]} and divided by {groups}."
        )
    paddings = tuple(
        [
            (extent(k, each) - 1 - low, extent(k, each) - 1 - low + extra)
            for k, each, low, extra in zip(weight.shape[2:], dilations, cut, more, strict=True)
        ]
    )
    window = Window((1,) * axes, paddings, strides, dilations, groups)
    kernel = turned(weight, groups)
    return _finished(function, conv(x, kernel, _fitting(function, window, x, kernel)), bias, batched)


def _operands(function: str, x: Array, weight: Array, axes: int) -> tuple[Any, Any, bool]:
    x, weight = inexact(x), inexact(weight)
    x, batched = images(function, x, axes)
    if len(weight.shape) != axes + 2 or 0 in weight.shape[2:]:
        raise ValueError(
            f"{function}: weight is {aval_of(weight)}; needed two axes of channels, then {axes} kernel axes, none of "
            "length 0. Reshape it."
        )
    if x.dtype != weight.dtype:
        x, weight = promote(x, weight)
    return x, weight, batched


def _paddings(function: str, padding: Padding, strides: Sizes, reach: Sizes) -> tuple[tuple[int, int], ...]:
    if isinstance(padding, str):
        if padding == "valid":
            return ((0, 0),) * len(reach)
        if padding != "same" or any(stride != 1 for stride in strides):
            raise ValueError(
                f'{function}: padding is {padding!r} with stride={strides}; needed "valid", "same" with a stride of 1, '
                "or numbers."
            )
        return tuple([(far // 2, far - far // 2) for far in reach])
    return tuple([(n, n) for n in per_axis(function, "padding", padding, len(reach), 0)])


def _fitting(function: str, window: Window, x: Array, kernel: Array) -> Window:
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    if min(lengths) < 1:
        raise ValueError(
            f"{function}: x is {aval_of(x)} and the kernel has shape {list(kernel.shape[2:])}: the result would have "
            f"shape {list(lengths)}; needed an x at least as long as the kernel. Pad it."
        )
    return window


def _finished(function: str, y: Array, bias: Array, batched: bool) -> Array:
    if bias is not None:
        bias = inexact(bias)
        if bias.shape != (y.shape[1],):
            raise ValueError(
                f"{function}: bias is {aval_of(bias)}; needed a number for each output, of shape [{y.shape[1]}]. "
                "Reshape it."
            )
        y = add(y, reshape(bias, (y.shape[1], *(1,) * (len(y.shape) - 2))))
    return y if batched else reshape(y, y.shape[1:])
