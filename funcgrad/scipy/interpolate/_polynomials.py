"""Polynomials in pieces."""

from __future__ import annotations

import math
from typing import Any, Literal, Self

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.lazy import LazyModule
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, getitem, known_value
from funcgrad.scipy.interpolate._data import along, between, column, doubles, only_inside

_theirs = LazyModule("scipy.interpolate")

Extrapolate = bool | Literal["periodic"]


class PPoly:
    """``scipy.interpolate.PPoly``: a polynomial between each two breakpoints.

    ``sum(c[j, i] * (x - x[i]) ** (k - j), j = 0 .. k)`` between ``x[i]`` and ``x[i + 1]``

    Args:
        c: f[k + 1, m, ...], the coefficients of each piece, the highest power first.
        x: f[m + 1], the breakpoints, increasing or decreasing; unknown ones under ``jit`` are assumed to increase.
        extrapolate: whether to extrapolate with the first and the last piece, or ``'periodic'``; NaN beyond them for
            ``False``.
        axis: the position of the queries' axes among those of the values.

    Raises:
        ValueError: there are more or fewer pieces than breakpoints have between them.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> p = fg.scipy.interpolate.PPoly(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([0.0, 1.0, 2.0]))
        >>> p(np.array([0.5, 1.5]))
        array([0.5, 2. ])
        >>> float(fg.grad(p)(1.5)), float(p.integrate(0.0, 2.0))
        (2.0, 2.5)
    """

    def __init__(self, c: ArrayLike, x: ArrayLike, extrapolate: Extrapolate | None = None, axis: int = 0) -> None:
        c, x = doubles(c), doubles(x)
        if len(c.shape) < 2:
            raise ValueError(
                f"scipy.interpolate.PPoly: coefficients array must be at least 2-dimensional, and is {aval_of(c)}. "
                "Give it an axis for the powers and one for the pieces."
            )
        if not 0 <= axis < len(c.shape) - 1:
            raise ValueError(
                f"scipy.interpolate.PPoly: axis={axis} must be between 0 and {len(c.shape) - 2} for c {aval_of(c)}. "
                "Pass another."
            )
        if axis:
            c = fnp.moveaxis(c, (axis, axis + 1), (0, 1))
        if len(x.shape) != 1 or x.shape[0] < 2 or c.shape[1] != x.shape[0] - 1:
            raise ValueError(
                f"scipy.interpolate.PPoly: number of coefficients != len(x)-1, or x is no vector: c is {aval_of(c)} "
                f"and x {aval_of(x)}. Give a piece for each two neighbouring breakpoints."
            )
        self._set(c, x, True if extrapolate is None else extrapolate, axis)

    extrapolate: Extrapolate

    def _set(self, c: ArrayLike, x: ArrayLike, extrapolate: Extrapolate, axis: int) -> None:
        self.c, self.x, self.extrapolate, self.axis = c, x, extrapolate, axis

    @classmethod
    def _of(cls, c: ArrayLike, x: ArrayLike, extrapolate: Extrapolate, axis: int) -> Self:
        self = cls.__new__(cls)
        self._set(c, x, extrapolate, axis)
        return self

    @classmethod
    def from_scipy(cls, p: ArrayLike) -> PPoly | None:
        """Make the same polynomial from one of SciPy's; ``None`` for those in other bases."""
        if not isinstance(p, _theirs.PPoly):
            return None
        return PPoly._of(doubles(p.c), doubles(p.x), p.extrapolate, p.axis)

    def __call__(self, x: ArrayLike, nu: int = 0, extrapolate: Extrapolate | None = None) -> Array:
        """Return the values at some points, or those of the derivative of order ``nu``.

        Args:
            x: where; at a breakpoint, the piece that begins there counts.
            nu: the order of the derivative; a negative one gives the antiderivative.
            extrapolate: overrides that of the polynomial.

        Returns:
            An array with the axes of ``x`` in place of the axis of the pieces.
        """
        at = fnp.asarray(as_value(x))
        if at.dtype != np.dtype(float):
            at = fnp.astype(at, np.dtype(float))
        p = self if not nu else PPoly.derivative(self, nu)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        first, last = self.x[0], self.x[-1]
        if extrapolate == "periodic":
            at = fnp.add(first, fnp.remainder(fnp.subtract(at, first), fnp.subtract(last, first)))
        place = self._piece(at)
        y = _power_sum(fnp.take(p.c, place, axis=1), fnp.subtract(at, fnp.take(self.x, place)))
        if extrapolate is False:
            low, high = (last, first) if self._falls() else (first, last)
            y = only_inside(y, at, low, high)
        return along(y, len(at.shape), self.axis)

    def of_each(self, x: ArrayLike) -> Any:
        """Evaluate several curves, along the first of the other axes, each at its own point."""
        place = self._piece(x)
        return _power_sum(
            getitem(self.c, (slice(None), place, np.arange(x.shape[0]))), fnp.subtract(x, fnp.take(self.x, place))
        )

    def _falls(self) -> bool:
        known = known_value(self.x)
        return known is not None and known[-1] < known[0]

    def _piece(self, at: ArrayLike) -> Array:
        pieces = self.x.shape[0] - 1
        if not self._falls():
            return between(self.x, at, 0, pieces - 1)
        return fnp.clip(fnp.subtract(pieces, fnp.searchsorted(self.x[::-1], at, side="left")), 0, pieces - 1)

    def derivative(self, nu: int = 1) -> PPoly:
        """Return the polynomial of the derivative of order ``nu``; a negative order gives the antiderivative."""
        if nu < 0:
            return PPoly.antiderivative(self, -nu)
        powers = self.c.shape[0]
        if nu >= powers:
            return PPoly._of(fnp.multiply(self.c[:1], 0), self.x, self.extrapolate, self.axis)
        factors = np.array([math.perm(power, nu) for power in range(powers - 1, nu - 1, -1)], float)
        c = self.c if not nu else fnp.multiply(self.c[: powers - nu], column(factors, self.c))
        return PPoly._of(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> PPoly:
        """Return the polynomial of the antiderivative of order ``nu``, which is 0 at the first breakpoint."""
        if nu <= 0:
            return PPoly.derivative(self, -nu)
        c, powers = self.c, self.c.shape[0]
        steps = fnp.subtract(self.x[1:], self.x[:-1])
        steps = fnp.reshape(steps, (*steps.shape, *(1,) * (len(c.shape) - 2)))
        higher = fnp.divide(c, column(np.arange(powers, 0, -1.0), c))
        grown = fnp.multiply(higher[0], steps)
        for each in range(1, powers):
            grown = fnp.multiply(fnp.add(grown, higher[each]), steps)
        start = fnp.multiply(grown[:1], 0)
        sums = fnp.concatenate([start, fnp.cumsum(grown[:-1], axis=0)])
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        found = PPoly._of(fnp.concatenate([higher, sums[None]]), self.x, extrapolate, self.axis)
        return found.antiderivative(nu - 1)

    def integrate(self, a: ArrayLike, b: ArrayLike, extrapolate: Extrapolate | None = None) -> Array:
        """Return the integral from ``a`` to ``b``."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        whole = PPoly._of(self.c, self.x, True, 0).antiderivative()
        a, b = as_value(a), as_value(b)
        if extrapolate != "periodic":
            return fnp.subtract(whole(b, extrapolate=extrapolate), whole(a, extrapolate=extrapolate))
        first, last = self.x[0], self.x[-1]
        period, total = fnp.subtract(last, first), whole(last)

        def until(t: ArrayLike) -> Any:
            turns = fnp.floor(fnp.divide(fnp.subtract(t, first), period))
            rest = fnp.subtract(t, fnp.multiply(turns, period))
            return fnp.add(whole(rest), fnp.multiply(turns, total))

        return fnp.subtract(until(b), until(a))

    def solve(self, y: ArrayLike = 0.0, discontinuity: bool = True, extrapolate: Extrapolate | None = None) -> Any:
        """Raise an error: the number of solutions depends on the coefficients."""
        raise UnsupportedFunctionError(
            f"scipy.interpolate.{type(self).__name__}.solve: the number of solutions of p(x) = {y} depends on the "
            "coefficients; no rule is here for it. Find one with fg.implicit_root, or all of them with SciPy's own "
            "solve, of plain coefficients."
        )

    def roots(self, discontinuity: bool = True, extrapolate: Extrapolate | None = None) -> Any:
        """Raise an error, as `solve` does."""
        return self.solve(0.0, discontinuity, extrapolate)


def _power_sum(c: ArrayLike, step: ArrayLike) -> Array:
    """Evaluate by Horner's rule, the highest power first; a NaN point gives NaN in a piece of degree 0 too."""
    step = fnp.reshape(step, (*step.shape, *(1,) * (len(c.shape) - 1 - len(step.shape))))
    y = c[0] if c.shape[0] > 1 else fnp.add(c[0], fnp.multiply(step, 0))
    for each in range(1, c.shape[0]):
        y = fnp.add(fnp.multiply(y, step), c[each])
    return y
