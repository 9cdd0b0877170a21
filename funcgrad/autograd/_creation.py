"""``tensor``: makes a tensor from data."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact, is_integral
from funcgrad._core.bind import is_engine_value
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import Array, DTypeLike
from funcgrad.autograd._methods.to import number_dtype
from funcgrad.autograd._ragged import check_nested
from funcgrad.autograd._tape.base import TensorBase
from funcgrad.autograd._tape.dtypes import default_dtype
from funcgrad.autograd._tensor import Tensor, rebuild
from funcgrad.autograd._torch import converted
from funcgrad.numpy.extend import as_value, is_foreign_array


def tensor(data: Array, dtype: DTypeLike = None, requires_grad: bool = False) -> Tensor:
    """Make a tensor, a leaf, from a copy of data.

    Args:
        data: a number, nested lists of numbers, an array or a tensor, also one of PyTorch. Python floats become
            float32, as in PyTorch; arrays keep their dtype.
        dtype: another dtype, one of NumPy's.
        requires_grad: whether operations on it are recorded, for `backward`.

    Returns:
        A tensor with NumPy values, or with JAX values if ``data`` is a ``jax.Array``.

    Raises:
        RuntimeError: a gradient is required of an integer or boolean dtype.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> tensor([1.0, 2.0], requires_grad=True)
        tensor([1., 2.], requires_grad=True)
        >>> tensor([1, 2])
        tensor([1, 2])
    """
    try:
        value = _copied(data, None if dtype is None else number_dtype("tensor", dtype))
    except RecursionError:
        raise TypeError(
            f"tensor: data is a {type(data).__name__} that is nested too deeply, or contains itself; needed numbers in "
            "lists, with one level of lists for each axis. Make it an array, or remove the cycle."
        ) from None
    if requires_grad and not is_inexact(value.dtype):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return rebuild(value, requires_grad)


def _copied(data: Array, dtype: np.dtype | None) -> Array:
    if isinstance(data, type):
        raise TypeError(
            f"tensor: data is the class {data.__name__}; needed numbers or an array. Pass an instance of it."
        )
    data = data._value if isinstance(data, TensorBase) else converted(data)
    if isinstance(data, np.ndarray) and is_foreign_array(data):
        data = as_value(data)
    if issubclass(type(data), np.ndarray | np.generic) or not hasattr(data, "dtype"):
        strong = hasattr(data, "dtype")
        try:
            array = np.array(_plain(data))
        except ValueError:
            check_nested(data)
            raise
        if dtype is None and not strong and not _has_strong(data):
            dtype = _default_of(array.dtype.kind)
        if not is_integral(array.dtype) and not is_inexact(array.dtype):
            check_nested(data)
            raise TypeError(
                f"tensor: data is a {type(data).__name__} that makes no array of numbers. Pass numbers or arrays."
            )
        return array if dtype is None else array.astype(dtype, copy=False)
    made = cast(data, data.dtype if dtype is None else dtype)
    # A JAX array cannot change, but a donated step may take its memory.
    return made.copy() if made is data and is_engine_value(data) else made


def _default_of(kind: str) -> np.dtype | None:
    """Return the dtype of tensors of Python floats or complex numbers; ``None`` for other numbers."""
    if kind not in "fc":
        return None
    real = default_dtype()
    return real if kind == "f" else np.result_type(real, np.complex64) if real.kind == "f" else np.dtype(np.complex64)


def _plain(data: Array) -> Any:
    """Replace the tensors in nested lists by their values."""
    if isinstance(data, list | tuple):
        return [_plain(x) for x in data]
    return np.asarray(data._value) if isinstance(data, TensorBase) else data


def _has_strong(data: Array) -> bool:
    """Return whether nested lists contain arrays, whose dtypes count."""
    if isinstance(data, list | tuple):
        return any(_has_strong(x) for x in data)
    return hasattr(data, "dtype")
