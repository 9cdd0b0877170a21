"""Interpolation of ``scipy.ndimage``, and the precision in which all of it is computed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value


def in_doubles(name: str, x: Any, output: Any) -> tuple[Any, np.dtype]:
    """The input in the precision that is computed in, and the dtype of the result."""
    if output is not None:
        raise UnsupportedFunctionError(
            f"scipy.ndimage.{name}: output was given; needed None. Use the result, converted with astype if need be."
        )
    x = fnp.asarray(as_value(x))
    return fnp.astype(x, np.dtype(complex if x.dtype.kind == "c" else float)), x.dtype


def given_back(y: Any, dtype: np.dtype) -> Any:
    return fnp.astype(y, dtype)


def map_coordinates(  # noqa: PLR0917  (SciPy's arguments)
    input: Any,  # noqa: A002  (SciPy's name)
    coordinates: Any,
    output: None = None,
    order: int = 3,
    mode: str = "constant",
    cval: Any = 0.0,
    prefilter: bool = True,
) -> Any:
    """``scipy.ndimage.map_coordinates`` of order 0 and 1: the nearest element, or the linear interpolation.

    At an element itself the derivative by the coordinate is that of the interval behind it, as in JAX.

    Args:
        input: an array.
        coordinates: one array of coordinates for each axis of the input.
        output: not supported.
        order: 0 or 1; SciPy's own default, 3, is refused.
        mode: how the array goes on beyond its edges: 'constant', 'nearest', 'mirror', 'reflect' or 'grid-wrap'.
        cval: what is there in the mode 'constant'.
        prefilter: SciPy's; of these orders it changes nothing.

    Returns:
        An array of the shape of the coordinates, and the dtype of the input.

    Raises:
        UnsupportedFunctionError: the order is greater, or the mode another one.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.array([[0.0, 1.0], [2.0, 3.0]])
        >>> fg.scipy.ndimage.map_coordinates(x, [[0.5], [0.25]], order=1)
        array([1.25])
    """
    del prefilter
    if order not in {0, 1}:
        raise UnsupportedFunctionError(
            f"scipy.ndimage.map_coordinates: order is {order}, and splines of more than order 1 have no rules here. "
            "Pass order=1, or order=0."
        )
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
    inside: Any = True
    for place, n in zip(places, x.shape, strict=True):
        inside = fnp.logical_and(inside, fnp.logical_and(fnp.greater_equal(place, 0), fnp.less_equal(place, n - 1)))
    ends = [_ends(_MAPPED[mode](place, n), n, order, mode) for place, n in zip(places, x.shape, strict=True)]
    total: Any = 0.0
    for corner in itertools.product(*ends):
        part = x[tuple([place for place, _ in corner])]
        for _, share in corner:
            part = fnp.multiply(part, share)
        total = fnp.add(total, part)
    return given_back(fnp.where(inside, total, cval) if mode == "constant" else total, dtype)


def _ends(place: Any, n: int, order: int, mode: str) -> list[tuple[Any, Any]]:
    """The neighbours of a coordinate, and their shares."""
    if order == 0:
        return [(_index(fnp.floor(fnp.add(place, 0.5)), n, mode), 1.0)]
    below = fnp.floor(place)
    share = fnp.subtract(place, below)
    return [(_index(below, n, mode), fnp.subtract(1, share)), (_index(fnp.add(below, 1), n, mode), share)]


def _index(place: Any, n: int, mode: str) -> Any:
    whole = fnp.astype(place, np.dtype(np.int64))
    return fnp.remainder(whole, n) if mode == "grid-wrap" else fnp.clip(whole, 0, n - 1)


def _mirrored(place: Any, n: int) -> Any:
    last = max(n - 1, 1)
    found = fnp.subtract(last, fnp.absolute(fnp.subtract(fnp.remainder(place, 2 * last), last)))
    return found if n > 1 else fnp.multiply(found, 0)


def _reflected(place: Any, n: int) -> Any:
    shifted = fnp.remainder(fnp.add(place, 0.5), 2 * n)
    return fnp.subtract(fnp.subtract(n, fnp.absolute(fnp.subtract(shifted, n))), 0.5)


_MAPPED: dict[str, Callable[[Any, int], Any]] = {
    "constant": lambda place, n: fnp.clip(place, 0, n - 1),
    "nearest": lambda place, n: fnp.clip(place, 0, n - 1),
    "mirror": _mirrored,
    "reflect": _reflected,
    "grid-wrap": lambda place, n: fnp.remainder(place, n),
}
