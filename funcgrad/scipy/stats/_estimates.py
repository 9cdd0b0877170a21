"""Estimates whose code in SciPy takes no traced values: ``boxcox_llf``, ``bayes_mvs``, slopes and ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.program.callback import callback_p
from funcgrad._types import ArrayLike
from funcgrad.numpy.extend import as_value
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import scipy_stats
from funcgrad.scipy.stats._samples import Correlation, pair


class Estimate(NamedTuple):
    """An estimate of one parameter.

    Args:
        statistic: the estimate.
        minmax: the ends of its interval.
    """

    statistic: Any
    minmax: tuple[Any, Any]


class FittedLine(NamedTuple):
    """A line through points.

    Args:
        slope: its slope.
        intercept: its value at 0.
    """

    slope: Any
    intercept: Any


def _floats(x: ArrayLike) -> Any:
    x = fnp.asarray(as_value(x))
    return fnp.astype(x, np.result_type(x.dtype, np.float32) if x.dtype.kind == "f" else np.dtype(float))


def boxcox_llf(lmb: ArrayLike, data: ArrayLike, *, axis: int | None = 0) -> Any:
    """Compute the logarithm of the likelihood of a Box-Cox transformation (``scipy.stats.boxcox_llf``).

    Args:
        lmb: f[], the exponent.
        data: f[n, ...], positive numbers.
        axis: the axis to go along; ``None`` for all numbers.

    Returns:
        The logarithm of the likelihood, without the terms that do not depend on ``lmb``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.array([1.0, 2.0, 4.0, 9.0])
        >>> print(round(float(fg.scipy.stats.boxcox_llf(0.5, x)), 6))
        -3.766724
        >>> print(round(float(fg.grad(fg.scipy.stats.boxcox_llf)(0.5, x)), 6))
        -1.070561

    Formula: ``(lmb - 1) * sum(log(x)) - n / 2 * log(var(boxcox(x, lmb)))``.

    Source: Box and Cox, "An analysis of transformations", 1964.
    """
    logs = fnp.log(_floats(data))
    count = logs.size if axis is None else logs.shape[axis]
    mean = fnp.mean(logs, axis, keepdims=True)
    # Numbers of size 1 do not overflow in a power. The factor exp(lmb * mean) is outside the variance.
    variance = fnp.var(special.boxcox(fnp.exp(logs - mean), as_value(lmb)), axis)
    spread = 2 * as_value(lmb) * fnp.mean(logs, axis) + fnp.log(variance)
    return (as_value(lmb) - 1) * fnp.sum(logs, axis) - count / 2 * spread


def bayes_mvs(data: ArrayLike, alpha: float = 0.9) -> tuple[Estimate, Estimate, Estimate]:
    """Estimate the mean, the variance and the standard deviation with their intervals (``scipy.stats.bayes_mvs``).

    Args:
        data: f[...], two or more numbers.
        alpha: the probability of each interval, between 0 and 1; not traced.

    Returns:
        Three estimates, each with ``statistic`` and ``minmax``.

    Raises:
        ValueError: ``data`` has fewer than two numbers, or ``alpha`` is no probability.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> mean, variance, deviation = fg.scipy.stats.bayes_mvs(np.array([1.0, 2.0, 4.0, 9.0]))
        >>> print(round(float(mean.statistic), 6), round(float(variance.statistic), 6))
        4.0 38.0

    Source: Oliphant, "A Bayesian perspective on estimating mean, variance, and standard-deviation from data", 2006.
    """
    x = fnp.ravel(_floats(data))
    n = x.shape[0]
    if n < 2:
        raise ValueError("scipy.stats.bayes_mvs: Need at least 2 data-points. Pass more numbers.")
    if not 0 < alpha < 1:
        raise ValueError(f"scipy.stats.bayes_mvs: 0 < alpha < 1 is required, but {alpha=} was given.")
    mean, variance = fnp.mean(x), fnp.var(x)
    deviation = fnp.sqrt(variance)
    if n > 1000:
        normal = scipy_stats.norm(0, 1)
        return (
            _scaled(normal, alpha, deviation / math.sqrt(n), mean),
            _scaled(normal, alpha, math.sqrt(2 / n) * variance, variance),
            _scaled(normal, alpha, deviation / math.sqrt(2 * n), deviation),
        )
    shape, factor = (n - 1) / 2, n * variance / 2
    return (
        _scaled(scipy_stats.t(n - 1), alpha, deviation / math.sqrt(n - 1), mean),
        _scaled(scipy_stats.invgamma(shape), alpha, factor),
        _scaled(scipy_stats.gengamma(shape, -2), alpha, fnp.sqrt(factor)),
    )


def _scaled(dist: Any, alpha: float, scale: ArrayLike, location: ArrayLike = 0.0) -> Estimate:
    """Return the mean and the interval of a distribution of SciPy's after it was scaled and moved."""
    low, high = (location + scale * float(end) for end in dist.interval(alpha))
    return Estimate(location + scale * float(dist.mean()), (low, high))


def siegelslopes(y: ArrayLike, x: ArrayLike = None, method: str = "hierarchical") -> FittedLine:
    """Compute Siegel's line through points: a median of medians of slopes (``scipy.stats.siegelslopes``).

    Args:
        y: f[n], the values; the derivative goes through the pairs of points that the medians choose.
        x: f[n], where they are; 0, 1, 2, ... if left out.
        method: ``"hierarchical"`` or ``"separate"``, the way to find the intercept.

    Returns:
        ``slope`` and ``intercept``, a named tuple.

    Raises:
        ValueError: the lengths differ or are less than 2, or the method is another one.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> float(fg.scipy.stats.siegelslopes(np.array([0.0, 2.0, 4.0, 99.0])).slope)
        2.0

    Source: Siegel, "Robust regression using repeated medians", 1982.
    """
    if method not in ("hierarchical", "separate"):
        raise ValueError(
            f"scipy.stats.siegelslopes: method can only be 'hierarchical' or 'separate'; it is {method!r}."
        )
    y = fnp.ravel(_floats(y))
    x = np.arange(y.shape[0], dtype=float) if x is None else fnp.ravel(_floats(x))
    if x.shape != y.shape or x.shape[0] < 2:
        raise ValueError(
            f"scipy.stats.siegelslopes: y has {y.shape[0]} numbers and x {x.shape[0]}; needed as many, 2 or more."
        )
    across = x[:, None] - x
    differs = across != 0
    slopes = _medians((y[:, None] - y) / fnp.where(differs, across, 1.0), differs)
    slope = fnp.median(slopes)
    if method == "hierarchical":
        return FittedLine(slope, fnp.median(y - slope * x))
    cuts = (y * x[:, None] - y[:, None] * x) / fnp.where(differs, across, 1.0)
    return FittedLine(slope, fnp.median(_medians(cuts, differs)))


def _medians(rows: ArrayLike, differs: ArrayLike) -> Any:
    """Return the median of each row over the points at other places."""
    return fnp.nanmedian(fnp.where(differs, rows, math.nan), axis=1)


def weightedtau(
    x: ArrayLike, y: ArrayLike, rank: ArrayLike = True, weigher: Callable[..., Any] | None = None, additive: bool = True
) -> Correlation:
    """Compute Kendall's rank correlation with weights (``scipy.stats.weightedtau``); the p-value is NaN.

    Ranks are step functions: the derivative is 0.

    Args:
        x: f[n], a sample.
        y: f[n], the other.
        rank: as in SciPy; an array may be traced.
        weigher: a function of a rank that returns its weight; hyperbolic if left out.
        additive: whether the weights of two ranks are added, else multiplied.

    Returns:
        ``statistic`` and ``pvalue``, a named tuple.

    Raises:
        ValueError: the samples are not two vectors of one length.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x, y = np.array([12.0, 2.0, 1.0, 12.0, 2.0]), np.array([1.0, 4.0, 7.0, 1.0, 0.0])
        >>> print(round(float(fg.scipy.stats.weightedtau(x, y).statistic), 6))
        -0.56695

    Source: Vigna, "A weighted correlation index for rankings with ties", 2015.
    """
    given = [] if rank is None or type(rank) is bool else [as_value(rank)]

    def found(x: ArrayLike, y: ArrayLike, *ranks: ArrayLike) -> list[Any]:
        chosen = ranks[0] if ranks else rank
        return [np.float64(each) for each in scipy_stats.weightedtau(x, y, chosen, weigher, additive)]

    aval = Aval((), np.dtype(float))
    points = [stop_gradient_p(each) for each in (*pair("weightedtau", x, y, fewest=0), *given)]
    return Correlation(*callback_p(*points, function=found, avals=(aval, aval), name="scipy.stats.weightedtau"))
