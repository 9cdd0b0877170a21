"""Methods and attributes that say what a tensor is, those of devices and memory, and changes of shape in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import DTypeLike, Tensor
from funcgrad.autograd._memory.views import chunk, split
from funcgrad.autograd._methods.names import METHODS as NAMES
from funcgrad.autograd._tape.base import set_value
from funcgrad.autograd._tape.dtypes import type_name
from funcgrad.autograd._tape.writes import WRITES

Method = Callable[..., Any]


def _type(self: Tensor, dtype: DTypeLike = None) -> Any:
    """Return the name of the tensor's type, or the tensor in another dtype."""
    if dtype is None:
        return f"torch.{type_name(self.dtype)}Tensor"
    return self.to(_TYPES.get(dtype, dtype) if isinstance(dtype, str) else dtype)


_TYPES = {
    f"torch.{kind}Tensor": np.dtype(name)
    for kind, name in {
        "Float": "f4",
        "Double": "f8",
        "Half": "f2",
        "Long": "i8",
        "Int": "i4",
        "Short": "i2",
        "Char": "i1",
        "Byte": "u1",
        "Bool": "?",
    }.items()
}


def _stride(self: Tensor, dim: int | None = None) -> Any:
    """Return how many elements lie between neighbours along each axis, or along one."""
    value = np.asarray(self._value)
    steps = tuple([n // max(value.itemsize, 1) for n in value.strides])
    return steps if dim is None else steps[dim]


def _storage_offset(self: Tensor) -> int:
    """Return how many elements of the memory's owner lie before the first one."""
    value = self._value
    owner = getattr(value, "base", None)
    if not isinstance(owner, np.ndarray):
        return 0
    return (value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]) // value.itemsize


def _shape_changed(name: str) -> Method:
    """Return the method that changes the shape in place, for tensors that require no gradient."""

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        if self.requires_grad:
            raise RuntimeError(
                f"{name}_: the tensor {self.aval} requires grad, and its shape was to change in place. Write x = "
                f"x.{name}(...)."
            )
        WRITES.note((self,))
        set_value(self, getattr(self, name)(*args, **options)._value)
        return self

    method.__doc__ = f"Change the shape in place, as ``{name}`` does."
    return method


def _new(self: Tensor, *size: Any) -> Any:
    """Return a tensor of zeros of a shape, or of data, in this tensor's dtype."""
    if len(size) == 1 and not isinstance(size[0], int):
        return self.new_tensor(size[0])
    return self.new_zeros(*size)


def _pin_memory(self: Tensor) -> Any:
    """Return the tensor itself: the host's memory is the only one."""
    return self


def _refuse_device(name: str) -> Method:
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        del args, options
        return NAMES["to"](self, device=name)

    method.__doc__ = f"Refuse to move the tensor to {name!r}, unless its value is there."
    return method


def _sum_to_size(self: Tensor, *size: Any) -> Any:
    """Return the sum over the axes along which a shape was broadcast to this one."""
    shape = tuple(size[0]) if len(size) == 1 and isinstance(size[0], list | tuple) else size
    extra = len(self.shape) - len(shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(shape, self.shape[extra:], strict=True)):
        raise RuntimeError(f"size {{{list(shape)}}} is not expandable to size {{{list(self.shape)}}}.")
    axes = (*range(extra), *[i + extra for i, n in enumerate(shape) if n == 1 != self.shape[i + extra]])
    return fnp.sum(self, axis=axes, keepdims=True).reshape(shape) if axes else self


def _to_dense(self: Tensor, dtype: Any = None, **options: Any) -> Any:
    """Return the tensor, which is dense, in a dtype."""
    del options
    return self if dtype is None else self.to(dtype)


def _dim_order(self: Tensor, ambiguity_check: Any = False) -> tuple[int, ...]:
    """Return the axes in the order of the memory, the slowest first."""
    del ambiguity_check
    strides = _stride(self)
    return tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))


def _nonzero_static(self: Tensor, *, size: int, fill_value: int = -1) -> Any:
    """Return the positions of ``size`` elements that are not 0, filled up with a value."""
    found = self.nonzero()[:size]
    rows = found.new_full((size, found.shape[1]), fill_value)
    rows[: found.shape[0]] = found
    return rows


def _length(self: Tensor) -> int:
    if not self.shape:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]


def _as_subclass(self: Tensor, cls: type) -> Any:
    """Return the tensor itself for its own class."""
    if cls is not type(self):
        raise TypeError("as_subclass: Tensor cannot be subclassed here. Write functions of tensors.")
    return self.view(self.shape)


METHODS: dict[str, Method] = {
    "dim_order": _dim_order,
    "nonzero_static": _nonzero_static,
    "as_subclass": _as_subclass,
    "is_distributed": lambda self: False,
    "is_coalesced": lambda self: False,
    "is_set_to": lambda self, tensor: (
        self.data_ptr() == tensor.data_ptr() and self.shape == tensor.shape and _stride(self) == _stride(tensor)
    ),
    "to_dense": _to_dense,
    "unsafe_chunk": chunk,
    "unsafe_split": split,
    "unsafe_split_with_sizes": split,
    "resize_as": lambda self, other: self.clone().resize_(*other.shape),
    "__len__": _length,
    "__reversed__": lambda self: fnp.flip(self, 0) if self.shape else self,
    "type": _type,
    "stride": _stride,
    "storage_offset": _storage_offset,
    "data_ptr": lambda self: np.asarray(self._value).__array_interface__["data"][0],
    "new": _new,
    "pin_memory": _pin_memory,
    "share_memory_": _pin_memory,
    "cuda": _refuse_device("cuda"),
    "xpu": _refuse_device("xpu"),
    "get_device": lambda self: -1,
    "is_signed": lambda self: self.dtype.kind not in "bu",
    "is_nonzero": lambda self: bool(self),
    "is_same_size": lambda self, other: self.shape == other.shape,
    "is_conj": lambda self: False,
    "is_neg": lambda self: False,
    "is_pinned": lambda self: False,
    "is_shared": lambda self: False,
    "is_inference": lambda self: self._inference,
    "resolve_conj": _pin_memory,
    "resolve_neg": _pin_memory,
    "split_with_sizes": split,
    "narrow_copy": lambda self, dim, start, length: self.narrow(dim, start, length).clone(),
    "sum_to_size": _sum_to_size,
}


def _overwritten(name: str) -> Method:
    """Return the method in place of a method: the tensor gets the result's elements."""

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        y = getattr(self, name)(*args, **options)
        if not np.can_cast(y.dtype, self.dtype, "same_kind"):
            kinds = type_name(y.dtype), type_name(self.dtype)
            raise RuntimeError(f"result type {kinds[0]} can't be cast to the desired output type {kinds[1]}")
        return self.copy_(y)

    method.__doc__ = f"PyTorch's ``{name}_``: write the result of ``{name}`` into the tensor."
    return method


def _applied(self: Tensor, callable: Callable[[Any], Any]) -> Any:  # noqa: A002  (PyTorch's name)
    """Replace each element by a Python function of it, in place; refused for a tensor that requires gradients."""
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    return self.copy_(self.new_tensor([callable(x) for x in self.flatten().tolist()]).reshape(self.shape))


def _mapped(self: Tensor, tensor: Any, callable: Callable[[Any, Any], Any]) -> Any:  # noqa: A002  (PyTorch's name)
    """Replace each element by a Python function of it and of another tensor's, in place."""
    if self.requires_grad or tensor.requires_grad:
        raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
    pairs = zip(self.flatten().tolist(), tensor.expand(self.shape).flatten().tolist(), strict=True)
    return self.copy_(self.new_tensor([callable(a, b) for a, b in pairs]).reshape(self.shape))


def _mapped_with_two(self: Tensor, x: Any, y: Any, callable: Callable[..., Any]) -> Any:  # noqa: A002  (PyTorch's name)
    """Replace each element by a Python function of it and of two other tensors', in place."""
    if self.requires_grad or x.requires_grad or y.requires_grad:
        raise RuntimeError("Can't call map2_() on Variable that requires grad. Use var.detach().map2_() instead.")
    each = [z.expand(self.shape).flatten().tolist() for z in (self, x, y)]
    return self.copy_(self.new_tensor([callable(*three) for three in zip(*each, strict=True)]).reshape(self.shape))


_OVERWRITTEN = """
    bitwise_left_shift bitwise_right_shift float_power gcd igamma igammac lcm ldexp mvlgamma polygamma renorm
"""
IN_PLACE: dict[str, Method] = {
    **{f"{name}_": _shape_changed(name) for name in ["squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims"]},
    **{f"{name}_": _overwritten(name) for name in _OVERWRITTEN.split()},
    "apply_": _applied,
    "map_": _mapped,
    "map2_": _mapped_with_two,
}
# Attributes, which are the same for all tensors of a kind.
FLAGS: dict[str, Any] = {
    "is_cuda": False,
    "is_cpu": True,
    "is_meta": False,
    "is_mps": False,
    "is_sparse": False,
    "is_sparse_csr": False,
    "is_quantized": False,
    "is_nested": False,
    "is_mkldnn": False,
    "is_xpu": False,
    "is_ipu": False,
    "is_maia": False,
    "is_mtia": False,
    "is_vulkan": False,
    "is_xla": False,
    "name": None,
    "grad_dtype": property(lambda self: self.dtype),
    "layout": "strided",
    "output_nr": 0,
}
