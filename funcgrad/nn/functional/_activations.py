"""Activation functions with PyTorch's arguments; their derivatives at kinks are PyTorch's."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import is_engine_value
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import Array
from funcgrad.autograd.extend import is_tensor, type_name
from funcgrad.nn._functions import activations, random
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import floating, is_integral_tensor


def written(x: Array, y: Array, inplace: bool) -> Any:
    """Write a result into the input if that is asked for; for arrays of JAX, which are immutable, return the result.

    A tensor around a traced value has no memory to write to, either.
    """
    if not inplace or is_engine_value(x._value if is_tensor(x) else x):
        return y
    if is_tensor(x):
        return x.copy_(y) if type(x._value) is np.ndarray else y
    x[...] = y
    return x


def overwritten(kernel: str, x: Any, inplace: bool) -> Any:
    """Return the input for a function whose derivative needs it: a copy if the input is written to."""
    y = floating(kernel, x)
    return y.clone() if inplace and is_tensor(x) else y


def _in_place(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with the underscore, which writes into its input."""

    @functools.wraps(function)
    def call(input: Array, *args: Any, **kwargs: Any) -> Any:
        return written(input, function(input, *args, **kwargs), True)

    name = function.__name__
    call.__name__ = call.__qualname__ = f"{name}_"
    call.__doc__ = f"""Compute `{name}` in place.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> x = np.array([-1.0, 2.0])
        >>> F.{name}_(x) is x
        True
    """
    return call


def relu(input: Array, inplace: bool = False) -> Array:
    """Compute ``max(x, 0)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.relu(np.array([-1.0, 2.0]))
        array([0., 2.])
    """
    y = fnp.maximum(input, 0) if is_integral_tensor(input) else activations.relu(input)
    return written(input, y, inplace)


def hardtanh(input: Array, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Array:
    """Clip to an interval; the derivative at its ends is 0.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.hardtanh(np.array([-3.0, 0.5, 3.0]))
        array([-1. ,  0.5,  1. ])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    x = input if is_integral_tensor(input) else inexact(input)
    y = fnp.where(fnp.less_equal(x, min_val), min_val, fnp.where(fnp.greater_equal(x, max_val), max_val, x))
    return written(input, y, inplace)


def relu6(input: Array, inplace: bool = False) -> Array:
    """Compute ``min(max(x, 0), 6)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.relu6(np.array([-3.0, 0.5, 30.0]))
        array([0. , 0.5, 6. ])
    """
    return hardtanh(input, 0.0, 6.0, inplace)


def elu(input: Array, alpha: float = 1.0, inplace: bool = False) -> Array:
    """Compute ``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.elu(np.array([-1.0, 2.0])).round(4)
        array([-0.6321,  2.    ])

    Source: Clevert et al., *Fast and accurate deep network learning by exponential linear units* (2016), eq. 1.
    """
    return written(input, _exponential_below(floating("elu_cpu", input), 1.0, alpha, 1.0), inplace)


def _exponential_below(x: Array, above: float, alpha: float, divisor: float) -> Array:
    positive = fnp.greater(x, 0)
    # The exponential of large positive numbers would overflow, and its derivative would be NaN.
    below = fnp.where(positive, 0, x)
    below = fnp.multiply(fnp.expm1(below if divisor == 1.0 else fnp.divide(below, divisor)), alpha)
    return fnp.where(positive, x if above == 1.0 else fnp.multiply(x, above), below)


def selu(input: Array, inplace: bool = False) -> Array:
    """Compute `elu` with the constants that keep mean 0 and variance 1.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.selu(np.array([-1.0, 2.0])).round(4)
        array([-1.1113,  2.1014])

    Source: Klambauer et al., *Self-normalizing neural networks* (2017), eq. 2.
    """
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return written(input, _exponential_below(floating("elu_cpu", input), scale, scale * alpha, 1.0), inplace)


def celu(input: Array, alpha: float = 1.0, inplace: bool = False) -> Array:
    """Compute ``x`` where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.celu(np.array([-1.0, 2.0]), 0.5).round(4)
        array([-0.4323,  2.    ])

    Source: Barron, *Continuously differentiable exponential linear units* (2017).
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return written(input, _exponential_below(floating("elu_cpu", input), 1.0, alpha, alpha), inplace)


def leaky_relu(input: Array, negative_slope: float = 0.01, inplace: bool = False) -> Array:
    """Compute ``x`` where it is positive, ``negative_slope * x`` elsewhere.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.leaky_relu(np.array([-1.0, 2.0]))
        array([-0.01,  2.  ])
    """
    x = floating("leaky_relu_cpu", input)
    return written(input, fnp.where(fnp.greater(x, 0), x, fnp.multiply(x, negative_slope)), inplace)


def prelu(input: Array, weight: Array) -> Array:
    """Compute ``x`` where it is positive, ``weight * x`` elsewhere.

    Args:
        input: ``f32[batch, channels, ...]``.
        weight: ``f32[channels]``, or one number.

    Returns:
        An array like ``input``.

    Raises:
        RuntimeError: the number of weights is neither 1 nor that of the channels.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.prelu(np.array([[-1.0, -1.0]]), np.array([0.1, 0.2]))
        array([[-0.1, -0.2]])

    Source: He et al., *Delving deep into rectifiers* (2015), eq. 1.
    """
    if is_tensor(input) and is_tensor(weight) and input.dtype != weight.dtype:
        got = f"{type_name(input.dtype)} and {type_name(weight.dtype)}"
        raise RuntimeError(f"prelu: Type promoting not supported. Got {got}")
    x, weight = inexact(input), inexact(weight)
    count = int(np.prod(weight.shape))
    if count != 1:
        channels = x.shape[1] if len(x.shape) > 1 else 1
        if count != channels:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel "
                f"size = {channels}."
            )
        weight = fnp.reshape(weight, (count, *(1,) * (len(x.shape) - 2)))
    elif len(weight.shape):
        weight = fnp.reshape(weight, (1,) * len(x.shape))
    return fnp.where(fnp.greater(x, 0), x, fnp.multiply(weight, x))


def rrelu(
    input: Array, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Array:
    """Compute `leaky_relu` with a random slope for each element; with the mean slope when not training.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.rrelu(np.array([-1.0, 2.0]), 0.2, 0.4).round(6)
        array([-0.3,  2. ])

    Source: Xu et al., *Empirical evaluation of rectified activations in convolutional network* (2015).
    """
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    x = floating("leaky_relu_cpu", input)
    drawn = random.uniform("rrelu", x, x.shape)
    slopes = cast(fnp.add(fnp.multiply(drawn, upper - lower), lower), x.dtype)
    return written(input, fnp.where(fnp.greater(x, 0), x, fnp.multiply(x, slopes)), inplace)


def threshold(input: Array, threshold: float, value: float, inplace: bool = False) -> Array:
    """Compute ``x`` where it is above a threshold, ``value`` elsewhere.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.threshold(np.array([0.5, 2.0]), 1.0, -7.0)
        array([-7.,  2.])
    """
    x = input if is_integral_tensor(input) else inexact(input)
    return written(input, fnp.where(fnp.less_equal(x, threshold), value, x), inplace)


def softshrink(input: Array, lambd: float = 0.5) -> Array:
    """Move numbers towards 0 by ``lambd``; those within ``lambd`` of 0 become 0.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.softshrink(np.array([-2.0, 0.3, 2.0]))
        array([-1.5,  0. ,  1.5])
    """
    x = floating("softshrink_check", input)
    if not lambd >= 0:
        most = np.finfo(x.dtype).max
        raise RuntimeError(f"lambda must be in range [0, {most:g}] for input dtype {x.dtype}, but found {lambd:g}")
    below = fnp.where(fnp.less(x, -lambd), fnp.add(x, lambd), 0)
    return fnp.where(fnp.greater(x, lambd), fnp.subtract(x, lambd), below)


def hardshrink(input: Array, lambd: float = 0.5) -> Array:
    """Set numbers within ``lambd`` of 0 to 0.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.hardshrink(np.array([-2.0, 0.3, 2.0]))
        array([-2.,  0.,  2.])
    """
    x = floating("hardshrink_cpu", input)
    return fnp.where(fnp.less_equal(fnp.abs(x), lambd), 0, x)


def hardsigmoid(input: Array, inplace: bool = False) -> Array:
    """Compute ``min(max(x + 3, 0), 6) / 6``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.hardsigmoid(np.array([-5.0, 0.0, 5.0]))
        array([0. , 0.5, 1. ])
    """
    return written(input, fnp.divide(hardtanh(fnp.add(floating("hardsigmoid_cpu", input), 3), 0.0, 6.0), 6), inplace)


def hardswish(input: Array, inplace: bool = False) -> Array:
    """Compute ``x * hardsigmoid(x)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.hardswish(np.array([-5.0, 0.0, 6.0]))
        array([-0.,  0.,  6.])

    Source: Howard et al., *Searching for MobileNetV3* (2019), section 5.2.
    """
    x = overwritten("hardswish_cpu", input, inplace)
    middle = fnp.divide(fnp.multiply(x, fnp.add(x, 3)), 6)
    y = fnp.where(fnp.less_equal(x, -3), fnp.multiply(x, 0), fnp.where(fnp.greater_equal(x, 3), x, middle))
    return written(input, y, inplace)


relu_ = _in_place(relu)
elu_ = _in_place(elu)
selu_ = _in_place(selu)
celu_ = _in_place(celu)
leaky_relu_ = _in_place(leaky_relu)
rrelu_ = _in_place(rrelu)
hardtanh_ = _in_place(hardtanh)


def threshold_(input: Array, threshold: float, value: float) -> Array:
    """Compute `threshold` in place.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.threshold_(np.array([0.5, 2.0]), 1.0, -7.0)
        array([-7.,  2.])
    """
    x = inexact(input)
    return written(input, fnp.where(fnp.less_equal(x, threshold), value, x), True)
