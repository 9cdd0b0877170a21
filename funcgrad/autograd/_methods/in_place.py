"""PyTorch's in-place methods: their functions, and PyTorch's names for them in ``grad_fn``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.write import WHOLE
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._types import ArrayLike, Tensor
from funcgrad.autograd._memory.history import base_of, check_in_place
from funcgrad.autograd._memory.write import check_fits, check_memory, compute, plain_value, put, set_item, value_of
from funcgrad.autograd._methods.names import METHODS
from funcgrad.autograd._tape.base import is_fixed, is_tensor, set_value
from funcgrad.autograd._tape.dtypes import refuse_bools
from funcgrad.autograd._tape.refused import in_pytorchs_words

Method = Callable[..., Any]
_FULL = slice(None)
_COPIED = "torch::autograd::CopyBackwards"


def binary_in_place(ufunc: np.ufunc, title: str, *, keeps: bool = True, other_title: str | None = None) -> Method:
    """Return an in-place method. ``other_title`` is the name if the other operand is a tensor, if it differs."""
    asked = f"an in-place {ufunc.__name__}"
    function = getattr(fnp, ufunc.__name__)

    def method(self: Tensor, other: ArrayLike, *, alpha: ArrayLike = 1) -> Any:
        other = plain_value(other)
        if ufunc is np.subtract and self.dtype != np.bool_:
            refuse_bools(self, other)
        factor = None if type(alpha) is int and alpha == 1 else alpha

        def computed(x: Tensor) -> Tensor:
            return function(x, other if factor is None else fnp.multiply(other, factor))

        def out(value: np.ndarray) -> None:
            operand = value_of(other)
            ufunc(value, operand if factor is None else np.multiply(operand, factor), out=value, casting="same_kind")

        name = other_title if other_title is not None and is_tensor(other) else title
        return compute(self, computed, (other,), name, asked=asked, keeps=keeps, out=out)

    method.__doc__ = f"``numpy.{ufunc.__name__}`` in place."
    return method


_true_div = binary_in_place(np.true_divide, "DivBackward0")


def _masked_fill(self: Tensor, mask: ArrayLike, value: ArrayLike) -> Tensor:
    """Set the elements where a mask is true to a number, in place."""
    mask = value_of(plain_value(mask))
    title = f"MaskedFillBackward{int(is_tensor(value))}"

    def filled(x: Tensor) -> Tensor:
        check_fits(x, np.broadcast_shapes(x.shape, np.shape(mask)), x.dtype)
        return METHODS["masked_fill"](x, mask, value)

    return compute(self, filled, (value,), title, asked="masked_fill_", keeps=False)


def _fill(self: Tensor, value: ArrayLike) -> Tensor:
    """Set all elements to a number, in place."""
    if is_tensor(value) and value.shape:
        raise RuntimeError(
            f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.shape)} dimensions."
        )
    return write_whole(self, value, "FillBackward3" if is_tensor(value) else "FillBackward2", "fill_")


def _zero(self: Tensor) -> Tensor:
    """Set all elements to 0, in place."""
    return write_whole(self, 0, "ZeroBackward0", "zero_")


def write_whole(self: Tensor, value: ArrayLike, title: str, asked: str) -> Tensor:
    """Write a value to all elements."""
    if not is_fixed(self._value):
        return put(self, value, WHOLE, (), title, asked=asked)

    def filled(x: Tensor) -> Any:
        # For JAX values the result has the shape of the tensor, on its device.
        join = fnp.logical_or if x.dtype.kind == "b" else fnp.add
        return join(zeros_like(x._value), cast(value if is_tensor(value) else np.asarray(value), x.dtype))

    return compute(self, filled, (value,), title, asked=asked)


def _refuse_shape(x: Tensor, shape: tuple[int, ...], wide: tuple[int, ...] | None) -> None:
    """Refuse a source whose shape does not broadcast to that of the tensor."""
    if wide is not None:
        check_fits(x, wide, x.dtype)
    pairs = list(zip(reversed(x.shape), reversed(shape), strict=False))
    i, (a, b) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1] and 1 not in pair)
    raise RuntimeError(
        f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
        f"{max(len(x.shape), len(shape)) - 1 - i}"
    )


def _copy(self: Tensor, source: ArrayLike) -> Tensor:
    """Copy the elements of another tensor or array, in place, in this tensor's dtype."""
    source = plain_value(source)
    shape = np.shape(value_of(source))
    try:
        wide = np.broadcast_shapes(self.shape, shape)
    except ValueError:
        wide = None
    if wide != self.shape:
        check_in_place(self, (source,), "copy_")
        if not is_fixed(self._value):
            check_memory(self._value, (source,))
        _refuse_shape(self, shape, wide)
    return write_whole(self, source, _COPIED, "copy_")


def _resize(self: Tensor, *sizes: Any, memory_format: Any = None) -> Any:
    """Give the tensor another shape, in place: its memory's elements in their order, and zeros after them.

    Raises:
        RuntimeError: the tensor requires a gradient, is a view, or a size is negative.
    """
    del memory_format
    shape = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if any(n < 0 for n in shape):
        raise RuntimeError(f"resize_: the sizes {list(shape)} were given; needed sizes of 0 or more. Write them out.")
    if base_of(self) is not None:
        raise RuntimeError("resize_: the tensor is a view of another one, whose memory has its own shape. Clone it.")
    check_in_place(self, (), "resize_")
    value = np.asarray(self._value)
    # The order in memory, whichever the strides are.
    flat = value.ravel(order="K")
    count = math.prod(shape)
    made = flat[:count] if count <= flat.size else np.concatenate([flat, np.zeros(count - flat.size, flat.dtype)])
    set_value(self, made.reshape(shape))
    return self


_add = binary_in_place(np.add, "AddBackward0", keeps=False)
_sub = binary_in_place(np.subtract, "SubBackward0", keeps=False)
_mul = binary_in_place(np.multiply, "MulBackward0")
_pow = binary_in_place(np.power, "PowBackward0", other_title="PowBackward1")

IN_PLACE: dict[str, Method] = {
    "__setitem__": in_pytorchs_words(set_item),
    **dict.fromkeys(("__iadd__", "add_"), _add),
    **dict.fromkeys(("__isub__", "sub_", "subtract_"), _sub),
    **dict.fromkeys(("__imul__", "mul_", "multiply_"), _mul),
    **dict.fromkeys(("__itruediv__", "true_divide_"), _true_div),
    **dict.fromkeys(("__ipow__", "pow_"), _pow),
    # PyTorch has no in-place product: the name gets a new tensor.
    "__imatmul__": lambda self, other: self @ other,
    "__iand__": binary_in_place(np.bitwise_and, "AndBackward0"),
    "__ior__": binary_in_place(np.bitwise_or, "OrBackward0"),
    "__ixor__": binary_in_place(np.bitwise_xor, "XorBackward0"),
    "masked_fill_": _masked_fill,
    "fill_": _fill,
    "zero_": _zero,
    "copy_": _copy,
    "resize_": _resize,
    "resize_as_": lambda self, the_template, **options: _resize(self, *the_template.shape, **options),
}
