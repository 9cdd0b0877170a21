"""Activation functions, elementwise and along an axis."""

from __future__ import annotations

import math
from typing import Literal

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.activation import erf_p, relu_p
from funcgrad._ops.elementwise.transcendental import exp_p, logistic_p
from funcgrad._ops.elementwise.trigonometric import tanh_p
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.reduce.reduce import reduce_max
from funcgrad._ops.reduce.softmax import log_softmax_p
from funcgrad._types import Array
from funcgrad.nn._functions.convert import inexact
from funcgrad.numpy import add, divide, multiply, power, subtract
from funcgrad.numpy.extend import normalize_axes


def relu(x: Array) -> Array:
    """Compute ``max(x, 0)``; its derivative at 0 is 0, as in PyTorch.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.relu(np.array([-1.0, 2.0]))
        array([0., 2.])
    """
    return bind(relu_p, (inexact(x),), NO_PARAMS)


def tanh(x: Array) -> Array:
    """Compute the hyperbolic tangent.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.tanh(np.array([0.0, 20.0]))
        array([0., 1.])
    """
    return bind(tanh_p, (inexact(x),), NO_PARAMS)


def sigmoid(x: Array) -> Array:
    """Compute ``1 / (1 + exp(-x))``, without overflow.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.sigmoid(np.array([-1000.0, 0.0]))
        array([0. , 0.5])
    """
    return bind(logistic_p, (inexact(x),), NO_PARAMS)


def gelu(x: Array, approximate: Literal["none", "tanh"] = "none") -> Array:
    """Compute ``x`` times the standard normal distribution function of ``x``.

    Args:
        x: an array.
        approximate: ``"none"`` uses the error function; ``"tanh"`` uses ``tanh(sqrt(2 / pi) * (x + 0.044715 * x**3))``.

    Returns:
        An array like ``x``.

    Raises:
        ValueError: ``approximate`` is neither ``"none"`` nor ``"tanh"``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.gelu(np.array([-1.0, 0.0, 1.0])).round(4)
        array([-0.1587,  0.    ,  0.8413])

    Source: Hendrycks and Gimpel, *Gaussian error linear units* (2016); the default is PyTorch's, not JAX's.
    """
    x = inexact(x)
    if approximate == "none":
        curve = bind(erf_p, (multiply(x, math.sqrt(0.5)),), NO_PARAMS)
    elif approximate == "tanh":
        cubic = add(x, multiply(power(x, 3), 0.044715))
        curve = bind(tanh_p, (multiply(cubic, math.sqrt(2 / math.pi)),), NO_PARAMS)
    else:
        raise ValueError(f'gelu: approximate is {approximate!r}; needed "none" or "tanh".')
    return multiply(multiply(x, 0.5), add(curve, 1))


def _shifted(x: Array, axes: tuple[int, ...]) -> Array:
    """Return ``x`` minus its maximum. The maximum cancels in the callers' formulas, so it needs no derivative."""
    if 0 in x.shape:
        return x
    return subtract(x, bind(stop_gradient_p, (reduce_max(x, axes, keepdims=True),), NO_PARAMS))


def softmax(x: Array, axis: int | tuple[int, ...] | None = -1) -> Array:
    """Compute ``exp(x) / sum(exp(x))`` along an axis, without overflow.

    Args:
        x: an array.
        axis: the axis or axes over which the result sums to 1; ``None`` for all.

    Returns:
        An array like ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.softmax(np.array([1000.0, 1000.0]))
        array([0.5, 0.5])
    """
    x = inexact(x)
    axes = normalize_axes(axis, len(x.shape))
    e = bind(exp_p, (_shifted(x, axes),), NO_PARAMS)
    return divide(e, reduce_sum(e, axes, keepdims=True))


def log_softmax(x: Array, axis: int | tuple[int, ...] | None = -1) -> Array:
    """Compute ``log(softmax(x))`` along an axis, exact even if the softmax itself would round to 0.

    Args:
        x: an array.
        axis: the axis or axes over which the exponential of the result sums to 1; ``None`` for all.

    Returns:
        An array like ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.log_softmax(np.array([0.0, 1000.0]))
        array([-1000.,     0.])
    """
    x = inexact(x)
    return bind(log_softmax_p, (x,), {"axes": normalize_axes(axis, len(x.shape))})
