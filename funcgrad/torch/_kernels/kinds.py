"""Copies that PyTorch's kernels make, questions about tensors, and settings that change nothing here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad._types import Array, DTypeLike, Tensor
from funcgrad.autograd.extend import TRACE, is_tensor
from funcgrad.nn.extend import batch_norm_and_statistics
from funcgrad.torch._creation import FUNCTIONS as CREATED
from funcgrad.torch._functions import of_tensors
from funcgrad.torch._joined import FUNCTIONS as JOINED
from funcgrad.torch.linalg import lu_factor

_MINE = "funcgrad."


def typename(obj: Any, /) -> str:
    """``torch.typename``: return the name of a tensor's type, or of the class of an object, with its module."""
    if is_tensor(obj):
        return obj.type()
    kind = type(obj)
    if kind.__module__ in {"", "builtins"}:
        return kind.__qualname__
    module = kind.__module__
    return f"{'torch.' + module.removeprefix(_MINE) if module.startswith(_MINE) else module}.{kind.__qualname__}"


def is_distributed(input: Array) -> bool:  # noqa: A002  (PyTorch's name)
    """``torch.is_distributed``: return ``False``."""
    del input
    return False


def set_flush_denormal(mode: bool) -> bool:
    """``torch.set_flush_denormal``: return whether the processor can take tiny numbers as 0; NumPy cannot ask it to."""
    del mode
    return False


def alias_copy(input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """Return a copy."""
    return input.clone()


def slice_copy(input: Array, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:  # noqa: A002  (PyTorch's name)
    """Return a copy of every ``step``-th element along an axis."""
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    places = (slice(None),) * (dim % len(input.shape))
    return input[(*places, slice(start, end, step))].clone()


def view_as_complex_copy(input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """Return complex numbers from pairs along the last axis."""
    return JOINED["view_as_complex"](input).clone()


def view_as_real_copy(input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """Return the real and imaginary parts along a new last axis."""
    return JOINED["view_as_real"](input).clone()


def _strided_places(name: str, x: Array, size: Sequence[int], stride: Sequence[int], offset: int | None) -> np.ndarray:
    """Return the positions in a tensor's memory that sizes and strides name."""
    sizes, strides = tuple(size), tuple(stride)
    if len(sizes) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(each < 0 for each in strides):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(strides)}"
        )
    # The offset of PyTorch counts from the start of the storage, which is that of the whole array here.
    value = x.detach()._value
    whole = isinstance(value, np.ndarray) and (value.base is None or np.size(value.base) == value.size)
    if not x.is_contiguous() or not whole:
        raise RuntimeError(
            f"{name}: the tensor is a part of another, or its memory is in another order. Its strides are NumPy's. "
            "Pass x.clone()."
        )
    places = np.full(sizes, offset or 0)
    for axis, (n, step) in enumerate(zip(sizes, strides, strict=True)):
        places += (np.arange(n) * step).reshape(-1, *[1] * (len(sizes) - 1 - axis))
    if places.size and places.max() >= x.numel():
        unit = x.element_size()
        raise RuntimeError(
            f"setStorage: sizes {list(sizes)}, strides {list(strides)}, storage offset {offset or 0}, and itemsize "
            f"{unit} requiring a storage size of {(int(places.max()) + 1) * unit} are out of bounds for storage of "
            f"size {x.numel() * unit}"
        )
    return places


def as_strided_copy(input: Array, size: Any, stride: Any, storage_offset: int | None = None) -> Any:  # noqa: A002  (PyTorch's name)
    """Return a copy of the elements at the positions that sizes and strides name."""
    places = _strided_places("as_strided_copy", input, size, stride, storage_offset)
    return input.reshape(-1)[TRACE.constant(places)]


def as_strided_scatter(
    input: Array,  # noqa: A002  (PyTorch's name)
    src: Array,
    size: Any,
    stride: Any,
    storage_offset: int | None = None,
) -> Any:
    """Return the tensor with other elements at the positions that sizes and strides name."""
    places = _strided_places("as_strided_scatter", input, size, stride, storage_offset)
    if tuple(src.shape) != places.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src.shape)}, slice size = {list(places.shape)}"
        )
    if np.unique(places).size < places.size:
        raise RuntimeError(
            "as_strided_scatter: sizes and strides name an element twice. Name each one once, or use index_put."
        )
    return input.reshape(-1).index_put((TRACE.constant(places),), src).reshape(*input.shape)


def empty_strided(size: Any, stride: Any, **options: Any) -> Any:
    """``torch.empty_strided``: return an uninitialized tensor whose memory is in the order of the strides."""
    axes = sorted(range(len(size)), key=lambda axis: -stride[axis])
    made = CREATED["empty"](*[size[axis] for axis in axes], **options)
    y = made.permute(*[axes.index(axis) for axis in range(len(size))]) if len(size) > 1 else made
    if _spread_size(size) and tuple(y.stride()) != tuple(stride):
        raise RuntimeError(
            f"empty_strided: the strides {list(stride)} leave elements of the memory out or share them. "
            f"Use those of a permuted tensor; the nearest are {list(y.stride())}."
        )
    return y


def _spread_size(size: Sequence[int]) -> int:
    """Return the number of elements of a shape with an axis longer than 1; 0 if there is no such axis."""
    return int(np.prod(size)) if any(n > 1 for n in size) else 0


def empty_permuted(size: Any, physical_layout: Any, **options: Any) -> Any:
    """``torch.empty_permuted``: return an uninitialized tensor whose memory has the axes in another order."""
    made = CREATED["empty"](*[size[axis] for axis in physical_layout], **options)
    return made.permute(*[list(physical_layout).index(axis) for axis in range(len(size))])


def native_batch_norm(
    input: Any,  # noqa: A002  (PyTorch's name)
    weight: Array,
    bias: Array,
    running_mean: Array,
    running_var: Array,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Return the normalized tensor, and the means and inverse standard deviations of the batch."""
    if training and 0 in input.shape:
        raise RuntimeError(f"input tensor must have at least one element, but got input_sizes = {list(input.shape)}")
    running = running_mean, running_var
    y, statistics = batch_norm_and_statistics(input, running, weight, bias, training, momentum, eps)
    if statistics is None:
        return y, input.new_empty(0), input.new_empty(0)
    mean, variance = statistics.mean.detach().reshape(-1), statistics.variance.detach().reshape(-1)
    return y, mean.to(input.dtype), (variance + eps).rsqrt().to(input.dtype)


_BRAIN = np.dtype(ml_dtypes.bfloat16)


def get_autocast_dtype(device_type: str) -> Any:
    """``torch.get_autocast_dtype``: return the narrow dtype that PyTorch chooses on a device."""
    return _BRAIN if device_type == "cpu" else np.dtype(np.float16)


def clear_autocast_cache() -> None:
    """``torch.clear_autocast_cache``: do nothing, because nothing is converted automatically."""


def _answer(name: str, value: Any) -> Callable[[], Any]:
    def function() -> Any:
        return value

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``torch.{name}``: return ``{value!r}``."
    return function


_ANSWERS = {
    "is_autocast_cache_enabled": True,
    "is_autocast_cpu_enabled": False,
    "is_autocast_ipu_enabled": False,
    "is_autocast_xla_enabled": False,
    "get_autocast_cpu_dtype": _BRAIN,
    "get_autocast_gpu_dtype": np.dtype(np.float16),
    "is_vulkan_available": False,
}


def lu(A: Array, pivot: bool = True, get_infos: bool = False) -> Any:  # noqa: N803  (PyTorch's name)
    """Return LU factors, the rows exchanged, counted from 1, and with ``get_infos`` 0 for each matrix."""
    factors, pivots = lu_factor(A, pivot=pivot)
    return (factors, pivots, A.new_zeros(A.shape[:-2], dtype=np.int32)) if get_infos else (factors, pivots)


def new_empty_strided(self: Tensor, size: Any, stride: Any, dtype: DTypeLike = None, **options: Any) -> Any:
    """Return an uninitialized tensor of this one's dtype, whose memory is in the order of the strides."""
    return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, **options)


_TENSORS = (lu, alias_copy, slice_copy, view_as_complex_copy, view_as_real_copy, as_strided_copy, as_strided_scatter)
_PLAIN = (typename, is_distributed, set_flush_denormal, empty_strided, empty_permuted)
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{function.__name__: of_tensors(function) for function in (*_TENSORS, native_batch_norm)},
    **{function.__name__: function for function in (*_PLAIN, get_autocast_dtype, clear_autocast_cache)},
    **{name: _answer(name, value) for name, value in _ANSWERS.items()},
}
