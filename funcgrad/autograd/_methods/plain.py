"""Conversion of tensors to plain numbers and arrays, which carry no derivative.

``item``, ``tolist``, ``bool`` and formatting always return the number, as in PyTorch. ``numpy()`` and the conversions
that NumPy and C code call (``__array__``, ``__float__``, ``__int__``, ``__complex__``) are refused while the tensor is
recorded. The assignment ``out[0] = t`` into a plain array calls ``__float__``, as ``float(t)`` does, and the two calls
cannot be distinguished. PyTorch returns the number there, with one warning in each process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import is_integral
from funcgrad._types import DTypeLike, Tensor
from funcgrad.autograd._tape.mode import recording

_REMEDY = (
    "To keep the derivative, collect the results in a tensor instead of a plain array (tensor(np.zeros(n)), "
    "torch.zeros(n) in PyTorch's terms), or with np.stack; for the number alone use tensor.item() or tensor.detach()."
)


def numpy(self: Tensor, *, force: bool = False) -> np.ndarray:
    """Return the value as an array, which shares the memory of a NumPy value.

    ``force=True`` returns the array of a recorded tensor too.

    Raises:
        RuntimeError: the tensor requires a gradient, which the array would lose, and recording is on.
    """
    if not force and _is_recorded(self):
        raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
    return np.asarray(self._value)


def to_array(self: Tensor, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray:
    """Return the array that NumPy's functions make of the tensor; it is refused as in `numpy`."""
    if _is_recorded(self):
        raise RuntimeError(
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead. A tensor "
            f"{self.aval} was to become a plain array, which carries no derivative. {_REMEDY}"
        )
    array = np.asarray(self._value)
    array = array if dtype is None else array.astype(dtype, copy=False)
    return array.copy() if copy else array


def to_dlpack(self: Tensor, **options: Any) -> Any:
    """Return ``tensor.__dlpack__()``: the memory of the value, for other libraries to share.

    Raises:
        BufferError: the tensor requires a gradient.
    """
    if self.requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    return self._value.__dlpack__(**options)


def dlpack_device(self: Tensor) -> Any:
    """Return ``tensor.__dlpack_device__()``, the device of the memory."""
    return self._value.__dlpack_device__()


def item(self: Tensor) -> Any:
    """Return the only element as a Python number."""
    if self.size != 1:
        raise RuntimeError(f"a Tensor with {self.size} elements cannot be converted to Scalar")
    return np.asarray(self._value).item()


def tolist(self: Tensor) -> Any:
    """Return the elements as nested lists of Python numbers."""
    return np.asarray(self._value).tolist()


def to_bool(self: Tensor) -> bool:
    """Return ``bool(tensor)``, which selects a branch and carries no derivative."""
    if self.size != 1:
        many = "more than one value" if self.size else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {many} is ambiguous")
    return bool(self.item())


def to_index(self: Tensor) -> int:
    """Return ``operator.index(tensor)``. Integers carry no derivative."""
    if not is_integral(self.dtype) or self.size != 1:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self.item())


def to_text(self: Tensor, spec: str) -> str:
    """Return ``format(tensor, spec)``; for a single number, that of the number."""
    is_number = not self.shape and not getattr(self, "_is_parameter", False)
    return format(self.item(), spec) if spec or is_number else str(self)


def _conversion(kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def convert(self: Tensor) -> Any:
        if self.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if _is_recorded(self):
            raise RuntimeError(
                f"{kind.__name__}() was asked of a tensor {self.aval} that requires grad, by a plain array, by C code "
                f"or by a call: the number would carry no derivative. {_REMEDY}"
            )
        return kind(self.item())

    return convert


to_float = _conversion(float)
to_int = _conversion(int)
to_complex = _conversion(complex)


def _is_recorded(x: Tensor) -> bool:
    """Return whether operations on a tensor are recorded."""
    return recording.get() and x.requires_grad
