"""The affine layer."""

from __future__ import annotations

from typing import NoReturn

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.contract.dense import affine_p
from funcgrad._ops.contract.dot import dot_general
from funcgrad._types import Array
from funcgrad.autograd.extend import c_type_name, is_tensor, type_name
from funcgrad.nn._functions.convert import inexact
from funcgrad.numpy import add
from funcgrad.numpy.extend import as_value, promote


def linear(x: Array, weight: Array, bias: Array = None) -> Array:
    """Compute ``x @ weight.T + bias``, with weights in PyTorch's layout.

    Args:
        x: ``f32[..., in]``.
        weight: ``f32[out, in]``, or ``f32[in]`` for a single output without an output axis.
        bias: ``f32[out]``, or ``None``.

    Returns:
        ``f32[..., out]``.

    Raises:
        ValueError: the last axes of ``x`` and ``weight`` differ in length.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> nn.linear(np.array([1.0, 2.0]), np.array([[1.0, 1.0], [0.0, 3.0]]), np.array([0.5, 0.0]))
        array([3.5, 6. ])
    """
    given = x
    x, weight = inexact(x), inexact(weight)
    if not x.shape or len(weight.shape) not in (1, 2) or x.shape[-1] != weight.shape[-1]:
        raise ValueError(
            f"linear: x is {aval_of(x)} and weight is {aval_of(weight)}; needed x of shape [..., in] and weight of "
            "shape [out, in]. Transpose the weight if it is laid out as [in, out]."
        )
    if x.dtype != weight.dtype or x is not given:
        if is_tensor(given) and is_tensor(weight):
            refuse_dtypes(given.dtype, weight.dtype, has_bias=bias is not None)
        x, weight = promote(x, weight)
    if bias is not None and len(x.shape) == 2 == len(weight.shape):
        bias = as_value(bias)
        if getattr(bias, "dtype", None) == x.dtype and getattr(bias, "shape", ()) == weight.shape[:1]:
            return bind(affine_p, (x, weight, bias), NO_PARAMS)
    y = dot_general(x, weight, ((len(x.shape) - 1,), (len(weight.shape) - 1,)))
    return y if bias is None else add(y, bias)


def refuse_dtypes(first: Array, second: Array, *, has_bias: bool) -> NoReturn:
    """Refuse a product of tensors of two dtypes, in PyTorch's words."""
    if has_bias:
        names = f"{type_name(first)} and {type_name(second)}"
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {names}")
    names = f"{c_type_name(first)} != {c_type_name(second)}"
    raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {names}")
