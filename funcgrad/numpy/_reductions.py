"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._ops.broadcast import reduce_sum_p
from funcgrad._ops.cast import cast
from funcgrad.numpy._convert import as_value
from funcgrad.numpy._dispatch import implements

Axis = int | tuple[int, ...] | None


def normalize_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes as non-negative numbers, in order; all of them for ``None``."""
    if axis is None:
        return tuple(range(ndim))
    axes = (axis,) if isinstance(axis, int | np.integer) else tuple(axis)
    for i in axes:
        if not -ndim <= i < ndim:
            raise np.exceptions.AxisError(i, ndim)
    normalized = tuple(sorted(int(i) % ndim for i in axes))
    if len(set(normalized)) != len(normalized):
        raise ValueError("duplicate value in 'axis'")
    return normalized


@implements(np.sum)
def sum_(x: Any, axis: Axis = None, dtype: Any = None, out: None = None, keepdims: bool = False) -> Any:
    """``numpy.sum``."""
    x = as_value(x)
    if dtype is None and x.dtype.kind in "biu":
        dtype = np.add.reduce(np.empty(0, x.dtype)).dtype
    if dtype is not None:
        x = cast(x, np.dtype(dtype))
    return reduce_sum_p(x, axes=normalize_axes(axis, len(x.shape)), keepdims=bool(keepdims))
