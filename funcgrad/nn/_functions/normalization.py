"""Normalization over axes: the centered input divided by its standard deviation."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.reduce.standardize import Norm, standardize
from funcgrad._types import Array
from funcgrad.autograd import Tensor
from funcgrad.numpy.extend import innermost

# Half precision is computed in float32, or rounded after each operation.
_WIDE = (np.dtype(np.float32), np.dtype(np.float64))


class Statistics(NamedTuple):
    """Mean and biased variance of a number of elements, with axes of length 1."""

    mean: Any
    variance: Any
    elements: int

    @property
    def unbiased(self) -> Any:
        """The variance with the divisor ``count - 1``."""
        variance, factor = bare(self.variance), self.elements / max(self.elements - 1, 1)
        return fnp.multiply(self.variance, factor) if variance is None else variance * factor


def standardized(x: Array, weight: Array, bias: Array, norm: Norm) -> tuple[Any, Statistics]:
    """Normalize with the statistics of the array, and return these too; weight and bias may be ``None``."""
    affine = [each for each in (weight, bias) if each is not None]
    elements = math.prod([norm.shape[axis] for axis in norm.axes])
    # XLA fuses the parts by itself: with the primitive a step of a transformer takes 1.07 of the time there.
    is_eager = all(type(innermost(each)) is np.ndarray for each in (x, *affine))
    if is_eager and elements and x.dtype in _WIDE and all(each.dtype == x.dtype for each in affine):
        added = affine.pop() if weight is None and bias is not None else None
        y, mean, variance = standardize(x, *affine, norm=norm)
        y = y if added is None else fnp.add(reshape(y, norm.shape), _seen(added, norm))
        return reshape(y, x.shape), Statistics(mean, variance, elements)
    seen = reshape(x, norm.shape)
    if not elements:
        # The mean of no elements is NaN. The derivative by the weight would be NaN with it, and is 0.
        mean = variance = fnp.multiply(fnp.sum(seen, axis=norm.axes, keepdims=True), math.nan)
        y = normalized(seen, fnp.ones_like(mean), norm.eps, _seen(weight, norm), _seen(bias, norm))
        return reshape(y, x.shape), Statistics(mean, variance, elements)
    mean = fnp.mean(seen, axis=norm.axes, keepdims=True)
    centered = fnp.subtract(seen, mean)
    variance = fnp.mean(fnp.square(centered), axis=norm.axes, keepdims=True)
    y = normalized(centered, variance, norm.eps, _seen(weight, norm), _seen(bias, norm))
    return reshape(y, x.shape), Statistics(mean, variance, elements)


def _seen(x: Array, norm: Norm) -> Any:
    """Return weight or bias in the shape in which they broadcast."""
    return None if x is None else reshape(x, tuple([n if i in norm.weighted else 1 for i, n in enumerate(norm.shape)]))


def bare(x: Array) -> Any:
    """Return NumPy's array of a tensor that no transform traces, or ``None``."""
    value = x._value if type(x) is Tensor else x
    return value if type(value) is np.ndarray else None


def moved(held: Array, found: Array, factor: Array) -> Any:
    """Return new running statistics: ``(1 - factor) * held + factor * found``, for each channel."""
    old, new = bare(held), bare(found)
    if old is not None and new is not None and old.dtype == new.dtype and type(factor) is float:
        # As operations on tensors this takes three times as long.
        return old * (1 - factor) + new.reshape(-1) * factor
    flat = reshape(found, (math.prod(found.shape),))
    return fnp.add(fnp.multiply(held, 1 - factor), fnp.multiply(flat, factor))


def normalized(centered: Array, variance: Array, eps: float, weight: Array, bias: Array) -> Any:
    """Return ``centered / sqrt(variance + eps) * weight + bias``; weight and bias may be ``None``."""
    scale = fnp.divide(1, fnp.sqrt(fnp.add(variance, eps)))
    if weight is not None and math.prod(scale.shape) <= math.prod(weight.shape):
        # One product with the large array rather than two.
        return _shifted(fnp.multiply(centered, fnp.multiply(scale, weight)), bias)
    y = fnp.multiply(centered, scale)
    return _shifted(y if weight is None else fnp.multiply(y, weight), bias)


def _shifted(y: Array, bias: Array) -> Any:
    return y if bias is None else fnp.add(y, bias)


def per_channel(x: Array, ndim: int) -> Any:
    """Return one number for each channel in a shape that broadcasts with ``[batch, channels, ...]``."""
    return None if x is None else reshape(x, (1, x.shape[0], *(1,) * (ndim - 2)))
