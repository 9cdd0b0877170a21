"""Convolutions along the last axis or axes. Their transposes are convolutions of reversed arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import untraced
from funcgrad._core.forms import Forms
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.layout.broadcast import batch_all
from funcgrad._ops.layout.depends import with_kernel
from funcgrad._ops.layout.shape import flip
from funcgrad._types import Array, Lax, Value

_signal = LazyModule("scipy.signal")
# Loaded on XLA alone.
_conv = LazyModule("funcgrad._ops.contract.conv")
_conv_xla = LazyModule("funcgrad._ops.contract.conv_xla")


def _convolve_numpy(a: Array, v: Array, *, full: bool) -> Any:
    if a.ndim == 1:
        return np.convolve(a, v, "full" if full else "valid")
    m = v.shape[-1]
    if full:
        a = np.pad(a, [(0, 0)] * (a.ndim - 1) + [(m - 1, m - 1)])
    windows = np.lib.stride_tricks.sliding_window_view(a, m, axis=-1)
    return np.matmul(windows, v[..., ::-1, None])[..., 0]


def _convolve_xla(lax: Lax, a: Array, v: Array, *, full: bool) -> Any:
    *stack, m = v.shape
    count = math.prod(stack)
    y_shape = (*stack, _length(a.shape[-1], m, full=full))
    if not count:
        return lax.full(y_shape, 0, a.dtype)
    xs = lax.reshape(a, (1, count, a.shape[-1]))
    kernels = lax.reshape(lax.rev(v, (len(stack),)), (count, 1, m))
    return lax.reshape(_conv_xla.convolved(lax, _by_channel(count, (m,), full), xs, kernels), y_shape)


def _by_channel(count: int, kernel: tuple[int, ...], full: bool) -> Any:
    """Return the window of a convolution of one image by a kernel of its own for each of its channels."""
    ones = (1,) * len(kernel)
    return _conv.Window(ones, tuple([(m - 1, m - 1) if full else (0, 0) for m in kernel]), ones, ones, count)


def _length(n: int, m: int, *, full: bool) -> int:
    return n + m - 1 if full else n - m + 1


def _to_a(y_bar: Value, v: Value, full: bool) -> Any:
    return convolve(y_bar, _flipped(v), full=not full)


def _to_v(y_bar: Value, a: Value, full: bool) -> Any:
    if full:
        return convolve(y_bar, _flipped(a), full=False)
    return _flipped(convolve(a, _flipped(y_bar), full=False))


def _flipped(x: Value) -> Any:
    return flip(x, (len(x.shape) - 1,))


convolve_p = Primitive(
    "convolve",
    operands=("a", "v"),
    numpy=_convolve_numpy,
    xla=_convolve_xla,
    aval=lambda a, v, *, full: Aval((*a.shape[:-1], _length(a.shape[-1], v.shape[-1], full=full)), a.dtype),
    derivative=Multilinear(("a", "v"), [_to_a, _to_v]),
    batch=batch_all(),
    cost=lambda y, a, v, *, full: 2 * v.shape[-1] * (a.size if full else y.size),
    forms=Forms(depends=with_kernel),
)


def convolve(a: Value, v: Value, *, full: bool) -> Any:
    """Return ``y[k] = sum(a[i] * v[k - i])`` along the last axis of arrays of one dtype and one leading shape.

    Without ``full``, only for positions at which ``v``, the shorter array, lies completely inside ``a``.
    """
    return convolve_p(a, v, full=full)


# Without this, SciPy's code would make traced arrays inside of ``fg.intercept()``.
@untraced()
def _convolve_axes_numpy(a: Array, v: Array, *, rank: int, full: bool) -> Any:
    stack = a.shape[: a.ndim - rank]
    mode = "full" if full else "valid"
    y = np.empty((*stack, *_lengths(a.shape, v.shape, rank, full)), a.dtype)
    for i in np.ndindex(stack):
        # SciPy's function for two axes takes an eighth of the time.
        y[i] = _signal.convolve2d(a[i], v[i], mode) if rank == 2 else _signal.convolve(a[i], v[i], mode, "direct")
    return y


def _convolve_axes_xla(lax: Lax, a: Array, v: Array, *, rank: int, full: bool) -> Any:
    stack, space, kernel = a.shape[: a.ndim - rank], a.shape[a.ndim - rank :], v.shape[v.ndim - rank :]
    count = math.prod(stack)
    y_shape = (*stack, *_lengths(a.shape, v.shape, rank, full))
    if not count:
        return lax.full(y_shape, 0, a.dtype)
    turned = lax.rev(v, tuple(range(v.ndim - rank, v.ndim)))
    images, kernels = lax.reshape(a, (1, count, *space)), lax.reshape(turned, (count, 1, *kernel))
    return lax.reshape(_conv_xla.convolved(lax, _by_channel(count, kernel, full), images, kernels), y_shape)


def _lengths(a_shape: tuple[int, ...], v_shape: tuple[int, ...], rank: int, full: bool) -> tuple[int, ...]:
    pairs = zip(a_shape[len(a_shape) - rank :], v_shape[len(v_shape) - rank :], strict=True)
    return tuple([_length(n, m, full=full) for n, m in pairs])


def _axes_to_a(y_bar: Value, v: Value, rank: int, full: bool) -> Any:
    return convolve_axes(y_bar, _turned(v, rank), rank, full=not full)


def _axes_to_v(y_bar: Value, a: Value, rank: int, full: bool) -> Any:
    if full:
        return convolve_axes(y_bar, _turned(a, rank), rank, full=False)
    return _turned(convolve_axes(a, _turned(y_bar, rank), rank, full=False), rank)


def _turned(x: Value, rank: int) -> Any:
    return flip(x, tuple(range(len(x.shape) - rank, len(x.shape))))


convolve_axes_p = Primitive(
    "convolve_axes",
    operands=("a", "v"),
    numpy=_convolve_axes_numpy,
    xla=_convolve_axes_xla,
    aval=lambda a, v, *, rank, full: Aval(
        (*a.shape[: len(a.shape) - rank], *_lengths(a.shape, v.shape, rank, full)), a.dtype
    ),
    derivative=Multilinear(("a", "v"), [_axes_to_a, _axes_to_v]),
    batch=batch_all(),
    cost=lambda y, a, v, *, rank, full: 2 * math.prod(v.shape[len(v.shape) - rank :]) * (a.size if full else y.size),
    forms=Forms(depends=with_kernel),
)


def convolve_axes(a: Value, v: Value, rank: int, *, full: bool) -> Any:
    """Return `convolve` along the last ``rank`` axes, of which there are two or more."""
    return convolve_axes_p(a, v, rank=rank, full=full)
