"""Pooling: the maximum or the mean of each window, over one, two and three spatial axes.

A window is processed axis by axis. Along an axis, each of its elements is one strided slice of the input. The maximum
and the sum of these slices use operations that have all their derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._ops.elementwise.winner import first_max_p
from funcgrad._ops.index.gather import index
from funcgrad._ops.index.plan import FULL
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Padding, PerAxis
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.sizes import images, per_axis
from funcgrad.numpy import add, divide, pad
from funcgrad.numpy.extend import innermost

Widths = tuple[tuple[int, int], ...]


def max_pool1d(
    x: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
) -> Any:
    """Compute the maximum of each window of signals.

    The first of equal elements gets the cotangent, as in JAX and PyTorch.

    Args:
        x: ``f32[batch, channels, length]``, or without the batch.
        kernel_size: the length of the window.
        stride: the step of the window; its length by default.
        padding: the number of ignored elements added at both ends; at most half of the window.
        dilation: the distance between the window's elements.
        ceil_mode: whether to keep a last window that begins inside and ends outside.

    Returns:
        ``f32[batch, channels, (length + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1]``; NaN if the
        window has a NaN.

    Raises:
        ValueError: the sizes do not match ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.max_pool1d(np.array([[1.0, 5.0, 2.0, 3.0, 4.0]]), 2)
        array([[5., 3.]])

    Source: ``torch.nn.functional.max_pool1d``.
    """
    return _max_pool("max_pool1d", x, (1, kernel_size, stride, padding, dilation, ceil_mode))


def max_pool2d(
    x: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
) -> Any:
    """Compute the maximum of each window of images; the arguments are those of `max_pool1d`, for each axis or both.

    Args:
        x: ``f32[batch, channels, height, width]``, or without the batch.
        kernel_size: the size of the window.
        stride: the step of the window; its size by default.
        padding: the number of ignored elements added on each side.
        dilation: the distance between the window's elements.
        ceil_mode: whether to keep last windows that end outside.

    Returns:
        ``f32[batch, channels, ..., ...]``.

    Raises:
        ValueError: the sizes do not match ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
        array([[[ 5.,  7.],
                [13., 15.]]])

    Source: ``torch.nn.functional.max_pool2d``.
    """
    return _max_pool("max_pool2d", x, (2, kernel_size, stride, padding, dilation, ceil_mode))


def max_pool3d(
    x: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
) -> Any:
    """Compute the maximum of each window of volumes; the arguments are those of `max_pool1d`, for each axis or all.

    Args:
        x: ``f32[batch, channels, depth, height, width]``, or without the batch.
        kernel_size: the size of the window.
        stride: the step of the window; its size by default.
        padding: the number of ignored elements added on each side.
        dilation: the distance between the window's elements.
        ceil_mode: whether to keep last windows that end outside.

    Returns:
        ``f32[batch, channels, ..., ..., ...]``.

    Raises:
        ValueError: the sizes do not match ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
        array([[[[7.]]]])

    Source: ``torch.nn.functional.max_pool3d``.
    """
    return _max_pool("max_pool3d", x, (3, kernel_size, stride, padding, dilation, ceil_mode))


def avg_pool1d(
    x: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """Compute the mean of each window of signals.

    Args:
        x: ``f32[batch, channels, length]``, or without the batch.
        kernel_size: the length of the window.
        stride: the step of the window; its length by default.
        padding: the number of zeros added at both ends; at most half of the window.
        ceil_mode: whether to keep a last window that begins inside and ends outside.
        count_include_pad: whether the zeros of the padding count in the mean.

    Returns:
        ``f32[batch, channels, (length + 2 * padding - kernel_size) // stride + 1]``.

    Raises:
        ValueError: the sizes do not match ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.avg_pool1d(np.array([[1.0, 5.0, 2.0, 3.0, 4.0]]), 2)
        array([[3. , 2.5]])

    Source: ``torch.nn.functional.avg_pool1d``.
    """
    return _avg_pool("avg_pool1d", x, (1, kernel_size, stride, padding, 1, ceil_mode), count_include_pad, None)


def avg_pool2d(
    x: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Compute the mean of each window of images; the arguments are those of `avg_pool1d`, for each axis or both.

    Args:
        x: ``f32[batch, channels, height, width]``, or without the batch.
        kernel_size: the size of the window.
        stride: the step of the window; its size by default.
        padding: the number of zeros added on each side.
        ceil_mode: whether to keep last windows that end outside.
        count_include_pad: whether the zeros of the padding count in the mean.
        divisor_override: the divisor of the sums, in place of the number of elements.

    Returns:
        ``f32[batch, channels, ..., ...]``.

    Raises:
        ValueError: the sizes do not match ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
        array([[[ 2.5,  4.5],
                [10.5, 12.5]]])

    Source: ``torch.nn.functional.avg_pool2d``.
    """
    how = (2, kernel_size, stride, padding, 1, ceil_mode)
    return _avg_pool("avg_pool2d", x, how, count_include_pad, divisor_override)


def avg_pool3d(
    x: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Compute the mean of each window of volumes; the arguments are those of `avg_pool1d`, for each axis or all.

    Args:
        x: ``f32[batch, channels, depth, height, width]``, or without the batch.
        kernel_size: the size of the window.
        stride: the step of the window; its size by default.
        padding: the number of zeros added on each side.
        ceil_mode: whether to keep last windows that end outside.
        count_include_pad: whether the zeros of the padding count in the mean.
        divisor_override: the divisor of the sums, in place of the number of elements.

    Returns:
        ``f32[batch, channels, ..., ..., ...]``.

    Raises:
        ValueError: the sizes do not match ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
        array([[[[3.5]]]])

    Source: ``torch.nn.functional.avg_pool3d``.
    """
    how = (3, kernel_size, stride, padding, 1, ceil_mode)
    return _avg_pool("avg_pool3d", x, how, count_include_pad, divisor_override)


class _Along(NamedTuple):
    """The positions of a window along one axis of ``length`` elements; ``after`` is the padding at the end."""

    axis: int
    length: int
    kernel: int
    stride: int
    padding: int
    dilation: int
    places: int
    after: int

    def slices(self, x: Array) -> list[Any]:
        """Return a slice of the padded ``x`` per window element; each slice has that element of all windows."""
        span = (self.places - 1) * self.stride + 1
        starts = [i * self.dilation for i in range(self.kernel)]
        return [index(x, (*(FULL,) * self.axis, slice(start, start + span, self.stride))) for start in starts]

    def counted(self, with_padding: bool) -> np.ndarray:
        """Return the number of elements of ``x`` in each window, and of its padding if that counts."""
        reach = self.padding if with_padding else 0
        starts = np.arange(self.places) * self.stride - self.padding
        stops = np.minimum(starts + self.kernel, self.length + self.padding)
        return np.minimum(stops, self.length + reach) - np.maximum(starts, -reach)


def _moves(function: str, shape: tuple[int, ...], how: tuple) -> list[_Along]:
    axes, kernel_size, stride, padding, dilation, ceil_mode = how
    kernels = per_axis(function, "kernel_size", kernel_size, axes, 1)
    strides = kernels if stride is None else per_axis(function, "stride", stride, axes, 1)
    paddings = per_axis(function, "padding", padding, axes, 0)
    dilations = per_axis(function, "dilation", dilation, axes, 1)
    moves = []
    for i, (length, k, step, pads, d) in enumerate(zip(shape[2:], kernels, strides, paddings, dilations, strict=True)):
        reach = (k - 1) * d + 1
        if 2 * pads > reach:
            raise ValueError(
                f"{function}: padding is {padding!r} with kernel_size={kernel_size!r}; needed at most half of the "
                "window. Pad x with np.pad."
            )
        room = length + 2 * pads - reach
        count = (-(-room // step) if ceil_mode else room // step) + 1
        if ceil_mode and (count - 1) * step >= length + pads:
            count -= 1
        if room < 0 or count < 1:
            raise ValueError(
                f"{function}: x has shape {list(shape)} and the window spans {reach} of axis {i + 2}; needed an x at "
                "least that long. Pad it, or choose a smaller window."
            )
        moves.append(_Along(i + 2, length, k, step, pads, d, count, max((count - 1) * step + reach - length - pads, 0)))
    return moves


def _pooled(x: Array, moves: list[_Along], fill: float, merge: Callable[[Any, Any], Any]) -> Any:
    if any(move.padding or move.after for move in moves):
        x = _surrounded(x, tuple([(move.padding, move.after) for move in moves]), fill)
    # Reduce the last axis first, so that of equal elements the first one in memory is chosen.
    for move in reversed(moves):
        first, *others = move.slices(x)
        for other in others:
            first = merge(first, other)
        x = first
    return x


def _surrounded(x: Array, widths: Widths, fill: float) -> Any:
    """Pad the spatial axes with a number."""
    around = ((0, 0), (0, 0), *widths)
    if fill == 0 or type(innermost(x)) is not np.ndarray:
        return pad(x, around, constant_values=fill)
    # NumPy's values are padded with zeros, and a frame is added. A choice for each side takes three times as long.
    return add(pad(x, around), _frame(tuple(x.shape[2:]), widths, fill, x.dtype))


@functools.lru_cache(maxsize=64)
def _frame(lengths: tuple[int, ...], widths: Widths, fill: float, dtype: np.dtype) -> np.ndarray:
    """Return ``fill`` around -0, which changes no number that it is added to."""
    return np.pad(np.full(lengths, -0.0, dtype), widths, constant_values=fill)


def _max_pool(function: str, x: Array, how: tuple) -> Any:
    x, batched = images(function, inexact(x), how[0])
    if x.dtype.kind == "c":
        raise TypeError(
            f"{function}: x is {aval_of(x)}; needed real numbers, because complex numbers have no maximum. Pool x.real."
        )
    y = _pooled(x, _moves(function, x.shape, how), -np.inf, first_max_p)
    return y if batched else reshape(y, y.shape[1:])


def _avg_pool(function: str, x: Array, how: tuple, count_include_pad: bool, divisor: int | None) -> Any:
    x, batched = images(function, inexact(x), how[0])
    moves = _moves(function, x.shape, how)
    if divisor is None:
        counts = np.ones((), np.int64)
        for move in moves:
            counts = counts[..., None] * move.counted(count_include_pad)
        by: Any = counts.flat[0] if (counts == counts.flat[0]).all() else counts
        by = np.asarray(by, x.dtype)
    elif divisor == 0:
        raise RuntimeError("divisor must be not zero")
    else:
        by = float(divisor)
    y = divide(_pooled(x, moves, 0, add), by)
    return y if batched else reshape(y, y.shape[1:])
