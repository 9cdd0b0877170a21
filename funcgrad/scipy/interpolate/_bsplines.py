"""Splines as sums of B-splines, evaluated by de Boor's recurrence.

De Boor, "A practical guide to splines", 1978, chapter X.
"""

from __future__ import annotations

import operator
from typing import Any, Self

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import known_value, normalize_axis
from funcgrad.scipy.interpolate._data import along, between, column, doubles, only_inside
from funcgrad.scipy.interpolate._polynomials import Extrapolate


class BSpline:
    """``scipy.interpolate.BSpline``: ``sum(c[i] * B(x; i, k))`` with B-splines over knots.

    Args:
        t: f[n + k + 1], the knots, which do not fall.
        c: f[n, ...], the coefficients, along ``axis``.
        k: the degree.
        extrapolate: whether to extrapolate with the first and the last piece beyond ``t[k]`` and ``t[n]``, or
            ``'periodic'``; NaN there for ``False``.
        axis: the axis of ``c`` that goes with the knots.

    Raises:
        ValueError: there are too few knots or coefficients, or a knot is less than the one before.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> t = np.array([0.0, 0, 0, 1, 2, 2, 2])
        >>> value = lambda c: fg.scipy.interpolate.BSpline(t, c, 2)(0.5)
        >>> fg.grad(value)(np.ones(4))
        array([0.25 , 0.625, 0.125, 0.   ])
    """

    def __init__(self, t: ArrayLike, c: ArrayLike, k: int, extrapolate: Extrapolate = True, axis: int = 0) -> None:
        t, c, k = doubles(t), doubles(c), operator.index(k)
        if not c.shape or len(t.shape) != 1 or k < 0:
            raise ValueError(
                f"scipy.interpolate.BSpline: knot vector must be one-dimensional, coefficients at least 1-dimensional "
                f"and k not negative, and they are {aval_of(t)}, {aval_of(c)} and {k}. Give n + k + 1 knots for n "
                "coefficients."
            )
        axis = normalize_axis(axis, len(c.shape))
        c, n = fnp.moveaxis(c, axis, 0), t.shape[0] - k - 1
        if n < k + 1 or c.shape[0] < n:
            raise ValueError(
                f"scipy.interpolate.BSpline: need at least {2 * k + 2} knots for degree {k}, and a coefficient for "
                f"each but {k + 1} of them; there are {t.shape[0]} knots and {c.shape[0]} coefficients. Knots, "
                "coefficients and degree are inconsistent."
            )
        known = known_value(t)
        if known is not None and not (np.isfinite(known).all() and (np.diff(known) >= 0).all() and known[k] < known[n]):
            raise ValueError(
                "scipy.interpolate.BSpline: knots must be finite and in a non-decreasing order, with two internal "
                f"knots or more that differ, and are not. Sort them, and repeat those at the ends {k + 1} times."
            )
        self._set(t, c[:n], k, extrapolate, axis)

    extrapolate: Extrapolate

    def _set(self, t: ArrayLike, c: ArrayLike, k: int, extrapolate: Extrapolate, axis: int) -> None:
        self.t, self.c, self.k, self.extrapolate, self.axis = t, c, k, extrapolate, axis

    @classmethod
    def construct_fast(cls, t: ArrayLike, c: ArrayLike, k: int, extrapolate: Extrapolate = True, axis: int = 0) -> Self:
        """Make a spline from checked arrays, with the axis of the coefficients in front."""
        self = cls.__new__(cls)
        self._set(t, c, k, extrapolate, axis)
        return self

    @classmethod
    def from_scipy(cls, spline: Any) -> BSpline:
        """Make the same spline from one of SciPy's."""
        count = len(spline.t) - spline.k - 1
        c = doubles(spline.c)[:count]
        return BSpline.construct_fast(doubles(spline.t), c, spline.k, spline.extrapolate, spline.axis)

    @classmethod
    def basis_element(cls, t: ArrayLike, extrapolate: Extrapolate = True) -> Self:
        """Return the B-spline over these knots, whose degree their number says."""
        t = doubles(t)
        k = t.shape[0] - 2
        low, high = (fnp.broadcast_to(fnp.add(end, step)[None], (k,)) for end, step in ((t[0], -1), (t[-1], 1)))
        c = np.zeros(2 * k + 1)
        c[k] = 1
        return cls.construct_fast(fnp.concatenate([low, t, high]), c, k, extrapolate)

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Return the knots, the coefficients and the degree."""
        return self.t, self.c, self.k

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: Extrapolate | None = None) -> Array:
        """Return the values at some points, or those of the derivative of order ``nu``.

        Args:
            x: where; at a knot, the piece that begins there counts.
            nu: the order of the derivative.
            extrapolate: overrides that of the spline.

        Returns:
            An array with the axes of ``x`` in place of the axis of the coefficients.
        """
        at = doubles(x)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        n, k = self.t.shape[0] - self.k - 1, self.k
        low, high = self.t[k], self.t[n]
        if extrapolate == "periodic":
            at = fnp.add(low, fnp.remainder(fnp.subtract(at, low), fnp.subtract(high, low)))
        place = between(self.t, at, k, n - 1)
        rows = [fnp.take(self.c, fnp.add(place, j - k), axis=0) for j in range(k + 1)]
        y = local(self.t, at, place, rows, nu)
        if nu > k + 1:
            # As in SciPy: 0 everywhere, for every extrapolation.
            y = np.zeros(y.shape, y.dtype)
        elif not extrapolate or extrapolate == "periodic":
            y = only_inside(y, at, low, high)
        else:
            y = _with_nan(y, at)
        return along(y, len(at.shape), self.axis)

    def derivative(self, nu: int = 1) -> BSpline:
        """Return the spline of the derivative of order ``nu``."""
        if nu < 0:
            return self.antiderivative(-nu)
        if nu > self.k:
            raise ValueError(
                f"scipy.interpolate.BSpline.derivative: order of derivative (n = {nu}) must be <= order of spline (k = "
                f"{self.k}). Evaluate it with nu={nu}, which is 0."
            )
        t, c, k = self.tck
        for _ in range(nu):
            n = c.shape[0]
            gaps = fnp.subtract(t[k + 1 : k + n], t[1:n])
            known = known_value(gaps)
            if known is not None and not known.all():
                raise ValueError(
                    f"scipy.interpolate.BSpline.derivative: the spline has internal repeated knots and is not "
                    f"differentiable {nu} times. Evaluate it with nu={nu}, piece by piece."
                )
            c = fnp.divide(fnp.multiply(fnp.subtract(c[1:], c[:-1]), float(k)), column(gaps, c))
            t, k = t[1:-1], k - 1
        return BSpline.construct_fast(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> BSpline:
        """Return the spline of the antiderivative of order ``nu``, which is 0 at the first knot."""
        if nu < 0:
            return self.derivative(-nu)
        t, c, k = self.tck
        for _ in range(nu):
            gaps = column(fnp.subtract(t[k + 1 :], t[: -k - 1]), c)
            sums = fnp.divide(fnp.cumsum(fnp.multiply(c, gaps), axis=0), float(k + 1))
            c = fnp.concatenate([fnp.multiply(sums[:1], 0), sums])
            t, k = fnp.concatenate([t[:1], t, t[-1:]]), k + 1
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return BSpline.construct_fast(t, c, k, extrapolate, self.axis)

    def integrate(self, a: ArrayLike, b: ArrayLike, extrapolate: Extrapolate | None = None) -> Array:
        """Return the integral from ``a`` to ``b``; without extrapolation, over the part inside the base interval."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = BSpline.construct_fast(self.t, self.c, self.k).antiderivative()
        first, last = self.t[self.k], self.t[self.t.shape[0] - self.k - 1]
        a, b = doubles(a), doubles(b)
        if extrapolate != "periodic":
            if not extrapolate:
                a, b = (fnp.minimum(fnp.maximum(end, first), last) for end in (a, b))
            return fnp.subtract(whole(b), whole(a))
        period, start = fnp.subtract(last, first), whole(first)
        total = fnp.subtract(whole(last), start)

        def until(x: ArrayLike) -> Any:
            turns = fnp.floor(fnp.divide(fnp.subtract(x, first), period))
            return fnp.add(whole(fnp.subtract(x, fnp.multiply(turns, period))), fnp.multiply(turns, total))

        return fnp.subtract(until(b), until(a))


def _with_nan(y: ArrayLike, at: ArrayLike) -> Array:
    """Return NaN for queries that are NaN, which the search of intervals and pieces of degree 0 would ignore."""
    known = known_value(at)
    if known is not None and not np.isnan(known).any():
        return y
    factor = fnp.where(fnp.isnan(at), np.nan, 1.0)
    return fnp.multiply(y, fnp.reshape(factor, (*at.shape, *(1,) * (len(y.shape) - len(at.shape)))))


def local(t: ArrayLike, x: ArrayLike, place: ArrayLike, rows: list[Any], nu: int = 0) -> Array:
    """Evaluate a spline in the interval ``place`` of each ``x``, from the coefficients that contribute there.

    Args:
        t: the knots.
        x: the places.
        place: the interval of each, ``t[place] <= x < t[place + 1]``.
        rows: ``k + 1`` arrays, of the shape of ``x`` and further axes.
        nu: the order of the derivative.

    Returns:
        An array of the shape of each row.
    """
    k = len(rows) - 1
    if nu > k:
        return fnp.multiply(rows[0], 0)
    wide = (*x.shape, *(1,) * (len(rows[0].shape) - len(x.shape)))
    knots = {j: fnp.reshape(fnp.take(t, fnp.add(place, j)), wide) for j in range(1 - k, k + 1)}
    x = fnp.reshape(x, wide)
    for r in range(1, k + 1):
        shares = _one_over(t, k + 1 - r)
        new = []
        for j in range(r, k + 1):
            first, after = rows[j - r], rows[j - r + 1]
            share = fnp.reshape(fnp.take(shares, fnp.add(place, j - k)), wide)
            if r <= nu:
                new.append(fnp.multiply(fnp.subtract(after, first), fnp.multiply(share, float(k - r + 1))))
            else:
                before = fnp.multiply(fnp.multiply(fnp.subtract(knots[j + 1 - r], x), share), first)
                new.append(fnp.add(before, fnp.multiply(fnp.multiply(fnp.subtract(x, knots[j - k]), share), after)))
        rows = new
    return rows[0]


def _one_over(t: ArrayLike, count: int) -> Array:
    """Return the reciprocals of the distances between knots ``count`` apart; 0 for equal knots."""
    gaps = fnp.subtract(t[count:], t[:-count])
    same = fnp.equal(gaps, 0)
    return fnp.where(same, 0.0, fnp.divide(1.0, fnp.where(same, 1.0, gaps)))


def basis(t: ArrayLike, x: ArrayLike, place: ArrayLike, k: int, nu: int = 0) -> Array:
    """Return the values of the ``k + 1`` B-splines that are not 0 at each ``x``, ``f[..., k + 1]``."""
    rows = [np.broadcast_to(row, (*x.shape, k + 1)) for row in np.eye(k + 1)]
    return local(t, x, place, rows, nu)


def interval(t: ArrayLike, x: ArrayLike, k: int) -> Array:
    """Return the interval of knots that contains each ``x``."""
    return between(t, x, k, t.shape[0] - k - 2)
