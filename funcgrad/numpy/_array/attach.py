"""What makes a tracer an array: NumPy's protocols, the operators and the methods, attached in one place."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from funcgrad import errors
from funcgrad._core.bind import NO_PARAMS, Tracer
from funcgrad._core.numbers import is_weak
from funcgrad._ops.contract.dot import matmul_p
from funcgrad._ops.elementwise import arithmetic as ops
from funcgrad._ops.layout.copy import copy_p
from funcgrad.numpy._array.operators import deferring, matmul_operator, operators, power_operator, unary_operator
from funcgrad.numpy._base import concrete, object_arrays, text
from funcgrad.numpy._base.dispatch import (
    direct_ufuncs,
    find_special,
    functions,
    refuse,
    refuse_out,
    ufunc_methods,
    ufuncs,
)
from funcgrad.numpy._base.guests import defers_to
from funcgrad.numpy._choose import at, indexing
from funcgrad.numpy._choose import take as selection
from funcgrad.numpy._choose import where as choice
from funcgrad.numpy._contract import products as contractions
from funcgrad.numpy._contract.sparse import matmul_or_sparse
from funcgrad.numpy._layout import creation, rearrange, shape
from funcgrad.numpy._math import complex as complex_
from funcgrad.numpy._math import elementwise as e
from funcgrad.numpy._math import logic, rounding
from funcgrad.numpy._math import transcendental as t
from funcgrad.numpy._reduce import cumulative, reductions, sorting, statistics


def _array_ufunc(self: Tracer, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    if method == "__call__":
        direct = direct_ufuncs.get(ufunc)
        if direct is not None and not options and self.dtype.kind in direct[1]:
            # One operand, and nothing to convert: this spares a fifth of what the operation costs.
            return self.owner.apply(direct[0], inputs, NO_PARAMS)
        function = ufuncs.get(ufunc) or find_special(ufunc)
        if function is None:
            refuse(
                ufunc, "scipy.special" if ufunc in vars(sys.modules.get("scipy.special", math)).values() else "numpy"
            )
        if options:
            return _with_options(ufunc, function, inputs, options)
        return function(*inputs)
    function = ufunc_methods.get((ufunc, method))
    if function is None:
        if method == "outer" and ufunc in ufuncs and not options:
            return e.outer(ufunc, *inputs)
        if method == "at":
            _refuse_at(ufunc)
        refuse(f"{ufunc.__name__}.{method}")
    return function(*inputs, **options)


def _with_options(ufunc: np.ufunc, function: Callable[..., Any], inputs: tuple, options: dict[str, Any]) -> Any:
    refuse_out(ufunc.__name__, options.get("out"))
    unknown = set(options) - {"out", "dtype", "casting", "order", "subok"}
    if unknown:
        raise errors.UnsupportedFunctionError(
            f"numpy.{ufunc.__name__}: the option {min(unknown)!r} is not supported on traced arrays. "
            "Compute without it and choose with numpy.where."
        )
    dtype = options.get("dtype")
    if dtype is None:
        return function(*inputs)
    return function(*[functions[np.astype](x, np.dtype(dtype)) for x in inputs])


def _refuse_at(ufunc: np.ufunc) -> NoReturn:
    raise errors.TracerAssignmentError(
        f"numpy.{ufunc.__name__}.at: it works in place, and a traced value can neither be written to nor be written "
        "into a plain array. Write x = x.at[index].add(value) instead of np.add.at(x, index, value)."
    )


def _array_function(self: Tracer, function: Callable[..., Any], types: Any, args: tuple, kwargs: dict) -> Any:
    ours = functions.get(function)
    if ours is None:
        refuse(function, getattr(function, "__module__", "numpy"))
    return ours(*args, **kwargs)


def _jax_array(self: Tracer) -> NoReturn:
    """JAX looks for this attribute on operands: to look is refused, since its functions never get as far as a call.

    JAX's operators (``jax_array * tracer``) are told that there is none, whereupon they defer to ours.
    """
    if sys._getframe(1).f_globals.get("__name__", "").endswith("array_methods"):
        raise AttributeError("__jax_array__")
    # No TypeError: jax.jit would put a message of its own in its place.
    raise errors.UnsupportedFunctionError(
        f"a jax.numpy function met a traced value {self.aval} of funcgrad, whose derivative it would lose. "
        "Use numpy or funcgrad.numpy here, or wrap the JAX function with fg.from_jax."
    )


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: function(other, self)


def _comparison(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """What is no value (``x == None``) is compared by Python's rule for unlike things.

    Of Python's numbers alone the result is Python's bool, which counts where it is added.
    """

    def compare(self: Tracer, other: Any) -> Any:
        if other is None or isinstance(other, str) or (defers_to(other) and not isinstance(other, np.ndarray)):
            return NotImplemented
        result = function(self, other)
        return bool(result) if type(result) is np.bool_ and is_weak(self) and is_weak(other) else result

    return compare


def _setitem(self: Tracer, index: Any, value: Any) -> NoReturn:
    raise errors.TracerAssignmentError(
        f"a traced array {_type_of(self)} cannot be assigned into: its history would be lost. "
        "Write x = x.at[index].set(value) (or .add(value)) instead of x[index] = value."
    )


def _type_of(x: Tracer) -> str:
    return str(x.aval)


def astype(
    self: Tracer, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """``x.astype(dtype)``; of objects, an array with each element as a traced value of its own."""
    if np.dtype(dtype) == object:
        return object_arrays.to_array(self)
    return creation.astype_method(self, dtype, order, casting, subok, copy)


_BINARY = {
    "add": e.add,
    "sub": e.subtract,
    "mul": e.multiply,
    "truediv": e.divide,
    "pow": e.power,
    "matmul": matmul_or_sparse,
    "floordiv": rounding.floor_divide,
    "mod": rounding.remainder,
    "divmod": e.divmod_,
    "and": logic.bitwise_and,
    "or": logic.bitwise_or,
    "xor": logic.bitwise_xor,
    "lshift": logic.left_shift,
    "rshift": logic.right_shift,
}
for _name, _function in _BINARY.items():
    setattr(Tracer, f"__{_name}__", deferring(_function))
    setattr(Tracer, f"__r{_name}__", _reflected(_function))
for _name, _primitive in {"add": ops.add_p, "sub": ops.sub_p, "mul": ops.mul_p, "truediv": ops.div_p}.items():
    _method, _reflection = operators(_primitive, _BINARY[_name])
    setattr(Tracer, f"__{_name}__", _method)
    setattr(Tracer, f"__r{_name}__", _reflection)
for _name, _function in {
    "eq": e.equal,
    "ne": e.not_equal,
    "lt": e.less,
    "le": e.less_equal,
    "gt": e.greater,
    "ge": e.greater_equal,
}.items():
    setattr(Tracer, f"__{_name}__", _comparison(_function))


def _attribute(name: str, function: Callable[[Any], Any]) -> None:
    setattr(Tracer, name, property(function))


_attribute("ndim", lambda self: len(self.shape))
_attribute("size", lambda self: math.prod(self.shape))
_attribute("T", shape.t_attribute)
_attribute("mT", shape.matrix_transpose)
_attribute("at", at.At)
_attribute("itemsize", lambda self: self.dtype.itemsize)
_attribute("nbytes", lambda self: self.size * self.dtype.itemsize)
for _name, _function in {
    "__getitem__": indexing.getitem,
    "__len__": indexing.length,
    "__iter__": indexing.iterate,
    "reshape": shape.reshape_method,
    "ravel": shape.ravel,
    "flatten": shape.flatten_method,
    "transpose": shape.transpose_method,
    "swapaxes": shape.swapaxes,
    "squeeze": shape.squeeze,
    "repeat": rearrange.repeat,
    "take": selection.take,
    "choose": selection.choose,
    "compress": lambda self, condition, axis=None, out=None: selection.compress(condition, self, axis, out),
    "nonzero": selection.nonzero,
    "astype": astype,
}.items():
    setattr(Tracer, _name, _function)
for _name, _function in {
    "sum": reductions.sum_,
    "prod": reductions.prod,
    "max": reductions.max_,
    "min": reductions.min_,
    "mean": statistics.mean,
    "var": statistics.var,
    "std": statistics.std,
    "all": reductions.all_,
    "any": reductions.any_,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "cumsum": cumulative.cumsum,
    "cumprod": cumulative.cumprod,
    "argsort": sorting.argsort,
    "argpartition": sorting.argpartition,
    "searchsorted": sorting.searchsorted,
    "sort": sorting.refuse_in_place("sort"),
    "partition": sorting.refuse_in_place("partition"),
    "dot": contractions.dot,
    "diagonal": contractions.diagonal_,
    "trace": contractions.trace,
}.items():
    setattr(Tracer, _name, _function)

# NumPy's loops over object arrays call these by name on each element, a 0-d tracer.
for _function in (
    t.exp, t.exp2, t.expm1, e.log, t.log2, t.log10, t.log1p, e.sqrt, t.cbrt, t.square, t.reciprocal, t.fabs,
    t.sin, t.cos, t.tan, t.arcsin, t.arccos, t.arctan, t.arctan2, t.sinh, t.cosh, t.tanh, t.arcsinh, t.arccosh,
    t.arctanh, t.hypot, t.deg2rad, t.rad2deg, rounding.rint, rounding.fmod, logic.logical_not,
):  # fmt: skip
    setattr(Tracer, _function.__name__, _function)
for _name, _function in {
    "radians": t.deg2rad,
    "degrees": t.rad2deg,
    "conjugate": complex_.conjugate_method,
    "conj": complex_.conjugate_method,
    "round": rounding.round_,
    "clip": choice.clip_method,
    "copy": lambda self, order="C": copy_p(self),
    "item": concrete.to_item,
    "tolist": concrete.to_list,
    "__copy__": copy_p,
    "__deepcopy__": lambda self, memo: copy_p(self),
    "__pow__": power_operator(ops.power_p, e.power_by_operator),
    "__matmul__": matmul_operator(matmul_p, matmul_or_sparse),
    "__neg__": unary_operator(ops.neg_p, e.negative),
    "__abs__": e.absolute,
    "__pos__": e.positive,
    "__invert__": logic.invert,
    "__round__": lambda self, ndigits=None: rounding.round_(self, ndigits or 0),
    "__floor__": rounding.floor,
    "__ceil__": rounding.ceil,
    "__trunc__": rounding.trunc,
    "__bool__": concrete.to_bool,
    "__float__": concrete.to_float,
    "__int__": concrete.to_int,
    "__complex__": concrete.to_complex,
    "__index__": concrete.to_index,
    "__setitem__": _setitem,
    "__hash__": object.__hash__,
    "__array_ufunc__": _array_ufunc,
    "__array_function__": _array_function,
    "__array__": object_arrays.to_array,
    # pandas leaves an operation to what has a greater number than its own: 2,000 to 4,000.
    "__pandas_priority__": 10_000,
    "__array_namespace__": lambda self, api_version=None: sys.modules["funcgrad.numpy"],
    "__repr__": text.to_text,
    "__str__": text.to_text,
    "__format__": text.to_format,
}.items():
    setattr(Tracer, _name, _function)
_attribute("__jax_array__", _jax_array)
_attribute("real", complex_.real)
_attribute("imag", complex_.imag)
