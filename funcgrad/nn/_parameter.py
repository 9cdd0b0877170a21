"""``Parameter`` and ``Buffer``: tensors that a module registers."""

from __future__ import annotations

from typing import Any

from funcgrad.autograd import Tensor, tensor
from funcgrad.autograd.extend import is_tensor


class _ParameterType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return is_tensor(instance) and getattr(instance, "_is_parameter", False)


class Parameter(metaclass=_ParameterType):
    """Make a leaf tensor that a `Module` registers when it is assigned to an attribute.

    It is an ordinary `Tensor` with a mark, which ``isinstance(p, Parameter)`` checks.

    Args:
        data: a tensor, whose memory the parameter shares, or anything that `funcgrad.autograd.tensor` accepts.
        requires_grad: whether gradients are recorded.

    Example:
        >>> from funcgrad import nn
        >>> nn.Parameter([1.0, 2.0])
        Parameter containing:
        tensor([1., 2.], requires_grad=True)
    """

    def __new__(cls, data: Any, requires_grad: bool = True) -> Any:
        made: Tensor = data.detach() if is_tensor(data) else tensor(data)
        made._is_parameter = True
        return made.requires_grad_(requires_grad)


class Buffer:
    """Mark a tensor that a `Module` registers as a buffer when it is assigned to an attribute.

    The attribute is then the tensor itself.

    Args:
        data: a tensor or an array.
        persistent: whether the state of the module contains it.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> module = nn.Module()
        >>> module.offset = nn.Buffer(tensor([1.0]))
        >>> module.state_dict()["offset"]
        tensor([1.])
    """

    def __init__(self, data: Any, *, persistent: bool = True) -> None:
        self.data = data
        self.persistent = persistent
