"""Smooth activation functions with PyTorch's arguments."""

from __future__ import annotations

from typing import Any, Literal

from funcgrad import numpy as fnp
from funcgrad._ops.layout.fill import zeros_like
from funcgrad.nn._functions import activations
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn.functional._activations import overwritten, written


def gelu(input: Any, approximate: Literal["none", "tanh"] = "none") -> Any:
    """Compute ``x`` times the standard normal distribution function of ``x``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.gelu(np.array([-1.0, 1.0])).round(4)
        array([-0.1587,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return activations.gelu(input, approximate)


def sigmoid(input: Any) -> Any:
    """Compute ``1 / (1 + exp(-x))``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.sigmoid(np.array([0.0, 1000.0]))
        array([0.5, 1. ])
    """
    return activations.sigmoid(input)


def tanh(input: Any) -> Any:
    """Compute the hyperbolic tangent.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.tanh(np.array([0.0, 20.0]))
        array([0., 1.])
    """
    return activations.tanh(input)


def logsigmoid(input: Any) -> Any:
    """Compute ``log(sigmoid(x))``, without overflow.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.logsigmoid(np.array([-30.0, 0.0])).round(4)
        array([-30.    ,  -0.6931])
    """
    x = inexact(input)
    return fnp.negative(fnp.logaddexp(zeros_like(x), fnp.negative(x)))


def softplus(input: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    """Compute ``log(1 + exp(beta * x)) / beta``; ``x`` itself where ``beta * x`` exceeds the threshold.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.softplus(np.array([0.0, 30.0])).round(4)
        array([ 0.6931, 30.    ])
    """
    x = inexact(input)
    scaled = x if beta == 1 else fnp.multiply(x, beta)
    large = fnp.greater(scaled, threshold)
    curved = fnp.where(large, 0, scaled)
    curved = fnp.logaddexp(zeros_like(curved), curved)
    return fnp.where(large, x, curved if beta == 1 else fnp.divide(curved, beta))


def softsign(input: Any) -> Any:
    """Compute ``x / (1 + abs(x))``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.softsign(np.array([-1.0, 3.0]))
        array([-0.5 ,  0.75])
    """
    x = inexact(input)
    return fnp.divide(x, fnp.add(fnp.abs(x), 1))


def tanhshrink(input: Any) -> Any:
    """Compute ``x - tanh(x)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.tanhshrink(np.array([0.0, 1.0])).round(4)
        array([0.    , 0.2384])
    """
    x = inexact(input)
    return fnp.subtract(x, activations.tanh(x))


def silu(input: Any, inplace: bool = False) -> Any:
    """Compute ``x * sigmoid(x)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.silu(np.array([0.0, 1.0])).round(4)
        array([0.    , 0.7311])

    Source: Elfwing et al., *Sigmoid-weighted linear units* (2018), eq. 13.
    """
    x = overwritten(input, inplace)
    return written(input, fnp.multiply(x, activations.sigmoid(x)), inplace)


def mish(input: Any, inplace: bool = False) -> Any:
    """Compute ``x * tanh(softplus(x))``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.mish(np.array([0.0, 1.0])).round(4)
        array([0.    , 0.8651])

    Source: Misra, *Mish: a self regularized non-monotonic activation function* (2019), eq. 1.
    """
    x = overwritten(input, inplace)
    return written(input, fnp.multiply(x, activations.tanh(softplus(x))), inplace)
