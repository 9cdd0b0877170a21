"""Reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer, bind
from funcgrad._ops.broadcast import reduce_sum_p
from funcgrad._ops.cast import cast
from funcgrad.numpy._convert import as_value, dtype_of
from funcgrad.numpy._dispatch import implements

# ``range`` and ``tuple`` for the axes of every array cost 0.2 us; NumPy has at most 64 dimensions.
ALL_AXES = tuple(tuple(range(ndim)) for ndim in range(65))

Axis = int | tuple[int, ...] | None


def normalize_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes as non-negative numbers, in order; all of them for ``None``."""
    if axis is None:
        return ALL_AXES[ndim]
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
    if dtype is not None or not isinstance(x, Tracer) or x.dtype.kind not in "fc":
        x = _summand(x, dtype)
    axes = ALL_AXES[len(x.shape)] if axis is None else normalize_axes(axis, len(x.shape))
    return bind(reduce_sum_p, (x,), {"axes": axes, "keepdims": bool(keepdims)})


def _summand(x: Any, dtype: Any) -> Any:
    """``x`` in the dtype in which NumPy sums: small integers in the platform's."""
    x = as_value(x)
    if dtype is None and dtype_of(x).kind in "biu":
        dtype = np.add.reduce(np.empty(0, dtype_of(x))).dtype
    return cast(x, dtype_of(x) if dtype is None else np.dtype(dtype))
