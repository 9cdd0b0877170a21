"""Normalization over axes: the centered input divided by its standard deviation."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from funcgrad import numpy as fnp
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array


class Statistics(NamedTuple):
    """Mean and biased variance of a number of elements, with axes of length 1, and the centered input."""

    mean: Any
    variance: Any
    centered: Any
    elements: int

    @classmethod
    def over(cls, x: Array, axes: tuple[int, ...]) -> Statistics:
        """Compute the statistics of an array over axes."""
        mean = fnp.mean(x, axis=axes, keepdims=True)
        centered = fnp.subtract(x, mean)
        variance = fnp.mean(fnp.square(centered), axis=axes, keepdims=True)
        return cls(mean, variance, centered, math.prod([x.shape[axis] for axis in axes]))

    @property
    def unbiased(self) -> Any:
        """The variance with the divisor ``count - 1``."""
        return fnp.multiply(self.variance, self.elements / max(self.elements - 1, 1))


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
