"""Splines of third order through points: by their slopes, which a rule finds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import known_value
from funcgrad.scipy.interpolate._data import column, data, doubles
from funcgrad.scipy.interpolate._polynomials import Extrapolate, PPoly
from funcgrad.scipy.linalg import solve_banded


class CubicHermiteSpline(PPoly):
    """``scipy.interpolate.CubicHermiteSpline``: cubic polynomials through points, with given slopes there.

    Args:
        x: f[n], increasing.
        y: the values, along ``axis``.
        dydx: the slopes, in the shape of ``y``.
        axis: the axis of ``y`` that belongs to ``x``.
        extrapolate: whether to extrapolate with the first and the last piece, or ``'periodic'``.

    Raises:
        ValueError: ``x`` does not increase, or the shapes do not fit.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> slope = lambda d: fg.scipy.interpolate.CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], d)(0.5)
        >>> fg.grad(slope)(np.array([1.0, 1.0]))
        array([ 0.125, -0.125])
    """

    def __init__(
        self, x: ArrayLike, y: ArrayLike, dydx: ArrayLike, axis: int = 0, extrapolate: Extrapolate | None = None
    ) -> None:
        slopes = doubles(dydx)
        if tuple(slopes.shape) != tuple(np.shape(y)):
            raise ValueError(
                "scipy.interpolate.CubicHermiteSpline: the shapes of y and dydx must be identical, and are "
                f"{tuple(np.shape(y))} and {slopes.shape}. Give a slope for each value."
            )
        x, y, axis = data("CubicHermiteSpline", x, y, axis)
        self._through(x, y, fnp.moveaxis(slopes, axis, 0), axis, True if extrapolate is None else extrapolate)

    def _through(self, x: ArrayLike, y: ArrayLike, slopes: ArrayLike, axis: int, extrapolate: Extrapolate) -> None:
        steps = column(fnp.subtract(x[1:], x[:-1]), y)
        rises = fnp.divide(fnp.subtract(y[1:], y[:-1]), steps)
        first, second = slopes[:-1], slopes[1:]
        bend = fnp.divide(fnp.subtract(fnp.add(first, second), fnp.multiply(2, rises)), steps)
        quadratic = fnp.subtract(fnp.divide(fnp.subtract(rises, first), steps), bend)
        parts = [fnp.divide(bend, steps), quadratic, first, y[:-1]]
        dtype = np.result_type(y.dtype, slopes.dtype)
        self._set(fnp.stack([fnp.astype(part, dtype) for part in parts]), x, extrapolate, axis)


class PchipInterpolator(CubicHermiteSpline):
    """``scipy.interpolate.PchipInterpolator``: a cubic spline that rises and falls with its points.

    Where the points have an extremum, the slope is 0 and so is its derivative.

    Args:
        x: f[n], increasing.
        y: real values, along ``axis``.
        axis: the axis of ``y`` that belongs to ``x``.
        extrapolate: whether to extrapolate with the first and the last piece, or ``'periodic'``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import interpolate
        >>> float(interpolate.PchipInterpolator([0.0, 1.0, 2.0], [0.0, 1.0, 1.0])(1.5))
        1.0

    Source: Fritsch and Butland, "A method for constructing local monotone piecewise cubic interpolants", 1984.
    """

    def __init__(self, x: ArrayLike, y: ArrayLike, axis: int = 0, extrapolate: Extrapolate | None = None) -> None:
        x, y, axis = data("PchipInterpolator", x, y, axis)
        _refuse_complex("PchipInterpolator", y)
        self._through(x, y, _pchip_slopes(x, y), axis, True if extrapolate is None else extrapolate)


def _refuse_complex(name: str, y: ArrayLike) -> None:
    if y.dtype.kind == "c":
        raise ValueError(
            f"scipy.interpolate.{name}: y is complex, and {name} only works with real values for y. Interpolate its "
            "real and its imaginary part."
        )


def _pchip_slopes(x: ArrayLike, y: ArrayLike) -> Array:
    h = column(fnp.subtract(x[1:], x[:-1]), y)
    m = fnp.divide(fnp.subtract(y[1:], y[:-1]), h)
    if y.shape[0] == 2:
        return fnp.concatenate([m, m])
    before, after = m[:-1], m[1:]
    # The product is positive only for slopes with the same sign. Compare signs, because the product could underflow.
    same = fnp.greater(fnp.multiply(fnp.sign(before), fnp.sign(after)), 0)
    before, after = fnp.where(same, before, 1.0), fnp.where(same, after, 1.0)
    w1 = fnp.add(fnp.multiply(2, h[1:]), h[:-1])
    w2 = fnp.add(h[1:], fnp.multiply(2, h[:-1]))
    mean = fnp.divide(fnp.add(fnp.divide(w1, before), fnp.divide(w2, after)), fnp.add(w1, w2))
    inner = fnp.where(same, fnp.divide(1.0, mean), 0.0)
    start, end = _pchip_end(h[0], h[1], m[0], m[1]), _pchip_end(h[-1], h[-2], m[-1], m[-2])
    return fnp.concatenate([start[None], inner, end[None]])


def _pchip_end(h0: ArrayLike, h1: ArrayLike, m0: ArrayLike, m1: ArrayLike) -> Array:
    """Return the slope at an end, from three points; Moler, "Numerical computing with MATLAB", 2004, section 3.6."""
    ahead = fnp.multiply(fnp.add(fnp.multiply(2, h0), h1), m0)
    d = fnp.divide(fnp.subtract(ahead, fnp.multiply(h0, m1)), fnp.add(h0, h1))
    turns = fnp.not_equal(fnp.sign(d), fnp.sign(m0))
    steep = fnp.logical_and(
        fnp.not_equal(fnp.sign(m0), fnp.sign(m1)),
        fnp.greater(fnp.absolute(d), fnp.multiply(3, fnp.absolute(m0))),
    )
    return fnp.where(turns, 0.0, fnp.where(steep, fnp.multiply(3, m0), d))


class Akima1DInterpolator(CubicHermiteSpline):
    """``scipy.interpolate.Akima1DInterpolator``: a cubic spline that single points do not bend far.

    Args:
        x: f[n], increasing.
        y: real values, along ``axis``.
        axis: the axis of ``y`` that belongs to ``x``.
        method: ``'akima'`` or ``'makima'``.
        extrapolate: whether to extrapolate with the first and the last piece; they do not for ``None``.

    Raises:
        NotImplementedError: the method is another one.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import interpolate
        >>> interpolate.Akima1DInterpolator(np.arange(5.0), [0.0, 0, 0, 1, 0])(np.array([0.5, 2.5])).round(4)
        array([0.    , 0.4583])

    Source: Akima, "A new method of interpolation and smooth curve fitting based on local procedures", 1970.
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        axis: int = 0,
        *,
        method: str = "akima",
        extrapolate: Extrapolate | None = None,
    ) -> None:
        if method not in {"akima", "makima"}:
            raise NotImplementedError(
                f"scipy.interpolate.Akima1DInterpolator: method={method!r} is unsupported. Pass 'akima' or 'makima'."
            )
        x, y, axis = data("Akima1DInterpolator", x, y, axis)
        _refuse_complex("Akima1DInterpolator", y)
        self._through(x, y, _akima_slopes(x, y, method), axis, False if extrapolate is None else extrapolate)


def _akima_slopes(x: ArrayLike, y: ArrayLike, method: str) -> Array:
    m = fnp.divide(fnp.subtract(y[1:], y[:-1]), column(fnp.subtract(x[1:], x[:-1]), y))
    if y.shape[0] == 2:
        return fnp.concatenate([m, m])
    # Extrapolate two more slopes linearly at each end.
    first = fnp.subtract(fnp.multiply(2, m[:1]), m[1:2])
    last = fnp.subtract(fnp.multiply(2, m[-1:]), m[-2:-1])
    before = fnp.subtract(fnp.multiply(2, first), m[:1])
    after = fnp.subtract(fnp.multiply(2, last), m[-1:])
    m = fnp.concatenate([before, first, m, last, after])
    change = fnp.absolute(fnp.subtract(m[1:], m[:-1]))
    f1, f2 = change[2:], change[:-2]
    if method == "makima":
        size = fnp.multiply(0.5, fnp.absolute(fnp.add(m[1:], m[:-1])))
        f1, f2 = fnp.add(f1, size[2:]), fnp.add(f2, size[:-2])
    total = fnp.add(f1, f2)
    reliable = fnp.greater(total, fnp.multiply(1e-9, fnp.max(total)) if total.size else 0.0)
    share = fnp.divide(f2, fnp.where(reliable, total, 1.0))
    slopes = fnp.add(m[1:-2], fnp.multiply(share, fnp.subtract(m[2:-1], m[1:-2])))
    return fnp.where(reliable, slopes, fnp.multiply(0.5, fnp.add(m[3:], m[:-3])))


class CubicSpline(CubicHermiteSpline):
    """``scipy.interpolate.CubicSpline``: the spline with two continuous derivatives through points.

    Args:
        x: f[n], increasing.
        y: the values, along ``axis``.
        axis: the axis of ``y`` that belongs to ``x``.
        bc_type: the conditions at the ends: ``'not-a-knot'``, ``'periodic'``, ``'clamped'``, ``'natural'``, or for each
            end one of these or ``(1, slope)`` or ``(2, second derivative)``, which may be traced.
        extrapolate: whether to extrapolate with the first and the last piece, or ``'periodic'``.

    Raises:
        ValueError: ``x`` does not increase, the shapes do not fit, or a condition is none.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.array([0.0, 1.0, 2.0, 3.0])
        >>> middle = lambda y: fg.scipy.interpolate.CubicSpline(x, y)(1.5)
        >>> fg.grad(middle)(np.sin(x))
        array([-0.0625,  0.5625,  0.5625, -0.0625])

    In time that grows with ``n``: the slopes are the solution of a tridiagonal system.
    """

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        axis: int = 0,
        bc_type: Any = "not-a-knot",
        extrapolate: Extrapolate | None = None,
    ) -> None:
        x, y, axis = data("CubicSpline", x, y, axis)
        ends = _conditions(bc_type, y)
        if extrapolate is None:
            extrapolate = "periodic" if ends[0] == "periodic" else True
        for end in ends:
            if not isinstance(end, str):
                y = fnp.astype(y, np.result_type(y.dtype, end[1].dtype))
        self._through(x, y, _spline_slopes(x, y, ends), axis, extrapolate)


# A condition is a name, or the order of a derivative and its value.
End = str | tuple[int, Any]


def _conditions(bc_type: Any, y: ArrayLike) -> list[End]:
    if isinstance(bc_type, str):
        ends = known_value(fnp.stack([y[0], y[-1]])) if bc_type == "periodic" else None
        if ends is not None and not np.allclose(ends[0], ends[1], rtol=1e-15, atol=1e-15):
            raise ValueError(
                "scipy.interpolate.CubicSpline: the first and last y must be identical (within machine precision) when "
                "bc_type='periodic', and differ. Repeat the first value at the end."
            )
        bc_type = (bc_type, bc_type)
    elif len(bc_type) != 2:
        raise ValueError(
            f"scipy.interpolate.CubicSpline: bc_type must contain 2 elements to specify start and end conditions, and "
            f"has {len(bc_type)}. Give one for each end."
        )
    elif any(isinstance(each, str) and each == "periodic" for each in bc_type):
        raise ValueError(
            "scipy.interpolate.CubicSpline: 'periodic' bc_type is defined for both curve ends and cannot be used with "
            "other boundary conditions. Pass bc_type='periodic'."
        )
    return [_condition(each, y) for each in bc_type]


def _condition(given: Any, y: ArrayLike) -> End:
    if isinstance(given, str):
        if given in {"clamped", "natural"}:
            return (1 if given == "clamped" else 2, np.zeros(y.shape[1:]))
        if given in {"not-a-knot", "periodic"}:
            return given
        raise ValueError(
            f"scipy.interpolate.CubicSpline: bc_type={given} is not allowed. Use 'not-a-knot', 'periodic', 'clamped', "
            "'natural', or an order and a value."
        )
    if not isinstance(given, Sequence) or len(given) != 2 or given[0] not in {1, 2}:
        raise ValueError(
            f"scipy.interpolate.CubicSpline: a condition is {given!r}; a specified derivative value must be given in "
            "the form (order, value), and the order must be 1 or 2. Write (1, 0.0), say."
        )
    value = doubles(given[1])
    if tuple(value.shape) != tuple(y.shape[1:]):
        raise ValueError(
            f"scipy.interpolate.CubicSpline: the shape {value.shape} of a derivative's value is not the expected one "
            f"{tuple(y.shape[1:])}. Give one for each of the curves."
        )
    return given[0], value


def _spline_slopes(x: ArrayLike, y: ArrayLike, ends: list[End]) -> Array:
    n, steps = x.shape[0], fnp.subtract(x[1:], x[:-1])
    wide = column(steps, y)
    rises = fnp.divide(fnp.subtract(y[1:], y[:-1]), wide)
    if n == 2:
        ends = [(1, rises[0]) if isinstance(end, str) else end for end in ends]
    if ends[0] == "periodic":
        return _periodic_slopes(steps, wide, rises)
    if n == 3 and ends == ["not-a-knot", "not-a-knot"]:
        return _parabola_slopes(wide, rises)
    # For each end: the factors of its own slope and of the neighbour's, and the right side.
    start = _end(ends[0], steps, wide, rises, -1.0)
    end = _end(ends[1], steps[::-1], wide[::-1], rises[::-1], 1.0)
    inner = fnp.multiply(2, fnp.add(steps[:-1], steps[1:]))
    middle = fnp.multiply(3, fnp.add(fnp.multiply(wide[1:], rises[:-1]), fnp.multiply(wide[:-1], rises[1:])))
    bands = _bands((start[0], inner, end[0]), (start[1], steps[:-1]), (steps[1:], end[1]))
    return _solved(bands, fnp.concatenate([start[2][None], middle, end[2][None]]))


def _bands(diagonal: tuple, upper: tuple, lower: tuple) -> Array:
    """Return the three diagonals in LAPACK's layout."""
    zero = np.zeros(1)

    def joined(*parts: Any) -> Array:
        return fnp.concatenate([fnp.reshape(part, (-1,)) for part in parts])

    return fnp.stack([joined(zero, *upper), joined(*diagonal), joined(*lower, zero)])


def _solved(bands: ArrayLike, right: ArrayLike) -> Array:
    found = solve_banded((1, 1), bands, fnp.reshape(right, (right.shape[0], -1)))
    return fnp.reshape(found, right.shape)


def _end(end: End, steps: ArrayLike, wide: ArrayLike, rises: ArrayLike, sign: float) -> tuple[Any, Any, Any]:
    """Return the row of an end, from the steps and rises next to it; ``sign`` is their direction."""
    if isinstance(end, str):
        both = fnp.add(wide[0], wide[1])
        near = fnp.multiply(fnp.multiply(fnp.add(wide[0], fnp.multiply(2, both)), wide[1]), rises[0])
        far = fnp.multiply(fnp.multiply(wide[0], wide[0]), rises[1])
        return steps[1], fnp.add(steps[0], steps[1]), fnp.divide(fnp.add(near, far), both)
    order, value = end
    if order == 1:
        return np.ones(()), np.zeros(()), fnp.add(value, fnp.multiply(rises[0], 0))
    bend = fnp.multiply(fnp.multiply(0.5 * sign, value), fnp.multiply(wide[0], wide[0]))
    right = fnp.add(bend, fnp.multiply(3, fnp.multiply(rises[0], wide[0])))
    return fnp.multiply(2, steps[0]), steps[0], right


def _parabola_slopes(wide: ArrayLike, rises: ArrayLike) -> Array:
    """Return the slopes, at three points, of the parabola through them."""
    middle = fnp.add(fnp.multiply(wide[0], rises[1]), fnp.multiply(wide[1], rises[0]))
    middle = fnp.divide(middle, fnp.add(wide[0], wide[1]))
    ends = fnp.subtract(fnp.multiply(2, rises), middle[None])
    return fnp.stack([ends[0], middle, ends[1]])


def _periodic_slopes(steps: ArrayLike, wide: ArrayLike, rises: ArrayLike) -> Array:
    """Return the slopes if the last point equals the first: a cyclic system, reduced to two tridiagonal ones."""
    if steps.shape[0] == 2:
        slope = fnp.divide(fnp.sum(fnp.divide(rises, wide), 0), fnp.sum(fnp.divide(1.0, wide), 0))
        return fnp.stack([slope, slope, slope])
    before, before_wide, before_rises = (fnp.concatenate([each[-1:], each[:-1]]) for each in (steps, wide, rises))
    diagonal = fnp.multiply(2, fnp.add(before, steps))
    right = fnp.multiply(3, fnp.add(fnp.multiply(wide, before_rises), fnp.multiply(before_wide, rises)))
    # Without the last unknown slope the system is tridiagonal, and its solution is linear in that slope.
    bands = _bands((diagonal[:-1],), (before[:-2],), (steps[1:-1],))
    count = len(steps) - 1
    ends = [fnp.multiply(-1.0, steps[0])] + [0.0] * (count - 2) + [fnp.multiply(-1.0, before[-2])]
    by_last = fnp.reshape(fnp.stack(ends), (count, *(1,) * (len(rises.shape) - 1)))
    fixed, by_last = _solved(bands, right[:-1]), _solved(bands, by_last)

    def last_row(slopes: ArrayLike) -> Array:
        return fnp.add(fnp.multiply(before[-1], slopes[0]), fnp.multiply(steps[-1], slopes[-1]))

    last = fnp.divide(fnp.subtract(right[-1], last_row(fixed)), fnp.add(diagonal[-1], last_row(by_last)))
    found = fnp.add(fixed, fnp.multiply(last, by_last))
    return fnp.concatenate([found, last[None], found[:1]])
