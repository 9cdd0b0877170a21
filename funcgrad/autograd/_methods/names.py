"""PyTorch's names for methods that NumPy's arrays lack or have under other names, as training loops use them.

Methods have PyTorch's meaning, NumPy's functions of tensors (``np.std(t)``) NumPy's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_floating, is_integral
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.words import described, shown
from funcgrad._ops.elementwise.activation import relu_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.transcendental import logistic_p
from funcgrad._ops.layout.diagonal import writable_diagonal
from funcgrad._types import Array, ArrayLike, AxesLike, DTypeLike, Tensor
from funcgrad.autograd._memory.views import chunk, copied, copying, expanded, hold, split, unbind, viewing
from funcgrad.autograd._methods import dims
from funcgrad.autograd._methods.to import to
from funcgrad.autograd._tape.dtypes import default_dtype, result_dtype, type_name
from funcgrad.numpy.extend import astype_method, clamp, diagonal_of, reshape_method


class Shape(tuple[int, ...]):
    """A shape as ``t.size()`` returns it: a tuple that prints as PyTorch's ``torch.Size``.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> tensor([[1.0, 2.0, 3.0]]).size()
        torch.Size([1, 3])
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self)


class Size(int):
    """The number of elements, as in NumPy. Calling it returns the shape or one length, as in PyTorch.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> t = tensor([[1.0, 2.0, 3.0]])
        >>> t.size, t.size(), t.size(0)
        (3, torch.Size([1, 3]), 1)
    """

    shape: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        """Return the shape, or its length along an axis."""
        return Shape(self.shape) if dim is None else self.shape[dim]


def size_of(shape: tuple[int, ...], count: int) -> Size:
    """Return the size of a tensor of this shape."""
    size = Size(count)
    size.shape = shape
    return size


def dims_of(dims: tuple[Any, ...]) -> tuple[int, ...]:
    """Return lengths or axes that were given one by one or as one sequence."""
    return tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], list | tuple) else dims


def shape_of(asked: str, other: ArrayLike) -> tuple[int, ...]:
    """Return the shape of the tensor that another one should match."""
    if not isinstance(getattr(other, "shape", None), tuple):
        raise TypeError(
            f"{asked}: other is a {type(other).__name__}; needed a tensor or an array. Give lengths to expand or "
            "reshape, and a dtype to to."
        )
    return tuple(other.shape)


def _type_as(self: Tensor, other: ArrayLike) -> Tensor:
    shape_of("type_as", other)
    return cast(self, other.dtype)


def _add(self: Tensor, other: ArrayLike, *, alpha: ArrayLike = 1) -> Tensor:
    return self + (other if type(alpha) is int and alpha == 1 else alpha * other)


def _sub(self: Tensor, other: ArrayLike, *, alpha: ArrayLike = 1) -> Tensor:
    return self - (other if type(alpha) is int and alpha == 1 else alpha * other)


def _expand(self: Tensor, *lengths: Any) -> Tensor:
    wanted = dims_of(lengths)
    own = (1,) * (len(wanted) - len(self.shape)) + self.shape
    if len(wanted) < len(own):
        raise RuntimeError(
            f"expand(torch.{type_name(self.dtype)}Tensor{{{list(self.shape)}}}, size={shown(list(wanted))}): the "
            f"number of sizes provided ({len(wanted)}) must be greater or equal to the number of dimensions in the "
            f"tensor ({len(own)})"
        )
    shape = tuple([m if n == -1 else n for n, m in zip(wanted, own, strict=True)])
    new = len(wanted) - len(self.shape)
    for i in reversed(range(len(wanted))):
        if wanted[i] == -1 and i < new:
            raise RuntimeError(
                f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}"
            )
        if own[i] not in (1, shape[i]) or shape[i] < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({shape[i]}) must match the existing size ({own[i]}) at "
                f"non-singleton dimension {i}.  Target sizes: {shown(list(wanted))}.  Tensor sizes: {list(self.shape)}"
            )
    return expanded(self, shape)


def _permute(self: Tensor, *axes: Any, dims: Any = ()) -> Tensor:
    order = dims_of(axes) or tuple(dims)
    if len(order) != len(self.shape):
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
            f"ordering of dimensions i.e. input.dim() = {len(self.shape)} is not equal to len(dims) = {len(order)}"
        )
    return fnp.transpose(self, order)


def _transpose(self: Tensor, *axes: Any, **dims_: int) -> Tensor:
    axes = (*axes, *[dims_[name] for name in ("dim0", "dim1") if name in dims_])
    # Two numbers are the axes to exchange, as in PyTorch. NumPy would need a permutation of two axes.
    if len(axes) == 2 and all(isinstance(axis, int) for axis in axes):
        return _swapped(self, *axes)
    return fnp.transpose(self, dims_of(axes) or None)


def _swapped(self: Tensor, dim0: int, dim1: int) -> Tensor:
    if not self.shape:
        dims.check_of_scalar((dim0, dim1))
        return self
    return fnp.swapaxes(self, dim0, dim1)


def _matrix_transposed(self: Tensor) -> Tensor:
    if len(self.shape) > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(self.shape)}D")
    return self.T


def _view(self: Tensor, *shape: Any) -> Tensor:
    y = self.reshape(*shape)
    if type(self._value) is np.ndarray and not np.may_share_memory(y._value, self._value) and y.size:
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
            "contiguous subspaces). Use .reshape(...) instead."
        )
    return y


def _contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    del memory_format
    # The layout of other values is not known.
    return self if type(self._value) is not np.ndarray or self._value.flags.c_contiguous else _in_order(copied(self))


def _in_order(made: Any) -> Tensor:
    return hold(made, np.ascontiguousarray(made._value))


def _flatten(self: Tensor, start_dim: Any = 0, end_dim: int = -1, *, order: Any = "C") -> Tensor:
    if isinstance(start_dim, str):
        start_dim, order = 0, start_dim
    if order != "C":
        return fnp.ravel(self, order)
    start, end = dims.span(self, start_dim, end_dim)
    shape = self.shape
    return (
        self
        if shape and start == end
        else self.reshape(*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])
    )


def _squeeze(self: Tensor, dim: AxesLike = None, *, axis: AxesLike = None) -> Tensor:
    if dim is None:
        return fnp.squeeze(self, axis)
    given = (dim,) if isinstance(dim, int | np.integer) else tuple(dim)
    if not self.shape:
        dims.check_of_scalar(given)
        return self
    chosen = {dims.normalize_axis(i, len(self.shape)) for i in given}
    return self.reshape(*[n for i, n in enumerate(self.shape) if n != 1 or i not in chosen])


def _product(name: str, ndim: int, other_ndim: int) -> Callable[[Any, Any], Any]:
    def product(self: Tensor, other: ArrayLike) -> Tensor:
        if len(self.shape) != ndim or len(np.shape(other)) != other_ndim:
            raise RuntimeError(
                f"{name}: the operands have shapes {list(self.shape)} and {list(np.shape(other))}; needed {ndim} axes "
                f"and {other_ndim}. Use matmul for other ranks."
            )
        return self @ other

    return product


_BOOL = np.dtype(bool)


def _masked_fill(self: Tensor, mask: ArrayLike, value: ArrayLike) -> Tensor:
    if isinstance(mask, str) or getattr(mask, "dtype", _BOOL) is not _BOOL:
        raise RuntimeError(
            f"masked_fill: mask is {described(mask)}; needed booleans. Compare first: x.masked_fill(x < 0, 0.0)."
        )
    if hasattr(value, "dtype"):
        return fnp.where(mask, cast(value, self.dtype), self)
    number = self.dtype.type(value)
    if is_integral(self.dtype) and number != value:
        raise RuntimeError(f"value cannot be converted to type {self.dtype} without overflow")
    return fnp.where(mask, number, self)


def _clamp(self: Tensor, min: ArrayLike = None, max: ArrayLike = None) -> Tensor:  # noqa: A002  (PyTorch's names)
    if min is None and max is None:
        raise RuntimeError("clamp: At least one of 'min' or 'max' must not be None")
    return _clamped(self, min, max)


def _clamped(x: Array, low: Array, high: Array) -> Tensor:
    # NumPy's rule would make float64 of integers and a Python float.
    is_int = is_integral(x.dtype)
    x = cast(x, result_dtype((x, *[bound for bound in (low, high) if bound is not None]))) if is_int else x
    return clamp(x, low, high)


def _clip(self: Tensor, min: ArrayLike = None, max: ArrayLike = None, out: Any = None) -> Tensor:  # noqa: A002  (NumPy's names)
    if out is not None or (min is None and max is None):
        return fnp.clip(self, min, max, out)
    return _clamped(self, min, max)


def _converted(dtype: DTypeLike) -> Callable[[Any], Any]:
    def convert(self: Tensor) -> Tensor:
        return cast(self, np.dtype(dtype))

    return convert


def _inexact(self: Tensor) -> Tensor:
    return cast(self, default_dtype()) if is_integral(self.dtype) else self


def _itself(self: Tensor) -> Tensor:
    return self


def _on_cpu(self: Any, memory_format: Any = None) -> Tensor:
    del memory_format
    return self


METHODS: dict[str, Callable[..., Any]] = {
    "add": _add,
    "sub": _sub,
    "mul": lambda self, other: self * other,
    "pow": lambda self, exponent: self**exponent,
    "neg": lambda self: -self,
    "matmul": lambda self, other: self @ other,
    "mm": _product("mm", 2, 2),
    "bmm": _product("bmm", 3, 3),
    "mv": _product("mv", 2, 1),
    "eq": lambda self, other: self == other,
    "ne": lambda self, other: self != other,
    "lt": lambda self, other: self < other,
    "le": lambda self, other: self <= other,
    "gt": lambda self, other: self > other,
    "ge": lambda self, other: self >= other,
    "clamp": _clamp,
    "relu": lambda self: bind(relu_p, (self,), NO_PARAMS),
    "sigmoid": lambda self: bind(logistic_p, (_inexact(self),), NO_PARAMS),
    "reciprocal": lambda self: 1 / self,
    "softmax": dims.softmax,
    "log_softmax": dims.log_softmax,
    "masked_fill": _masked_fill,
    "norm": dims.norm,
    "view": viewing(_view),
    "view_as": viewing(lambda self, other: _view(self, shape_of("view_as", other))),
    "type_as": _type_as,
    "expand": _expand,
    "permute": viewing(_permute),
    "transpose": viewing(_transpose),
    "swapaxes": viewing(_swapped),
    "t": viewing(_matrix_transposed),
    "unsqueeze": lambda self, dim: fnp.expand_dims(self, dim),
    "squeeze": viewing(_squeeze),
    "reshape": viewing(reshape_method),
    "ravel": viewing(fnp.ravel),
    "flatten": _flatten,
    "split": split,
    "chunk": chunk,
    "unbind": unbind,
    "diagonal": lambda self, offset=0, dim1=0, dim2=1: diagonal_of(self, offset, dim1, dim2, writable_diagonal),
    "astype": copying(astype_method),
    "copy": lambda self, order="C": copied(self),
    "clip": copying(_clip),
    "to": to,
    "__pos__": _itself,
    "contiguous": _contiguous,
    "cpu": _on_cpu,
    "double": _converted(np.float64),
    "float": _converted(np.float32),
    "half": _converted(np.float16),
    "long": _converted(np.int64),
    "int": _converted(np.int32),
    "bool": _converted(np.bool_),
    "short": _converted(np.int16),
    "char": _converted(np.int8),
    "byte": _converted(np.uint8),
    "cfloat": _converted(np.complex64),
    "cdouble": _converted(np.complex128),
    "bfloat16": _converted(ml_dtypes.bfloat16),
    **dims.METHODS,
    "nelement": lambda self: int(self.size),
    "is_floating_point": lambda self: is_floating(self.dtype),
    "is_complex": lambda self: self.dtype.kind == "c",
}
