"""The dtypes of results where operands have several: PyTorch's promotion, and the default dtype of floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad._core.aval import aval_of, common_dtype, is_floating, is_integral
from funcgrad._types import Array, DTypeLike, Tensor

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_FLOATS = frozenset({np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64), _BFLOAT16})
# The dtype of floats that come from Python's numbers or from integers. One for the process, as in PyTorch.
_default = [np.dtype(np.float32)]
_NUMBERS = (bool, int, float, complex, np.generic)
# PyTorch's words for a minus beside a bool, in front of bools and between them.
_MINUS_WITH_BOOLS = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the "
    "`~` or `logical_not()` operator instead."
)
_MINUS_OF_BOOLS: dict[Any, str] = {
    np.negative: (
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or `logical_not()` operator instead."
    ),
    np.subtract: (
        "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` "
        "operator instead."
    ),
}

# Functions of integers, with the names of PyTorch's kernels.
_BITWISE: dict[Any, str] = {
    np.bitwise_and: "bitwise_and",
    np.bitwise_or: "bitwise_or",
    np.bitwise_xor: "bitwise_xor",
    np.left_shift: "lshift",
    np.right_shift: "rshift",
    np.invert: "bitwise_not",
}


def default_dtype() -> np.dtype:
    """Return the dtype of tensors that are made of Python floats."""
    return _default[0]


def set_default_dtype(dtype: np.dtype) -> None:
    """Set the dtype of tensors that are made of Python floats.

    Raises:
        TypeError: the dtype is not a floating one.
    """
    if dtype not in _FLOATS:
        raise TypeError(f"only floating-point types are supported as the default type, and {dtype} is none of them")
    _default[0] = dtype


def complex_of(dtype: np.dtype) -> np.dtype:
    """Return the complex dtype of a floating dtype's digits; that of float32 for shorter ones."""
    return np.dtype(f"c{2 * max(dtype.itemsize, 4)}")


def _rank(dtype: np.dtype) -> int:
    """Return the place of a dtype among bools, integers, floats and complex numbers."""
    if dtype.kind == "b":
        return 0
    return 1 if is_integral(dtype) else 3 if dtype.kind == "c" else 2


def promoted(first: np.dtype, second: np.dtype) -> np.dtype:
    """Return the dtype of two tensors' sum: of floats and integers that of the floats, as in PyTorch."""
    if first is second:
        return first
    low, high = sorted((first, second), key=_rank)
    if _rank(low) < 2 <= _rank(high) or _rank(low) == 0:
        return high
    if {first, second} == {_BFLOAT16, np.dtype(np.float16)}:
        return np.dtype(np.float32)
    if _rank(high) == 3 and low.itemsize < 4:
        return high
    return common_dtype(first, second)


def _joined(dtypes: Sequence[np.dtype]) -> np.dtype | None:
    """Return the common dtype of operands of one kind; ``None`` if there are none."""
    found = None
    for dtype in dtypes:
        found = dtype if found is None else promoted(found, dtype)
    return found


def _over(higher: np.dtype | None, lower: np.dtype | None) -> np.dtype | None:
    """Return the dtype of operands of which the lower ones count only if they are of a greater kind."""
    if higher is None or lower is None:
        return higher or lower
    if _rank(higher) >= _rank(lower):
        return higher
    if _rank(higher) == 2:
        # A real tensor with a complex number: the complex dtype of the tensor's digits.
        return complex_of(higher)
    return promoted(higher, lower)


def _number_dtype(x: Tensor) -> np.dtype:
    """Return the dtype of a number that does not widen: a Python number, or a scalar of NumPy's."""
    kind = np.dtype(type(x)).kind
    if kind in "biu":
        return np.dtype(bool) if kind == "b" else np.dtype(np.int64)
    return complex_of(default_dtype()) if kind == "c" else default_dtype()


def _is_bool(x: Any) -> bool:
    return isinstance(x, bool) or getattr(x, "dtype", None) == np.bool_


def result_dtype(values: Sequence[Any], ufunc: np.ufunc | None = None) -> np.dtype:
    """Return the dtype in which a function computes with tensors, arrays and numbers, by PyTorch's rules.

    Tensors with axes decide. One without axes, and then a number, counts only if it is of a greater kind: bool,
    integer, floating, complex. Integers become floats of the default dtype if the ufunc computes with floats.

    Raises:
        RuntimeError: PyTorch refuses the operation for these dtypes.

    Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc.
    """
    if ufunc is np.matmul:
        _check_product(*values)
        ufunc = None
    numbers = [_number_dtype(x) for x in values if issubclass(type(x), _NUMBERS)]
    avals = [aval_of(x) for x in values if not issubclass(type(x), _NUMBERS)]
    arrays = _joined([aval.dtype for aval in avals if aval.shape])
    points = _joined([aval.dtype for aval in avals if not aval.shape])
    dtype = _over(_over(arrays, points), _joined(numbers))
    assert dtype is not None, "a tensor is among the operands"
    if ufunc in _BITWISE and not is_integral(dtype):
        if ufunc is np.invert:
            raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
        raise NotImplementedError(f'"{_BITWISE[ufunc]}_cpu" not implemented for {type_name(dtype)!r}')
    if ufunc is np.subtract and dtype != np.bool_:
        refuse_bools(*values)
    if ufunc is None or not is_integral(dtype):
        return dtype
    if dtype == np.bool_ and ufunc in _MINUS_OF_BOOLS:
        raise RuntimeError(_MINUS_OF_BOOLS[ufunc])
    loop = ufunc.resolve_dtypes((dtype,) * ufunc.nin + (None,) * ufunc.nout)
    return default_dtype() if is_floating(loop[0]) else dtype


def refuse_bools(*values: Any) -> None:
    """Refuse a difference with a bool, in PyTorch's words."""
    if any(_is_bool(x) for x in values):
        raise RuntimeError(_MINUS_WITH_BOOLS)


def _check_product(x: Array, y: Array) -> None:
    """Refuse a product with a number, or of tensors of two dtypes, in PyTorch's words; an array is converted."""
    if issubclass(type(x), _NUMBERS) or issubclass(type(y), _NUMBERS):
        kinds = ["'Tensor'" if hasattr(z, "requires_grad") else f"'{type(z).__name__}'" for z in (x, y)]
        raise TypeError(f"unsupported operand type(s) for @: {' and '.join(kinds)}")
    if not (hasattr(x, "requires_grad") and hasattr(y, "requires_grad")) or x.dtype == y.dtype:
        return
    (a, b), names = (len(x.shape), len(y.shape)), (type_name(x.dtype), type_name(y.dtype))
    if a == b == 1:
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {names[0]} and {names[1]}")
    if a == 2 and b == 1:
        dtypes = f"{names[1]}, {names[0]}, and {names[1]}"
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {dtypes}")
    if b > 2:
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    dtypes = f"{c_type_name(x.dtype)} != {c_type_name(y.dtype)}"
    raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {dtypes}")


# The names of C++, which PyTorch's kernels print.
_C_NAMES: dict[str, str] = {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long int",
    "bool": "bool",
}


def c_type_name(dtype: DTypeLike) -> str:
    """Return the name of a dtype in C++: ``float``."""
    return _C_NAMES.get(str(dtype), str(dtype))


_TYPE_NAMES: dict[str, str] = {
    "float16": "HalfTensor",
    "bfloat16": "BFloat16Tensor",
    "float32": "FloatTensor",
    "float64": "DoubleTensor",
    "complex64": "ComplexFloatTensor",
    "complex128": "ComplexDoubleTensor",
    "uint8": "ByteTensor",
    "int8": "CharTensor",
    "int16": "ShortTensor",
    "int32": "IntTensor",
    "int64": "LongTensor",
    "bool": "BoolTensor",
}


def tensor_type_name(dtype: DTypeLike) -> str:
    """Return PyTorch's name for tensors of a dtype: ``FloatTensor``."""
    return _TYPE_NAMES.get(str(dtype), str(dtype))


def type_name(dtype: DTypeLike) -> str:
    """Return PyTorch's name for a dtype in messages: ``Float``."""
    return tensor_type_name(dtype).removesuffix("Tensor")
