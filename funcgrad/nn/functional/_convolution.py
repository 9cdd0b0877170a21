"""Convolutions with PyTorch's arguments and errors."""

from __future__ import annotations

from typing import Any

from funcgrad._types import Array, Padding, PerAxis
from funcgrad.nn._functions import convolution
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import check_convolution
from funcgrad.nn._functions.sizes import per_axis


def _checked(name: str, input: Any, weight: Any, bias: Any, groups: int, transposed: bool = False) -> tuple[Any, Any]:
    """Return input and weight; refuse shapes that do not fit, in PyTorch's words."""
    x, weight = inexact(input), inexact(weight)
    axes = int(name[-2])
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if not transposed and weight.shape[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got weight of size "
            f"{list(weight.shape)} instead"
        )
    if len(x.shape) not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, but got input of size: "
            f"{list(x.shape)}"
        )
    channels = x.shape[-axes - 1]
    if len(weight.shape) == axes + 2:
        needed = weight.shape[0] if transposed else weight.shape[1] * groups
        if channels != needed:
            raise RuntimeError(
                f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size {list(weight.shape)}, "
                f"expected input{list(x.shape)} to have {needed} channels, but got {channels} channels instead"
            )
        if not transposed and weight.shape[0] % groups:
            raise RuntimeError(
                f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got weight of "
                f"size [{list(weight.shape)}] instead"
            )
        outputs = weight.shape[1] * groups if transposed else weight.shape[0]
        if bias is not None and tuple(bias.shape) != (outputs,):
            kind = "transposed=1" if transposed else ""
            raise RuntimeError(
                f"Given {kind}{', ' if kind else ''}weight of size {list(weight.shape)}, expected bias to be "
                f"1-dimensional with {outputs} elements, but got bias of size {list(bias.shape)} instead"
            )
    check_convolution(input, weight, bias, transposed)
    return x, weight


def _check_steps(axes: int, **given: Any) -> None:
    """Refuse strides, paddings and dilations that PyTorch refuses, in its words."""
    for name, value in given.items():
        sizes = [*value] if isinstance(value, list | tuple) else [value]
        if isinstance(value, str):
            continue
        if len(sizes) not in (1, axes):
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {axes} values to match the convolution "
                f"dimensions, but got {name}={sizes}"
            )
        if name == "dilation" and any(n <= 0 for n in sizes):
            raise RuntimeError(f"dilation should be greater than zero, but got {(sizes * axes)[:axes]}")
        if any(n < (0 if name == "padding" else 1) for n in sizes):
            kind = "negative" if name == "padding" else "non-positive"
            raise RuntimeError(f"{kind} {name} is not supported")


def _check_window(x: Any, weight: Any, stride: Any, padding: Any, dilation: Any) -> None:
    """Refuse a kernel that is longer than the padded input, in PyTorch's words."""
    axes = len(weight.shape) - 2
    _check_steps(axes, stride=stride, padding=padding, dilation=dilation)
    if isinstance(padding, str):
        return
    pads, steps = per_axis("conv", "padding", padding, axes, 0), per_axis("conv", "dilation", dilation, axes, 1)
    padded = [n + 2 * pad for n, pad in zip(x.shape[-axes:], pads, strict=True)]
    kernel = [(k - 1) * step + 1 for k, step in zip(weight.shape[2:], steps, strict=True)]
    if any(k > n for k, n in zip(kernel, padded, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). Kernel size: "
            f"({' x '.join(map(str, kernel))}). Kernel size can't be greater than actual input size"
        )


def conv1d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Convolve signals; see `funcgrad.nn.conv1d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.conv1d(np.array([[1.0, 2.0, 4.0]]), np.array([[[1.0, -1.0]]]))
        array([[-1., -2.]])
    """
    x, weight = _checked("conv1d", input, weight, bias, groups)
    _check_window(x, weight, stride, padding, dilation)
    return convolution.conv1d(x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Convolve images; see `funcgrad.nn.conv2d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.conv2d(np.ones((1, 3, 3)), np.ones((1, 1, 3, 3)))
        array([[[9.]]])
    """
    x, weight = _checked("conv2d", input, weight, bias, groups)
    _check_window(x, weight, stride, padding, dilation)
    return convolution.conv2d(x, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    groups: int = 1,
) -> Array:
    """Convolve volumes; see `funcgrad.nn.conv3d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.conv3d(np.ones((1, 2, 2, 2)), np.ones((1, 1, 2, 2, 2)))
        array([[[[8.]]]])
    """
    x, weight = _checked("conv3d", input, weight, bias, groups)
    _check_window(x, weight, stride, padding, dilation)
    return convolution.conv3d(x, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Array:
    """Compute the transpose of `conv1d`; see `funcgrad.nn.conv_transpose1d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.conv_transpose1d(np.array([[1.0, 10.0]]), np.array([[[1.0, 2.0]]]))
        array([[ 1., 12., 20.]])
    """
    x, weight = _checked("conv_transpose1d", input, weight, bias, groups, transposed=True)
    return convolution.conv_transpose1d(x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Array:
    """Compute the transpose of `conv2d`; see `funcgrad.nn.conv_transpose2d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.conv_transpose2d(np.ones((1, 1, 1)), np.ones((1, 1, 1, 2)))
        array([[[1., 1.]]])
    """
    x, weight = _checked("conv_transpose2d", input, weight, bias, groups, transposed=True)
    return convolution.conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(
    input: Array,
    weight: Array,
    bias: Array = None,
    stride: PerAxis = 1,
    padding: Padding = 0,
    output_padding: PerAxis = 0,
    groups: int = 1,
    dilation: PerAxis = 1,
) -> Array:
    """Compute the transpose of `conv3d`; see `funcgrad.nn.conv_transpose3d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.conv_transpose3d(np.ones((1, 1, 1, 1)), np.ones((1, 1, 1, 1, 2)))
        array([[[[1., 1.]]]])
    """
    x, weight = _checked("conv_transpose3d", input, weight, bias, groups, transposed=True)
    return convolution.conv_transpose3d(x, weight, bias, stride, padding, output_padding, groups, dilation)
