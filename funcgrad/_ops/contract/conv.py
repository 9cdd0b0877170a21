"""Convolution as in neural networks: a batch of images with channels, and a kernel for each pair of channels.

One primitive includes its own transposes: strides of the result become zeros between the elements in the transpose,
and the kernel and the image change places (Dumoulin and Visin, "A guide to convolution arithmetic for deep learning",
2016; the parameters are those of ``jax.lax.conv_general_dilated``).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import Multilinear, Recorder
from funcgrad._core.trace.tape import Node, new_kind, next_serial
from funcgrad._ops.contract.columns import conv_and_columns, conv_numpy, keeps_columns, kernel_bar_of
from funcgrad._ops.contract.conv_xla import conv_xla
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.depends import with_kernel
from funcgrad._ops.layout.shape import expand_dims, flip, reshape, transpose
from funcgrad._types import Value

Sizes = tuple[int, ...]


class Window(NamedTuple):
    """How a kernel moves over an image. Each entry but the last has one element for each spatial axis.

    Args:
        strides: how far the kernel moves between neighbouring positions of the result.
        padding: how many zeros are before and after the image; a negative number cuts the image.
        spread: the distance between neighbouring elements of the image, with zeros between them.
        dilation: the distance between neighbouring elements of the kernel.
        groups: the number of independent groups of channels.
    """

    strides: Sizes
    padding: tuple[tuple[int, int], ...]
    spread: Sizes
    dilation: Sizes
    groups: int = 1

    def lengths(self, space: Sizes, kernel: Sizes) -> Sizes:
        """Return the lengths of the result."""
        return tuple(
            [
                (extent(n, spread) + low + high - extent(k, dilation)) // stride + 1
                for n, k, stride, (low, high), spread, dilation in zip(space, kernel, *self[:4], strict=True)
            ]
        )


def extent(n: int, step: int) -> int:
    """Return the length of ``n`` elements at a distance of ``step``."""
    return (n - 1) * step + 1


def _aval(x: Aval, kernel: Aval, *, window: Window) -> Aval:
    return Aval((x.shape[0], kernel.shape[0], *window.lengths(x.shape[2:], kernel.shape[2:])), x.dtype)


def _split(x: Value, axis: int, parts: int) -> Value:
    """Split an axis in two; the first has this length."""
    return reshape(x, (*x.shape[:axis], parts, x.shape[axis] // parts, *x.shape[axis + 1 :]))


def _merged(x: Value, axis: int) -> Value:
    """Merge an axis with the next one."""
    return reshape(x, (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :]))


def _swapped(x: Value, a: int, b: int) -> Value:
    order = list(range(len(x.shape)))
    order[a], order[b] = b, a
    return transpose(x, tuple(order))


def turned(kernel: Value, groups: int) -> Value:
    """Return the kernel of the transpose.

    Inputs and outputs of each group change places, and spatial axes are reversed.
    """
    flipped = flip(kernel, tuple(range(2, len(kernel.shape))))
    return _merged(_swapped(_split(flipped, 0, groups), 1, 2), 0)


def _to_x(y_bar: Value, kernel: Value, x_shape: Sizes, window: Window) -> Value:
    strides, padding, spread, dilation, groups = window
    reach = [extent(k, step) - 1 for k, step in zip(kernel.shape[2:], dilation, strict=True)]
    lengths = [extent(n, step) for n, step in zip(x_shape[2:], spread, strict=True)]
    back = tuple(
        [
            (k - low, n + low - extent(m, stride))
            for k, (low, _), n, m, stride in zip(reach, padding, lengths, y_bar.shape[2:], strides, strict=True)
        ]
    )
    return conv(y_bar, turned(kernel, groups), Window(spread, back, strides, dilation, groups))


def _to_kernel(y_bar: Value, x: Value, kernel_shape: Sizes, window: Window) -> Value:
    strides, padding, spread, dilation, groups = window
    if any(step > 1 for step in spread) and all(step == 1 for step in strides):
        return _to_kernel_of_spread(y_bar, x, kernel_shape, window)
    reach = [extent(k, step) - 1 for k, step in zip(kernel_shape[2:], dilation, strict=True)]
    lengths = [extent(n, step) for n, step in zip(x.shape[2:], spread, strict=True)]
    around = tuple(
        [
            (low, extent(m, stride) + k - n - low)
            for k, (low, _), n, m, stride in zip(reach, padding, lengths, y_bar.shape[2:], strides, strict=True)
        ]
    )
    # The images of the batch, which are summed over, are channels here; each channel of a group is an image.
    images = _merged(transpose(_split(x, 1, groups), (2, 1, 0, *range(3, len(x.shape) + 1))), 1)
    found = conv(images, _swapped(y_bar, 0, 1), Window(dilation, around, spread, strides, groups))
    return _swapped(found, 0, 1)


def _to_kernel_of_spread(y_bar: Value, x: Value, kernel_shape: Sizes, window: Window) -> Value:
    """Return the kernel's cotangent without zeros between the elements of ``x``: ``x`` moves over ``y_bar``.

    An element of the kernel meets ``x[m]`` at the position ``m * spread + low - i * dilation`` of the result, so the
    sums come with the last element first.
    """
    _, padding, spread, dilation, groups = window
    reach = [extent(k, step) - 1 for k, step in zip(kernel_shape[2:], dilation, strict=True)]
    around = tuple(
        [
            (k - low, low + extent(n, step) - m)
            for k, (low, _), n, m, step in zip(reach, padding, x.shape[2:], y_bar.shape[2:], spread, strict=True)
        ]
    )
    images = _merged(transpose(_split(y_bar, 1, groups), (2, 1, 0, *range(3, len(x.shape) + 1))), 1)
    found = conv(images, _swapped(x, 0, 1), Window(dilation, around, (1,) * len(spread), spread, groups))
    found = flip(found, tuple(range(2, len(x.shape))))
    return _merged(_swapped(_split(found, 1, groups), 0, 1), 0)


class _KeepingColumns(Multilinear):
    """Bilinear; a small convolution of NumPy arrays lays out its columns once, also for the kernel's cotangent.

    That takes 0.8 of the time for the kernels' cotangents of LeNet (batch 32). Other convolutions keep their operands
    alone, and so do all that are recorded on traced values.
    """

    __slots__ = ()

    def recorder(self, primitive: Primitive, active: int, has_params: bool) -> Recorder | None:
        usual = super().recorder(primitive, active, has_params)
        if usual is None or not active >> 1:
            return usual
        both = active == 3
        kind = new_kind(primitive, 1 + both, _pull_both if both else _pull_kernel, [both, True])

        def record(trace: Any, params: dict, x: Any, kernel: Any, x_node: Any, kernel_node: Any) -> Any:
            window = params["window"]
            if not (type(x) is type(kernel) is np.ndarray and x.dtype.kind == "f" and keeps_columns(x, kernel, window)):
                return usual(trace, params, x, kernel, x_node, kernel_node)
            y, columns = conv_and_columns(x, kernel, window)
            parents = (x_node, kernel_node) if both else (kernel_node,)
            kept = x if both else trace.keep(x)
            return trace.tracer_type(trace, y, (next_serial(), kind, *parents, kept, kernel, columns, window))

        return record


def _pull_kernel(y_bar: Value, node: Node) -> Value:
    x, kernel, columns, window = node[-4:]
    # A tracer among them means that this pass is recorded, by operations that have derivatives.
    if type(y_bar) is type(x) is np.ndarray:
        return kernel_bar_of(y_bar, columns, kernel.shape)
    return _to_kernel(y_bar, x, kernel.shape, window)


def _pull_both(y_bar: Value, node: Node) -> tuple[Any, Any]:
    x, kernel, _, window = node[-4:]
    return _to_x(y_bar, kernel, x.shape, window), _pull_kernel(y_bar, node)


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
    """Batched images are more images. Batched kernels are more channels, in groups with their own images."""
    x, kernel = operands
    window: Window = params["window"]
    if not batched[1]:
        return _split(conv(_merged(x, 0), kernel, window), 0, size)
    if window.groups == 1 and not batched[0]:
        return _swapped(_split(conv(x, _merged(kernel, 0), window), 1, size), 0, 1)
    if not batched[0]:
        x = broadcast_to(expand_dims(x, (0,)), (size, *x.shape))
    y = conv(_merged(_swapped(x, 0, 1), 1), _merged(kernel, 0), window._replace(groups=size * window.groups))
    return _swapped(_split(y, 1, size), 0, 1)


conv_p = Primitive(
    "conv",
    operands=("x", "kernel"),
    numpy=conv_numpy,
    xla=conv_xla,
    aval=_aval,
    derivative=_KeepingColumns(("x", "kernel"), [_to_x, _to_kernel]),
    batch=_batch,
    cost=lambda y, x, kernel, *, window: 2 * y.size * math.prod(kernel.shape[1:]),
    forms=Forms(depends=with_kernel),
)


def conv(x: Value, kernel: Value, window: Window) -> Value:
    """Return sums of products of ``kernel[out, in / groups, ...]`` with the part of ``x[batch, in, ...]`` under it.

    ``y[n, o, p] = sum(x[n, c, p * stride + i * dilation - low] * kernel[o, c, i])``, over ``c`` and ``i``; the kernel
    is not reversed. Operands have one dtype.
    """
    return conv_p(x, kernel, window=window)
