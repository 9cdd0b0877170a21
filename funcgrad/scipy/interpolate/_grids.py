"""Interpolation on grids of several dimensions."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import as_value, getitem, known_value
from funcgrad.scipy.interpolate._bsplines import basis, interval
from funcgrad.scipy.interpolate._cubic import PchipInterpolator
from funcgrad.scipy.interpolate._data import between, doubles
from funcgrad.scipy.interpolate._through import make_interp_spline

_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}
_METHODS = ("linear", "nearest", *_DEGREES, "pchip")


class RegularGridInterpolator:
    """``scipy.interpolate.RegularGridInterpolator``: interpolate values on a rectilinear grid.

    Args:
        points: for each dimension f[m], the coordinates of the grid, which rise or fall.
        values: f[m1, ..., mn, ...], the values on the grid.
        method: ``'linear'``, ``'nearest'``, ``'slinear'``, ``'cubic'``, ``'quintic'`` or ``'pchip'``.
        bounds_error: whether queries outside the grid are an error. Unknown queries under ``jit`` give ``fill_value``
            instead.
        fill_value: the value outside the grid; ``None`` to extrapolate.
        solver: SciPy's, which finds the coefficients of splines by iteration; here they are found exactly.
        solver_args: the same.

    Raises:
        ValueError: the grid and the values do not match, or the method is unknown.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0])
        >>> at = lambda values: fg.scipy.interpolate.RegularGridInterpolator((x, y), values)([[0.5, 0.5]])[0]
        >>> fg.grad(at)(np.ones((3, 2)))
        array([[0.375, 0.125],
               [0.375, 0.125],
               [0.   , 0.   ]])
    """

    def __init__(
        self,
        points: Sequence[Any],
        values: ArrayLike,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: ArrayLike = np.nan,
        *,
        solver: Any = None,
        solver_args: Any = None,
    ) -> None:
        del solver, solver_args
        _require_method(method)
        self.method, self.bounds_error, self.fill_value = method, bounds_error, fill_value
        grid, values = [doubles(each) for each in points], fnp.asarray(as_value(values))
        values = values if values.dtype.kind in "fc" else fnp.astype(values, np.dtype(float))
        if len(grid) > len(values.shape) or any(
            each.shape != (n,) for each, n in zip(grid, values.shape, strict=False)
        ):
            raise ValueError(
                f"scipy.interpolate.RegularGridInterpolator: there are {len(grid)} point arrays of the shapes "
                f"{[each.shape for each in grid]}, but values is {aval_of(values)}. Give a vector for each of the "
                "first dimensions of the values, of its length."
            )
        for i, each in enumerate(grid):
            known = known_value(each)
            if known is None or (np.diff(known) > 0).all():
                continue
            if not (np.diff(known) < 0).all():
                raise ValueError(
                    f"scipy.interpolate.RegularGridInterpolator: the points in dimension {i} must be strictly "
                    "ascending or descending. Sort them, and the values with them."
                )
            grid[i], values = each[::-1], fnp.flip(values, i)
        self.grid, self.values = tuple(grid), values
        self._splines: dict[str, Any] = {}
        if method == "pchip" and values.dtype.kind == "c":
            raise ValueError(
                "scipy.interpolate.RegularGridInterpolator: values are complex, and 'pchip' only works with real "
                "values. Interpolate the real and the imaginary part."
            )
        if method in _DEGREES:
            self._spline(method)

    @classmethod
    def from_scipy(cls, grid: Any) -> RegularGridInterpolator:
        """Make the same interpolator from one of SciPy's."""
        return cls(grid.grid, grid.values, grid.method, grid.bounds_error, grid.fill_value)

    def __call__(self, xi: ArrayLike, method: str | None = None, *, nu: Sequence[int] | None = None) -> Array:
        """Return the values at some points.

        Args:
            xi: f[..., n], or an array for each dimension, which broadcast.
            method: overrides that of the interpolator.
            nu: for splines, the orders of the derivatives by each coordinate.

        Returns:
            An array of the leading axes of ``xi`` and of the further axes of the values.
        """
        method = self.method if method is None else method
        _require_method(method)
        if nu is not None and method not in _DEGREES:
            raise ValueError(
                f"scipy.interpolate.RegularGridInterpolator: can only compute derivatives for methods "
                f"{', '.join(_DEGREES)}, got method={method!r}. Differentiate by xi with fg.grad, or pass one of these."
            )
        at = _coordinates(xi, len(self.grid))
        lead = at.shape[:-1]
        columns = [fnp.reshape(at[..., i], (-1,)) for i in range(len(self.grid))]
        outside = self._outside(columns)
        y = self._values_at(columns, method, nu)
        if self.fill_value is not None or self.bounds_error:
            fill = np.nan if self.fill_value is None else self.fill_value
            y = fnp.where(_beside(outside, y), fnp.astype(fnp.asarray(as_value(fill)), y.dtype), y)
        unknown: Any = False
        for column in columns:
            unknown = fnp.logical_or(unknown, fnp.isnan(column))
        # Multiply, so that derivatives are NaN too.
        y = fnp.multiply(y, _beside(fnp.astype(fnp.where(unknown, np.nan, 1.0), _real(y.dtype)), y))
        return fnp.reshape(y, (*lead, *self.values.shape[len(self.grid) :]))

    def _outside(self, columns: list[Any]) -> Array:
        found: Any = False
        for i, (column, points) in enumerate(zip(columns, self.grid, strict=True)):
            here = fnp.logical_or(fnp.less(column, points[0]), fnp.greater(column, points[-1]))
            known, places = known_value(here), known_value(column)
            if self.bounds_error and known is not None and places is not None and (known | np.isnan(places)).any():
                raise ValueError(
                    f"scipy.interpolate.RegularGridInterpolator: one of the requested xi is out of bounds in dimension "
                    f"{i}. Pass bounds_error=False for fill_value there, with fill_value=None to extrapolate."
                )
            found = fnp.logical_or(found, here)
        return found

    def _values_at(self, columns: list[Any], method: str, nu: Sequence[int] | None) -> Array:
        if method == "pchip":
            return self._by_pchip(columns)
        if method in _DEGREES:
            return self._by_splines(columns, method, [0] * len(columns) if nu is None else list(nu))
        ends = [_ends(points, column, method) for points, column in zip(self.grid, columns, strict=True)]
        total: Any = None
        for corner in itertools.product(*ends):
            part = getitem(self.values, tuple([place for place, _ in corner]))
            if method == "nearest":
                return part
            weight: Any = 1.0
            for _, share in corner:
                weight = fnp.multiply(weight, share)
            part = fnp.multiply(part, _beside(weight, part))
            total = part if total is None else fnp.add(total, part)
        return total

    def _spline(self, method: str) -> tuple[list[Any], Any]:
        """Return the knots of each dimension, and the coefficients, computed along one dimension after the other."""
        if method not in self._splines:
            degree = _DEGREES[method]
            knots, c = [], doubles(self.values)
            for i, points in enumerate(self.grid):
                _require_points(points, i, method, degree)
                spline = make_interp_spline(points, c, degree, axis=i)
                knots.append(spline.t)
                c = fnp.moveaxis(spline.c, 0, i)
            self._splines[method] = knots, c
        return self._splines[method]

    def _by_splines(self, columns: list[Any], method: str, nu: list[int]) -> Array:
        (knots, c), degree = self._spline(method), _DEGREES[method]
        count = len(columns)
        index, weights = [], []
        for i, (t, column) in enumerate(zip(knots, columns, strict=True)):
            place = interval(t, column, degree)
            # Each dimension gets its own axis for the B-splines that contribute.
            own = (slice(None), *[slice(None) if j == i else None for j in range(count)])
            index.append(fnp.add(place[:, None], np.arange(-degree, 1))[own])
            weights.append(basis(t, column, place, degree, nu[i])[own])
        y = getitem(c, tuple(index))
        for weight in weights:
            y = fnp.multiply(y, fnp.reshape(weight, (*weight.shape, *(1,) * (len(y.shape) - count - 1))))
        return fnp.sum(y, tuple(range(1, count + 1)))

    def _by_pchip(self, columns: list[Any]) -> Array:
        """Interpolate along the last dimension first, for each query; then along the dimensions before it."""
        for i, points in enumerate(self.grid):
            _require_points(points, i, "pchip", 3)
        count = len(columns)
        # Queries outside the grid and NaN are replaced later.
        columns = [fnp.where(fnp.isnan(each), 0.0, each) for each in columns]
        y = fnp.moveaxis(PchipInterpolator(self.grid[-1], self.values, count - 1)(columns[-1]), count - 1, 0)
        for i in range(count - 2, -1, -1):
            y = PchipInterpolator(self.grid[i], y, i + 1).of_each(columns[i])
        return fnp.astype(y, self.values.dtype)


def _beside(x: ArrayLike, y: ArrayLike) -> Array:
    """Reshape an array of one number for each query to broadcast with values that have further axes."""
    return fnp.reshape(x, (*x.shape, *(1,) * (len(y.shape) - len(x.shape))))


def _real(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32) if dtype in {np.dtype(np.float32), np.dtype(np.complex64)} else np.dtype(float)


def _ends(points: ArrayLike, column: ArrayLike, method: str) -> list[tuple[Any, Any]]:
    """Return the neighbours of each coordinate on the grid, and their weights."""
    n = points.shape[0]
    if n == 1:
        nowhere = fnp.multiply(fnp.searchsorted(points, column), 0)
        return [(nowhere, fnp.add(fnp.multiply(column, 0), 1))]
    low = between(points, column, 0, n - 2)
    first = fnp.take(points, low)
    share = fnp.divide(fnp.subtract(column, first), fnp.subtract(fnp.take(points, fnp.add(low, 1)), first))
    if method == "nearest":
        return [(fnp.where(fnp.less_equal(share, 0.5), low, fnp.add(low, 1)), 1.0)]
    return [(low, fnp.subtract(1, share)), (fnp.add(low, 1), share)]


def _require_method(method: str) -> None:
    if method not in _METHODS:
        raise ValueError(
            f"scipy.interpolate.RegularGridInterpolator: method {method!r} is not defined. Use one of "
            f"{', '.join(_METHODS)}."
        )


def _require_points(points: ArrayLike, i: int, method: str, degree: int) -> None:
    if points.shape[0] <= degree:
        raise ValueError(
            f"scipy.interpolate.RegularGridInterpolator: there are {points.shape[0]} points in dimension {i}, but "
            f"method {method} requires at least {degree + 1} points per dimension. Pass another method."
        )


def _coordinates(xi: ArrayLike, count: int) -> Array:
    if isinstance(xi, tuple) and len(xi) == 1:
        xi = xi[0]
    if isinstance(xi, tuple):
        at = fnp.stack(fnp.broadcast_arrays(*[doubles(each) for each in xi]), -1)
    else:
        at = doubles(xi)
        if len(at.shape) == 1:
            at = fnp.reshape(at, (-1, 1) if count == 1 else (1, -1))
    if at.shape[-1] != count:
        raise ValueError(
            f"scipy.interpolate.RegularGridInterpolator: the requested sample points xi have dimension {at.shape[-1]} "
            f"but this RegularGridInterpolator has dimension {count}. Give the coordinates along the last axis."
        )
    return at


def interpn(
    points: Sequence[Any],
    values: ArrayLike,
    xi: ArrayLike,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: ArrayLike = np.nan,
) -> Array:
    """``scipy.interpolate.interpn``: `RegularGridInterpolator` in one call.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import interpolate
        >>> interpolate.interpn((np.arange(3.0),), np.array([0.0, 1.0, 4.0]), [0.5, 1.5])
        array([0.5, 2.5])
    """
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
