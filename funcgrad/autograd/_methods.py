"""PyTorch's names for methods that NumPy's arrays have under other names, or lack: what training loops call.

Where a name means something else in NumPy (``max``, ``std``, ``var``) NumPy's meaning stays: tensors are arrays first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.activation import logistic_p, relu_p
from funcgrad._ops.cast import cast
from funcgrad._ops.softmax import log_softmax_p


class Size(int):
    """The number of elements, as NumPy has it; called, the shape or one of its lengths, as PyTorch has it.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> t = tensor([[1.0, 2.0, 3.0]])
        >>> t.size, t.size(), t.size(0)
        (3, (1, 3), 1)
    """

    shape: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        """The shape, or its length along an axis."""
        return self.shape if dim is None else self.shape[dim]


def size_of(shape: tuple[int, ...], count: int) -> Size:
    """The size of a tensor of this shape."""
    size = Size(count)
    size.shape = shape
    return size


def _dims(dims: tuple[Any, ...]) -> tuple[int, ...]:
    """Lengths or axes, given one by one or as one sequence."""
    return tuple(dims[0]) if len(dims) == 1 and isinstance(dims[0], list | tuple) else dims


def _add(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return self + (other if type(alpha) is int and alpha == 1 else alpha * other)


def _sub(self: Any, other: Any, *, alpha: Any = 1) -> Any:
    return self - (other if type(alpha) is int and alpha == 1 else alpha * other)


def _expand(self: Any, *lengths: Any) -> Any:
    wanted = _dims(lengths)
    own = (1,) * (len(wanted) - len(self.shape)) + self.shape
    return fnp.broadcast_to(self, tuple([m if n == -1 else n for n, m in zip(wanted, own, strict=True)]))


def _transpose(self: Any, *axes: Any) -> Any:
    # Two numbers are the axes to exchange, in PyTorch's way; for NumPy they would have to be a permutation of two.
    if len(axes) == 2 and all(isinstance(axis, int) for axis in axes):
        return fnp.swapaxes(self, *axes)
    return fnp.transpose(self, _dims(axes) or None)


def _log_softmax(self: Any, dim: int) -> Any:
    return bind(log_softmax_p, (self,), {"axes": (range(len(self.shape))[dim],)})


def _masked_fill(self: Any, mask: Any, value: Any) -> Any:
    return fnp.where(mask, cast(value, self.dtype) if hasattr(value, "dtype") else value, self)


def _clamp(self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002  (PyTorch's names)
    return fnp.clip(self, min, max)


def _to(dtype: Any) -> Callable[[Any], Any]:
    def convert(self: Any) -> Any:
        return cast(self, np.dtype(dtype))

    return convert


def _itself(self: Any) -> Any:
    return self


METHODS: dict[str, Callable[..., Any]] = {
    "add": _add,
    "sub": _sub,
    "mul": lambda self, other: self * other,
    "div": lambda self, other: self / other,
    "pow": lambda self, exponent: self**exponent,
    "neg": lambda self: -self,
    "matmul": lambda self, other: self @ other,
    "mm": lambda self, other: self @ other,
    "bmm": lambda self, other: self @ other,
    "mv": lambda self, other: self @ other,
    "eq": lambda self, other: self == other,
    "ne": lambda self, other: self != other,
    "lt": lambda self, other: self < other,
    "le": lambda self, other: self <= other,
    "gt": lambda self, other: self > other,
    "ge": lambda self, other: self >= other,
    "clamp": _clamp,
    "relu": lambda self: bind(relu_p, (self,), NO_PARAMS),
    "sigmoid": lambda self: bind(logistic_p, (self,), NO_PARAMS),
    "softmax": lambda self, dim: fnp.exp(_log_softmax(self, dim)),
    "log_softmax": _log_softmax,
    "masked_fill": _masked_fill,
    "norm": lambda self: fnp.sqrt((self * self).sum()),
    "view_as": lambda self, other: self.reshape(other.shape),
    "type_as": lambda self, other: cast(self, other.dtype),
    "expand": _expand,
    "permute": lambda self, *axes: fnp.transpose(self, _dims(axes)),
    "transpose": _transpose,
    "unsqueeze": lambda self, dim: fnp.expand_dims(self, dim),
    "contiguous": _itself,
    "cpu": _itself,
    "double": _to(np.float64),
    "float": _to(np.float32),
    "half": _to(np.float16),
    "long": _to(np.int64),
    "int": _to(np.int32),
    "bool": _to(np.bool_),
    "nelement": lambda self: int(self.size),
    "is_floating_point": lambda self: self.dtype.kind in "fV",
    "is_complex": lambda self: self.dtype.kind == "c",
}
