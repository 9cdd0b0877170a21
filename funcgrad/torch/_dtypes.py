"""Dtypes by PyTorch's names. They are NumPy's dtypes, so ``t.dtype == torch.float32`` holds for every tensor."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from funcgrad._types import Array, DTypeLike
from funcgrad.autograd.extend import default_dtype, promoted, result_dtype, set_dtype_of_floats

DTYPES: dict[str, np.dtype] = {
    "float16": np.dtype(np.float16),
    "half": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "float": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
    "double": np.dtype(np.float64),
    "complex64": np.dtype(np.complex64),
    "cfloat": np.dtype(np.complex64),
    "complex128": np.dtype(np.complex128),
    "cdouble": np.dtype(np.complex128),
    "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16),
    "uint32": np.dtype(np.uint32),
    "uint64": np.dtype(np.uint64),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "short": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "long": np.dtype(np.int64),
    "bool": np.dtype(bool),
}


def get_default_dtype() -> np.dtype:
    """``torch.get_default_dtype``: return the dtype of tensors that are made of Python floats."""
    return default_dtype()


def set_default_dtype(d: Any) -> None:
    """``torch.set_default_dtype``: set the dtype of tensors that are made of Python floats.

    Raises:
        TypeError: the dtype is not a floating one.
    """
    try:
        dtype = np.dtype(d)
    except TypeError:
        raise TypeError(
            f"invalid dtype object: {d!r} was given; needed a floating dtype. Pass torch.float64."
        ) from None
    set_dtype_of_floats(dtype)


def promote_types(type1: DTypeLike, type2: DTypeLike) -> np.dtype:
    """``torch.promote_types``: return the smallest dtype of both kinds."""
    return promoted(np.dtype(type1), np.dtype(type2))


def result_type(tensor1: Array, tensor2: Array) -> np.dtype:
    """``torch.result_type``: return the dtype of the sum of two tensors or numbers."""
    return result_dtype((tensor1, tensor2))


def can_cast(from_: Any, to: Any) -> bool:
    """``torch.can_cast``: return whether PyTorch converts the dtype implicitly, from its kind to a greater one."""
    ranks = [
        "b" if np.dtype(d).kind == "b" else np.dtype(d).kind.replace("u", "i").replace("V", "f") for d in (from_, to)
    ]
    return "bifc".index(ranks[0]) <= "bifc".index(ranks[1])


class finfo:  # noqa: N801  (PyTorch's name)
    """``torch.finfo``: the limits of a floating dtype.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.finfo(torch.float32).eps
        1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:  # noqa: A002  (PyTorch's name)
        dtype = default_dtype() if type is None else np.dtype(type)
        if dtype.kind not in "fcV":
            raise TypeError(f"torch.finfo() requires a floating point input type, and got {dtype}. Use torch.iinfo.")
        real = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
        info = ml_dtypes.finfo(real)
        self.bits, self.dtype = int(info.bits), real.name
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = float(info.resolution)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:  # noqa: N801  (PyTorch's name)
    """``torch.iinfo``: the limits of an integer dtype.

    Example:
        >>> import funcgrad.torch as torch
        >>> torch.iinfo(torch.int8).max
        127
    """

    def __init__(self, type: Any) -> None:  # noqa: A002  (PyTorch's name)
        dtype = np.dtype(type)
        if dtype.kind not in "iu":
            raise TypeError(f"torch.iinfo() requires an integer input type, and got {dtype}. Use torch.finfo.")
        info = np.iinfo(dtype)
        self.bits, self.dtype = int(info.bits), dtype.name
        self.max, self.min = int(info.max), int(info.min)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


PUBLIC = (get_default_dtype, set_default_dtype, promote_types, result_type, can_cast, finfo, iinfo)
