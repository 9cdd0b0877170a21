"""Continuous and discrete distributions: methods that use a record's formulas."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval
from funcgrad._ops.elementwise.select import select, sloped_zero_p
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.program.callback import callback_p
from funcgrad._types import ArrayLike
from funcgrad.scipy.stats._base import Distribution, choose, endless, never, number, scipy_stats, unless, within


class Continuous(Distribution):
    """A continuous distribution, with the names and arguments of SciPy's methods."""

    # A declaration holds the formula ``logpdf``, and others if they are known. The formula ``located`` is ``logpdf`` of
    # a point, a location and a scale, where that is quicker.

    options = ("loc", "scale")
    # At infinity the density is 0, unless the distribution is circular.
    periodic = False

    def _standard(self, method: str, x: ArrayLike, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the point for location 0 and scale 1, the shape parameters, and the scale; NaN for invalid parameters.

        The last result is a mask of infinite points; ``False`` if there are none.
        """
        found = self._parameters(method, args, kwargs)
        *shapes, loc, scale = found
        given = z = number(x)
        # Infinity does not depend on the parameters. Its quotient by the scale would have NaN as derivative.
        infinite = endless(z)
        if infinite is not False:
            z = select(infinite, 0.0, z)
        if loc is not None:
            z = z - loc
        allowed = self._domain(*shapes) if shapes else True
        if scale is not None:
            z, allowed = z / scale, allowed & (scale > 0)
        z = z if infinite is False else select(infinite, stop_gradient_p(given), z)
        return z, shapes, scale, 1.0 if allowed is True else unless(allowed), infinite

    def logpdf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the logarithm of the density at ``x``; minus infinity outside of the support."""
        return self._density("logpdf", x, args, kwargs, -math.inf)

    def pdf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the density at ``x``."""
        return self._density("pdf", x, args, kwargs, 0.0)

    def _density(self, method: str, x: ArrayLike, args: tuple, kwargs: dict[str, Any], outside: float) -> Any:
        located = self._formulas.get("located")
        if located is not None and method == "logpdf":
            loc, scale = self._parameters(method, args, kwargs)
            return _located(located, number(x), 0.0 if loc is None else loc, 1.0 if scale is None else scale)
        z, shapes, scale, factor, infinite = self._standard(method, x, args, kwargs)
        a, b = self._ends(shapes)
        out = _beyond(z, a, b)
        if not self.periodic:
            out = out | infinite
        if never(out):
            y = self._needed(method)(z, *shapes)
        else:
            y = self._needed(method)(select(out, within(a, b), z), *shapes)
        if scale is not None:
            y = y - fnp.log(scale) if method == "logpdf" else y / scale
        return _checked(choose(out, outside, y), factor)

    def _tail(self, method: str, x: ArrayLike, args: tuple, kwargs: dict[str, Any], below: float, above: float) -> Any:
        z, shapes, _, factor, _ = self._standard(method, x, args, kwargs)
        a, b = self._ends(shapes)
        formula = self._needed(method)
        low, high = z <= a, z >= b
        out = low | high
        if never(out):
            return _checked(formula(z, *shapes), factor)
        y = formula(select(out, within(a, b), z), *shapes)
        y = select(low, below, select(high, above, y))
        first, last = _reached(z, a), _reached(z, b)
        if never(first | last):
            return _checked(y, factor)
        *_, loc, scale = self._parameters(method, args, kwargs)
        # Points relative to the end, in the units of ``x``. An end at 0 does not move with the scale.
        # An infinite end is not reached, and infinity times the scale would have the derivative NaN.
        ends = [end if type(end) is float and end == 0 else _finite(end) for end in (a, b)]
        moved = [end if scale is None or (type(end) is float and end == 0) else end * scale for end in ends]
        apart = number(x) if loc is None else number(x) - loc
        apart = _from_ends(apart, (first, last), moved)
        distance = _from_ends(z, (first, last), ends)
        density = self._needed("pdf")(select(first | last, z, within(a, b)), *shapes)
        return _checked(y + _behind_end(method, (first, last), distance, apart, density), factor)

    def cdf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the probability of at most ``x``."""
        return self._tail("cdf", x, args, kwargs, 0.0, 1.0)

    def sf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the probability of more than ``x``."""
        return self._tail("sf", x, args, kwargs, 1.0, 0.0)

    def logcdf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the logarithm of ``cdf``."""
        return self._tail("logcdf", x, args, kwargs, -math.inf, 0.0)

    def logsf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the logarithm of ``sf``."""
        return self._tail("logsf", x, args, kwargs, 0.0, -math.inf)

    def ppf(self, q: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the point that has ``q`` of the distribution below it: the inverse of ``cdf``."""
        return self._quantile("ppf", q, args, kwargs, False)

    def isf(self, q: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the point that ``q`` of the distribution exceeds: the inverse of ``sf``."""
        if self._formula("isf") is None and self._formula("ppf") is not None:
            return self._quantile("ppf", 1 - number(q), args, kwargs, False)
        return self._quantile("isf", q, args, kwargs, True)

    def median(self, *args: Any, **kwargs: Any) -> Any:
        """Return the point with half of the distribution on each side."""
        return self.ppf(0.5, *args, **kwargs)

    def interval(self, confidence: ArrayLike, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the ends of the interval around the median with the probability ``confidence``."""
        half = (1 - number(confidence)) / 2
        return self.ppf(half, *args, **kwargs), self.isf(half, *args, **kwargs)

    def _quantile(self, method: str, q: ArrayLike, args: tuple, kwargs: dict[str, Any], upper: bool) -> Any:
        *shapes, loc, scale = self._parameters(method, args, kwargs)
        q = number(q)
        allowed = self._domain(*shapes)
        if scale is not None:
            allowed = allowed & (scale > 0)
        allowed = allowed & (q >= 0) & (q <= 1)
        a, b = self._ends(shapes)
        low, high = q <= 0, q >= 1
        ends = low | high
        y = self._needed(method)(choose(ends, 0.5, q), *shapes)
        if not never(ends):
            first, last = (b, a) if upper else (a, b)
            y = fnp.where(low, first, fnp.where(high, last, y))
            # The slope is the inverse of the density; its own derivative is that of the density behind the end.
            change = 0.0
            for _ in range(2):
                density = self._needed("pdf")(_finite(select(ends, y + change, within(a, b))), *shapes)
                divisor = select(ends, select(abs(y) < math.inf, density, 0.0), 1.0)
                slope = (-1 if upper else 1) / divisor
                change = sloped_zero_p(choose(high, q - 1, q), select(ends, slope, 0.0))
            y = y + change
        y = _checked(y, unless(allowed))
        y = y if scale is None else y * scale
        return y if loc is None else y + loc


def _located(formula: Any, x: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> Any:
    """Return a log density of a point, a location and a scale; infinite points have no derivative."""
    infinite = endless(x)
    if infinite is False:
        return formula(x, loc, scale)
    y = formula(select(infinite, 0.0, x), loc, scale)
    return select(infinite, -math.inf, y) * unless(scale > 0)


class Discrete(Distribution):
    """A distribution of whole numbers, with the names and arguments of SciPy's methods."""

    # A declaration holds the formula ``logpmf``, and others if they are known.

    options = ("loc",)

    @staticmethod
    def _end(x: float) -> np.number:
        return np.float64(x) if math.isinf(x) else np.int64(x)

    def logpmf(self, k: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the log probability of ``k``; minus infinity unless ``k`` is a whole number of the support."""
        return self._mass("logpmf", k, args, kwargs, -math.inf)

    def pmf(self, k: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the probability of ``k``."""
        return self._mass("pmf", k, args, kwargs, 0.0)

    def _place(self, method: str, k: ArrayLike, args: tuple, kwargs: dict[str, Any]) -> tuple[Any, list[Any], Any]:
        *shapes, loc = self._parameters(method, args, kwargs)
        k = number(k)
        # These are step functions, without derivatives with respect to the point or the location.
        k = stop_gradient_p(k if loc is None else k - loc)
        return k, shapes, unless(self._domain(*shapes))

    def _mass(self, method: str, k: ArrayLike, args: tuple, kwargs: dict[str, Any], outside: float) -> Any:
        k, shapes, factor = self._place(method, k, args, kwargs)
        a, b = self._ends(shapes)
        out = _beyond(k, a, b) | (fnp.floor(k) < k)
        y = self._needed(method)(choose(out, a, k), *shapes)
        return _checked(choose(out, outside, y), factor)

    def _tail(self, method: str, k: ArrayLike, args: tuple, kwargs: dict[str, Any], below: float, above: float) -> Any:
        k, shapes, factor = self._place(method, k, args, kwargs)
        a, b = self._ends(shapes)
        k = fnp.floor(k)
        low, high = k < a, k >= b
        y = self._needed(method)(choose(low | high, a, k), *shapes)
        return _checked(choose(low, below, choose(high, above, y)), factor)

    cdf, sf, logcdf, logsf = Continuous.cdf, Continuous.sf, Continuous.logcdf, Continuous.logsf
    median = Continuous.median

    def ppf(self, q: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the least whole number ``k`` with ``cdf(k) >= q``; it moves with the location."""
        return self._quantile("ppf", q, args, kwargs)

    def isf(self, q: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the least whole number ``k`` with ``sf(k) <= q``."""
        return self._quantile("isf", q, args, kwargs)

    def interval(self, confidence: ArrayLike, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Return the ends of the interval around the median with the probability ``confidence``, or more."""
        c = number(confidence)
        return self.ppf((1 - c) / 2, *args, **kwargs), self.ppf((1 + c) / 2, *args, **kwargs)

    def _quantile(self, method: str, q: ArrayLike, args: tuple, kwargs: dict[str, Any]) -> Any:
        *shapes, loc = self._parameters(method, args, kwargs)
        # SciPy finds these by search. They are step functions, except of the location.
        points = [stop_gradient_p(each) for each in (number(q), *shapes)]
        aval = Aval(np.broadcast_shapes(*map(np.shape, points)), np.dtype(float))
        search = _Search(self.name, method)
        (y,) = callback_p(*points, function=search, avals=(aval,), name=f"scipy.stats.{self.name}.{method}")
        return y if loc is None else y + loc


class _Search(NamedTuple):
    """A quantile that SciPy computes: NaN where the probability is NaN, among which SciPy's search finds any number."""

    name: str
    method: str

    def __call__(self, *points: Any) -> list[Any]:
        distribution = getattr(scipy_stats, self.name)
        q, *shapes = points
        k = getattr(distribution, self.method)(q, *shapes)
        with np.errstate(all="ignore"):
            known = ~np.isnan(distribution.cdf(k, *shapes))
        return [k if known.all() else np.where(known, k, np.nan)]


def _checked(y: ArrayLike, factor: ArrayLike) -> Any:
    return y if type(factor) is float else y * factor


def _reached(z: ArrayLike, end: ArrayLike) -> Any:
    """Return which points are a finite end of a support."""
    return False if type(end) is float and math.isinf(end) else (z == end) & (abs(z) < math.inf)


def _from_ends(points: ArrayLike, reached: tuple[Any, Any], ends: Sequence[Any]) -> Any:
    """Return how far points are from the end that they reach; 0 for others."""
    first, last = [0.0 if each is False else points - end for each, end in zip(reached, ends, strict=True)]
    return choose(reached[0], first, choose(reached[1], last, 0.0))


def _behind_end(method: str, ends: tuple[Any, Any], distance: ArrayLike, apart: ArrayLike, density: ArrayLike) -> Any:
    """Return 0, with the derivatives that a distribution function has on the inside of an end.

    Args:
        method: the distribution function.
        ends: which points are the first and the last one.
        distance: the standardized distance of points from their end.
        apart: the distance in the units of the points.
        density: the standardized density there.
    """
    first, last = ends
    infinite = (density == math.inf) & (first | last)
    finite = select((first | last) & fnp.logical_not(infinite), density, 0.0)
    # The product of an infinite slope and a standardized distance would be NaN with respect to the scale.
    rise = sloped_zero_p(distance, finite) + sloped_zero_p(apart, fnp.where(infinite, math.inf, 0.0))
    if method == "cdf":
        return rise
    if method == "sf":
        return -rise
    if method == "logcdf":
        return choose(last, fnp.log1p(rise), sloped_zero_p(apart, fnp.where(first, math.inf, 0.0)))
    return choose(first, fnp.log1p(-rise), sloped_zero_p(apart, fnp.where(last, -math.inf, 0.0)))


def _beyond(z: ArrayLike, a: ArrayLike, b: ArrayLike) -> Any:
    """Return whether a point is outside a support; an infinite end has no points beyond it."""
    below: Any = False if issubclass(type(a), float) and a == -math.inf else z < a
    return below if issubclass(type(b), float) and b == math.inf else below | (z > b)


def _finite(y: ArrayLike) -> Any:
    """Return points with 0 in place of infinite ones."""
    return select(abs(y) < math.inf, y, 0.0)
