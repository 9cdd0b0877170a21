"""``x.at[index].set(v)``: returns a changed copy instead of assigning into the array."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.index.plan import Index, selected_shape
from funcgrad._ops.index.scatter import scatter_add_p, scatter_set_p
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ArrayLike, IndexLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy._base.convert import as_value, dtype_of
from funcgrad.numpy._choose.bounds import read
from funcgrad.numpy._choose.indexing import parse
from funcgrad.numpy._choose.where import where
from funcgrad.numpy._math import elementwise
from funcgrad.numpy._reduce.sorting import argsort


class At:
    """The object ``x.at``, which takes an index in brackets."""

    __slots__ = ("_x",)

    def __init__(self, x: ArrayLike) -> None:
        self._x = x

    def __getitem__(self, key: IndexLike) -> Selection:
        return Selection(self._x, key)


class Selection:
    """Some elements of an array. Each method returns a new array that differs from the old one in those elements.

    If an index array selects an element several times, each value is applied, and ``set`` keeps the last value (on XLA,
    any one of them).
    """

    __slots__ = ("_arrays", "_index", "_shape", "_x")

    def __init__(self, x: ArrayLike, key: IndexLike) -> None:
        self._shape = x.shape
        self._x, self._index, self._arrays = parse(x, key)

    def get(self, *, mode: str | None = None, fill_value: ArrayLike = None) -> Array:
        """Return the elements, ``x[index]``.

        Args:
            mode: what index arrays read out of bounds: ``"clip"``, the nearest element; ``"fill"``, ``fill_value``;
                ``None``, as in ``x[index]``, which raises where the numbers are known.
            fill_value: a number. NaN by default; the least integer, the greatest unsigned one, or ``True`` for the
                dtypes without NaN.
        """
        if mode is None or mode == "promise_in_bounds":
            return index_p(self._x, *self._arrays, index=self._index)
        if mode not in ("clip", "fill"):
            raise ValueError(
                f"x.at[...].get: mode is {mode!r}; needed 'clip', 'fill', 'promise_in_bounds' or None. Write one of "
                "these."
            )
        return read(self._x, self._index, self._arrays, mode, fill_value)

    def set(self, value: ArrayLike) -> Array:
        """Return the array with other elements in their place."""
        return self._updated(scatter_set_p, "set", value)

    def add(self, value: ArrayLike) -> Array:
        """Return the array with a value added to the elements."""
        return self._updated(scatter_add_p, "add", value)

    def subtract(self, value: ArrayLike) -> Array:
        """Return the array with a value subtracted from the elements."""
        return self._updated(scatter_add_p, "subtract", elementwise.negative(value))

    def multiply(self, value: ArrayLike, *, unique_indices: bool = False) -> Array:
        """Return the array with the elements multiplied."""
        return self._combined(elementwise.multiply, "multiply", value, unique_indices)

    def divide(self, value: ArrayLike, *, unique_indices: bool = False) -> Array:
        """Return the array with the elements divided."""
        return self._combined(elementwise.divide, "divide", value, unique_indices)

    def power(self, value: ArrayLike, *, unique_indices: bool = False) -> Array:
        """Return the array with the elements raised to a power."""
        return self._combined(elementwise.power, "power", value, unique_indices)

    def min(self, value: ArrayLike, *, unique_indices: bool = False) -> Array:
        """Return the array with the smaller of element and value."""
        return self._combined(elementwise.minimum, "min", value, unique_indices)

    def max(self, value: ArrayLike, *, unique_indices: bool = False) -> Array:
        """Return the array with the greater of element and value."""
        return self._combined(elementwise.maximum, "max", value, unique_indices)

    def apply(self, function: Callable[[Any], Any], *, unique_indices: bool = False) -> Any:
        """Return the array with a function applied to the elements."""
        if unique_indices or _are_distinct(self._index, self._arrays, self._x.shape):
            return self.set(function(self.get()))
        if not all(isinstance(a, np.ndarray) for a in self._arrays):
            raise UnsupportedFunctionError(
                "x.at[...].apply: the index arrays are traced, so it is not known how often they select an element. "
                "Needed known numbers. Pass unique_indices=True if they are distinct."
            )
        numbers = np.arange(math.prod(self._x.shape)).reshape(self._x.shape)
        counts = np.bincount(numbers[self._index.filled(self._arrays)].ravel())
        flat = reshape(self._x, (numbers.size,))
        for count in range(1, counts.max() + 1):
            selected = At(flat)[np.flatnonzero(counts >= count)]
            flat = selected.set(function(selected.get()))
        return reshape(flat, self._shape)

    def _updated(self, primitive: Any, method: str, value: ArrayLike) -> Array:
        value = as_value(value)
        dtype = self._x.dtype
        if not issubclass(type(value), int | float | complex) and not np.can_cast(value.dtype, dtype, "same_kind"):
            raise TypeError(
                f"x.at[...].{method}: the value is of dtype {value.dtype}, the array of dtype {dtype}, which cannot "
                "hold it. Convert one of them with astype."
            )
        shape = selected_shape(self._index, self._x.shape, tuple([a.shape for a in self._arrays]))
        value = broadcast_to(cast(value, dtype), shape)
        return reshape(primitive(self._x, value, *self._arrays, index=self._index), self._shape)

    def _combined(
        self, function: Callable[[Any, Any], Any], method: str, value: ArrayLike, unique_indices: bool
    ) -> Array:
        if unique_indices or _are_distinct(self._index, self._arrays, self._x.shape):
            return self._updated(scatter_set_p, method, function(self.get(), value))
        shape = selected_shape(self._index, self._x.shape, tuple([a.shape for a in self._arrays]))
        size, count = math.prod(self._x.shape), math.prod(shape)
        if not count:
            return reshape(self._x, self._shape)
        numbers = np.arange(size).reshape(self._x.shape)
        flat = reshape(self._x, (size,))
        places = reshape(index_p(numbers, *self._arrays, index=self._index), (count,))
        values = reshape(broadcast_to(as_value(value), shape), (count,))
        # Divisors and exponents of one element are multiplied with each other.
        combine = function if method in ("min", "max") else elementwise.multiply
        places, values, is_last = _combined_by_place(combine, places, values)
        new = function(At(flat)[places].get(), values)
        # Only the last value of each place holds all of them. The others go into one more element, which is cut off.
        longer = concatenate([flat, flat[:1]], 0)
        return reshape(At(longer)[where(is_last, places, size)].set(new)[:size], self._shape)


def _combined_by_place(combine: Callable[[Any, Any], Any], places: Any, values: Any) -> tuple[Any, Any, Any]:
    """Sort places and values, and combine each value with those before it that have the same place.

    Return the places, the values, and whether each one is the last of its place.
    """
    order = argsort(places, kind="stable")
    places, values = At(places)[order].get(), At(values)[order].get()
    count, distance = places.shape[0], 1
    while distance < count:
        same = places[distance:] == places[:-distance]
        both = where(same, combine(values[:-distance], values[distance:]), values[distance:])
        values = concatenate([values[:distance], both], 0)
        distance *= 2
    return places, values, concatenate([places[1:] != places[:-1], np.ones(1, bool)], 0)


def _are_distinct(index: Index, arrays: tuple, shape: tuple[int, ...]) -> bool:
    if not arrays or index.unique:
        return True
    if not all(isinstance(a, np.ndarray) for a in arrays):
        return False
    selected = np.arange(int(np.prod(shape))).reshape(shape)[index.filled(arrays)]
    return len(np.unique(selected)) == selected.size


def at(x: ArrayLike) -> At:
    """Select elements of any array for a functional update. Traced and JAX arrays have it as the property ``.at``.

    Args:
        x: an array of either engine, or a tracer.

    Returns:
        An object to index: ``at(x)[index]`` has the methods ``set``, ``add``, ``subtract``, ``multiply``, ``divide``,
        ``power``, ``min``, ``max``, ``apply`` and ``get``. None of them changes ``x``.

    Example:
        >>> import numpy as np
        >>> import funcgrad.numpy as fnp
        >>> x = np.zeros(3)
        >>> fnp.at(x)[1:].add(2.0)
        array([0., 2., 2.])
        >>> x
        array([0., 0., 0.])
    """
    x = as_value(x)
    return At(x if hasattr(x, "shape") else cast(x, dtype_of(x)))
