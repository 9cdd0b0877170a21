"""Steps inside PyTorch's kernels that its namespace shows, over the functions of ``nn.functional``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import nn
from funcgrad._types import Array, ShapeLike
from funcgrad.torch._functions import of_tensors

_F = nn.functional
_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def grid_sampler(
    input: Array,  # noqa: A002  (PyTorch's name)
    grid: Array,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> Any:
    """Return a picture's values at the points of a grid; modes are numbers."""
    return _F.grid_sample(input, grid, _MODES[interpolation_mode], _PADDINGS[padding_mode], align_corners)


def affine_grid_generator(theta: Array, size: ShapeLike, align_corners: bool) -> Any:
    """Return the points of an affine grid."""
    return _F.affine_grid(theta, size, align_corners)


def convolution(
    input: Array,  # noqa: A002  (PyTorch's name)
    weight: Array,
    bias: Array,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """Return a convolution, or a transposed one, over as many axes as the input has."""
    axes = len(input.shape) - 2

    def each(sizes: Sequence[int]) -> tuple[int, ...]:
        return tuple(sizes) if len(sizes) == axes else tuple(sizes) * axes

    if transposed:
        function = getattr(_F, f"conv_transpose{axes}d")
        return function(
            *(input, weight, bias, each(stride), each(padding), each(output_padding), groups, each(dilation))
        )
    return getattr(_F, f"conv{axes}d")(input, weight, bias, each(stride), each(padding), each(dilation), groups)


def norm_except_dim(v: Any, pow: int = 2, dim: int = 0) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the norms over all axes but one."""
    if dim == -1:
        return v.norm(pow)
    axes = [i for i in range(len(v.shape)) if i != dim % len(v.shape)]
    return v.norm(pow, axes, keepdim=True)


def native_layer_norm(input: Any, normalized_shape: ShapeLike, weight: Array, bias: Array, eps: float) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the normalized tensor, the means, and the inverse standard deviations."""
    axes = list(range(len(input.shape) - len(list(np.atleast_1d(normalized_shape))), len(input.shape)))
    y = _F.layer_norm(input, normalized_shape, weight, bias, eps)
    return y, input.mean(axes, keepdim=True), (input.var(axes, correction=0, keepdim=True) + eps).rsqrt()


def native_group_norm(
    input: Any,  # noqa: A002  (PyTorch's name)
    weight: Array,
    bias: Array,
    N: int,  # noqa: N803  (PyTorch's name)
    C: int,  # noqa: N803  (PyTorch's name)
    HxW: int,  # noqa: N803  (PyTorch's name)
    group: int,
    eps: float,
) -> Any:
    """Return the normalized tensor, the means, and the inverse standard deviations of each group."""
    grouped = input.reshape(N, group, C // group * HxW)
    y = _F.group_norm(input, group, weight, bias, eps)
    return y, grouped.mean(-1), (grouped.var(-1, correction=0) + eps).rsqrt()


def native_dropout(input: Any, p: float, train: bool) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the tensor with elements dropped, and which elements are left."""
    mask = _F.dropout(input.new_ones(input.shape), p, bool(train)) != 0
    return (input * mask / (1 - p) if train and p < 1 else input * mask), mask


def native_channel_shuffle(input: Array, groups: int) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the channels in another order."""
    return _F.channel_shuffle(input, groups)


def feature_dropout(input: Any, p: float, train: bool) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the tensor with whole channels dropped."""
    if len(input.shape) < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    kept = _F.dropout(input.new_ones((*input.shape[:2], *[1] * (len(input.shape) - 2))), p, train)
    return input * kept


def max_pool1d_with_indices(
    input: Array,  # noqa: A002  (PyTorch's name)
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """Return the maxima of windows, and their positions."""
    return _F.max_pool1d(input, kernel_size, stride or None, padding, dilation, ceil_mode, return_indices=True)


def _in_place(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    def changed(input: Any, *args: Any) -> Any:  # noqa: A002  (PyTorch's name)
        return input.copy_(function(input, *args))

    changed.__name__ = changed.__qualname__ = name
    changed.__doc__ = f"Change the tensor in place, as ``{name[:-1]}`` does."
    return changed


_ALL: tuple[Callable[..., Any], ...] = (
    *(grid_sampler, affine_grid_generator, convolution, norm_except_dim, native_layer_norm),
    *(native_group_norm, native_dropout, native_channel_shuffle, feature_dropout, max_pool1d_with_indices),
    _in_place(_F.dropout, "dropout_"),
    _in_place(_F.alpha_dropout, "alpha_dropout_"),
    _in_place(_F.feature_alpha_dropout, "feature_alpha_dropout_"),
    _in_place(feature_dropout, "feature_dropout_"),
    _in_place(_F.selu, "selu_"),
)
FUNCTIONS: dict[str, Callable[..., Any]] = {function.__name__: of_tensors(function) for function in _ALL}
for _name in ("grid_sampler_2d", "grid_sampler_3d"):
    FUNCTIONS[_name] = FUNCTIONS["grid_sampler"]
