"""Smooth activation functions, and softmax and its relatives, with PyTorch's arguments."""

from __future__ import annotations

import warnings
from typing import Any, Literal

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._transforms.custom.stop_gradient import stop_gradient
from funcgrad._types import Array, DTypeLike
from funcgrad.nn._functions import activations, random
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import check_dim, floating, refuse_integers
from funcgrad.nn.functional._activations import overwritten, written


def gelu(input: Array, approximate: Literal["none", "tanh"] = "none") -> Array:
    """Compute ``x`` times the standard normal distribution function of ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.gelu(np.array([-1.0, 1.0])).round(4)
        array([-0.1587,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return activations.gelu(floating("GeluKernelImpl", input), approximate)


def sigmoid(input: Array) -> Array:
    """Compute ``1 / (1 + exp(-x))``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.sigmoid(np.array([0.0, 1000.0]))
        array([0.5, 1. ])
    """
    return activations.sigmoid(input)


def tanh(input: Array) -> Array:
    """Compute the hyperbolic tangent.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.tanh(np.array([0.0, 20.0]))
        array([0., 1.])
    """
    return activations.tanh(input)


def logsigmoid(input: Array) -> Array:
    """Compute ``log(sigmoid(x))``, without overflow.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.logsigmoid(np.array([-30.0, 0.0])).round(4)
        array([-30.    ,  -0.6931])
    """
    x = floating("log_sigmoid_cpu", input)
    return fnp.negative(fnp.logaddexp(zeros_like(x), fnp.negative(x)))


def softplus(input: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """Compute ``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` exceeds the threshold.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.softplus(np.array([0.0, 30.0])).round(4)
        array([ 0.6931, 30.    ])
    """
    x = floating("softplus_cpu", input)
    scaled = x if beta == 1 else fnp.multiply(x, beta)
    large = fnp.greater(scaled, threshold)
    curved = fnp.where(large, 0, scaled)
    curved = fnp.logaddexp(zeros_like(curved), curved)
    return fnp.where(large, x, curved if beta == 1 else fnp.divide(curved, beta))


def softsign(input: Array) -> Array:
    """Compute ``x / (1 + abs(x))``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.softsign(np.array([-1.0, 3.0]))
        array([-0.5 ,  0.75])
    """
    x = inexact(input)
    return fnp.divide(x, fnp.add(fnp.abs(x), 1))


def tanhshrink(input: Array) -> Array:
    """Compute ``x - tanh(x)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.tanhshrink(np.array([0.0, 1.0])).round(4)
        array([0.    , 0.2384])
    """
    x = inexact(input)
    return fnp.subtract(x, activations.tanh(x))


def silu(input: Array, inplace: bool = False) -> Array:
    """Compute ``x * sigmoid(x)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.silu(np.array([0.0, 1.0])).round(4)
        array([0.    , 0.7311])

    Source: Elfwing et al., *Sigmoid-weighted linear units* (2018), eq. 13.
    """
    x = overwritten("silu_cpu", input, inplace)
    return written(input, fnp.multiply(x, activations.sigmoid(x)), inplace)


def mish(input: Array, inplace: bool = False) -> Array:
    """Compute ``x * tanh(softplus(x))``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.mish(np.array([0.0, 1.0])).round(4)
        array([0.    , 0.8651])

    Source: Misra, *Mish: a self regularized non-monotonic activation function* (2019), eq. 1.
    """
    x = overwritten("mish_cpu", input, inplace)
    return written(input, fnp.multiply(x, activations.tanh(softplus(x))), inplace)


def softmax(input: Array, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike = None) -> Array:
    """Compute ``exp(x) / sum(exp(x))`` along an axis.

    Args:
        input: an array.
        dim: the axis along which the result sums to 1.
        dtype: convert the input to it first.

    Returns:
        An array like ``input``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.softmax(np.array([1000.0, 1000.0]), dim=0)
        array([0.5, 0.5])
    """
    del _stacklevel
    x, dim = _prepared("softmax", input, dim, dtype)
    return activations.softmax(x, dim)


def log_softmax(input: Array, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike = None) -> Array:
    """Compute ``log(softmax(x))`` along an axis.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.log_softmax(np.array([0.0, 1000.0]), dim=0)
        array([-1000.,     0.])
    """
    del _stacklevel
    x, dim = _prepared("log_softmax", input, dim, dtype)
    return activations.log_softmax(x, dim)


def softmin(input: Array, dim: int | None = None, _stacklevel: int = 3, dtype: DTypeLike = None) -> Array:
    """Compute ``softmax(-x)`` along an axis.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.softmin(np.array([0.0, 0.0, 1000.0]), dim=0)
        array([0.5, 0.5, 0. ])
    """
    del _stacklevel
    x, dim = _prepared("softmin", input, dim, dtype)
    return activations.softmax(fnp.negative(x), dim)


def _prepared(name: str, input: Any, dim: int | None, dtype: Any) -> tuple[Any, int]:
    """Return the input as floats of the dtype, and the axis; refuse what PyTorch refuses."""
    x = inexact(input) if dtype is None else cast(inexact(input), dtype)
    axis = _implicit_dim(name, len(x.shape)) if dim is None else dim
    check_dim(x, axis)
    if dtype is None:
        kernel = name.replace("softmin", "softmax") + ("_lastdim" if axis in (-1, len(x.shape) - 1) else "")
        floating(f"{kernel}_kernel_impl", input)
    return x, axis


def _implicit_dim(name: str, ndim: int) -> int:
    """Return the axis that PyTorch takes if none is named, and warn as PyTorch does."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        UserWarning,
        stacklevel=4,
    )
    return 0 if ndim in (0, 1, 3) else 1


def gumbel_softmax(logits: Array, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Array:
    """Draw from a continuous relaxation of a categorical distribution.

    Args:
        logits: ``f32[..., classes, ...]``: log-probabilities, not normalized.
        tau: the temperature, dimensionless.
        hard: return one-hot vectors, with the derivative of the relaxed sample.
        eps: ignored, as in PyTorch.
        dim: the axis of the classes.

    Returns:
        An array like ``logits``; its elements along ``dim`` sum to 1.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> float(F.gumbel_softmax(np.zeros(3), hard=True).sum())
        1.0

    Source: Jang et al., *Categorical reparameterization with Gumbel-softmax* (2017), eq. 2.
    """
    del eps
    refuse_integers(
        "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
        "specified {}",
        logits,
    )
    x = inexact(logits)
    check_dim(x, dim)
    exponential = fnp.negative(fnp.log1p(fnp.negative(random.uniform("gumbel_softmax", x, x.shape))))
    drawn = cast(fnp.negative(fnp.log(exponential)), x.dtype)
    soft = activations.softmax(fnp.divide(fnp.add(x, drawn), tau), dim)
    if not hard:
        return soft
    largest = fnp.argmax(soft, axis=dim, keepdims=True)
    shape = [1] * len(x.shape)
    shape[dim] = x.shape[dim]
    chosen = cast(fnp.equal(fnp.reshape(fnp.arange(x.shape[dim]), shape), largest), x.dtype)
    return fnp.add(stop_gradient(fnp.subtract(chosen, soft)), soft)


def glu(input: Array, dim: int = -1) -> Array:
    """Compute ``a * sigmoid(b)`` with the two halves of the input along an axis.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.glu(np.array([3.0, 0.0]))
        array([1.5])

    Source: Dauphin et al., *Language modeling with gated convolutional networks* (2017), eq. 1.
    """
    x = floating("glu_cpu", input)
    if not x.shape:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    check_dim(x, dim)
    if x.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim % len(x.shape)} is size {x.shape[dim]}")
    a, b = fnp.split(x, 2, axis=dim)
    return fnp.multiply(a, activations.sigmoid(b))
