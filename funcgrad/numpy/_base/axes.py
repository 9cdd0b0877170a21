"""Axis numbers in NumPy's forms."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

Axis = int | tuple[int, ...] | None

# A table, because ``range`` and ``tuple`` take 0.2 us for each array. NumPy has at most 64 dimensions.
ALL_AXES = tuple(tuple(range(ndim)) for ndim in range(65))


def normalize_axis(axis: Any, ndim: int) -> int:
    """Return the axis as a non-negative number."""
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    return axis % ndim


def normalize_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes as non-negative numbers, sorted; all axes for ``None``."""
    if axis is None:
        return ALL_AXES[ndim]
    if type(axis) is int and 0 <= axis < ndim:
        return (axis,)
    return tuple(sorted(given_axes(axis, ndim)))


def given_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes as non-negative numbers in the given order, which other arguments refer to."""
    if axis is None:
        return ALL_AXES[ndim]
    if isinstance(axis, int | np.integer):
        return (normalize_axis(axis, ndim),)
    normalized = tuple([normalize_axis(i, ndim) for i in axis])
    if len(set(normalized)) != len(normalized):
        raise ValueError("duplicate value in 'axis'")
    return normalized


def reduction_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes of a ufunc's reduction. For an array without axes NumPy accepts 0 and -1, and reduces no axis."""
    if type(axis) is int and 0 <= axis < ndim:
        return (axis,)
    return () if is_axis_of_scalar(axis, ndim) else normalize_axes(axis, ndim)


def is_axis_of_scalar(axis: Any, ndim: int) -> bool:
    """Return whether an array without axes is asked for an axis that NumPy accepts nevertheless."""
    return not ndim and isinstance(axis, int | np.integer) and int(axis) in (-1, 0)
