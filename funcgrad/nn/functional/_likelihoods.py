"""Losses that are negative log-likelihoods, with PyTorch's arguments."""

from __future__ import annotations

import math
import warnings
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._transforms.custom.stop_gradient import stop_gradient
from funcgrad._types import Array
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import refuse_integers
from funcgrad.nn.functional._losses import floats_for, legacy, reduced
from funcgrad.numpy.extend import known_value


def kl_div(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Array:
    """Compute ``t * (log(t) - x)`` for log-probabilities ``x``.

    Args:
        input: log-probabilities.
        target: probabilities, or their logarithms.
        size_average: an older argument; ``reduction`` replaces it.
        reduce: an older argument; ``reduction`` replaces it.
        reduction: ``"mean"``, ``"sum"``, ``"none"``, or ``"batchmean"``, the sum divided by the first axis length.
        log_target: whether the targets are logarithms.

    Returns:
        A scalar, or an array for the reduction ``"none"``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.kl_div(np.log(np.array([[0.5, 0.5]])), np.array([[1.0, 0.0]]), reduction="sum").round(4)
        np.float64(0.6931)
    """
    if reduction == "mean" and size_average is None and reduce is None:
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides "
            "only by the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the "
            "same as 'batchmean' in the next major release.",
            UserWarning,
            stacklevel=2,
        )
    by_batch = reduction == "batchmean"
    reduction = legacy(size_average, reduce, "sum" if by_batch else reduction)
    refuse_integers("kl_div: Integral inputs not supported.", input)
    x = inexact(input)
    y = floats_for(target, x)
    if log_target:
        values = fnp.multiply(fnp.exp(y), fnp.subtract(y, x))
    else:
        zero = fnp.equal(y, 0)
        entropy = fnp.where(zero, 0, fnp.multiply(y, fnp.log(fnp.where(zero, 1, y))))
        values = fnp.subtract(entropy, fnp.multiply(y, x))
    total = reduced(values, reduction)
    return fnp.divide(total, x.shape[0]) if by_batch and x.shape else total


def poisson_nll_loss(
    input: Array,
    target: Array,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Any:
    """Compute the negative log-likelihood of counts with a Poisson distribution.

    Args:
        input: the logarithm of the expected count, or the expected count.
        target: the counts.
        log_input: whether the input is a logarithm.
        full: add Stirling's approximation of ``log(target!)``.
        size_average: an older argument; ``reduction`` replaces it.
        eps: added to an expected count before its logarithm is taken.
        reduce: an older argument; ``reduction`` replaces it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar, or an array for the reduction ``"none"``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.poisson_nll_loss(np.array([0.0]), np.array([3.0]))
        np.float64(1.0)
    """
    reduction = legacy(size_average, reduce, reduction)
    x = inexact(input)
    y = floats_for(target, x)
    if log_input:
        values = fnp.subtract(fnp.exp(x), fnp.multiply(y, x))
    else:
        values = fnp.subtract(x, fnp.multiply(y, fnp.log(fnp.add(x, eps))))
    if full:
        large = fnp.greater(y, 1)
        safe = fnp.where(large, y, 1)
        half_log = fnp.multiply(fnp.log(fnp.multiply(safe, 2 * math.pi)), 0.5)
        stirling = fnp.add(fnp.subtract(fnp.multiply(safe, fnp.log(safe)), safe), half_log)
        values = fnp.add(values, fnp.where(large, stirling, 0))
    return reduced(values, reduction)


def gaussian_nll_loss(
    input: Array, target: Array, var: Array, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    """Compute the negative log-likelihood of targets with normal distributions.

    Args:
        input: the means.
        target: the targets.
        var: the variances, shaped like ``input``, with a last axis of length 1, without it, or one number.
        full: add the constant ``log(2 * pi) / 2``.
        eps: the least variance.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Returns:
        A scalar, or an array for the reduction ``"none"``.

    Raises:
        ValueError: a variance is negative, or their shape does not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.gaussian_nll_loss(np.array([1.0]), np.array([3.0]), np.array([1.0]))
        np.float64(2.0)

    Source: Nix and Weigend, *Estimating the mean and variance of the target probability distribution* (1994), eq. 5.
    """
    x = inexact(input)
    y = floats_for(target, x)
    variance = fnp.full(x.shape, var, x.dtype) if issubclass(type(var), float) else inexact(var)
    known = known_value(variance)
    if known is not None and (known < 0).any():
        raise ValueError("var has negative entry/entries")
    if variance.shape != x.shape:
        if tuple(x.shape[:-1]) == tuple(variance.shape):
            variance = fnp.expand_dims(variance, -1)
        elif not (
            len(x.shape) == len(variance.shape)
            and sum(b for a, b in zip(x.shape, variance.shape, strict=True) if a != b) == 1
        ):
            raise ValueError("var is of incorrect size")
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not valid")
    # As in PyTorch, the bound has the derivative 1.
    low = fnp.less(variance, eps)
    variance = fnp.add(variance, _constant_gap(variance, low, eps))
    values = fnp.add(fnp.log(variance), fnp.divide(fnp.square(fnp.subtract(x, y)), variance))
    values = fnp.multiply(values, 0.5)
    return reduced(fnp.add(values, 0.5 * math.log(2 * math.pi)) if full else values, reduction)


def _constant_gap(variance: Array, low: Array, eps: float) -> Array:
    return stop_gradient(fnp.where(low, fnp.subtract(eps, variance), 0))
