"""Windows over arrays, and functions that are applied along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.primitive import View
from funcgrad._core.trace.place import shown
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import stack
from funcgrad._ops.index.plan import FULL, SLOT, Index
from funcgrad._ops.layout.copy import copy
from funcgrad._ops.layout.shape import expand_dims, reshape, transpose
from funcgrad._types import Array, ArrayLike, Value
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._layout.shape import as_array, moveaxis


@beside_numpys(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: ArrayLike, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Array:
    """Return ``numpy.lib.stride_tricks.sliding_window_view``. Windows of a traced array are a read-only view."""
    del subok
    x = as_array(x)
    if writeable:
        raise ValueError(
            "sliding_window_view: writeable=True was given, and windows of a traced array cannot be written to. Write "
            "to the array itself."
        )
    lengths = tuple(window_shape) if np.ndim(window_shape) else (window_shape,)
    if axis is None:
        axes = tuple(range(len(x.shape)))
    else:
        axes = tuple([normalize_axis(i, len(x.shape)) for i in ((axis,) if np.ndim(axis) == 0 else axis)])
    if len(lengths) != len(axes):
        raise ValueError(
            f"sliding_window_view: Must provide window_shape for all dimensions of `x`, or one for each axis: there "
            f"are {len(lengths)} for {len(axes)} axes of {aval_of(x)}. Name the axes with axis=."
        )
    # An axis may be named more than once; each window of it shortens it.
    for i, length in zip(axes, lengths, strict=True):
        taken = sum(n - 1 for j, n in zip(axes, lengths, strict=True) if j == i)
        if length < 0 or x.shape[i] - taken < 1:
            raise ValueError(
                f"sliding_window_view: window shape cannot be larger than input array shape, nor negative: {length} "
                f"along axis {i} of {aval_of(x)}. Take a shorter window."
            )
    windows = _Windows(lengths, axes)
    return shown(x, windows) if isinstance(x, Tracer) else windows(x)


class _Windows:
    """The step from an array to its windows, used like a view primitive."""

    __slots__ = ("axes", "lengths", "view")

    def __init__(self, lengths: tuple[int, ...], axes: tuple[int, ...]) -> None:
        self.lengths, self.axes = lengths, axes
        self.view = View(None, numpy=self._laid_out)

    def __call__(self, x: Value) -> Any:
        for i, length in zip(self.axes, self.lengths, strict=True):
            places = np.arange(x.shape[i] - length + 1)[:, None] + np.arange(length)
            x = moveaxis(index_p(x, places, index=Index((*(FULL,) * i, SLOT))), i + 1, -1)
        return x

    def _laid_out(self, x: np.ndarray) -> np.ndarray:
        return np.lib.stride_tricks.sliding_window_view(x, self.lengths, self.axes)


@beside_numpys(np.apply_along_axis)
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Any:
    """Return ``numpy.apply_along_axis``.

    It calls the function once for each vector; ``fg.vmap`` handles all at once.
    """
    arr = as_array(arr)
    axis = normalize_axis(axis, len(arr.shape))
    vectors = moveaxis(arr, axis, -1)
    lead = vectors.shape[:-1]
    if not math.prod(lead):
        raise ValueError(
            f"Cannot apply_along_axis when any iteration dimensions are 0: the array is {aval_of(arr)}, the axis "
            f"{axis}. Leave out what is empty."
        )
    results = [as_array(func1d(vectors[place], *args, **kwargs)) for place in np.ndindex(lead)]
    # The first result decides the dtype and shape of all.
    whole = stack([cast(y, results[0].dtype) for y in results], 0)
    shape = results[0].shape
    whole = reshape(whole, (*lead, *shape))
    ndim, inner = len(whole.shape), len(shape)
    order = (*range(axis), *range(ndim - inner, ndim), *range(axis, ndim - inner))
    # The stack of a single result is a view of it.
    return copy(transpose(whole, order))


@beside_numpys(np.apply_over_axes)
def apply_over_axes(func: Callable[..., Any], a: ArrayLike, axes: Any) -> Any:
    """``numpy.apply_over_axes``."""
    value = as_array(a)
    ndim = len(value.shape)
    for i in axes if np.ndim(axes) else (axes,):
        axis = int(i) + ndim if i < 0 else int(i)
        result = func(value, axis)
        if len(result.shape) != len(value.shape):
            result = expand_dims(result, (axis,))
        if len(result.shape) != len(value.shape):
            raise ValueError(
                f"apply_over_axes: function is not returning an array of the correct shape: {aval_of(result)} of "
                f"{aval_of(value)}; needed as many axes, or one less. Keep the other axes."
            )
        value = result
    return value
