"""Positions in arrays, as one number or as one number per axis. They carry no derivative."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from funcgrad._core.aval import aval_of, is_integer
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.arithmetic import max_p, min_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.rounding import floor_divide_p, remainder_p
from funcgrad._types import Array, ArrayLike, ShapeLike
from funcgrad.numpy._base.concrete import concrete_value, known_value
from funcgrad.numpy._base.convert import as_value
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._layout.shape import as_array, memory_order, to_shape

Order = Literal["C", "F"]
_INDEX = np.dtype(np.intp)


def _steps(shape: tuple[int, ...], order: Order) -> list[int]:
    """Return the distance between neighbours along each axis."""
    order = memory_order(order, "CF")
    ahead = [shape[i + 1 :] if order != "F" else shape[:i] for i in range(len(shape))]
    return [math.prod(lengths) for lengths in ahead]


def _places(name: str, x: ArrayLike) -> Array:
    x = as_array(x)
    if not is_integer(x.dtype):
        raise TypeError(
            f"{name}: only int indices permitted, and here are {aval_of(x)}. Convert them with .astype(int)."
        )
    return cast(x, _INDEX)


def _within(x: ArrayLike, length: int) -> Array:
    return bind(min_p, (bind(max_p, (x, 0), NO_PARAMS), length - 1), NO_PARAMS)


@beside_numpys(np.unravel_index)
def unravel_index(indices: ArrayLike, shape: ShapeLike, order: Order = "C") -> tuple[Any, ...]:
    """Return ``numpy.unravel_index``.

    If the numbers are not known, an index out of bounds counts as the nearest one.
    """
    x, lengths = _places("unravel_index", indices), to_shape(shape)
    size = math.prod(lengths)
    known = known_value(x)
    if known is not None and not np.all((known >= 0) & (known < size)):
        outside = known[(known < 0) | (known >= size)].flat[0]
        raise ValueError(f"unravel_index: index {outside} is out of bounds for array with size {size}. Clip it before.")
    x = _within(x, size)
    found = [bind(floor_divide_p, (x, step), NO_PARAMS) for step in _steps(lengths, order)]
    return tuple([bind(remainder_p, (y, n), NO_PARAMS) for y, n in zip(found, lengths, strict=True)])


@beside_numpys(np.ravel_multi_index)
def ravel_multi_index(multi_index: ArrayLike, dims: ShapeLike, mode: Any = "raise", order: Order = "C") -> Any:
    """Return ``numpy.ravel_multi_index``. In the mode 'raise' the numbers have to be known."""
    lengths = to_shape(dims)
    modes = (mode,) * len(lengths) if isinstance(mode, str) else tuple(mode)
    if not isinstance(multi_index, tuple | list):
        multi_index = as_value(multi_index)
    places = [multi_index[i] for i in range(len(multi_index))]
    if len(places) != len(lengths) or len(modes) != len(lengths):
        raise ValueError(
            f"ravel_multi_index: there are {len(places)} indices and {len(modes)} modes for {len(lengths)} axes; "
            "parameter multi_index must be a sequence of length dims. Give one for each axis."
        )
    total: Any = 0
    for x, n, how, step in zip(places, lengths, modes, _steps(lengths, order), strict=True):
        total = total + _bounded(_places("ravel_multi_index", x), n, how) * step
    return total


def _bounded(x: ArrayLike, length: int, mode: str) -> Any:
    if mode == "wrap":
        return bind(remainder_p, (x, length), NO_PARAMS)
    if mode == "clip":
        return _within(x, length)
    if mode != "raise":
        raise ValueError(f"ravel_multi_index: mode is {mode!r}; needed 'raise', 'wrap' or 'clip'.")
    asked = "numpy.ravel_multi_index in the mode 'raise' (mode='clip' or 'wrap' does not)"
    known = np.asarray(concrete_value(x, asked))
    if not np.all((known >= 0) & (known < length)):
        raise ValueError(
            f"ravel_multi_index: invalid entry in coordinates array, beyond an axis of length {length}. Pass "
            "mode='clip' or mode='wrap'."
        )
    return x


@implements(np.diag_indices_from)
def diag_indices_from(arr: ArrayLike) -> tuple[np.ndarray, ...]:
    """``numpy.diag_indices_from``: by the shape alone."""
    return np.diag_indices_from(_of_shape(arr))


@implements(np.tril_indices_from)
def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[np.ndarray, ...]:
    """``numpy.tril_indices_from``: by the shape alone."""
    return np.tril_indices_from(_of_shape(arr), k)


@implements(np.triu_indices_from)
def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[np.ndarray, ...]:
    """``numpy.triu_indices_from``: by the shape alone."""
    return np.triu_indices_from(_of_shape(arr), k)


def _of_shape(x: ArrayLike) -> np.ndarray:
    """Return a plain array of a shape, in the memory of one element."""
    return np.broadcast_to(np.empty(()), as_array(x).shape)
