"""What makes a tracer an array: NumPy's protocols, the operators and the methods, attached in one place."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from funcgrad import errors
from funcgrad._core.bind import Tracer
from funcgrad._ops.shape import transpose
from funcgrad.numpy import _elementwise as e
from funcgrad.numpy import _reductions as reductions
from funcgrad.numpy._dispatch import functions, refuse, ufunc_methods, ufuncs


def _array_ufunc(self: Tracer, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    if method == "__call__":
        function = ufuncs.get(ufunc)
        if function is None:
            refuse(ufunc)
        if options:
            return _with_options(ufunc, function, inputs, options)
        return function(*inputs)
    function = ufunc_methods.get((ufunc, method))
    if function is None:
        refuse(f"{ufunc.__name__}.{method}")
    return function(*inputs, **options)


def _with_options(ufunc: np.ufunc, function: Callable[..., Any], inputs: tuple, options: dict[str, Any]) -> Any:
    if options.get("out") is not None:
        _refuse_out(ufunc.__name__)
    unknown = set(options) - {"out", "dtype", "casting", "order", "subok"}
    if unknown:
        raise errors.UnsupportedFunctionError(
            f"numpy.{ufunc.__name__}: the option {sorted(unknown)[0]!r} is not supported on traced arrays. "
            "Compute without it and choose with numpy.where."
        )
    dtype = options.get("dtype")
    if dtype is None:
        return function(*inputs)
    return function(*[functions[np.astype](x, np.dtype(dtype)) for x in inputs])


def _refuse_out(name: str) -> NoReturn:
    raise errors.TracerAssignmentError(
        f"numpy.{name}: out= would write a traced result into an array, and that array would carry no derivative. "
        "Use the returned value instead."
    )


def _array_function(self: Tracer, function: Callable[..., Any], types: Any, args: tuple, kwargs: dict) -> Any:
    ours = functions.get(function)
    if ours is None:
        refuse(function, getattr(function, "__module__", "numpy"))
    return ours(*args, **kwargs)


def _jax_array(self: Tracer) -> Any:
    """JAX asks this of operands. Its operators (``jax_array * tracer``) get the tracer back and defer to ours."""
    if sys._getframe(1).f_globals.get("__name__", "").endswith("array_methods"):
        return self
    raise TypeError(
        "a jax.numpy function met a traced value of funcgrad, whose derivative it would lose. "
        "Use numpy or funcgrad.numpy here, or wrap the JAX function with fg.from_jax."
    )


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: function(other, self)


def _setitem(self: Tracer, index: Any, value: Any) -> NoReturn:
    raise errors.TracerAssignmentError(
        f"a traced array {_type_of(self)} cannot be assigned into: its history would be lost. "
        "Write x = x.at[index].set(value) (or .add(value)) instead of x[index] = value."
    )


def _type_of(x: Tracer) -> str:
    return str(x.aval)


def _concretization(kind: str, error: type[Exception], remedy: str) -> Callable[[Tracer], NoReturn]:
    def convert(self: Tracer) -> NoReturn:
        raise error(
            f"{kind}() was asked of a traced value {_type_of(self)} under {self.trace.transform}: the number would "
            f"carry no derivative. {remedy}"
        )

    return convert


_BINARY = {
    "add": e.add,
    "sub": e.subtract,
    "mul": e.multiply,
    "truediv": e.divide,
    "pow": e.power,
}
for _name, _function in _BINARY.items():
    setattr(Tracer, f"__{_name}__", _function)
    setattr(Tracer, f"__r{_name}__", _reflected(_function))
for _name, _function in {
    "eq": e.equal, "ne": e.not_equal, "lt": e.less, "le": e.less_equal, "gt": e.greater, "ge": e.greater_equal,
}.items():
    setattr(Tracer, f"__{_name}__", _function)


def _attribute(name: str, function: Callable[[Any], Any]) -> None:
    setattr(Tracer, name, property(function))


_attribute("ndim", lambda self: len(self.shape))
_attribute("size", lambda self: math.prod(self.shape))
_attribute("T", lambda self: transpose(self, tuple(range(len(self.shape)))[::-1]))
Tracer.sum = reductions.sum_
Tracer.__neg__ = e.negative
Tracer.__abs__ = e.absolute
Tracer.__array_ufunc__ = _array_ufunc
Tracer.__array_function__ = _array_function
Tracer.__jax_array__ = _jax_array
Tracer.__setitem__ = _setitem
Tracer.__hash__ = object.__hash__
