"""``ShapeDtype``: the type of an array, without the array."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

from funcgrad._core.aval import type_text
from funcgrad._core.words import shown
from funcgrad._public import published_as
from funcgrad._types import DTypeLike, ShapeLike
from funcgrad.numpy.extend import is_array_without_axes, is_number_dtype
from funcgrad.tree import register_leaf


@register_leaf
@published_as("funcgrad")
class ShapeDtype:
    """The shape and dtype of an array, for functions that need no numbers.

    These are `make_graph`, and ``lower`` and ``graph`` of `jit`. A type without axes stands for an array, and not for a
    number: pass ``np.float64(0)`` for a number. They differ where a function writes (``z *= 2``).

    Args:
        shape: the length of each axis, or one number for one axis.
        dtype: any argument of ``np.dtype``: ``np.float32``, ``"int64"``, ``ml_dtypes.bfloat16``.

    Attributes:
        ndim: the number of axes.
        size: the number of elements.

    Raises:
        TypeError: a length is no integer, or the dtype is none of numbers.
        ValueError: a length is negative.

    Example:
        >>> import funcgrad as fg
        >>> import numpy as np
        >>> batch = fg.ShapeDtype((1_000_000, 64), np.float32)
        >>> batch
        ShapeDtype(f32[1000000,64])
        >>> graph = fg.make_graph(lambda x: x.mean(axis=0))(batch)
        >>> [str(x.aval) for x in graph.outputs]
        ['f32[64]']

    Source: ``jax.ShapeDtypeStruct``, which every function here also accepts.
    """

    __slots__ = ("dtype", "shape")

    shape: tuple[int, ...]
    dtype: np.dtype

    def __init__(self, shape: ShapeLike | Sequence[SupportsIndex] | np.ndarray, dtype: DTypeLike) -> None:
        object.__setattr__(self, "shape", _checked_shape(shape))
        object.__setattr__(self, "dtype", _checked_dtype(dtype))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"ShapeDtype: {name} was assigned {value!r}; needed a type that does not change. Make another one."
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ShapeDtype) and (self.shape, self.dtype) == (other.shape, other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __reduce__(self) -> tuple[Any, ...]:
        return ShapeDtype, (self.shape, self.dtype)

    def __repr__(self) -> str:
        return f"ShapeDtype({type_text(self.shape, self.dtype)})"


def is_array_argument(x: object) -> bool:
    """Return whether an argument without axes is an array, or the type of one, and no number."""
    return not x.shape if type(x) is ShapeDtype else is_array_without_axes(x)


def _checked_shape(shape: Any) -> tuple[int, ...]:
    try:
        given = tuple(map(operator.index, np.atleast_1d(shape) if isinstance(shape, np.ndarray) else shape))
    except TypeError:
        given = None
    try:
        given = (operator.index(shape),) if given is None else given
    except TypeError:
        raise TypeError(
            f"ShapeDtype: shape is {shown(shape)}; needed integers. Pass the length of each axis: "
            "ShapeDtype((3, 4), dtype)."
        ) from None
    if any(length < 0 for length in given):
        raise ValueError(f"ShapeDtype: shape is {shape!r}; needed lengths from 0 on. Write the lengths out.")
    return given


def _checked_dtype(dtype: DTypeLike) -> np.dtype:
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if dtype is None or found is None or not is_number_dtype(found):
        raise TypeError(
            f"ShapeDtype: dtype is {shown(dtype)}; needed a dtype of numbers. Pass what np.dtype takes, as np.float32."
        )
    return found
