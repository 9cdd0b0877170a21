"""``interp1d``: lines, steps and splines through points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import as_value, known_value, normalize_axis
from funcgrad.scipy.interpolate._data import along, doubles
from funcgrad.scipy.interpolate._through import make_interp_spline

_DEGREES = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}


class interp1d:  # noqa: N801  (SciPy's name)
    """``scipy.interpolate.interp1d``: interpolate between points along an axis.

    Args:
        x: f[n], real.
        y: the values, along ``axis``.
        kind: ``'linear'``, ``'nearest'``, ``'nearest-up'``, ``'previous'``, ``'next'``, ``'zero'``, ``'slinear'``,
            ``'quadratic'``, ``'cubic'``, or the degree of a spline.
        axis: the axis of ``y`` that belongs to ``x``.
        copy: SciPy's; nothing is copied here, and nothing written to.
        bounds_error: whether queries outside the points are an error; ``None`` means True unless extrapolating. Unknown
            queries under ``jit`` give ``fill_value`` instead.
        fill_value: the value outside the points, a pair for below and above, or ``'extrapolate'``.
        assume_sorted: whether ``x`` rises.

    Raises:
        NotImplementedError: the kind is unknown.
        ValueError: the shapes do not fit, or there are too few points.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.array([0.0, 1.0, 2.0])
        >>> f = lambda y, at: fg.scipy.interpolate.interp1d(x, y)(at)
        >>> [slopes.tolist() for slopes in fg.grad(f, (0, 1))(x**2, np.float64(1.25))]
        [[0.0, 0.75, 0.25], 3.0]
    """

    def __init__(  # noqa: PLR0917  (SciPy's arguments)
        self,
        x: ArrayLike,
        y: ArrayLike,
        kind: str | int = "linear",
        axis: int = -1,
        copy: bool = True,
        bounds_error: bool | None = None,
        fill_value: ArrayLike = np.nan,
        assume_sorted: bool = False,
    ) -> None:
        del copy
        degree = _DEGREES.get(kind) if isinstance(kind, str) else int(kind)
        if degree is None and kind not in _KINDS:
            raise NotImplementedError(
                f"scipy.interpolate.interp1d: {kind} is unsupported. Use one of {', '.join([*_KINDS, *_DEGREES])}, or "
                "a degree."
            )
        x, y = fnp.asarray(as_value(x)), fnp.asarray(as_value(y))
        if len(x.shape) != 1 or not y.shape:
            raise ValueError(
                f"scipy.interpolate.interp1d: the x array must have exactly one dimension, and y at least one; they "
                f"are {aval_of(x)} and {aval_of(y)}. Use fg.vmap for several x."
            )
        y = y if y.dtype.kind in "fc" else fnp.astype(y, np.dtype(float))
        self.axis = normalize_axis(axis, len(y.shape))
        y = fnp.moveaxis(y, self.axis, 0)
        least = 1 if degree is None else degree + 1
        if x.shape[0] != y.shape[0] or x.shape[0] < least:
            raise ValueError(
                f"scipy.interpolate.interp1d: x and y arrays must be equal in length along interpolation axis, and "
                f"have at least {least} entries; x is {aval_of(x)}, and y has {y.shape[0]} along the axis. Pass "
                "another axis."
            )
        if not assume_sorted:
            order = fnp.argsort(x, kind="stable")
            x, y = fnp.take(x, order), fnp.take(y, order, axis=0)
        self.x, self.y = x, y
        self._set_ends(kind, fill_value, bounds_error)
        if degree is None:
            self._call: Callable[[Any], Any] = lambda at: _KINDS[str(kind)](x, y, at)
        else:
            self._call = make_interp_spline(x, y, degree)

    @classmethod
    def from_scipy(cls, line: Any) -> interp1d | None:
        """Make the same interpolator from one of SciPy's; ``None`` for SciPy's classes that share its methods."""
        # SciPy stores its arguments only under these names.
        has = vars(line)
        if "_kind" not in has:
            return None
        kind = has["_spline"].k if has["_kind"] == "spline" else has["_kind"]
        ends = "extrapolate" if has["_extrapolate"] else (has["_fill_value_below"], has["_fill_value_above"])
        return cls(line.x, line.y, kind, line.axis, True, line.bounds_error, ends, True)

    def _set_ends(self, kind: str | int, fill_value: ArrayLike, bounds_error: bool | None) -> None:
        """Store the values below and above the points."""
        self.extrapolates = isinstance(fill_value, str) and fill_value == "extrapolate"
        if self.extrapolates:
            if bounds_error:
                raise ValueError(
                    "scipy.interpolate.interp1d: cannot extrapolate and raise at the same time. Leave bounds_error out."
                )
            self.bounds_error = False
            if kind in {"previous", "next"}:
                ends = (np.nan, self.y[-1]) if kind == "previous" else (self.y[0], np.nan)
                self.extrapolates, self._ends = False, tuple(map(as_value, ends))
            return
        self.bounds_error = bounds_error is None or bool(bounds_error)
        pair = fill_value if isinstance(fill_value, tuple) and len(fill_value) == 2 else (fill_value, fill_value)
        self._ends = tuple([fnp.asarray(as_value(each)) for each in pair])
        for end in self._ends:
            if np.broadcast_shapes(end.shape, self.y.shape[1:] or (1,)) != (tuple(self.y.shape[1:]) or (1,)):
                raise ValueError(
                    f"scipy.interpolate.interp1d: fill_value is {aval_of(end)}, and argument must be able to broadcast "
                    f"up to shape {tuple(self.y.shape[1:])}. Give a number, or one for each curve."
                )

    def __call__(self, x: ArrayLike) -> Array:
        """Return the values at some points; the axes of the points replace the axis of the data."""
        at = fnp.asarray(as_value(x))
        at = at if at.dtype.kind == "f" else doubles(at)
        y = self._call(at)
        if not self.extrapolates:
            below, above = fnp.less(at, self.x[0]), fnp.greater(at, self.x[-1])
            if self.bounds_error:
                self._check(at, below, above)
            wide = (*at.shape, *(1,) * (len(y.shape) - len(at.shape)))
            for outside, end in zip((below, above), self._ends, strict=True):
                # The dtype is that of the values, for every dtype of the fill value.
                value = fnp.astype(fnp.reshape(end, ()) if not self.y.shape[1:] else end, y.dtype)
                y = fnp.where(fnp.reshape(outside, wide), value, y)
        return along(y, len(at.shape), self.axis)

    def _check(self, at: ArrayLike, below: ArrayLike, above: ArrayLike) -> None:
        for outside, where, what, end in (
            (below, "below", "minimum", self.x[0]),
            (above, "above", "maximum", self.x[-1]),
        ):
            known, places = known_value(outside), known_value(at)
            if known is not None and places is not None and known.any():
                raise ValueError(
                    f"scipy.interpolate.interp1d: a value ({places[known].flat[0]}) in x_new is {where} the "
                    f"interpolation range's {what} value ({known_value(end)}). Pass bounds_error=False for fill_value "
                    "there, or fill_value='extrapolate'."
                )


def _linear(x: ArrayLike, y: ArrayLike, at: ArrayLike) -> Array:
    if x.shape[0] == 1:
        return _previous(x, y, at)
    high = fnp.clip(fnp.searchsorted(x, at), 1, x.shape[0] - 1)
    low = fnp.subtract(high, 1)
    x_low, y_low = fnp.take(x, low), fnp.take(y, low, axis=0)
    steps = fnp.subtract(fnp.take(x, high), x_low)
    wide = (*at.shape, *(1,) * (len(y.shape) - 1))
    slope = fnp.divide(fnp.subtract(fnp.take(y, high, axis=0), y_low), fnp.reshape(steps, wide))
    return fnp.add(fnp.multiply(slope, fnp.reshape(fnp.subtract(at, x_low), wide)), y_low)


def _nearest(side: str) -> Callable[..., Any]:
    def call(x: ArrayLike, y: ArrayLike, at: ArrayLike) -> Any:
        half = fnp.divide(x, 2.0)
        place = fnp.searchsorted(fnp.add(half[1:], half[:-1]), at, side=side)
        return fnp.take(y, fnp.clip(place, 0, x.shape[0] - 1), axis=0)

    return call


def _previous(x: ArrayLike, y: ArrayLike, at: ArrayLike) -> Array:
    place = fnp.subtract(fnp.searchsorted(x, at, side="right"), 1)
    return fnp.take(y, fnp.clip(place, 0, x.shape[0] - 1), axis=0)


def _next(x: ArrayLike, y: ArrayLike, at: ArrayLike) -> Array:
    return fnp.take(y, fnp.clip(fnp.searchsorted(x, at, side="left"), 0, x.shape[0] - 1), axis=0)


_KINDS: dict[str, Callable[..., Any]] = {
    "linear": _linear,
    "nearest": _nearest("left"),
    "nearest-up": _nearest("right"),
    "previous": _previous,
    "next": _next,
}
