"""Interpolation of ``scipy.ndimage``, and its precision."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._types import ArrayLike, DTypeLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, getitem
from funcgrad.scipy._splines import coefficients, shares

# The number of elements that SciPy adds beyond an edge in the mode 'nearest'.
_APRON = 12


def in_doubles(name: str, x: ArrayLike, output: Any) -> tuple[Any, np.dtype | Tracer]:
    """Return the input in the precision of the computation, and the dtype of the result or the array for it."""
    x = fnp.asarray(as_value(x))
    target = x.dtype if output is None else output if isinstance(output, Tracer) else _dtype(name, output)
    dtype = target.dtype if isinstance(target, Tracer) else target
    if output is not None and dtype.kind != ("c" if x.dtype.kind == "c" else "f"):
        raise UnsupportedFunctionError(
            f"scipy.ndimage.{name}: output has the dtype {dtype} for an input of {x.dtype}; needed a float dtype, "
            "and a complex one for a complex input. Leave output out, and convert the result with astype."
        )
    return fnp.astype(x, np.dtype(complex if x.dtype.kind == "c" else float)), target


def _dtype(name: str, output: Any) -> np.dtype:
    if isinstance(output, np.ndarray):
        raise UnsupportedFunctionError(
            f"scipy.ndimage.{name}: output is an array of plain numbers, where the result would carry no derivative; "
            "needed an array that takes traced values, np.zeros_like(x), or None. Use the result of the function."
        )
    return np.dtype(output)


def is_whole(target: np.dtype | Tracer) -> bool:
    """Return whether results are whole numbers or booleans."""
    return target.dtype.kind in "biu" if isinstance(target, Tracer) else target.kind in "biu"


def _whole(y: ArrayLike, dtype: np.dtype) -> Any:
    """Return numbers without their fraction; beyond the range of the dtype, what C code gives on most machines."""
    y = fnp.trunc(y)
    if dtype.kind == "b":
        return fnp.not_equal(y, 0)
    if dtype == np.int32:
        y = fnp.where(fnp.abs(y + 0.5) < 2.0**31, y, -(2.0**31))
    if dtype == np.uint64:
        return fnp.where(y < 0, fnp.astype(fnp.astype(y, np.dtype(int)), dtype), fnp.astype(y, dtype))
    return fnp.astype(fnp.astype(y, np.dtype(int)), dtype)


def _rounded(y: ArrayLike, dtype: np.dtype) -> Any:
    """Return numbers rounded to whole ones, halves away from 0, and clipped to the range of the dtype."""
    if dtype.kind == "b":
        return y
    info = np.iinfo(dtype)
    most = float(info.max) if dtype.itemsize < 8 else np.nextafter(float(info.max), 0)
    return fnp.clip(fnp.trunc(y + fnp.where(y > 0, 0.5, -0.5)), float(info.min), most)


def given_back(y: ArrayLike, target: np.dtype | Tracer, *, rounded: bool = False) -> Any:
    """Return the result in its dtype, or write it into the array that was given for it."""
    if isinstance(target, np.dtype):
        if not is_whole(target):
            return fnp.astype(y, target)
        return _whole(_rounded(y, target) if rounded else y, target)
    if np.shape(y) != target.shape:
        raise ValueError(
            f"scipy.ndimage: output has the shape {target.shape} for a result of shape {np.shape(y)}. Give an array of "
            "the shape of the result."
        )
    target[...] = y  # pyright: ignore[reportIndexIssue]  (attached to traced values)
    return target


def map_coordinates(  # noqa: PLR0917  (SciPy's arguments)
    input: ArrayLike,  # noqa: A002  (SciPy's name)
    coordinates: ArrayLike,
    output: DTypeLike | ArrayLike = None,
    order: int = 3,
    mode: str = "constant",
    cval: ArrayLike = 0.0,
    prefilter: bool = True,
) -> Any:
    """``scipy.ndimage.map_coordinates``: nearest element, linear interpolation, or splines of order 2 to 5.

    At an element, the derivative of order 1 with respect to the coordinate is that of the interval after it, as in JAX.

    Args:
        input: an array.
        coordinates: one array of coordinates for each axis of the input.
        output: a float dtype for the result, or an array of traced values that gets it.
        order: of the spline, from 0 to 5.
        mode: the extension beyond the edges: 'constant', 'nearest', 'mirror', 'reflect' or 'grid-wrap'.
        cval: the value beyond the edges in the mode 'constant'.
        prefilter: for orders above 1: whether the elements are values of the spline (True) or its coefficients.

    Returns:
        An array of the shape of the coordinates, and the dtype of the input. Integers are rounded, halves away from
        0, and clipped to the range of the dtype.

    Raises:
        RuntimeError: the order is another one.
        UnsupportedFunctionError: the mode is another one.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.array([[0.0, 1.0], [2.0, 3.0]])
        >>> fg.scipy.ndimage.map_coordinates(x, [[0.5], [0.25]], order=1)
        array([1.25])
    """
    if order not in range(6):
        raise RuntimeError(
            f"scipy.ndimage.map_coordinates: spline order not supported: {order}; needed one from 0 to 5. Pass order=3."
        )
    # SciPy's two names of one mode.
    mode = "reflect" if mode == "grid-mirror" else mode
    if mode not in _MAPPED:
        raise UnsupportedFunctionError(
            f"scipy.ndimage.map_coordinates: the mode {mode!r} is not supported. Use one of {', '.join(_MAPPED)}."
        )
    x, dtype = in_doubles("map_coordinates", input, output)
    places = [fnp.astype(each, np.dtype(float)) for each in fnp.asarray(as_value(coordinates))]
    if len(places) != len(x.shape):
        raise RuntimeError(
            f"scipy.ndimage.map_coordinates: invalid shape for coordinate array: {len(places)} arrays for "
            f"{aval_of(x)}. Give one array of coordinates for each axis."
        )
    if not all(x.shape) and places[0].shape != (0,):
        return given_back(_of_nothing(x, places[0].shape, mode, cval), dtype, rounded=True)
    inside: Any = True
    for place, n in zip(places, x.shape, strict=True):
        inside = fnp.logical_and(inside, fnp.logical_and(fnp.greater_equal(place, 0), fnp.less_equal(place, n - 1)))
    if order > 1:
        total = _by_splines(x, places, (order, mode), prefilter)
        return given_back(fnp.where(inside, total, cval) if mode == "constant" else total, dtype, rounded=True)
    ends = [_ends(_MAPPED[mode](place, n), n, order, mode) for place, n in zip(places, x.shape, strict=True)]
    total: Any = 0.0
    for corner in itertools.product(*ends):
        part = getitem(x, tuple([place for place, _ in corner]))
        for _, share in corner:
            part = fnp.multiply(part, share)
        total = fnp.add(total, part)
    return given_back(fnp.where(inside, total, cval) if mode == "constant" else total, dtype, rounded=True)


def _of_nothing(x: ArrayLike, shape: tuple[int, ...], mode: str, cval: ArrayLike) -> Any:
    """Return the values for an empty array: all points are beyond its edges, so the mode must be 'constant'."""
    if mode != "constant":
        raise ValueError(
            f"scipy.ndimage.map_coordinates: the input is {aval_of(x)}, which the mode {mode!r} cannot go on from; "
            "needed one element or more. Pass mode='constant'."
        )
    return fnp.broadcast_to(as_value(cval), shape)


def _by_splines(x: ArrayLike, places: list[Any], how: tuple[int, str], prefilter: bool) -> Any:
    order, mode = how
    if prefilter:
        if mode == "nearest":
            # As in SciPy: the nearest element continues without end, but elements farther away change nothing.
            x, places = fnp.pad(x, _APRON, mode="edge"), [fnp.add(place, _APRON) for place in places]
        x = coefficients(
            x, order, {"grid-wrap": "wrap", "reflect": "reflect", "nearest": "reflect"}.get(mode, "mirror")
        )
    ends = []
    for place, n in zip(places, x.shape, strict=True):
        first, weights = shares(place if mode == "nearest" else _MAPPED[mode](place, n), order)
        ends.append([(_folded(fnp.add(first, i), n, mode), weight) for i, weight in enumerate(weights)])
    total: Any = 0.0
    for corner in itertools.product(*ends):
        part = getitem(x, tuple([place for place, _ in corner]))
        for _, share in corner:
            part = fnp.multiply(part, share)
        total = fnp.add(total, part)
    return total


def _folded(place: ArrayLike, n: int, mode: str) -> Any:
    """Return the element at an integer coordinate, after the extension beyond the edges."""
    if mode == "grid-wrap":
        place = fnp.remainder(place, n)
    elif mode != "nearest":
        place = (_reflected if mode == "reflect" else _mirrored)(place, n)
    # A NaN or infinite coordinate gets element 0. Its weight is NaN, so the result is NaN anyway.
    known = fnp.where(fnp.isfinite(place), fnp.clip(place, 0, n - 1), 0)
    return fnp.astype(known, np.dtype(np.int64))


def _ends(place: ArrayLike, n: int, order: int, mode: str) -> list[tuple[Any, Any]]:
    """Return the two neighbours of a coordinate, and their weights."""
    if order == 0:
        return [(_index(fnp.floor(fnp.add(place, 0.5)), n, mode), 1.0)]
    below = fnp.floor(place)
    share = fnp.subtract(place, below)
    return [(_index(below, n, mode), fnp.subtract(1, share)), (_index(fnp.add(below, 1), n, mode), share)]


def _index(place: ArrayLike, n: int, mode: str) -> Any:
    whole = fnp.astype(place, np.dtype(np.int64))
    return fnp.remainder(whole, n) if mode == "grid-wrap" else fnp.clip(whole, 0, n - 1)


def _mirrored(place: ArrayLike, n: int) -> Any:
    last = max(n - 1, 1)
    found = fnp.subtract(last, fnp.absolute(fnp.subtract(fnp.remainder(place, 2 * last), last)))
    return found if n > 1 else fnp.multiply(found, 0)


def _reflected(place: ArrayLike, n: int) -> Any:
    shifted = fnp.remainder(fnp.add(place, 0.5), 2 * n)
    return fnp.subtract(fnp.subtract(n, fnp.absolute(fnp.subtract(shifted, n))), 0.5)


_MAPPED: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda place, n: fnp.clip(place, 0, n - 1),
    "nearest": lambda place, n: fnp.clip(place, 0, n - 1),
    "mirror": _mirrored,
    "reflect": _reflected,
    "grid-wrap": lambda place, n: fnp.remainder(place, n),
}
