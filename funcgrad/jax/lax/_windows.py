"""Convolutions and reductions over windows, with the arguments of ``jax.lax``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.contract.conv import Window, extent
from funcgrad._ops.contract.conv import conv as convolution
from funcgrad._types import Array, ArrayLike
from funcgrad.jax.lax._shapes import pad
from funcgrad.jax.numpy import maximum, minimum
from funcgrad.numpy.extend import promote

Sizes = Sequence[int]


class ConvDimensionNumbers(NamedTuple):
    """``jax.lax.ConvDimensionNumbers``: which axes are batch, channels and space, of image, kernel and result."""

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


ConvGeneralDilatedDimensionNumbers = Any


def conv_dimension_numbers(lhs_shape: Sizes, rhs_shape: Sizes, dimension_numbers: Any) -> ConvDimensionNumbers:
    """``jax.lax.conv_dimension_numbers``: the axes that letters such as ``("NHWC", "HWIO", "NHWC")`` name."""
    if isinstance(dimension_numbers, ConvDimensionNumbers):
        return dimension_numbers
    if dimension_numbers is None:
        order = tuple(range(len(lhs_shape)))
        return ConvDimensionNumbers(order, order, order)
    lhs, rhs, out = dimension_numbers
    if not len(lhs) == len(rhs) == len(out) == len(lhs_shape) == len(rhs_shape):
        raise ValueError(
            f"conv_dimension_numbers: the letters {dimension_numbers} name {len(lhs)}, {len(rhs)} and {len(out)} axes; "
            f"the arrays have {len(lhs_shape)} and {len(rhs_shape)}. Give a letter for each axis."
        )
    space = [letter for letter in rhs if letter not in "OI"]
    specs = [("N", "C", *space), ("O", "I", *space), ("N", "C", *space)]
    return ConvDimensionNumbers(
        *[tuple([text.index(letter) for letter in spec]) for text, spec in zip((lhs, rhs, out), specs, strict=True)]
    )


def padtype_to_pads(in_shape: Sizes, window_shape: Sizes, window_strides: Sizes, padding: Any) -> list:
    """``jax.lax.padtype_to_pads``: how many elements ``"SAME"``, ``"SAME_LOWER"`` or ``"VALID"`` adds on each side."""
    kind = getattr(padding, "upper", lambda: padding)()
    if kind == "VALID":
        return [(0, 0)] * len(in_shape)
    if kind not in ("SAME", "SAME_LOWER"):
        raise ValueError(f'padding is {padding!r}; needed "SAME", "SAME_LOWER", "VALID", or a pair for each axis.')
    pads = []
    for n, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        missing = max((-(-n // stride) - 1) * stride + window - n, 0)
        low = missing // 2 if kind == "SAME" else missing - missing // 2
        pads.append((low, missing - low))
    return pads


def conv_general_dilated(  # noqa: PLR0917  (JAX's signature)
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sizes,
    padding: Any,
    lhs_dilation: Sizes | None = None,
    rhs_dilation: Sizes | None = None,
    dimension_numbers: Any = None,
    feature_group_count: int = 1,
    batch_group_count: int = 1,
) -> Array:
    """``jax.lax.conv_general_dilated``: convolve images of channels; the kernel is not turned round."""
    lhs, rhs = promote(lhs, rhs)
    axes = conv_dimension_numbers(lhs.shape, rhs.shape, dimension_numbers)
    x, kernel = fnp.transpose(lhs, axes.lhs_spec), fnp.transpose(rhs, axes.rhs_spec)
    ones = (1,) * (x.ndim - 2)
    strides, spread, dilation = [tuple(each or ones) for each in (window_strides, lhs_dilation, rhs_dilation)]
    if isinstance(padding, str):
        space = [extent(n, d) for n, d in zip(x.shape[2:], spread, strict=True)]
        window = [extent(n, d) for n, d in zip(kernel.shape[2:], dilation, strict=True)]
        padding = padtype_to_pads(space, window, strides, padding)
    pads = tuple([(int(low), int(high)) for low, high in padding])
    groups = feature_group_count
    if batch_group_count > 1:
        # The groups of the batch become groups of channels: the kernel's outputs are shared out among them.
        n, c = x.shape[:2]
        x = x.reshape(batch_group_count, n // batch_group_count, c, *x.shape[2:])
        x = fnp.moveaxis(x, 0, 1).reshape(n // batch_group_count, batch_group_count * c, *x.shape[3:])
        groups = batch_group_count
    y = convolution(x, kernel, Window(strides, pads, spread, dilation, groups))
    return fnp.transpose(y, tuple(np.argsort(axes.out_spec)))


def conv(lhs: ArrayLike, rhs: ArrayLike, window_strides: Sizes, padding: str) -> Any:
    """``jax.lax.conv``: convolve images ``[batch, channels, ...]`` with a kernel ``[out, in, ...]``."""
    return conv_general_dilated(lhs, rhs, window_strides, padding)


def conv_with_general_padding(
    lhs: ArrayLike,
    rhs: ArrayLike,
    window_strides: Sizes,
    padding: Any,
    lhs_dilation: Sizes | None,
    rhs_dilation: Sizes | None,
) -> Any:
    """``jax.lax.conv_with_general_padding``: `conv` with any padding and dilation."""
    return conv_general_dilated(lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation)


def conv_transpose(  # noqa: PLR0917  (JAX's signature)
    lhs: ArrayLike,
    rhs: ArrayLike,
    strides: Sizes,
    padding: Any,
    rhs_dilation: Sizes | None = None,
    dimension_numbers: Any = None,
    transpose_kernel: bool = False,
) -> Any:
    """``jax.lax.conv_transpose``: a convolution of the image with zeros between its elements, one for each stride."""
    lhs, rhs = promote(lhs, rhs)
    n = lhs.ndim - 2
    letters = "HWD"[:n] if n < 3 else "HWD"
    given = (
        dimension_numbers or {1: ("NHC", "HIO", "NHC"), 2: ("NHWC", "HWIO", "NHWC"), 3: ("NHWDC", "HWDIO", "NHWDC")}[n]
    )
    del letters
    axes = conv_dimension_numbers(lhs.shape, rhs.shape, given)
    dilation = tuple(rhs_dilation or (1,) * n)
    kernel = [extent(rhs.shape[k], d) for k, d in zip(axes.rhs_spec[2:], dilation, strict=True)]
    pads = padding
    if isinstance(padding, str):
        pads = [_transposed_pad(k, s, padding) for k, s in zip(kernel, strides, strict=True)]
    if transpose_kernel:
        rhs = fnp.swapaxes(fnp.flip(rhs, axes.rhs_spec[2:]), axes.rhs_spec[0], axes.rhs_spec[1])
    return conv_general_dilated(lhs, rhs, (1,) * n, pads, strides, dilation, axes)


def _transposed_pad(kernel: int, stride: int, padding: str) -> tuple[int, int]:
    if padding.upper() == "SAME":
        whole = kernel + stride - 2
        low = kernel - 1 if stride > kernel - 1 else -(-whole // 2)
    else:
        whole = kernel + stride - 2 + max(kernel - stride, 0)
        low = kernel - 1
    return low, whole - low


def _first_greatest(a: ArrayLike, b: ArrayLike) -> Any:
    return fnp.where(fnp.logical_or(a >= b, fnp.isnan(a)), a, b)


def _first_smallest(a: ArrayLike, b: ArrayLike) -> Any:
    return fnp.where(fnp.logical_or(a <= b, fnp.isnan(a)), a, b)


# In a window the first of equal elements gets the cotangent, as in JAX. Elsewhere equal elements share it.
_OF_WINDOWS: dict[Any, Callable[[Any, Any], Any]] = {maximum: _first_greatest, minimum: _first_smallest}


def reduce_window(  # noqa: PLR0917  (JAX's signature)
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sizes,
    window_strides: Sizes,
    padding: Any,
    base_dilation: Sizes | None = None,
    window_dilation: Sizes | None = None,
) -> Array:
    """``jax.lax.reduce_window``: combine the elements of each window by an associative function, axis by axis."""
    operand = fnp.asarray(operand)
    ones = (1,) * operand.ndim
    strides, base, dilation = [tuple(each or ones) for each in (window_strides, base_dilation, window_dilation)]
    window = [extent(n, d) for n, d in zip(window_dimensions, dilation, strict=True)]
    if isinstance(padding, str):
        space = [extent(n, d) for n, d in zip(operand.shape, base, strict=True)]
        padding = padtype_to_pads(space, window, strides, padding)
    x = pad(operand, init_value, [(low, high, d - 1) for (low, high), d in zip(padding, base, strict=True)])
    combine = _OF_WINDOWS.get(computation, computation)
    for axis in reversed(range(x.ndim)):
        count = (x.shape[axis] - window[axis]) // strides[axis] + 1
        parts = [
            x[(*[slice(None)] * axis, slice(start, start + (count - 1) * strides[axis] + 1, strides[axis]))]
            for start in itertools.islice(itertools.count(0, dilation[axis]), window_dimensions[axis])
        ]
        x = functools.reduce(combine, parts)
    return x
