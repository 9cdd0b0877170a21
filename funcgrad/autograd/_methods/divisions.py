"""Quotients and remainders. As in PyTorch, an integer divided by zero is an error."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import Tracer
from funcgrad._core.words import shown
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.autograd._memory.write import compute, plain_value
from funcgrad.autograd._methods import in_place
from funcgrad.autograd._tape.base import is_tensor

Method = Callable[..., Any]


def _refuse_zero(x: Array, divisor: Array) -> None:
    """Refuse to divide integers by zero, for which NumPy gives 0 and a warning."""
    dtypes = [getattr(each, "dtype", None) for each in (x, divisor)]
    kinds = [np.asarray(each).dtype.kind if d is None else d.kind for each, d in zip((x, divisor), dtypes, strict=True)]
    if all(kind in "biu" for kind in kinds):
        value = divisor._value if is_tensor(divisor) else divisor
        # The value of a traced divisor is not known.
        if not hasattr(value, "aval") and not np.all(np.asarray(value)):
            raise RuntimeError("ZeroDivisionError")


def _checked(method: Method, *, turned: bool = False) -> Method:
    """Return a method that refuses integers divided by zero; if it is turned, the tensor is the divisor."""

    @functools.wraps(method)
    def checked(self: Tensor, other: ArrayLike, **options: Any) -> Tensor:
        if self.dtype.kind in "biu" and hasattr(other, "__float__"):
            _refuse_zero(*((other, self) if turned else (self, other)))
        return method(self, other, **options)

    return checked


def divided(x: Tensor, other: ArrayLike, *, rounding_mode: str | None = None) -> Any:
    """Return a quotient, rounded down (``"floor"``) or towards zero (``"trunc"``) if a mode is given.

    The quotient of integers that is rounded is an integer.
    """
    other = plain_value(other)
    if rounding_mode not in (None, "floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found {shown(rounding_mode)}"
        )
    if rounding_mode is None:
        return x / other
    if x.dtype.kind in "biu":
        _refuse_zero(x, other)
    down = fnp.floor_divide(x, other)
    if rounding_mode == "floor":
        return down
    if down.dtype.kind not in "biu":
        return fnp.trunc(x / other)
    # Truncating a negative quotient that is not whole gives its floor plus one.
    is_between = (fnp.remainder(x, other) != 0) & (down < 0)
    return down + is_between


def _div(self: Tensor, other: ArrayLike, *, rounding_mode: str | None = None) -> Any:
    """Divide in place."""
    if rounding_mode is None:
        return in_place.IN_PLACE["__itruediv__"](self, other)
    other = plain_value(other)
    computed = functools.partial(divided, other=other, rounding_mode=rounding_mode)
    return compute(self, computed, (other,), "DivBackward2", asked="div_")


def _of_two(function: Callable[[Any, Any], Any]) -> Method:
    return _checked(lambda self, other: function(self, plain_value(other)))


METHODS: dict[str, Method] = {
    "div": divided,
    "divide": divided,
    "floor_divide": _of_two(fnp.floor_divide),
    "remainder": _of_two(fnp.remainder),
    "fmod": _of_two(fnp.fmod),
    "__floordiv__": _checked(vars(Tracer)["__floordiv__"]),
    "__mod__": _checked(vars(Tracer)["__mod__"]),
    "__rfloordiv__": _checked(vars(Tracer)["__rfloordiv__"], turned=True),
    "__rmod__": _checked(vars(Tracer)["__rmod__"], turned=True),
}
_remainder = _checked(in_place.binary_in_place(np.remainder, "RemainderBackward0", other_title="RemainderBackward1"))
_floor_divide = _checked(in_place.binary_in_place(np.floor_divide, "torch::autograd::NotImplemented"))
IN_PLACE: dict[str, Method] = {
    **dict.fromkeys(("div_", "divide_"), _div),
    **dict.fromkeys(("__imod__", "remainder_"), _remainder),
    **dict.fromkeys(("__ifloordiv__", "floor_divide_"), _floor_divide),
}
