"""Standardize over axes, with weights and biases: the primitive that normalization layers compute by."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.arithmetic import add_p, div_p, mul_p, sqrt_p, sub_p
from funcgrad._ops.layout.batching import moved_axes
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum, reduced_shape, with_batch
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Lax, Value

Axes = tuple[int, ...]
# Longer rows are summed by NumPy, in pairs. BLAS adds them one after the other, with larger rounding errors.
_LONGEST_ROW = 1024


@lru_cache(maxsize=64)
def _ones(count: int, dtype: np.dtype) -> np.ndarray:
    return np.ones(count, dtype)


def _count(x: Value, axes: Axes) -> int:
    return math.prod([x.shape[axis] for axis in axes])


def _is_for_blas(x: np.ndarray, axis: int) -> bool:
    return x.dtype.itemsize > 2 and 0 < x.shape[axis] <= _LONGEST_ROW and x.flags.c_contiguous


def _sum(x: np.ndarray, axes: Axes) -> Any:
    """Return the sum over axes, which remain with length 1. BLAS's product with ones takes a fifth of the time."""
    if not axes:
        return x
    last = x.ndim - 1
    if last and last in axes and _is_for_blas(x, last):
        n = x.shape[last]
        rows = x.reshape(-1, n).dot(_ones(n, x.dtype)).reshape(*x.shape[:last], 1)
        return rows if len(axes) == 1 else np.add.reduce(rows, axes, keepdims=True)
    if axes == (0,) and last == 1 and _is_for_blas(x, 0):
        return _ones(x.shape[0], x.dtype).dot(x)[None]
    return np.add.reduce(x, axes, keepdims=True)


def _sum_of_products(a: np.ndarray, b: np.ndarray, axes: Axes) -> Any:
    """Return the sum over axes of ``a * b``, for arrays of one shape."""
    last = a.ndim - 1
    if last not in axes or a.dtype.itemsize == 2:
        return _sum(a * b, axes)
    rows = np.vecdot(a, b)[..., None]
    return rows if len(axes) == 1 else np.add.reduce(rows, axes, keepdims=True)


def _weighted_sum(x: np.ndarray, weight: np.ndarray, axes: Axes) -> Any:
    """Return the sum over axes of ``x * weight``, where the weight may have axes of length 1."""
    if x.ndim == 2 and x.dtype.itemsize > 2:
        if axes == (1,) and weight.shape == (1, x.shape[1]):
            return x.dot(weight[0])[:, None]
        if axes == (0,) and weight.shape == (x.shape[0], 1):
            return weight[:, 0].dot(x)[None]
    return np.add.reduce(x * weight, axes, keepdims=True)


def _stretched(x: Value, shape: tuple[int, ...]) -> Axes:
    """Return the axes along which an array of this shape repeats."""
    return tuple([i for i, n in enumerate(shape) if n == 1 and x.shape[i] != 1])


def _pieces(x: np.ndarray, affine: tuple, axes: Axes, eps: float) -> tuple[list, np.ndarray, np.ndarray]:
    """Return the results, and what the derivative reads: the centered array and the inverse of the deviation."""
    count = _count(x, axes)
    mean = _sum(x, axes) / count
    centered = x - mean
    variance = _sum_of_products(centered, centered, axes) / count
    inverse = 1 / np.sqrt(variance + x.dtype.type(eps))
    if not affine:
        y = centered * inverse
    elif _is_short(affine[0], inverse, x):
        y = centered * (inverse * affine[0])
    else:
        y = centered * inverse
        y *= affine[0]
    if len(affine) == 2:
        y += affine[1]
    return [y, mean, variance], centered, inverse


def _is_short(weight: np.ndarray, inverse: np.ndarray, x: np.ndarray) -> bool:
    """Return whether weight and inverse deviation together have much fewer elements than the array."""
    lengths = [max(a, b) for a, b in zip(weight.shape, inverse.shape, strict=True)]
    return 4 * math.prod(lengths) <= x.size


def _standardize_numpy(x: np.ndarray, *affine: np.ndarray, axes: Axes, eps: float) -> list:
    return _pieces(x, affine, axes, eps)[0]


def _standardize_xla(lax: Lax, x: Array, *affine: Array, axes: Axes, eps: float) -> list:
    kept, count = tuple([i for i in range(x.ndim) if i not in axes]), x.dtype.type(_count(x, axes))

    def mean_of(z: Array) -> Any:
        return lax.div(lax.reduce_sum(z, axes), lax.full((), count))

    def spread(z: Array) -> Any:
        return lax.broadcast_in_dim(z, x.shape, kept)

    mean = mean_of(x)
    centered = lax.sub(x, spread(mean))
    variance = mean_of(lax.mul(centered, centered))
    y = lax.mul(centered, spread(lax.rsqrt(lax.add(variance, lax.full_like(variance, eps)))))
    for combine, each in zip((lax.mul, lax.add), affine, strict=False):
        y = combine(y, lax.broadcast_in_dim(each, x.shape, tuple(range(x.ndim))))
    shape = reduced_shape(x.shape, axes, True)
    return [y, lax.reshape(mean, shape), lax.reshape(variance, shape)]


def _aval(x: Aval, *affine: Aval, axes: Axes, eps: float) -> list[Aval]:
    del affine, eps
    statistics = Aval(reduced_shape(x.shape, axes, True), x.dtype)
    return [x, statistics, statistics]


class _StandardizeDerivative:
    """The derivative; on NumPy's arrays it keeps the centered array, and computes all cotangents from the same sums."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        x, *affine = primals
        axes, eps = params["axes"], params["eps"]
        if all(type(each) is np.ndarray for each in primals):
            results, centered, inverse = _pieces(x, tuple(affine), axes, eps)
            kept = centered, inverse
        else:
            results = primitive(*primals, **params)
            centered = sub_p(x, results[1])
            kept = centered, _inverse(results[2], eps)
        weight = affine[0] if affine else None
        bias_shape = affine[1].shape if len(affine) == 2 else None
        return results, _bars, (*kept, weight, bias_shape, axes, active)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        x, *affine = primals
        axes = params["axes"]
        results = primitive(*primals, **params)
        _, mean, variance = results
        centered, inverse = sub_p(x, mean), _inverse(variance, params["eps"])
        outcome = mul_p(centered, inverse)
        x_dot, y_dot, mean_dot, variance_dot = tangents[0], None, None, None
        if x_dot is not None:
            mean_dot = _mean(x_dot, axes)
            moment = _mean(mul_p(centered, x_dot), axes)
            y_dot = sub_p(sub_p(x_dot, mean_dot), mul_p(centered, mul_p(moment, mul_p(inverse, inverse))))
            y_dot = mul_p(y_dot, mul_p(inverse, affine[0]) if affine else inverse)
            variance_dot = mul_p(moment, 2)
        if affine and tangents[1] is not None:
            y_dot = _added(y_dot, mul_p(outcome, tangents[1]))
        if len(affine) == 2 and tangents[2] is not None:
            y_dot = _added(y_dot, broadcast_to(tangents[2], x.shape))
        return results, [y_dot, mean_dot, variance_dot]


def _inverse(variance: Value, eps: float) -> Any:
    return div_p(1, sqrt_p(add_p(variance, eps)))


def _mean(x: Value, axes: Axes) -> Any:
    return div_p(reduce_sum(x, axes, keepdims=True), _count(x, axes))


def _added(total: Value, part: Value) -> Any:
    return part if total is None else add_p(total, part)


def _bars(
    y_bars: list,
    centered: Value,
    inverse: Value,
    weight: Value,
    bias_shape: tuple[int, ...] | None,
    axes: Axes,
    active: int,
) -> list:
    """Return the cotangents of the array, the weight and the bias, as many as there are."""
    y_bar, *statistics_bars = y_bars
    arrays = [each for each in (y_bar, centered, inverse, weight) if each is not None]
    is_bare = y_bar is not None and all(type(each) is np.ndarray for each in arrays)
    count = 1 + (weight is not None) + (bias_shape is not None)
    bars: list[Any] = [None] * count
    if is_bare:
        bars = _bars_numpy(y_bar, centered, inverse, weight, bias_shape, axes, active)
    elif y_bar is not None:
        bars = _bars_by_operations(y_bar, centered, inverse, weight, bias_shape, axes)
    return [_with_statistics(bars[0], statistics_bars, centered, axes), *bars[1:]]


def _with_statistics(x_bar: Value, bars: list, centered: Value, axes: Axes) -> Any:
    """Add the cotangents of the mean and the variance."""
    mean_bar, variance_bar = bars
    count = _count(centered, axes)
    if mean_bar is not None:
        x_bar = _added(x_bar, broadcast_to(div_p(mean_bar, count), centered.shape))
    if variance_bar is not None:
        x_bar = _added(x_bar, mul_p(centered, div_p(mul_p(variance_bar, 2), count)))
    return x_bar


def _bars_numpy(
    y_bar: np.ndarray,
    centered: np.ndarray,
    inverse: np.ndarray,
    weight: np.ndarray | None,
    bias_shape: tuple[int, ...] | None,
    axes: Axes,
    active: int,
) -> list:
    """Do so for NumPy's arrays. Sums over the axes along which weights are constant serve all cotangents."""
    short = axes if weight is None else tuple([axis for axis in axes if weight.shape[axis] == 1])
    sums, moments = _sum(y_bar, short), _sum_of_products(y_bar, centered, short)
    bars: list[Any] = [None] * (1 + (weight is not None) + (bias_shape is not None))
    if weight is not None and active & 2:
        bars[1] = _weighted_sum(moments, inverse, _stretched(moments, weight.shape)).reshape(weight.shape)
    if bias_shape is not None and active & 4:
        bars[2] = _sum(sums, _stretched(sums, bias_shape)).reshape(bias_shape)
    if not active & 1:
        return bars
    if weight is not None:
        sums, moments = _weighted_sum(sums, weight, axes), _weighted_sum(moments, weight, axes)
    count = _count(y_bar, axes)
    moments = moments * inverse / count * inverse * inverse
    if weight is None or _is_short(weight, inverse, y_bar):
        x_bar = y_bar * (inverse if weight is None else inverse * weight)
    else:
        x_bar = y_bar * weight
        x_bar *= inverse
    x_bar -= centered * moments
    x_bar -= sums * inverse / count
    bars[0] = x_bar
    return bars


def _bars_by_operations(
    y_bar: Value,
    centered: Value,
    inverse: Value,
    weight: Value,
    bias_shape: tuple[int, ...] | None,
    axes: Axes,
) -> list:
    outcome = mul_p(centered, inverse)
    bar = y_bar if weight is None else mul_p(y_bar, weight)
    rest = sub_p(sub_p(bar, _mean(bar, axes)), mul_p(outcome, _mean(mul_p(bar, outcome), axes)))
    bars = [mul_p(rest, inverse)]
    for shape, part in ((None if weight is None else weight.shape, mul_p(y_bar, outcome)), (bias_shape, y_bar)):
        if shape is not None:
            bars.append(reduce_sum(part, _stretched(part, shape), keepdims=True))
    return bars


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list:
    x, *affine = operands
    whole = [
        each if flag else reshape(each, (1, *each.shape)) for each, flag in zip(affine, batched[1:], strict=True)
    ]
    moved = {**params, "axes": moved_axes(params["axes"])}
    return primitive(with_batch(x, size, batched[0]), *whole, **moved)


standardize_p = Primitive(
    "standardize",
    operands=("*xs",),
    numpy=_standardize_numpy,
    xla=_standardize_xla,
    aval=_aval,
    derivative=_StandardizeDerivative(),
    batch=_batch,
    cost=lambda y, x, *affine, **_: 8 * x.size,
    multiple_results=True,
)


def standardize(x: Value, *affine: Value, axes: Axes, eps: float) -> tuple[Any, Any, Any]:
    """Return ``(x - mean) / sqrt(variance + eps) * weight + bias``, the mean and the biased variance over axes.

    The statistics keep the axes with length 1. Weight and bias may be left out, or the bias alone. They have as many
    axes as ``x``, of its lengths or of length 1. All operands have one real dtype.
    """
    y, mean, variance = standardize_p(x, *affine, axes=axes, eps=float(eps))
    return y, mean, variance
