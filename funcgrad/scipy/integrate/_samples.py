"""Integrals of samples: the rules of Simpson and Romberg, whole and running, and Gauss's of a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.lazy import LazyModule, is_since
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import as_value, holds_tracer, known_value, normalize_axis

theirs = LazyModule("scipy.integrate")
special = LazyModule("scipy.special")


def _along_last(name: str, y: ArrayLike, x: ArrayLike, axis: int) -> tuple[Any, Any, int]:
    """Return samples with the axis last, the distances between their points, if these are given, and the axis."""
    y = fnp.asarray(as_value(y))
    axis = normalize_axis(axis, len(y.shape))
    if x is not None:
        x = fnp.asarray(as_value(x))
        one = len(x.shape) == 1
        if x.shape[-1 if one else axis] != y.shape[axis] or not (one or len(x.shape) == len(y.shape)):
            raise ValueError(
                f"scipy.integrate.{name}: x is {aval_of(x)} for y {aval_of(y)} along axis {axis}. If given, shape of x "
                "must be 1-D or the same as y, and its length along the axis that of y."
            )
        x = fnp.astype(x if one else fnp.moveaxis(x, axis, -1), np.float64)
        x = fnp.diff(x, axis=-1)
    return fnp.moveaxis(y, axis, -1), x, axis


def _part(y: ArrayLike, start: int, stop: int, step: int = 1) -> Array:
    return y[..., start:stop:step]


def cumulative_trapezoid(
    y: ArrayLike, x: ArrayLike = None, dx: ArrayLike = 1.0, axis: int = -1, initial: ArrayLike = None
) -> Array:
    """``scipy.integrate.cumulative_trapezoid``: the running integral by the trapezoidal rule.

    Args:
        y: the samples; differentiable, as are ``x`` and ``dx``.
        x: their positions, a vector or of the shape of ``y``; by default they are ``dx`` apart.
        dx: the distance of the samples.
        axis: the axis to work along.
        initial: 0 for a 0 in front.

    Returns:
        An array with one element less along the axis, or as many where ``initial`` is 0.

    Raises:
        ValueError: ``initial`` is something else, there are no samples, or the shape of ``x`` is wrong.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.integrate.cumulative_trapezoid(np.array([1.0, 3.0, 5.0]), initial=0)
        array([0., 2., 6.])
    """
    if not any(map(holds_tracer, (y, x, dx))):
        return theirs.cumulative_trapezoid(y, x, dx, axis, initial)
    if initial is not None and not (np.isscalar(initial) and initial == 0):
        raise ValueError("`initial` must be `None` or `0`.")
    y, widths, axis = _along_last("cumulative_trapezoid", y, x, axis)
    n = y.shape[-1]
    if n == 0:
        raise ValueError("At least one point is required along `axis`.")
    sums = fnp.cumsum((dx if widths is None else widths) * (_part(y, 1, n) + _part(y, 0, n - 1)) / 2.0, -1)
    if initial is not None:
        sums = fnp.concatenate([np.zeros((*sums.shape[:-1], 1), sums.dtype), sums], -1)
    return fnp.moveaxis(sums, -1, axis)


def simpson(y: ArrayLike, x: ArrayLike = None, *, dx: ArrayLike = 1.0, axis: int = -1) -> Array:
    """``scipy.integrate.simpson``: the integral of samples by Simpson's rule.

    An even number of samples has Cartwright's correction for the last interval. Neighbouring positions must differ if a
    derivative with respect to them is needed: SciPy counts an interval of width 0 as 0.

    Args:
        y: the samples; differentiable, as are ``x`` and ``dx``.
        x: their positions, a vector or of the shape of ``y``; by default they are ``dx`` apart.
        dx: the distance of the samples.
        axis: the axis to work along.

    Returns:
        The integrals, without the axis.

    Raises:
        ValueError: ``x`` does not fit, or two neighbours in it are equal.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.grad(fg.scipy.integrate.simpson)(np.array([1.0, 3.0, 5.0]))
        array([0.33333333, 1.33333333, 0.33333333])

    Source: Cartwright, *Simpson's Rule Cumulative Integration with MS Excel and Irregularly-spaced Data*, Journal of
    Mathematical Sciences and Mathematics Education 12 (2017), equation 8, as SciPy has it.
    """
    if not any(map(holds_tracer, (y, x, dx))):
        return theirs.simpson(y, x=x, dx=dx, axis=axis)
    y, widths, _ = _along_last("simpson", y, x, axis)
    _require_distinct("simpson", widths)
    n = y.shape[-1]
    if n == 2:
        width = dx if widths is None else widths[..., 0]
        return 0.5 * width * (y[..., 1] + y[..., 0])
    whole = _parabolas(y, n if n % 2 else n - 1, widths, dx)
    if n % 2:
        return whole
    # SciPy has these two widths in double precision, also where dx is a Python number, before SciPy 1.18.
    width: Any = fnp.astype(fnp.asarray(as_value(dx)), _width(y.dtype)) if widths is None else None
    before, last = (width, width) if widths is None else (widths[..., -2], widths[..., -1])
    alpha = (2 * last**2 + 3 * before * last) / (6 * (last + before))
    beta = (last**2 + 3.0 * before * last) / (6 * before)
    eta = last**3 / (6 * before * (before + last))
    return whole + alpha * y[..., -1] + beta * y[..., -2] - eta * y[..., -3]


def _width(dtype: np.dtype) -> np.dtype:
    return dtype if dtype.kind == "f" and is_since("scipy", "1.18.0") else np.dtype(np.float64)


def _require_distinct(name: str, widths: ArrayLike) -> None:
    known = None if widths is None else known_value(widths)
    if known is not None and np.any(known == 0):
        raise ValueError(
            f"scipy.integrate.{name}: two neighbours in x are equal, and an interval without width has no derivative "
            "here. Leave one of the two out."
        )


def _parabolas(y: ArrayLike, n: int, widths: ArrayLike, dx: ArrayLike) -> Array:
    """Return the integral over the first ``n`` samples, an odd number."""
    first, middle, last = _part(y, 0, n - 2, 2), _part(y, 1, n - 1, 2), _part(y, 2, n, 2)
    if widths is None:
        return fnp.sum(first + 4.0 * middle + last, -1) * (dx / 3.0)
    a, b = _part(widths, 0, n - 2, 2), _part(widths, 1, n - 1, 2)
    total = a + b
    parts = first * (2.0 - b / a) + middle * (total * total / (a * b)) + last * (2.0 - a / b)
    return fnp.sum(total / 6.0 * parts, -1)


def cumulative_simpson(
    y: ArrayLike, *, x: ArrayLike = None, dx: ArrayLike = 1.0, axis: int = -1, initial: ArrayLike = None
) -> Array:
    """``scipy.integrate.cumulative_simpson``: the running integral by Simpson's rule.

    Args:
        y: the samples; differentiable, as are ``x``, ``dx`` and ``initial``.
        x: their positions, increasing, a vector or of the shape of ``y``; by default they are ``dx`` apart.
        dx: the distance; a number, or of the shape of ``y`` with one element along the axis.
        axis: the axis to work along.
        initial: the initial value: it is put in front, and added to the rest.

    Returns:
        An array with one element less along the axis, or as many where ``initial`` is given.

    Raises:
        ValueError: ``x`` does not fit or does not increase.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.integrate.cumulative_simpson(np.array([0.0, 1.0, 4.0, 9.0]), initial=0)
        array([0.        , 0.33333333, 2.66666667, 9.        ])

    Source: Cartwright (2017), equations 8 and 10, as SciPy has them.
    """
    if not any(map(holds_tracer, (y, x, dx, initial))):
        return theirs.cumulative_simpson(y, x=x, dx=dx, axis=axis, initial=initial)
    samples = y
    y, widths, axis = _along_last("cumulative_simpson", y, x, axis)
    if y.shape[-1] < 3:
        sums = fnp.moveaxis(cumulative_trapezoid(samples, x, dx, axis), axis, -1)
    elif widths is None:
        widths = fnp.asarray(as_value(dx))
        if widths.shape:
            widths = fnp.moveaxis(widths, axis, -1)
        sums = _running(y, fnp.broadcast_to(widths, (*y.shape[:-1], y.shape[-1] - 1)), _even)
    else:
        known = known_value(widths)
        if known is not None and np.any(known <= 0):
            raise ValueError("Input x must be strictly increasing.")
        sums = _running(y, fnp.broadcast_to(widths, (*y.shape[:-1], y.shape[-1] - 1)), _uneven)
    if initial is not None:
        start = fnp.asarray(as_value(initial))
        if start.shape:
            start = fnp.moveaxis(start, axis, -1)
        start = fnp.broadcast_to(start, (*y.shape[:-1], 1))
        sums = fnp.concatenate([start, sums + start], -1)
    return fnp.moveaxis(sums, -1, axis)


def _running(y: ArrayLike, widths: ArrayLike, rule: Callable[[Any, Any, Any, Any, Any], Any]) -> Any:
    """Return the integral of each interval, from the parabola that starts or ends with it, in turn."""
    n = y.shape[-1]
    y0, y1, y2 = _part(y, 0, n - 2), _part(y, 1, n - 1), _part(y, 2, n)
    a, b = _part(widths, 0, n - 2), _part(widths, 1, n - 1)
    ahead, behind = rule(y0, y1, y2, a, b), rule(y2, y1, y0, b, a)
    places = np.arange(n - 1)
    ends = (places % 2 == 1) | (places == n - 2)
    found = fnp.take(fnp.concatenate([ahead, behind], -1), np.where(ends, n - 3 + places, places), -1)
    return fnp.cumsum(found, -1)


def _even(y0: ArrayLike, y1: ArrayLike, y2: ArrayLike, width: ArrayLike, _: Any) -> Any:
    return width / 3 * (5 * y0 / 4 + 2 * y1 - y2 / 4)


def _uneven(y0: ArrayLike, y1: ArrayLike, y2: ArrayLike, width: ArrayLike, other: ArrayLike) -> Any:
    share = width / (width + other)
    bend = share * (width / other)
    return width / 6 * ((3 - share) * y0 + (3 + bend + share) * y1 - bend * y2)


def romb(y: ArrayLike, dx: ArrayLike = 1.0, axis: int = -1, show: Any = False) -> Array:
    """``scipy.integrate.romb``: the integral of samples by Romberg's extrapolation.

    Args:
        y: 2^k + 1 samples along the axis; differentiable, as is ``dx``.
        dx: the distance between them.
        axis: the axis to work along.
        show: not supported for traced samples.

    Returns:
        The integrals, without the axis.

    Raises:
        ValueError: another number of samples.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.grad(fg.scipy.integrate.romb)(np.array([1.0, 3.0, 5.0]))
        array([0.33333333, 1.33333333, 0.33333333])

    Source: Romberg, *Vereinfachte numerische Integration* (1955).
    """
    if not (holds_tracer(y) or holds_tracer(dx)):
        return theirs.romb(y, dx, axis, show)
    y, _, _ = _along_last("romb", y, None, axis)
    intervals = y.shape[-1] - 1
    levels = max(intervals, 1).bit_length() - 1
    if intervals < 1 or 1 << levels != intervals:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    width = intervals * fnp.asarray(as_value(dx))
    row = [(y[..., 0] + y[..., -1]) / 2.0 * width]
    for i in range(1, levels + 1):
        step = intervals >> i
        middles = fnp.sum(_part(y, step, intervals, 2 * step), -1)
        finer = [0.5 * (row[0] + width / (1 << (i - 1)) * middles)]
        for j, coarse in enumerate(row):
            finer.append(finer[j] + (finer[j] - coarse) / ((1 << (2 * (j + 1))) - 1))
        row = finer
    return row[-1]


def fixed_quad(func: Callable[..., Any], a: ArrayLike, b: ArrayLike, args: tuple = (), n: int = 5) -> tuple[Any, None]:
    """``scipy.integrate.fixed_quad``: the integral of a function by Gauss's rule of a given order.

    The function runs on traced values as any other code does: it may close over them.

    Args:
        func: takes an array of points along the last axis, and ``args``.
        a: the lower limit; differentiable.
        b: the upper limit; differentiable.
        args: further arguments.
        n: the number of points.

    Returns:
        The integral, and None.

    Raises:
        ValueError: a limit is infinite.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> area = lambda w: fg.scipy.integrate.fixed_quad(lambda x: np.cos(w * x), 0.0, 1.0)[0]
        >>> print(round(fg.grad(area)(0.0), 6), round(area(1e-9), 6))
        0.0 1.0
    """
    for limit in (a, b):
        known = known_value(limit) if isinstance(limit, Tracer) else np.asarray(limit)
        if known is not None and np.any(np.isinf(known)):
            raise ValueError("Gaussian quadrature is only available for finite limits.")
    nodes, weights = _gauss(n)
    half = (b - a) / 2.0
    points = (b - a) * (nodes + 1) / 2.0 + a
    return half * fnp.sum(weights * as_value(func(points, *args)), -1), None


def _gauss(n: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = special.roots_legendre(n)
    return np.real(nodes), weights
