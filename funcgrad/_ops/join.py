"""Concatenate, slice along an axis, and pad: joining and cutting are each other's transposes."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.derivative import JointlyLinear, Multilinear
from funcgrad._core.primitive import Primitive
from funcgrad._ops.fill import zeros_like
from funcgrad._ops.shape import expand_dims


def _concatenate_aval(*xs: Aval, axis: int) -> Aval:
    shape = list(xs[0].shape)
    shape[axis] = sum(x.shape[axis] for x in xs)
    return Aval(tuple(shape), xs[0].dtype)


def _concatenate_transpose(y_bar: Any, i: int, avals: tuple, primals: tuple, params: dict) -> Any:
    axis = params["axis"]
    start = sum(aval.shape[axis] for aval in avals[:i])
    return slice_axis(y_bar, axis, start, start + avals[i].shape[axis])


concatenate_p = Primitive(
    "concatenate",
    operands=("*xs",),
    numpy=lambda *xs, axis: np.concatenate(xs, axis),
    xla=lambda lax, *xs, axis: lax.concatenate(xs, axis),
    aval=_concatenate_aval,
    derivative=JointlyLinear(_concatenate_transpose, zeros_like),
    batch=None,
    cost=lambda y, *xs, **_: 0,
)


def concatenate(xs: list[Any], axis: int) -> Any:
    """Arrays of one dtype joined along an axis."""
    return xs[0] if len(xs) == 1 else concatenate_p(*xs, axis=axis)


def stack(xs: list[Any], axis: int) -> Any:
    """Arrays of one shape and dtype joined along a new axis."""
    return concatenate([expand_dims(x, (axis,)) for x in xs], axis)


def _slice_axis_numpy(x: Any, *, axis: int, start: int, stop: int) -> Any:
    return x[(slice(None),) * axis + (slice(start, stop),)]


def _slice_axis_aval(x: Aval, *, axis: int, start: int, stop: int) -> Aval:
    return Aval((*x.shape[:axis], stop - start, *x.shape[axis + 1 :]), x.dtype)


def _slice_axis_transpose(y_bar: Any, x_aval: Aval, axis: int, start: int, stop: int) -> Any:
    widths = [(0, 0)] * x_aval.ndim
    widths[axis] = (start, x_aval.shape[axis] - stop)
    return pad(y_bar, tuple(widths))


slice_axis_p = Primitive(
    "slice_axis",
    operands=("x",),
    numpy=_slice_axis_numpy,
    xla=lambda lax, x, *, axis, start, stop: lax.slice_in_dim(x, start, stop, axis=axis),
    aval=_slice_axis_aval,
    derivative=Multilinear(("x",), [_slice_axis_transpose]),
    batch=None,
    cost=lambda y, x, **_: 0,
)


def slice_axis(x: Any, axis: int, start: int, stop: int) -> Any:
    """``x[..., start:stop, ...]`` along one axis."""
    return slice_axis_p(x, axis=axis, start=start, stop=stop)


def _pad_aval(x: Aval, *, widths: tuple[tuple[int, int], ...]) -> Aval:
    return Aval(tuple(low + n + high for n, (low, high) in zip(x.shape, widths, strict=True)), x.dtype)


def _pad_numpy(x: Any, *, widths: tuple[tuple[int, int], ...]) -> Any:
    y = np.zeros(tuple(low + n + high for n, (low, high) in zip(x.shape, widths, strict=True)), x.dtype)
    y[tuple(slice(low, low + n) for n, (low, _) in zip(x.shape, widths, strict=True))] = x
    return y


def _pad_transpose(y_bar: Any, x_aval: Aval, widths: tuple[tuple[int, int], ...]) -> Any:
    for axis, (low, high) in enumerate(widths):
        if low or high:
            y_bar = slice_axis(y_bar, axis, low, low + x_aval.shape[axis])
    return y_bar


pad_p = Primitive(
    "pad",
    operands=("x",),
    numpy=_pad_numpy,
    xla=lambda lax, x, *, widths: lax.pad(x, np.zeros((), x.dtype), [(*pair, 0) for pair in widths]),
    aval=_pad_aval,
    derivative=Multilinear(("x",), [_pad_transpose]),
    batch=None,
    cost=lambda y, x, **_: 0,
)


def pad(x: Any, widths: tuple[tuple[int, int], ...]) -> Any:
    """Zeros before and after, ``(before, after)`` per axis."""
    return pad_p(x, widths=widths)
