"""``Parameter`` and ``Buffer``: tensors that a module registers; and those whose shape the first input decides."""

from __future__ import annotations

from typing import Any, NoReturn, Self

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._types import DeviceLike, DTypeLike
from funcgrad.autograd import Tensor, tensor
from funcgrad.autograd.extend import default_dtype, is_tensor


class _ParameterType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, Uninitialized):
            return isinstance(instance, UninitializedParameter)
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

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        data = tensor([]) if data is None else data
        made: Tensor = data.detach() if is_tensor(data) else tensor(data)
        if requires_grad and not is_inexact(made.dtype):
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
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


class Uninitialized:
    """The place of a parameter or buffer without a shape, which a lazy module has before its first input.

    It is no tensor: computing with it raises an error. `materialize` makes the tensor, and a lazy module puts that in
    its place.
    """

    grad = None

    def __init__(self, requires_grad: bool = False, device: DeviceLike = None, dtype: DTypeLike = None) -> None:
        self.requires_grad = requires_grad
        self.dtype = default_dtype() if dtype is None else np.dtype(dtype)
        self.made: Tensor | None = None
        if device is not None:
            self.detach().to(device=getattr(device, "type", device))

    def materialize(self, shape: Any, device: DeviceLike = None, dtype: DTypeLike = None) -> None:
        """Make the tensor, of zeros, which an initial distribution then fills."""
        del device
        self.made = tensor(np.zeros(tuple(shape), self.dtype if dtype is None else dtype))

    @property
    def shape(self) -> NoReturn:
        """Refuse, in PyTorch's words: there is no shape yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def detach(self) -> Tensor:
        """Return an empty tensor of the dtype, which a module converts."""
        return tensor(np.zeros(0, self.dtype))

    @property
    def data(self) -> Tensor:
        """An empty tensor; a tensor that is assigned gives its dtype."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        self.dtype = value.dtype

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients of the tensor will be recorded."""
        self.requires_grad = requires_grad
        return self

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {name}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `torch.nn.parameter.{type(self).__name__}` objects. When using "
            "LazyModules Call `forward` with a dummy batch to initialize the parameters before calling torch functions"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(Uninitialized):
    """The place of a parameter whose shape the first input decides, as ``torch.nn.UninitializedParameter``.

    Args:
        requires_grad: whether gradients will be recorded.
        device: the present one.
        dtype: of the parameter; float32 by default.

    Example:
        >>> from funcgrad import nn
        >>> nn.LazyLinear(3).weight
        <UninitializedParameter>
    """

    def __init__(self, requires_grad: bool = True, device: DeviceLike = None, dtype: DTypeLike = None) -> None:
        super().__init__(requires_grad, device, dtype)

    def materialize(self, shape: Any, device: DeviceLike = None, dtype: DTypeLike = None) -> None:
        """Make the parameter, of zeros, which an initial distribution then fills."""
        super().materialize(shape, device, dtype)
        self.made = Parameter(self.made, self.requires_grad)


class UninitializedBuffer(Uninitialized):
    """The place of a buffer whose shape the first input decides, as ``torch.nn.UninitializedBuffer``.

    Args:
        requires_grad: whether gradients will be recorded.
        device: the present one.
        dtype: of the buffer; float32 by default.
        persistent: whether the state of the module contains it.

    Example:
        >>> from funcgrad import nn
        >>> nn.LazyBatchNorm1d().running_mean
        <UninitializedBuffer>
    """

    def __init__(
        self, requires_grad: bool = False, device: DeviceLike = None, dtype: DTypeLike = None, persistent: bool = True
    ) -> None:
        super().__init__(requires_grad, device, dtype)
        self.persistent = persistent
