"""Sums, products and extrema of segments: elements with the same number go into the same row of the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike, ScalarLike
from funcgrad.jax._names import publish_as_jax

__all__ = ["segment_max", "segment_min", "segment_prod", "segment_sum"]


def _placed(data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None) -> tuple[Any, Any, int]:
    """Return the data, the row of each element, and how many rows there are; strays go into one more row."""
    data, ids = fnp.asarray(data), fnp.asarray(segment_ids)
    if num_segments is None:
        num_segments = int(fnp.max(ids)) + 1
    ids = fnp.where(fnp.logical_and(ids >= 0, ids < num_segments), ids, num_segments)
    return data, ids, num_segments


def segment_sum(
    data: ArrayLike, segment_ids: ArrayLike, num_segments: int | None = None, bucket_size: Any = None, mode: Any = None
) -> Array:
    """``jax.ops.segment_sum``: the sum of each segment; numbers outside of the range do not count."""
    del bucket_size, mode
    data, ids, count = _placed(data, segment_ids, num_segments)
    rows = fnp.zeros((count + 1, *data.shape[ids.ndim :]), data.dtype)
    return fnp.at(rows)[ids].add(data)[:count]


def _by_ufunc(name: str, ufunc: np.ufunc, start: Callable[[np.dtype], Any]) -> Callable[..., Any]:
    def segments(
        data: ArrayLike,
        segment_ids: ArrayLike,
        num_segments: int | None = None,
        bucket_size: Any = None,
        mode: Any = None,
    ) -> Array:
        del bucket_size, mode
        data, ids, count = _placed(data, segment_ids, num_segments)
        shape = count + 1, *data.shape[ids.ndim :]
        rows = fnp.array(fnp.full_like(data, start(data.dtype), shape=shape))
        ufunc.at(rows, ids, data)
        return rows[:count]

    segments.__name__ = segments.__qualname__ = name
    segments.__doc__ = f"``jax.ops.{name}``: combine the elements of each segment; numbers out of range do not count."
    return segments


def _least(dtype: np.dtype) -> ScalarLike:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _greatest(dtype: np.dtype) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


segment_max = _by_ufunc("segment_max", np.maximum, _least)
segment_min = _by_ufunc("segment_min", np.minimum, _greatest)
segment_prod = _by_ufunc("segment_prod", np.multiply, lambda _: 1)

__dir__, __getattr__ = publish_as_jax(__name__)
