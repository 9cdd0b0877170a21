"""Make the parameters of modules: checked sizes, dtypes and devices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._types import Array, DeviceLike, DTypeLike
from funcgrad.autograd import Tensor
from funcgrad.autograd.extend import default_dtype, is_tensor, rebuild
from funcgrad.nn import init
from funcgrad.nn._parameter import Parameter


def length(name: str, argument: str, value: Any) -> int:
    """Return an axis length, or raise an error that names the argument."""
    if issubclass(type(value), bool | np.bool_) or not isinstance(value, int | np.integer) or value < 0:
        error = RuntimeError if isinstance(value, int | np.integer) else TypeError
        raise error(f"{name}: {argument} is {value!r}; needed an integer, 0 or greater. Pass the length of the axis.")
    return int(value)


def empty(shape: tuple[int, ...], device: DeviceLike, dtype: DTypeLike) -> Tensor:
    """Return a tensor of zeros, by default of the default dtype, which an initial distribution then fills."""
    if device is not None:
        rebuild(np.zeros((), np.float32), False).to(device=_name(device))
    made = default_dtype() if dtype is None else np.dtype(dtype)
    if not is_inexact(made):
        raise TypeError(
            f"a module with parameters of dtype {made} was asked for; needed a floating or complex dtype. "
            "Write np.float32, for example."
        )
    return rebuild(np.zeros(shape, made), False)


def _name(device: DeviceLike) -> Any:
    return getattr(device, "type", device)


def parameter(shape: tuple[int, ...], device: DeviceLike, dtype: DTypeLike) -> Any:
    """Return a parameter of zeros, which an initial distribution then fills."""
    return Parameter(empty(shape, device, dtype))


def fill_uniformly(tensor: Array, fan_in: int) -> None:
    """Fill a parameter uniformly within ``1 / sqrt(fan_in)``, PyTorch's default for layers; ``None`` is skipped."""
    if tensor is not None:
        bound = 1 / math.sqrt(fan_in) if fan_in else 0.0
        init.uniform_(tensor, -bound, bound)


def constant(x: Array) -> Any:
    """Return the value of a tensor, without its history.

    Targets and masks are compared and checked, which is cheaper with plain values.
    """
    return x._value if is_tensor(x) and not x._owner.requires_grad(x) else x
