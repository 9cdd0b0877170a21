"""Convolution on XLA, with forms of its own for CPUs where a group has few channels.

XLA's CPU backend has no fast convolution for groups of one channel. Sums of products of slices, which it makes into one
loop, take a fraction of its time: on one core, a depthwise convolution of 8 images of 32 channels and 28 x 28 pixels by
3 x 3 takes 12 ms and as sums 0.3 ms.

Without groups a product of matrices takes less time than XLA's convolution where the image or the result has few
channels, as in ``columns.py``: 32 images of 1 channel and 28 x 28 pixels to 6 channels by 5 x 5: 1.2 ms and 0.26 ms;
of 16 channels and 10 x 10 pixels to 6 channels, with zeros around: 0.85 ms and 0.44 ms. Sums of slices would be as
fast, but XLA repeats them in every loop that reads the result, such as a pooling. It does not repeat a product.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

from funcgrad._types import Lax, Value

# More products for each element of the result make a loop slower than a convolution.
_TERMS = 128
# With few groups a convolution by a large kernel to many channels is a fast product of matrices.
_PRODUCTS = 1024
# With more channels XLA's convolution takes less time than a product of matrices.
_FEW = 16
# A larger matrix does not stay in cache: 4 images of 3 channels and 224 x 224 pixels take 24 ms, and 15 ms without it.
_LAID_OUT = 1 << 22


def conv_xla(lax: Lax, x: Value, kernel: Value, *, window: Any) -> Value:
    """Run ``conv`` on XLA; ``window`` is a `Window`."""
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    if not (x.size and kernel.size):
        return lax.full((x.shape[0], kernel.shape[0], *lengths), 0, x.dtype)
    offsets, places, outs = math.prod(kernel.shape[2:]), math.prod(lengths), kernel.shape[0] // window.groups
    scatters = outs < kernel.shape[1] and all(step == 1 for step in window.strides)
    laid_out = offsets * x.shape[0] * (outs * math.prod(x.shape[2:]) if scatters else kernel.shape[1] * places)
    few = window.groups == 1 and max(kernel.shape[:2]) <= _FEW
    if few and offsets <= min(_TERMS, places) and laid_out <= _LAID_OUT:
        on_cpu = _by_scattering if scatters else _by_gathering
    elif kernel.shape[1] == 1 and offsets <= _TERMS and outs * offsets <= _PRODUCTS:
        on_cpu = _by_offsets
    elif window.groups > 1 and x.shape[0] == 1 and places <= _TERMS and outs * places <= _PRODUCTS:
        # This is the derivative of the first case by its kernel.
        on_cpu = _by_places
    else:
        return convolved(lax, window, x, kernel)
    if lax.is_traced(x) or lax.is_traced(kernel):
        return _by_platform(lax, window, on_cpu, x, kernel)
    return _compiled(lax, window, on_cpu)(x, kernel)


def convolved(lax: Lax, window: Any, x: Value, kernel: Value) -> Value:
    """Return the convolution that XLA has. On GPUs it has none for integers."""
    if x.dtype.kind in "iu":
        by_rounds = partial(_by_rounds, lax, window)
        return lax.platform_dependent(x, kernel, cpu=partial(_by_xla, lax, window), default=by_rounds)
    return _by_xla(lax, window, x, kernel)


def _by_xla(lax: Lax, window: Any, x: Value, kernel: Value) -> Value:
    strides, padding, spread, dilation, groups = window
    return lax.conv_general_dilated(x, kernel, strides, padding, spread, dilation, feature_group_count=groups)


def _by_platform(lax: Lax, window: Any, on_cpu: Callable[..., Any], x: Value, kernel: Value) -> Value:
    return lax.platform_dependent(x, kernel, cpu=partial(on_cpu, lax, window), default=partial(convolved, lax, window))


@lru_cache(maxsize=256)
def _compiled(lax: Lax, window: Any, on_cpu: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Return the compiled function, because each of its operations alone would be a call of XLA."""
    return lax.compiled(partial(_by_platform, lax, window, on_cpu))


def _by_offsets(lax: Lax, window: Any, x: Value, kernel: Value) -> Value:
    """Return the sum over the kernel's elements of their products with a slice of the image."""
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    groups, outs, axes = window.groups, kernel.shape[0] // window.groups, len(lengths)
    shape = (x.shape[0], groups, outs, *lengths)
    wide, image, factors = _widened(lax, window, x, kernel)
    factors = lax.reshape(factors, (groups, outs, math.prod(kernel.shape[2:])))
    y = None
    for number, at in enumerate(product(*map(range, kernel.shape[2:]))):
        starts = [i * step for i, step in zip(at, window.dilation, strict=True)]
        part = _part(lax, image, starts, lengths, window.strides)
        factor = lax.index_in_dim(factors, number, 2, keepdims=False)
        term = lax.mul(
            lax.broadcast_in_dim(part, shape, (0, 1, *range(3, 3 + axes))), lax.broadcast_in_dim(factor, shape, (1, 2))
        )
        y = term if y is None else lax.add(y, term)
    return lax.convert_element_type(lax.reshape(y, (shape[0], groups * outs, *lengths)), wide)


def _by_rounds(lax: Lax, window: Any, x: Value, kernel: Value) -> Any:
    """Return the sum over the kernel's elements, one in each round of a loop, of their products with the image."""
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    groups, (out, inner, *offsets), n = window.groups, kernel.shape, x.shape[0]
    wide, image, factors = _widened(lax, window, x, kernel)
    factors = lax.reshape(factors, (groups, out // groups, inner, math.prod(offsets)))
    spans = [(m - 1) * step + 1 for m, step in zip(lengths, window.strides, strict=True)]
    starts = np.array(list(product(*map(range, offsets))), np.int32) * np.array(window.dilation, np.int32)

    def added(y: Any, each: Any) -> Any:
        start, number = each
        first = lax.convert_element_type(0, np.int32)
        at = [first, first, *[lax.index_in_dim(start, axis, keepdims=False) for axis in range(len(spans))]]
        part = lax.dynamic_slice(image, at, (n, groups * inner, *spans))
        part = _part(lax, part, [0] * len(spans), lengths, window.strides)
        part = lax.reshape(part, (n, groups, inner, math.prod(lengths)))
        factor = lax.dynamic_index_in_dim(factors, number, 3, keepdims=False)
        return lax.add(y, lax.dot_general(factor, part, (((2,), (2,)), ((0,), (1,))))), None

    zeros = lax.full((groups, out // groups, n, math.prod(lengths)), 0, image.dtype)
    y, _ = lax.scan(added, zeros, (starts, np.arange(len(starts), dtype=np.int32)))
    y = lax.transpose(y, (2, 0, 1, 3))
    return lax.convert_element_type(lax.reshape(y, (n, out, *lengths)), wide)


def _by_gathering(lax: Lax, window: Any, x: Value, kernel: Value) -> Value:
    """Return the product of the kernel with a matrix that has a column for each position of the result."""
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    (out, inner, *offsets), n = kernel.shape, x.shape[0]
    wide, image, factors = _widened(lax, window, x, kernel)
    image = _swapped(lax, image)
    spans = [(m - 1) * step + 1 for m, step in zip(lengths, window.strides, strict=True)]

    def row(carry: Value, starts: Value) -> Any:
        first = lax.convert_element_type(0, np.int32)
        at = [first, first, *[lax.index_in_dim(starts, axis, keepdims=False) for axis in range(len(spans))]]
        part = lax.dynamic_slice(image, at, (inner, n, *spans))
        return carry, _part(lax, part, [0] * len(spans), lengths, window.strides)

    # A loop reads an image from memory. Slices would be parts of it, and XLA would compute it once for each.
    starts = np.array(list(product(*map(range, offsets))), np.int32) * np.array(window.dilation, np.int32)
    rows = lax.scan(row, (), starts)[1]
    columns = lax.reshape(rows, (inner * math.prod(offsets), n * math.prod(lengths)))
    factors = lax.transpose(lax.reshape(factors, (out, inner, math.prod(offsets))), (0, 2, 1))
    factors = lax.reshape(factors, (out, inner * math.prod(offsets)))
    y = lax.reshape(lax.dot_general(factors, columns, (((1,), (0,)), ((), ()))), (out, n, *lengths))
    return lax.convert_element_type(_swapped(lax, y), wide)


def _by_scattering(lax: Lax, window: Any, x: Value, kernel: Value) -> Value:
    """Return the sum over the kernel's elements of the images' products with them, each at its positions."""
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    (out, inner, *offsets), (n, _, *space) = kernel.shape, x.shape
    wide, image, factors = _sum_dtype(lax, x, kernel)
    columns = lax.reshape(_swapped(lax, image), (inner, n * math.prod(space)))
    factors = lax.transpose(lax.reshape(factors, (out, inner, math.prod(offsets))), (2, 0, 1))
    products = lax.dot_general(factors, columns, (((2,), (0,)), ((), ())))
    products = lax.reshape(products, (math.prod(offsets), out, n, *space))
    y = None
    zero = lax.full((), 0, image.dtype)
    for number, at in enumerate(product(*map(range, offsets))):
        befores = [low - i * step for i, step, (low, _) in zip(at, window.dilation, window.padding, strict=True)]
        edges = [
            (before, length - before - (m - 1) * spread - 1, spread - 1)
            for before, length, m, spread in zip(befores, lengths, space, window.spread, strict=True)
        ]
        piece = lax.index_in_dim(products, number, 0, keepdims=False)
        term = lax.pad(piece, zero, [(0, 0, 0), (0, 0, 0), *edges])
        y = term if y is None else lax.add(y, term)
    return lax.convert_element_type(_swapped(lax, y), wide)


def _swapped(lax: Lax, x: Value) -> Value:
    """Return the array with its first two axes in the other order."""
    return lax.transpose(x, (1, 0, *range(2, x.ndim)))


def _by_places(lax: Lax, window: Any, x: Value, kernel: Value) -> Value:
    """Return for each position of the result the sum of products of the kernel with the image under it."""
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    groups, (outs, inner, *offsets) = window.groups, (kernel.shape[0] // window.groups, *kernel.shape[1:])
    shape = (groups, outs, inner, *offsets)
    wide, image, factors = _widened(lax, window, x, kernel)
    factors = lax.reshape(factors, shape)
    found = []
    for at in product(*map(range, lengths)):
        starts = [i * step for i, step in zip(at, window.strides, strict=True)]
        part = lax.reshape(_part(lax, image, starts, offsets, window.dilation), (groups, inner, *offsets))
        part = lax.broadcast_in_dim(part, shape, (0, *range(2, 3 + len(offsets))))
        sums = lax.reduce_sum(lax.mul(part, factors), tuple(range(2, 3 + len(offsets))))
        found.append(lax.reshape(sums, (1, groups * outs, 1)))
    y = lax.reshape(lax.concatenate(found, 2), (1, groups * outs, *lengths))
    return lax.convert_element_type(y, wide)


def _widened(lax: Lax, window: Any, x: Value, kernel: Value) -> tuple[Any, Any, Any]:
    """Return the dtype, the image with its zeros, and the kernel; half precision becomes float32, for the sums."""
    dtype, x, kernel = _sum_dtype(lax, x, kernel)
    edges = [(low, high, step - 1) for (low, high), step in zip(window.padding, window.spread, strict=True)]
    return dtype, lax.pad(x, lax.full((), 0, x.dtype), [(0, 0, 0), (0, 0, 0), *edges]), kernel


def _sum_dtype(lax: Lax, x: Value, kernel: Value) -> tuple[Any, Any, Any]:
    """Return the dtype, and both operands in the dtype of the sums."""
    dtype = x.dtype
    if dtype.kind in "fV" and dtype.itemsize < 4:
        x, kernel = (lax.convert_element_type(each, np.float32) for each in (x, kernel))
    return dtype, x, kernel


def _part(lax: Lax, x: Value, starts: Value, lengths: Any, strides: Any) -> Value:
    """Return every ``stride``-th element of the spatial axes, from a start on."""
    ends = [start + (n - 1) * step + 1 for start, n, step in zip(starts, lengths, strides, strict=True)]
    return lax.slice(x, (0, 0, *starts), (*x.shape[:2], *ends), (1, 1, *strides))
