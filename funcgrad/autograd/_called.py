"""The value of ``Tensor(...)``: PyTorch's old way to make a tensor, of sizes or of data."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._types import DTypeLike
from funcgrad.autograd._methods.names import Shape
from funcgrad.autograd._tape.base import is_tensor
from funcgrad.autograd._tape.dtypes import default_dtype


def called_value(given: tuple[Any, ...], dtype: DTypeLike = None) -> np.ndarray:
    """Return zeros of the given sizes, or the given data in the default dtype.

    Raises:
        TypeError: the arguments are neither integers nor one sequence.
    """
    kind = default_dtype() if dtype is None else np.dtype(dtype)
    parts = [x for x in given if x is not None]
    sizes = tuple(parts[0]) if len(parts) == 1 and isinstance(parts[0], Shape) else tuple(parts)
    if all(isinstance(n, int | np.integer) and not isinstance(n, bool) for n in sizes):
        return np.zeros(sizes or 0, kind)
    if len(parts) != 1 or issubclass(type(parts[0]), int | float | complex | str):
        raise TypeError(
            f"new(): data must be a sequence (got {type(parts[0]).__name__}). Pass sizes, as in Tensor(2, 3), or one "
            "sequence of numbers. For a tensor of one number write torch.tensor(x)."
        )
    data: Any = parts[0]
    if is_tensor(data):
        return np.asarray(data._value).astype(kind, copy=False)
    return np.array([x._value if is_tensor(x) else x for x in data] if isinstance(data, list) else data, kind)
