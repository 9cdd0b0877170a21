"""Statistics of samples: correlations and the range between quartiles."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.program.callback import callback_p
from funcgrad._types import ArrayLike
from funcgrad.numpy.extend import as_value, concrete_value, dtype_of
from funcgrad.scipy import special
from funcgrad.scipy.stats._base import number, scipy_stats


class Correlation(NamedTuple):
    """A coefficient of correlation.

    Args:
        statistic: the coefficient.
        pvalue: the probability of a coefficient as large, or larger, for independent samples.
    """

    statistic: Any
    pvalue: Any


def pair(name: str, x: ArrayLike, y: ArrayLike, fewest: int = 2) -> tuple[Any, Any]:
    x, y = number(x), number(y)
    if np.ndim(x) != 1 or np.shape(x) != np.shape(y) or np.shape(x)[0] < fewest:
        raise ValueError(
            f"scipy.stats.{name}: the samples have the shapes {np.shape(x)} and {np.shape(y)}; needed two vectors of "
            f"one length, {fewest} or more. Pass matching columns."
        )
    return x, y


def _centered(x: ArrayLike) -> Any:
    """Return a sample minus its mean over its largest part, so that no square underflows; NaN if all are equal."""
    rest = x - fnp.mean(x)
    largest = stop_gradient_p(fnp.max(abs(rest)))
    unit = select(fnp.all(x == x[0]), math.nan, select(largest > 0, largest, 1.0))
    return rest / unit


def pearsonr(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Compute Pearson's coefficient of correlation of two samples, and its two-sided p-value.

    Args:
        x: f[n], a sample.
        y: f[n], the other.

    Returns:
        ``statistic`` and ``pvalue``, a named tuple.

    Raises:
        ValueError: the samples are not two vectors of one length.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> float(fg.scipy.stats.pearsonr(np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 4.0])).statistic.round(6))
        0.981981
    """
    given = np.result_type(dtype_of(as_value(x)), dtype_of(as_value(y)))
    x, y = pair("pearsonr", x, y)
    a, b = _centered(x), _centered(y)
    count = np.shape(x)[0]
    statistic = fnp.sum(a * b) / (fnp.linalg.norm(a) * fnp.linalg.norm(b))
    # Rounding may give more than 1.
    statistic = fnp.clip(statistic, -1.0, 1.0)
    if count == 2:
        pvalue = 1.0 + 0 * statistic
        statistic = fnp.round(statistic)
    else:
        half = np.float64(0.5 * count - 1)
        pvalue = 2 * special.betainc(half, half, 0.5 * (1 - abs(statistic)))
    # It is computed in double precision; SciPy's results have the dtype of the samples, the p-value at least float32.
    kind = given if given.kind == "f" else np.dtype(float)
    return Correlation(cast(statistic, kind), cast(pvalue, np.result_type(kind, np.float32)))


def spearmanr(a: ArrayLike, b: ArrayLike) -> Correlation:
    """Compute Spearman's coefficient of rank correlation of two samples, and its two-sided p-value.

    Ranks are step functions: the derivative is 0.

    Args:
        a: f[n], a sample.
        b: f[n], the other.

    Returns:
        ``statistic`` and ``pvalue``, a named tuple.

    Raises:
        ValueError: the samples are not two vectors of one length.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> float(fg.scipy.stats.spearmanr(np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 4.0])).statistic)
        0.5
    """
    a, b = pair("spearmanr", a, b)
    aval = Aval((), np.dtype(float))
    points = (stop_gradient_p(a), stop_gradient_p(b))
    found = callback_p(*points, function=_spearman, avals=(aval, aval), name="scipy.stats.spearmanr")
    return Correlation(*found)


def _spearman(a: ArrayLike, b: ArrayLike) -> list[Any]:
    return list(scipy_stats.spearmanr(a, b))


def iqr(
    x: ArrayLike,
    axis: int | tuple[int, ...] | None = None,
    rng: tuple[float, float] = (25, 75),
    scale: float | str = 1.0,
    nan_policy: str = "propagate",
    interpolation: str = "linear",
    *,
    keepdims: bool = False,
) -> Any:
    """Compute the range between two percentiles, the quartiles unless others are given.

    Args:
        x: f[...], a sample.
        axis: the axis or axes to go along; all of them for ``None``.
        rng: the two percentiles.
        scale: the divisor of the range; ``"normal"`` makes the result the standard deviation of a normal distribution.
        nan_policy: ``"propagate"``; ``"omit"`` to leave out NaN; or ``"raise"``, for which the numbers must be known.
        interpolation: as in ``numpy.percentile``.
        keepdims: whether the axes remain, with length 1.

    Returns:
        The range.

    Raises:
        ValueError: there is another ``nan_policy``, or ``"raise"`` and the sample has NaN.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> float(fg.scipy.stats.iqr(np.array([1.0, 2.0, 3.0, 5.0])))
        1.75
    """
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ValueError(
            f"scipy.stats.iqr: nan_policy must be one of 'propagate', 'raise' or 'omit'; it is {nan_policy!r}. Pass "
            "one of these."
        )
    has_nan = fnp.any(fnp.isnan(as_value(x))) if nan_policy == "raise" else False
    if has_nan is not False and concrete_value(has_nan, "scipy.stats.iqr, nan_policy='raise',"):
        raise ValueError("scipy.stats.iqr: The input contains nan values. Leave them out, or pass nan_policy='omit'.")
    percentile = fnp.nanpercentile if nan_policy == "omit" else fnp.percentile
    low, high = sorted(rng)
    x = fnp.asarray(as_value(x))
    if 0 in x.shape:
        return fnp.mean(x, axis, keepdims=keepdims)
    # The result has the precision of the sample.
    percentages = np.asarray([low, high], x.dtype if x.dtype.kind == "f" else float)
    first, last = percentile(x, percentages, axis=axis, method=interpolation, keepdims=keepdims)
    # The range of the standard normal distribution between its quartiles, as SciPy has it.
    unit = 1.3489795003921634 if scale == "normal" else scale
    return (last - first) / unit
