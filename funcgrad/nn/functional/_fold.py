"""Windows of images as columns, columns added up to images, and maxima put back to their positions."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.words import shown
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Padding, PerAxis
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import floating
from funcgrad.nn._functions.sizes import per_axis
from funcgrad.nn.functional._embedding import indices as integers
from funcgrad.numpy.extend import At, known_value


def _places(name: str, space: tuple[int, ...], how: tuple) -> tuple[np.ndarray, tuple[int, ...], tuple[int, ...]]:
    """Return indices into the flat padded image, ``i64[kernel, windows]``, the padding, and the windows by axis."""
    kernel_size, dilation, padding, stride = how
    kernels = per_axis(name, "kernel_size", kernel_size, 2, 1)
    dilations, strides = (per_axis(name, n, v, 2, 1) for n, v in (("dilation", dilation), ("stride", stride)))
    pads = per_axis(name, "padding", padding, 2, 0)
    padded = [n + 2 * pad for n, pad in zip(space, pads, strict=True)]
    counts = tuple(
        [(n - d * (k - 1) - 1) // s + 1 for n, d, k, s in zip(padded, dilations, kernels, strides, strict=True)]
    )
    if min(counts) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(space)}, kernel_size={kernels}, dilation={dilations}, "
            f"padding={pads}, calculated shape of the array of sliding blocks as {counts}, but its components must be "
            "at least one."
        )
    rows, columns = (
        np.arange(k)[:, None] * d + np.arange(count)[None, :] * s
        for k, d, count, s in zip(kernels, dilations, counts, strides, strict=True)
    )
    places = rows[:, None, :, None] * padded[1] + columns[None, :, None, :]
    return places.reshape(math.prod(kernels), math.prod(counts)), pads, counts


def unfold(
    input: Array, kernel_size: PerAxis, dilation: PerAxis = 1, padding: Padding = 0, stride: PerAxis = 1
) -> Array:
    """Return the windows of images as columns.

    Args:
        input: ``f32[batch, channels, height, width]``, or without the batch.
        kernel_size: the size of the window.
        dilation: the distance between the window's elements.
        padding: the number of zeros added on each side.
        stride: the step of the window.

    Returns:
        ``f32[batch, channels * kernel, windows]``.

    Raises:
        RuntimeError: the windows do not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.unfold(np.arange(4.0).reshape(1, 2, 2), (1, 2))
        array([[0., 2.],
               [1., 3.]])

    Source: ``torch.nn.functional.unfold``.
    """
    x = floating("im2col_out_cpu", input)
    if len(x.shape) not in (3, 4):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
            f"but got: {list(x.shape)}"
        )
    *lead, channels, height, width = x.shape
    places, pads, _ = _places("unfold", (height, width), (kernel_size, dilation, padding, stride))
    x = fnp.pad(x, [*[(0, 0)] * (len(lead) + 1), *[(pad, pad) for pad in pads]])
    flat = reshape(x, (*lead, channels, x.shape[-2] * x.shape[-1]))
    columns = fnp.take(flat, places, axis=-1)
    return reshape(columns, (*lead, channels * places.shape[0], places.shape[1]))


def fold(
    input: Array,
    output_size: PerAxis,
    kernel_size: PerAxis,
    dilation: PerAxis = 1,
    padding: Padding = 0,
    stride: PerAxis = 1,
) -> Array:
    """Add columns up to images, the transpose of `unfold`.

    Args:
        input: ``f32[batch, channels * kernel, windows]``, or without the batch.
        output_size: the size of the images.
        kernel_size: the size of the window.
        dilation: the distance between the window's elements.
        padding: the number of elements cut off on each side.
        stride: the step of the window.

    Returns:
        ``f32[batch, channels, *output_size]``.

    Raises:
        RuntimeError: the columns do not fit the sizes.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.fold(np.array([[0.0, 2.0], [1.0, 3.0]]), (2, 2), (1, 2))
        array([[[0., 1.],
                [2., 3.]]])

    Source: ``torch.nn.functional.fold``.
    """
    x = inexact(input)
    if len(x.shape) not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
            f"input, but got: {list(x.shape)}"
        )
    space = per_axis("fold", "output_size", output_size, 2, 1)
    places, pads, counts = _places("fold", space, (kernel_size, dilation, padding, stride))
    *lead, rows, windows = x.shape
    if rows % places.shape[0]:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={per_axis('fold', 'kernel_size', kernel_size, 2, 1)}."
        )
    if windows != places.shape[1]:
        names = ("kernel_size", "dilation", "padding", "stride")
        given = zip(names, (kernel_size, dilation, padding, stride), strict=True)
        how = ", ".join(f"{name}={per_axis('fold', name, value, 2, 0)}" for name, value in given)
        raise RuntimeError(
            f"Given output_size={space}, {how}, expected size of input's dimension 2 to match the calculated number of "
            f"sliding blocks {counts[0]} * {counts[1]} = {places.shape[1]}, but got input.size(2)={windows}."
        )
    channels = rows // places.shape[0]
    padded = tuple([n + 2 * pad for n, pad in zip(space, pads, strict=True)])
    empty = fnp.zeros((math.prod(lead) * channels, math.prod(padded)), x.dtype)
    columns = reshape(x, (math.prod(lead) * channels, places.size))
    image = At(empty)[:, places.reshape(-1)].add(columns)
    image = reshape(image, (*lead, channels, *padded))
    return image[..., pads[0] : padded[0] - pads[0], pads[1] : padded[1] - pads[1]]


def _unpooled(name: str, input: Array, indices: Array, how: tuple) -> Array:
    axes, kernel_size, stride, padding, output_size = how
    x, places = inexact(input), integers(name, indices)
    if tuple(places.shape) != tuple(x.shape):
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(x.shape)}) but got indices "
            f"tensor with shape: {list(places.shape)}"
        )
    kernels = per_axis(name, "kernel_size", kernel_size, axes, 1)
    strides = kernels if stride is None else per_axis(name, "stride", stride, axes, 1)
    paddings = per_axis(name, "padding", padding, axes, 0)
    lead, space = x.shape[:-axes], x.shape[-axes:]
    sizes = tuple([(n - 1) * s - 2 * p + k for n, s, p, k in zip(space, strides, paddings, kernels, strict=True)])
    if output_size is not None:
        sizes = _asked_size(output_size, sizes, strides)
    known = known_value(places)
    if known is not None and known.size and known.max() >= math.prod(sizes):
        volumes = "x".join(map(str, sizes))
        raise RuntimeError(f"Found an invalid max index: {known.max()} (output volumes are of size {volumes})")
    values, flat = (reshape(each, (math.prod(lead), math.prod(space))) for each in (x, places))
    # Overlapping windows can have the same maximum: the last one counts.
    rows = np.arange(math.prod(lead))[:, None]
    empty = fnp.zeros((math.prod(lead), math.prod(sizes)), x.dtype)
    return reshape(At(empty)[rows, flat].set(values), (*lead, *sizes))


def _asked_size(output_size: Sequence[int], sizes: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, ...]:
    asked = tuple(output_size)[-len(sizes) :]
    for i, (wanted, size, stride) in enumerate(zip(asked, sizes, strides, strict=True)):
        if not size - stride < wanted < size + stride:
            raise ValueError(
                f"invalid output_size {shown(output_size)} (dim {i} must be between {size - stride} and "
                f"{size + stride})"
            )
    return asked


def max_unpool1d(
    input: Array,
    indices: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    output_size: PerAxis | None = None,
) -> Array:
    """Put maxima back to their positions among zeros.

    Args:
        input: the maxima, ``f32[batch, channels, ...]``.
        indices: their positions in the flat space, from `max_pool1d`.
        kernel_size: the size of the window.
        stride: the step of the window; its size by default.
        padding: the padding of the pooling.
        output_size: the lengths of the result, where the pooling does not tell them.

    Returns:
        ``f32[batch, channels, ...]``.

    Raises:
        RuntimeError: shapes differ, or a position is outside.
        ValueError: ``output_size`` does not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.max_unpool1d(np.array([[5.0, 3.0]]), np.array([[1, 3]]), 2)
        array([[0., 5., 0., 3.]])
    """
    return _unpooled("max_unpool1d", input, indices, (1, kernel_size, stride, padding, output_size))


def max_unpool2d(
    input: Array,
    indices: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    output_size: PerAxis | None = None,
) -> Array:
    """Put maxima back to their positions among zeros.

    Args:
        input: the maxima, ``f32[batch, channels, ...]``.
        indices: their positions in the flat space, from `max_pool2d`.
        kernel_size: the size of the window.
        stride: the step of the window; its size by default.
        padding: the padding of the pooling.
        output_size: the lengths of the result, where the pooling does not tell them.

    Returns:
        ``f32[batch, channels, ...]``.

    Raises:
        RuntimeError: shapes differ, or a position is outside.
        ValueError: ``output_size`` does not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.max_unpool2d(np.array([[[5.0]]]), np.array([[[3]]]), 2)
        array([[[0., 0.],
                [0., 5.]]])
    """
    return _unpooled("max_unpool2d", input, indices, (2, kernel_size, stride, padding, output_size))


def max_unpool3d(
    input: Array,
    indices: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    output_size: PerAxis | None = None,
) -> Array:
    """Put maxima back to their positions among zeros.

    Args:
        input: the maxima, ``f32[batch, channels, ...]``.
        indices: their positions in the flat space, from `max_pool3d`.
        kernel_size: the size of the window.
        stride: the step of the window; its size by default.
        padding: the padding of the pooling.
        output_size: the lengths of the result, where the pooling does not tell them.

    Returns:
        ``f32[batch, channels, ...]``.

    Raises:
        RuntimeError: shapes differ, or a position is outside.
        ValueError: ``output_size`` does not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.max_unpool3d(np.array([[[[5.0]]]]), np.array([[[[7]]]]), 2)
        array([[[[0., 0.],
                 [0., 0.]],
        <BLANKLINE>
                [[0., 0.],
                 [0., 5.]]]])
    """
    return _unpooled("max_unpool3d", input, indices, (3, kernel_size, stride, padding, output_size))
