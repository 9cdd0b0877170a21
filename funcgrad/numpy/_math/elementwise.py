"""Elementwise functions: NumPy's ufuncs over our primitives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import is_integer
from funcgrad._core.bind import NO_PARAMS, Tracer, bind, is_engine_value
from funcgrad._core.numbers import PYTHON_NUMBERS, is_weak, refuse_exponent
from funcgrad._core.primitive import Primitive
from funcgrad._engines import is_abstract
from funcgrad._ops.elementwise import arithmetic as ops
from funcgrad._ops.elementwise.cast import cast, cast_p, imag_p, make_complex, real_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.copy import fresh
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.numpy._base.concrete import as_number
from funcgrad.numpy._base.convert import as_value, dtype_of, operands_for, strong
from funcgrad.numpy._base.dispatch import direct_ufuncs, implements, ufuncs


def _fast_kinds(ufunc: np.ufunc) -> str:
    """Return the dtype kinds for which the ufunc computes in the dtype of its operand, without dtype resolution."""
    loops = [loop.partition("->")[0] for loop in ufunc.types]
    return "".join(kind for kind, letter in (("f", "f"), ("c", "F")) if letter * ufunc.nin in loops)


def unary(ufunc: np.ufunc, primitive: Primitive) -> Callable[[Any], Any]:
    """Return our function for a ufunc of one operand."""
    kinds = _fast_kinds(ufunc)

    def function(x: ArrayLike, /) -> Any:
        try:
            if x.dtype.kind in kinds:
                return bind(primitive, (x,), NO_PARAMS)
        except AttributeError:
            # The operand is a Python scalar or a list.
            pass
        return bind(primitive, operands_for(ufunc, (x,)), NO_PARAMS)

    return _direct(function, ufunc, primitive, kinds)


def binary(ufunc: np.ufunc, primitive: Primitive) -> Callable[[Any, Any], Any]:
    """Return our function for a ufunc of two operands.

    Dtype resolution takes 2 us. The common cases (one dtype, or a Python int or float with inexact values) skip it.
    """
    kinds = _fast_kinds(ufunc)

    def function(x: ArrayLike, y: ArrayLike, /) -> Any:
        try:
            if type(y) is float or type(y) is int:
                if x.dtype.kind in kinds:
                    return bind(primitive, (x, y), NO_PARAMS)
            elif type(x) is float or type(x) is int:
                if y.dtype.kind in kinds:
                    return bind(primitive, (x, y), NO_PARAMS)
            elif x.dtype is y.dtype and x.dtype.kind in kinds:
                return bind(primitive, (x, y), NO_PARAMS)
        except AttributeError:
            # An operand is a Python complex or bool, or a list.
            pass
        return bind(primitive, operands_for(ufunc, (x, y)), NO_PARAMS)

    return _direct(function, ufunc, primitive, kinds)


def _direct(function: Callable[..., Any], ufunc: np.ufunc, primitive: Primitive, kinds: str) -> Callable[..., Any]:
    made = named(of_numbers(function) if primitive.operator else function, ufunc)
    direct_ufuncs[ufunc] = primitive, kinds
    return made


def numpys_number(y: ArrayLike) -> Array:
    """Return the result of a ufunc. For Python's numbers alone it is NumPy's number, which is not weak."""
    return cast_p(y, dtype=y.dtype) if isinstance(y, Tracer) and not y.shape and y.aval.weak else y


def of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the ufunc of a function that is also a Python operator; see `by_operator` for the operator."""

    def ufunc(*operands: ArrayLike) -> Any:
        return numpys_number(function(*operands))

    made: Any = ufunc
    made.by_operator = function
    return made


def by_operator(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python operator's function for a ufunc."""
    return getattr(function, "by_operator", function)


_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY
# Signatures by the number of operands.
_SIGNATURES = {
    names.count("x"): inspect.Signature([inspect.Parameter(name, _POSITIONAL) for name in names.split()])
    for names in ("x", "x1 x2")
}


def named(function: Callable[..., Any], ufunc: np.ufunc) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = ufunc.__name__
    vars(function)["__signature__"] = _SIGNATURES[ufunc.nin]
    function.__doc__ = f"``numpy.{ufunc.__name__}`` for arrays of either engine and tracers."
    return implements(ufunc)(function)


def outer(ufunc: np.ufunc, x: ArrayLike, y: ArrayLike) -> Any:
    """Return ``ufunc.outer``: the function of every pair of elements."""
    x, y = strong(x), strong(y)
    if y.shape:
        x = reshape(x, x.shape + (1,) * len(y.shape))
    return ufuncs[ufunc](x, y)


add = binary(np.add, ops.add_p)
subtract = binary(np.subtract, ops.sub_p)
multiply = binary(np.multiply, ops.mul_p)
divide = true_divide = binary(np.true_divide, ops.div_p)
negative = unary(np.negative, ops.neg_p)
absolute = unary(np.absolute, ops.abs_p)
sqrt = unary(np.sqrt, ops.sqrt_p)
log = unary(np.log, ops.log_p)
maximum = binary(np.maximum, ops.max_p)
minimum = binary(np.minimum, ops.min_p)
equal = binary(np.equal, ops.eq_p)
not_equal = binary(np.not_equal, ops.ne_p)
less = binary(np.less, ops.lt_p)
less_equal = binary(np.less_equal, ops.le_p)
greater = binary(np.greater, ops.gt_p)
greater_equal = binary(np.greater_equal, ops.ge_p)

_general_power = binary(np.power, ops.pow_p)


def _power(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the power. An exponent that is a Python number has its own, cheaper primitive."""
    if (type(y) is int or type(y) is float) and isinstance(x, Tracer) and x.dtype.kind in "fc":
        return x._owner.apply(ops.power_p, (x,), {"exponent": y})
    if type(y) is not int and type(y) is not float and not hasattr(y, "dtype"):
        y = as_value(y)
    if type(y) is int or type(y) is float:
        x = as_value(x)
        if type(x) in PYTHON_NUMBERS:
            # For Python's numbers alone the ufunc returns NumPy's number too.
            return np.power(x, y)
        if getattr(x, "dtype", np.dtype(object)).kind not in "fc":
            (x, _) = operands_for(np.power, (x, y))
            if type(y) is int and y < 0 and is_integer(x.dtype):
                refuse_exponent(y)
        return bind(ops.power_p, (x,), {"exponent": y})
    if (
        getattr(getattr(y, "dtype", _INEXACT), "kind", None) == "i"
        and is_engine_value(y)
        and not is_abstract(y)
        and is_integer(dtype_of(x))
    ):
        # NumPy checks for negative powers itself, and so does a compiled program's call. JAX would compute a number.
        least = int(np.min(np.asarray(y), initial=0))
        if least < 0:
            refuse_exponent(least)
    return by_operator(_general_power)(x, y)


_INEXACT = np.dtype(float)
power = named(of_numbers(_power), np.power)


def power_by_operator(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return ``x ** y`` as NumPy's operator does: a square is ``np.square``, which makes int8 of booleans."""
    return ufuncs[np.square](x) if type(y) is int and y == 2 and dtype_of(x).kind == "b" else _power(x, y)


@implements(np.sign)
def sign(x: ArrayLike, /) -> Array:
    """Return ``numpy.sign``: a complex number is divided by its absolute value."""
    (x,) = operands_for(np.sign, (x,))
    if dtype_of(x).kind != "c":
        return bind(ops.sign_p, (x,), NO_PARAMS)
    if type(x) is complex:
        return np.sign(x)
    size, real, imag = ops.abs_p(x), real_p(x), imag_p(x)
    zero, infinite = size == 0, size == np.inf
    safe = select(zero | infinite, 1, size)
    # A complex quotient would lose the signs of zeros. Zeros have none here.
    finite = make_complex(*[select(infinite, 1, part) / safe for part in (real, imag)])
    by_real, by_imag = ops.abs_p(real) == np.inf, ops.abs_p(imag) == np.inf
    direction = make_complex(select(by_real, ops.sign_p(real), 0), select(by_imag, ops.sign_p(imag), 0))
    # Two infinite parts have no direction.
    direction = select(by_real & by_imag, x.dtype.type(complex(np.nan, np.nan)), direction)
    return select(zero, 0, select(infinite, direction, finite))


def _positive(x: ArrayLike, /) -> Any:
    """Return the same numbers in a new array. A Python number stays one."""
    if isinstance(x, Tracer) and is_weak(x):
        return x
    return as_number(fresh(operands_for(np.positive, (x,))[0], x))


positive = named(of_numbers(_positive), np.positive)


@implements(np.float_power)
def float_power(x: ArrayLike, y: ArrayLike, /) -> Tensor:
    """Return ``numpy.float_power``: a power in at least double precision."""
    dtypes = np.float_power.resolve_dtypes((dtype_of(as_value(x)), dtype_of(as_value(y)), None))
    return _general_power(cast(as_value(x), dtypes[0]), cast(as_value(y), dtypes[1]))


@implements(np.divmod)
def divmod_(x: ArrayLike, y: ArrayLike, /) -> tuple[Any, Any]:
    """Return ``numpy.divmod``: quotient and remainder, rounded down."""
    return ufuncs[np.floor_divide](x, y), ufuncs[np.remainder](x, y)


def divmod_by_operator(x: ArrayLike, y: ArrayLike, /) -> tuple[Any, Any]:
    """Return ``divmod(x, y)``. For Python's numbers alone the results are weak."""
    return by_operator(ufuncs[np.floor_divide])(x, y), by_operator(ufuncs[np.remainder])(x, y)
