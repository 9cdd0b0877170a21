"""Running sums and products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.reduce import cumulative as ops
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy._base.axes import is_axis_of_scalar, normalize_axis
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._reduce.reductions import as_array, summand


def flat(x: ArrayLike) -> Array:
    """Return the elements along one axis."""
    return reshape(x, (math.prod(x.shape),))


def along(a: ArrayLike, axis: int | None) -> tuple[Any, int]:
    """Return the array and the axis to run along.

    ``None`` means all elements along one axis; so does a number's axis 0.
    """
    if axis is None or is_axis_of_scalar(axis, len(a.shape)):
        return flat(a), 0
    return a, normalize_axis(axis, len(a.shape))


def _running(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    @takes_out
    def function(a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: Array = None) -> Any:
        a = summand(a, dtype)
        return run(*along(a, axis))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``."
    return implements(getattr(np, name))(function)


cumsum = _running("cumsum", ops.cumsum)
cumprod = _running("cumprod", ops.cumprod)


def _array_api_running(name: str, run: Callable[..., Any], edge: int) -> Callable[..., Any]:
    @takes_out
    def function(
        x: ArrayLike,
        /,
        *,
        axis: int | None = None,
        dtype: DTypeLike = None,
        out: Array = None,
        include_initial: bool = False,
    ) -> Any:
        x = as_array(x)
        if axis is None and len(x.shape) != 1:
            raise ValueError(f"{name}: the array has {len(x.shape)} axes; needed axis= to say along which one to run.")
        x, axis = along(x, axis)
        y = run(x, axis, dtype)
        if not include_initial:
            return y
        shape = (*y.shape[:axis], 1, *y.shape[axis + 1 :])
        return concatenate([np.full(shape, edge, y.dtype), y], axis)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``."
    # NumPy has them from 2.1 on.
    return implements(getattr(np, name))(function) if hasattr(np, name) else function


cumulative_sum = _array_api_running("cumulative_sum", cumsum, 0)
cumulative_prod = _array_api_running("cumulative_prod", cumprod, 1)
