"""``tensor.to``: converts to NumPy's dtypes. A device is accepted only if the value is there already."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from funcgrad._core.aval import is_inexact, is_integral
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import DeviceLike, DTypeLike, Tensor
from funcgrad.autograd._memory.views import copied
from funcgrad.autograd._tape.base import is_tensor

# PyTorch's names of devices, and JAX's names of the platforms.
_PLATFORMS = {"cpu": "cpu", "cuda": "gpu", "gpu": "gpu", "tpu": "tpu", "mps": "gpu", "xpu": "gpu", "meta": "meta"}


OF_DEVICES = (
    "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, "
    "meta, hpu, mtia, privateuseone device type at start of device string: "
)


class device(str):  # noqa: N801  (PyTorch's name)
    """The name of a device. Tensors are on the device of their value, ``cpu`` for NumPy's.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> tensor([1.0]).device
        device(type='cpu')
        >>> tensor([1.0]).device == "cpu"
        True
    """

    __slots__ = ("index", "type")
    type: str
    index: Any

    def __new__(cls, type: Any, index: int | None = None) -> Self:  # noqa: A002  (PyTorch's name)
        name, _, number = str(type).partition(":")
        if name not in _PLATFORMS:
            raise RuntimeError(OF_DEVICES + name)
        index = int(number) if number else index
        made = super().__new__(cls, name if index is None else f"{name}:{index}")
        made.type, made.index = name, index
        return made

    def __repr__(self) -> str:
        return f"device(type={self.type!r}{'' if self.index is None else f', index={self.index}'})"

    def __reduce__(self) -> Any:
        return device, (self.type, self.index)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


CPU = device("cpu")


def number_dtype(name: str, dtype: DTypeLike) -> np.dtype:
    """Return the dtype of numbers that was named; refuse others."""
    try:
        if dtype is None:
            raise TypeError
        made = np.dtype(dtype)
    except (TypeError, RecursionError):
        known = shown(dtype)
        remedy = f"Write np.{known[6:]}." if known.startswith("torch.") else "Write np.float32, for example."
        raise TypeError(f"{name}: the dtype {known} was asked for; needed one of NumPy's. {remedy}") from None
    if not is_integral(made) and not is_inexact(made):
        raise TypeError(
            f"{name}: the dtype {made} was asked for; needed one of numbers. Write np.float32, for example."
        )
    return made


def to(
    self: Tensor,
    *args: Any,
    dtype: DTypeLike = None,
    device: DeviceLike = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Return the tensor in another dtype, or in that of another tensor; the tensor itself if nothing changes.

    ``non_blocking`` and ``memory_format`` change nothing: values stay where they are, in NumPy's order.

    Raises:
        RuntimeError: the value is not on the named device.
        TypeError: the dtype is none of NumPy's.
    """
    del non_blocking, memory_format
    # The second of the positional flags is ``copy``.
    copy = copy or [x for x in args if isinstance(x, bool)][1:] == [True]
    for x in args:
        if isinstance(x, bool):
            continue
        if is_tensor(x):
            dtype = x.dtype
        elif _is_device(x):
            device = x
        elif isinstance(x, str) and x not in np.sctypeDict:
            raise RuntimeError(OF_DEVICES + x)
        else:
            dtype = number_dtype("to", x)
    if device is not None:
        _check_device(self, device)
    y = self if dtype is None else cast(self, number_dtype("to", dtype))
    return copied(self) if copy and y is self else y


def _is_device(x: Tensor) -> bool:
    if isinstance(x, str):
        return x.partition(":")[0] in _PLATFORMS
    return hasattr(x, "platform") or type(x).__name__ == "device"


def _check_device(x: Tensor, device: DeviceLike) -> None:
    """Refuse a device that does not hold the value, because nothing is moved."""
    own = getattr(x.device, "platform", "cpu")
    name = getattr(device, "platform", str(device).partition(":")[0] if isinstance(device, str) else "")
    if x.device is device or (_PLATFORMS.get(name) == own and not hasattr(device, "platform")):
        return
    raise RuntimeError(
        f"to: the device {shown(device)} was asked for, and the tensor {x.aval} is on {str(x.device)!r}; needed the "
        "device of the value, which is NumPy's or JAX's. Make a new tensor: tensor(jax.device_put(array, device))."
    )
