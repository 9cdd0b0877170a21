"""Convolution on XLA, with a form of its own for CPUs where a group has one channel.

XLA's CPU backend has no fast convolution for such groups. Sums of products of slices, which it makes into one loop,
take a fraction of its time. On one core: a depthwise convolution of 8 images of 32 channels and 28 x 28 pixels by 3 x 3
takes 12 ms and as sums 0.3 ms; one of 32 images of one channel to 6 channels by 5 x 5 takes 5 ms and 0.4 ms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import product
from typing import Any

import numpy as np

# More products for each element of the result make a loop slower than a convolution.
_TERMS = 128
# With few groups a convolution by a large kernel to many channels is a fast product of matrices.
_PRODUCTS = 1024


def conv_xla(lax: Any, x: Any, kernel: Any, *, window: Any) -> Any:
    """Run ``conv`` on XLA; ``window`` is a `Window`."""
    lengths = window.lengths(x.shape[2:], kernel.shape[2:])
    if not (x.size and kernel.size):
        return lax.full((x.shape[0], kernel.shape[0], *lengths), 0, x.dtype)
    offsets, places, outs = math.prod(kernel.shape[2:]), math.prod(lengths), kernel.shape[0] // window.groups
    if kernel.shape[1] == 1 and offsets <= _TERMS and outs * offsets <= _PRODUCTS:
        on_cpu = _by_offsets
    elif window.groups > 1 and x.shape[0] == 1 and places <= _TERMS and outs * places <= _PRODUCTS:
        # This is the derivative of the first case by its kernel.
        on_cpu = _by_places
    else:
        return _convolved(lax, window, x, kernel)
    if lax.is_traced(x) or lax.is_traced(kernel):
        return _by_platform(lax, window, on_cpu, x, kernel)
    return _compiled(lax, window, on_cpu)(x, kernel)


def _convolved(lax: Any, window: Any, x: Any, kernel: Any) -> Any:
    strides, padding, spread, dilation, groups = window
    return lax.conv_general_dilated(x, kernel, strides, padding, spread, dilation, feature_group_count=groups)


def _by_platform(lax: Any, window: Any, on_cpu: Callable[..., Any], x: Any, kernel: Any) -> Any:
    return lax.platform_dependent(x, kernel, cpu=partial(on_cpu, lax, window), default=partial(_convolved, lax, window))


@lru_cache(maxsize=256)
def _compiled(lax: Any, window: Any, on_cpu: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Return the compiled function, because each of its operations alone would be a call of XLA."""
    return lax.compiled(partial(_by_platform, lax, window, on_cpu))


def _by_offsets(lax: Any, window: Any, x: Any, kernel: Any) -> Any:
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


def _by_places(lax: Any, window: Any, x: Any, kernel: Any) -> Any:
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


def _widened(lax: Any, window: Any, x: Any, kernel: Any) -> tuple[Any, Any, Any]:
    """Return the dtype, the image with its zeros, and the kernel; half precision becomes float32, for the sums."""
    dtype = x.dtype
    if dtype.kind in "fV" and dtype.itemsize < 4:
        x, kernel = (lax.convert_element_type(each, np.float32) for each in (x, kernel))
    edges = [(low, high, step - 1) for (low, high), step in zip(window.padding, window.spread, strict=True)]
    return dtype, lax.pad(x, lax.full((), 0, x.dtype), [(0, 0, 0), (0, 0, 0), *edges]), kernel


def _part(lax: Any, x: Any, starts: Any, lengths: Any, strides: Any) -> Any:
    """Return every ``stride``-th element of the spatial axes, from a start on."""
    ends = [start + (n - 1) * step + 1 for start, n, step in zip(starts, lengths, strides, strict=True)]
    return lax.slice(x, (0, 0, *starts), (*x.shape[:2], *ends), (1, 1, *strides))
