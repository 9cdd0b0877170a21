"""PyTorch's old classes: ``FloatTensor(...)`` makes a tensor, and ``isinstance(t, FloatTensor)`` asks its dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad.autograd.extend import TRACE, called_value, is_tensor, set_dtype_of_floats
from funcgrad.torch._dtypes import DTYPES


class _TypedTensor(type):
    dtype: np.dtype

    def __instancecheck__(cls, instance: Any) -> bool:
        return is_tensor(instance) and instance.dtype == cls.dtype

    def __call__(cls, *given: Any) -> Any:
        return TRACE.constant(np.asarray(called_value(given, cls.dtype)))


class _VariableType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return is_tensor(instance)

    def __call__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        del volatile
        made = data.detach() if is_tensor(data) else TRACE.constant(np.asarray(data))
        return made.requires_grad_() if requires_grad else made


class Variable(metaclass=_VariableType):
    """``torch.autograd.Variable``: return a tensor with the same memory; every tensor is a variable.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
        tensor([1., 1.], requires_grad=True)
    """


_NAMES = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "LongTensor": "int64",
    "IntTensor": "int32",
    "ShortTensor": "int16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "BoolTensor": "bool",
}
TYPES: dict[str, Any] = {
    name: _TypedTensor(
        name, (), {"dtype": DTYPES[dtype], "__doc__": f"``torch.{name}``: tensors of the dtype {dtype}."}
    )
    for name, dtype in _NAMES.items()
}


def set_default_tensor_type(t: Any) -> None:
    """``torch.set_default_tensor_type``: set the dtype of tensors that are made of Python floats, by a class's name."""
    name = t.rpartition(".")[2] if isinstance(t, str) else getattr(t, "__name__", str(t))
    if name not in TYPES:
        raise TypeError(f"invalid type object: {t!r} was given; needed a class of tensors, such as torch.FloatTensor.")
    set_dtype_of_floats(TYPES[name].dtype)
