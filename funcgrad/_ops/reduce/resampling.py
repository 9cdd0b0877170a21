"""Filters between sampling rates, along the last axis: insert zeros, filter, and take every ``down``-th result.

    y[n] = sum(h[n * down - k * up] * x[k])

The time does not grow with the zeros, because each result uses only every ``up``-th coefficient of the filter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import bind, untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.contract.convolve import convolve
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import pad
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum, with_batch
from funcgrad._ops.layout.shape import expand_dims, flip, reshape, transpose
from funcgrad._types import Array, Lax, Value

_signal = LazyModule("scipy.signal")


def resampled_length(h: int, n: int, up: int, down: int) -> int:
    """Return the number of results of ``n`` samples."""
    return ((n - 1) * up + h - 1) // down + 1


# Without this, SciPy's code would make traced arrays inside of ``fg.intercept()``.
@untraced()
def _resampled_numpy(h: Array, x: Array, *, up: int, down: int) -> np.ndarray:
    if h.ndim == 1:
        return _signal.upfirdn(h, x, up, down)
    y = np.empty((*x.shape[:-1], resampled_length(h.shape[-1], x.shape[-1], up, down)), x.dtype)
    for i in np.ndindex(h.shape[:-1]):
        y[i] = _signal.upfirdn(h[i], x[i], up, down)
    return y


def _resampled_xla(lax: Lax, h: Array, x: Array, *, up: int, down: int) -> Array:
    taps, n = -(-h.shape[-1] // up), x.shape[-1]
    length = resampled_length(h.shape[-1], n, up, down)
    y_shape = (*x.shape[:-1], length)
    if not x.size:
        return lax.full(y_shape, 0, x.dtype)
    # A constant is still a NumPy array here.
    h, x = (lax.convert_element_type(c, lax.canonical_dtype(c.dtype)) for c in (h, x))
    # For each result: the last sample that it uses, the coefficient of that sample, and those of earlier samples.
    at, step = (lax.broadcasted_iota(lax.canonical_dtype(np.int64), (length, taps), axis) for axis in (0, 1))
    coefficient, sample = at * down % up + step * up, at * down // up - step
    inside = (sample >= 0) & (sample < n) & (coefficient < h.shape[-1])
    places = lax.clamp(0, sample, n - 1)
    found = x.at[..., places].get(mode="promise_in_bounds")
    weights = h.at[..., lax.clamp(0, coefficient, h.shape[-1] - 1)].get(mode="promise_in_bounds")
    # Terms out of range are dropped; as products with 0 they would be NaN next to an infinity.
    lead = x.ndim - 1
    inside, weights = (
        lax.broadcast_in_dim(c, found.shape, (*range(c.ndim - 2), lead, lead + 1)) for c in (inside, weights)
    )
    products = lax.select(inside, found * weights, lax.full_like(found, 0))
    return lax.reduce(products, x.dtype.type(0), lax.add, (lead + 1,))


def _to_x(y_bar: Value, h: Value, x_shape: tuple[int, ...], up: int, down: int) -> Any:
    """Exchange the rates and reverse the filter."""
    last, size, n = len(h.shape) - 1, h.shape[-1], x_shape[-1]
    before = -(size - 1) % up
    turned = pad(flip(h, (last,)), (*[(0, 0)] * last, (before, 0)))
    first = (size - 1 + before) // up
    return _part(resampled(turned, y_bar, down, up), first, first + n)


def _part(x: Value, start: int, stop: int) -> Any:
    """Return a part of the last axis, with zeros beyond its end."""
    last, n = len(x.shape) - 1, x.shape[-1]
    if stop > n:
        x = pad(x, (*[(0, 0)] * last, (0, stop - n)))
    return slice_axis(x, last, start, stop)


def _to_h(y_bar: Value, x: Value, h_shape: tuple[int, ...], up: int, down: int) -> Any:
    """Compute one convolution per phase, because each ``up``-th coefficient uses samples of its own."""
    size, n, last = h_shape[-1], x.shape[-1], len(x.shape) - 1
    if not x.size:
        return broadcast_to(x.dtype.type(0), h_shape)
    taps = -(-size // up)
    spread = reshape(
        pad(expand_dims(y_bar, (last + 1,)), (*[(0, 0)] * (last + 1), (0, down - 1))),
        (*y_bar.shape[:-1], y_bar.shape[-1] * down),
    )
    rows = reshape(_part(spread, 0, up * (taps + n - 1)), (*y_bar.shape[:-1], taps + n - 1, up))
    phases = transpose(rows, (*range(last), last + 1, last))
    samples = flip(x, (last,))
    samples = broadcast_to(expand_dims(samples, (last,)), (*phases.shape[:-1], n))
    found = convolve(phases, samples, full=False)
    found = reshape(transpose(found, (*range(last), last + 1, last)), (*x.shape[:-1], taps * up))
    return reduce_sum(_part(found, 0, size), tuple(range(len(h_shape) - 1, last)))


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
    """Signals of a batch share their filter, as signals of a stack do."""
    h, x = operands
    if not batched[0] and len(h.shape) == 1:
        return bind(primitive, operands, params)
    return bind(primitive, (with_batch(h, size, batched[0]), with_batch(x, size, batched[1])), params)


resampled_p = Primitive(
    "resampled",
    operands=("h", "x"),
    numpy=_resampled_numpy,
    xla=_resampled_xla,
    aval=lambda h, x, *, up, down: Aval((*x.shape[:-1], resampled_length(h.shape[-1], x.shape[-1], up, down)), x.dtype),
    derivative=Multilinear(("h", "x"), [_to_h, _to_x]),
    batch=_batch,
    cost=lambda y, h, x, *, up, down: 2 * y.size * -(-h.shape[-1] // up),
)


def resampled(h: Value, x: Value, up: int, down: int) -> Value:
    """Resample ``x[..., ..., N]`` by the filter ``h[..., L]``; both have one dtype and a last axis that is not empty.

    The leading axes of ``h`` are the first axes of the signals; signals along further axes share their filter.
    """
    return bind(resampled_p, (h, x), {"up": up, "down": down})
