"""Tests of hypotheses whose code in SciPy takes no traced values: ``f_oneway``, ``kendalltau``, ``shapiro``."""

from __future__ import annotations

import math
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


class Significance(NamedTuple):
    """The result of a test.

    Args:
        statistic: the statistic.
        pvalue: the probability of one as large, or larger, if the hypothesis holds.
    """

    statistic: Any
    pvalue: Any


def f_oneway(*samples: Any, axis: int = 0, equal_var: bool = True) -> Significance:
    """Compute the analysis of variance: whether samples have the same mean (``scipy.stats.f_oneway``).

    Args:
        samples: f[n, ...], two or more.
        axis: the axis to go along.
        equal_var: whether the variances count as equal; otherwise Welch's test.

    Returns:
        ``statistic`` and ``pvalue``, a named tuple.

    Raises:
        TypeError: there are fewer than two samples.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> a, b = np.array([1.0, 2.0, 3.0]), np.array([2.0, 3.0, 4.0])
        >>> float(fg.scipy.stats.f_oneway(a, b).statistic)
        1.5
    """
    if len(samples) < 2:
        raise TypeError(f"scipy.stats.f_oneway: at least two samples are required; got {len(samples)}. Pass another.")
    if not issubclass(type(equal_var), bool | np.bool_):
        raise TypeError(
            f"scipy.stats.f_oneway: Expected a boolean value for 'equal_var'; it is {equal_var!r}. Pass True or False."
        )
    arrays = [fnp.asarray(as_value(x)) for x in samples]
    most = max(len(x.shape) for x in arrays)
    # Axes are added in front, as in every broadcast of NumPy's.
    arrays = [fnp.moveaxis(fnp.reshape(x, (1,) * (most - len(x.shape)) + x.shape), axis, -1) for x in arrays]
    arrays = [fnp.astype(x, np.result_type(x.dtype, np.float32) if x.dtype.kind == "f" else float) for x in arrays]
    # Samples far from 0 lose digits in their means.
    middle = fnp.mean(arrays[0], -1, keepdims=True)
    arrays = [x - middle for x in arrays]
    counts, means = [x.shape[-1] for x in arrays], [fnp.mean(x, -1) for x in arrays]
    within = [fnp.sum((x - m[..., None]) ** 2, -1) for x, m in zip(arrays, means, strict=True)]
    if not equal_var:
        return _welch(counts, means, within)
    whole = sum(n * m for n, m in zip(counts, means, strict=True)) / sum(counts)
    between = sum(n * (m - whole) ** 2 for n, m in zip(counts, means, strict=True))
    first, second = len(samples) - 1, sum(counts) - len(samples)
    f = (between / first) / (sum(within) / second)
    return Significance(f, special.fdtrc(first, second, f))


def _welch(counts: list[int], means: list[Any], within: list[Any]) -> Significance:
    """Return Welch's test, "On the comparison of several mean values: an alternative approach", 1951."""
    k = len(counts)
    weights = [n * (n - 1) / w for n, w in zip(counts, within, strict=True)]
    total = sum(weights)
    whole = sum(w * m for w, m in zip(weights, means, strict=True)) / total
    rest = sum((1 - w / total) ** 2 / (n - 1) for n, w in zip(counts, weights, strict=True))
    between = sum(w * (m - whole) ** 2 for w, m in zip(weights, means, strict=True)) / (k - 1)
    f = between / (1 + 2 * (k - 2) / (k**2 - 1) * rest)
    return Significance(f, special.fdtrc(k - 1, (k**2 - 1) / (3 * rest), f))


def kendalltau(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Compute Kendall's coefficient of rank correlation of two samples, and its two-sided p-value.

    Ranks are step functions: the derivative is 0.

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
        >>> float(fg.scipy.stats.kendalltau(np.array([1.0, 2.0, 3.0]), np.array([1.0, 5.0, 4.0])).statistic.round(6))
        0.333333
    """
    aval = Aval((), np.dtype(float))
    points = [stop_gradient_p(each) for each in pair("kendalltau", x, y)]
    return Correlation(*callback_p(*points, function=_kendall, avals=(aval, aval), name="scipy.stats.kendalltau"))


def _kendall(x: ArrayLike, y: ArrayLike) -> list[Any]:
    return list(scipy_stats.kendalltau(x, y))


# The polynomials of Royston, "Remark AS R94", 1995, the constant term first.
_LAST = (0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056)
_LAST_BUT_ONE = (0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633)
_FEW_MEAN, _FEW_SCALE = (0.544, -0.39978, 0.025054, -6.714e-4), (1.3822, -0.77857, 0.062767, -0.0020322)
_MEAN, _SCALE = (-1.5861, -0.31082, -0.083751, 0.0038915), (-0.4803, -0.082676, 0.0030302)
_END = (-2.273, 0.459)


def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    return sum(c * x**i for i, c in enumerate(coefficients))


def _weights(n: int) -> np.ndarray:
    """Return the weights of the sorted sample in Shapiro and Wilk's statistic."""
    if n == 3:
        upper = np.array([math.sqrt(0.5)])
    else:
        scores = -scipy_stats.norm.ppf((np.arange(1, n // 2 + 1) - 0.375) / (n + 0.25))
        squares, root = 2 * float(np.sum(scores**2)), 1 / math.sqrt(n)
        given = (_LAST, _LAST_BUT_ONE)[: 2 if n > 5 else 1]
        ends = [scores[i] / math.sqrt(squares) + _polynomial(c, root) for i, c in enumerate(given)]
        count = len(ends)
        rest = squares - 2 * float(np.sum(scores[:count] ** 2))
        scale = math.sqrt(rest / (1 - 2 * sum(each**2 for each in ends)))
        upper = np.concatenate([ends, scores[count:] / scale])
    return np.concatenate([-upper, np.zeros(n % 2), upper[::-1]])


def shapiro(x: ArrayLike) -> Significance:
    """Compute Shapiro and Wilk's test of whether a sample is normally distributed (``scipy.stats.shapiro``).

    Args:
        x: f[...], a sample of 3 or more numbers.

    Returns:
        ``statistic`` and ``pvalue``, a named tuple.

    Raises:
        ValueError: the sample has fewer than 3 numbers.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> print(round(float(fg.scipy.stats.shapiro(np.array([1.0, 2.0, 4.0, 4.5])).statistic), 6))
        0.915686

    Source: Royston, "Remark AS R94: a remark on algorithm AS 181, the W-test for normality", 1995.
    """
    x = fnp.astype(fnp.ravel(fnp.asarray(as_value(x))), float)
    n = x.shape[0]
    if n < 3:
        raise ValueError(f"scipy.stats.shapiro: Data must be at least length 3; it has {n}. Pass more numbers.")
    a = _weights(n)
    x = fnp.sort(x)
    a, x = a / np.linalg.norm(a), x - fnp.mean(x)
    x = x / fnp.linalg.norm(x)
    along = fnp.sum(a * x)
    # The complement of the squared correlation, without cancellation.
    rest = fnp.sum((x - along * a) ** 2)
    w = 1 - rest
    return Significance(w, _probability(w, rest, n))


def _probability(w: ArrayLike, rest: ArrayLike, n: int) -> Any:
    if n == 3:
        return fnp.maximum(6 / math.pi * (fnp.arcsin(fnp.sqrt(w)) - math.asin(math.sqrt(0.75))), 0.0)
    y = fnp.log(rest)
    if n > 11:
        mean, scale = _polynomial(_MEAN, math.log(n)), math.exp(_polynomial(_SCALE, math.log(n)))
        return special.ndtr((mean - y) / scale)
    mean, scale = _polynomial(_FEW_MEAN, n), math.exp(_polynomial(_FEW_SCALE, n))
    distance = _polynomial(_END, n) - y
    beyond = distance <= 0
    far = special.ndtr((mean + fnp.log(fnp.where(beyond, 1.0, distance))) / scale)
    return fnp.where(beyond, 1e-99, far)[()]
