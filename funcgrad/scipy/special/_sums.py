"""Sums of exponentials without overflow."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.logic import isfinite_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._ops.layout.broadcast import reduce_sum, reduced_shape
from funcgrad._ops.layout.shape import reshape, squeezed_shape
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.reduce.reduce import reduce_max
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import normalize_axes, promote
from funcgrad.scipy.special._declare import real


def _maximum(x: ArrayLike, axes: tuple[int, ...]) -> Array:
    """Return the maximum, which cancels in the formulas and so has no derivative; 0 for an empty array."""
    if any(x.shape[i] == 0 for i in axes):
        return np.zeros(reduced_shape(x.shape, axes, True), x.dtype)
    return bind(stop_gradient_p, (reduce_max(x, axes, keepdims=True),), NO_PARAMS)


def logsumexp(
    a: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    b: ArrayLike = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """Compute ``log(sum(b * exp(a)))`` without overflow.

    Args:
        a: a real array.
        axis: the axis or axes to sum over; all of them for ``None``.
        b: factors of the terms, which broadcast against ``a``.
        keepdims: whether the summed axes remain, with length 1.
        return_sign: whether to return the sign of the sum too; the logarithm is then of its size.

    Returns:
        The logarithm, or ``(logarithm, sign)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import special
        >>> print(round(float(special.logsumexp(np.array([1000.0, 1000.0]))), 4))
        1000.6931
    """
    (a,) = real("logsumexp", a)
    axes = normalize_axes(axis, len(a.shape))
    if b is not None:
        a, b = fnp.broadcast_arrays(*promote(a, *real("logsumexp", b)))
        axes = normalize_axes(axis, len(a.shape))
    # A term with the factor 0 counts for nothing, however large its exponent is.
    highest = _maximum(a if b is None else select(b == 0, -math.inf, a), axes)
    # Do not subtract an infinite maximum: inf - inf would be NaN.
    highest = select(isfinite_p(highest), highest, 0)
    exponents = a - highest
    if b is not None:
        # If an exponential with the factor 0 overflows, the derivative by the factor is a huge finite number.
        bound = 0.999 * math.log(float(np.finfo(a.dtype).max))
        exponents = select((b == 0) & fnp.logical_not(exponents < bound), bound, exponents)
    terms = exp_p(exponents)
    if b is not None:
        terms = fnp.multiply(terms, b)
    total = reduce_sum(terms, axes, keepdims=True)
    sign = fnp.sign(total)
    result = fnp.log(abs(total) if return_sign else total) + highest
    if not keepdims:
        shape = squeezed_shape(result, axes)
        result, sign = reshape(result, shape), reshape(sign, shape)
    return (result, sign) if return_sign else result


def softmax(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Compute ``exp(x) / sum(exp(x))`` over an axis, or over all elements, without overflow.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import special
        >>> special.softmax(np.array([1000.0, 1000.0]))
        array([0.5, 0.5])
    """
    (x,) = real("softmax", x)
    axes = normalize_axes(axis, len(x.shape))
    # With an infinity all results are NaN, as in SciPy.
    terms = exp_p(x - _maximum(x, axes))
    return terms / reduce_sum(terms, axes, keepdims=True)


def log_softmax(x: ArrayLike, axis: int | tuple[int, ...] | None = None) -> Array:
    """Compute the logarithm of the softmax, also where the softmax itself would round to 0.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import special
        >>> special.log_softmax(np.array([0.0, 1000.0]))
        array([-1000.,     0.])
    """
    (x,) = real("log_softmax", x)
    return x - logsumexp(x, axis=axis, keepdims=True)
