"""PyTorch's refusals of tensors whose dtypes or axes do not fit a function. Arrays follow NumPy's rules instead."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._ops.elementwise.cast import cast
from funcgrad.autograd.extend import c_type_name, is_tensor, out_of_range, type_name
from funcgrad.nn._functions.convert import inexact

_FLOAT = np.dtype(np.float32)


def is_integral_tensor(x: Any) -> bool:
    """Return whether ``x`` is a tensor of integers or bools."""
    return is_tensor(x) and not is_inexact(x.dtype)


def floating(kernel: str, x: Any) -> Any:
    """Return ``x`` as floats; refuse a tensor of integers as PyTorch's kernel of this name does."""
    if is_integral_tensor(x):
        raise NotImplementedError(f'"{kernel}" not implemented for {type_name(x.dtype)!r}')
    return inexact(x)


def refuse_integers(text: str, *tensors: Any) -> None:
    """Refuse tensors of integers with PyTorch's text, in which ``{}`` stands for the dtype of the first such tensor."""
    for x in tensors:
        if is_integral_tensor(x):
            raise RuntimeError(text.format(type_name(x.dtype)))


# The mean of integers, which several functions end with.
OF_MEAN = "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {}"


def check_floats(x: Any) -> None:
    """Refuse a tensor of integers whose elements would be written as floats."""
    if is_integral_tensor(x):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {type_name(x.dtype)}")


def check_dim(x: Any, dim: Any) -> None:
    """Refuse an axis that a tensor does not have."""
    ndim = max(len(x.shape), 1)
    if is_tensor(x) and isinstance(dim, int) and not -ndim <= dim < ndim:
        raise IndexError(out_of_range(dim, ndim))


def check_convolution(x: Any, weight: Any, bias: Any, transposed: bool) -> None:
    """Refuse tensors of several dtypes in a convolution."""
    if not (is_tensor(x) and is_tensor(weight)):
        return
    if is_tensor(bias) and bias.dtype != x.dtype and not transposed:
        raise RuntimeError(
            f"Input type ({c_type_name(x.dtype)}) and bias type ({c_type_name(bias.dtype)}) should be the same"
        )
    if weight.dtype != x.dtype:
        raise RuntimeError(f"expected scalar type {type_name(x.dtype)} but found {type_name(weight.dtype)}")


def widened(kernel: str, x: Any, *parameters: Any) -> Any:
    """Return the input of a normalization, in the dtype in which it computes.

    Half precision is computed in float32, as in PyTorch: squares of 256 would overflow. A tensor in half precision may
    have parameters of float32. Other mixtures are refused.
    """
    held = [p for p in parameters if is_tensor(p)]
    if not is_tensor(x) or all(p.dtype == x.dtype for p in held):
        return single(floating(kernel, x))
    if any(p.dtype != _FLOAT for p in held):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if x.dtype.itemsize != 2 or not is_inexact(x.dtype):
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")
    return cast(x, _FLOAT)


def narrowed(y: Any, x: Any) -> Any:
    """Return the result of a normalization in the dtype of its input, if that is a tensor or in half precision."""
    same = y.dtype == getattr(x, "dtype", None)
    return cast(y, x.dtype) if not same and (is_tensor(x) or _is_half(x)) else y


def single(x: Any) -> Any:
    """Return an array in half precision as float32, and another one as it is."""
    return cast(x, _FLOAT) if _is_half(x) else x


def _is_half(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return dtype is not None and dtype.itemsize == 2 and is_inexact(dtype)


def wrong_count(name: str, axes: int, given: tuple) -> str:
    """Return PyTorch's message for an output size with another number of lengths than there are axes."""
    if axes == 1:
        return f"{name}() argument 'output_size' should contain one int (got {len(given)})"
    if "max" in name:
        return f"{name}(): internal error: output_size.size() must be {axes}"
    return f"{name}: output_size must be {axes}"
