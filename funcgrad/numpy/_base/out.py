"""``out=``: writes a whole result into an existing array."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import Tracer
from funcgrad._core.tracebacks import takes_traced
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.write import WHOLE, shape_text, write
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import TracerAssignmentError
from funcgrad.numpy._base.concrete import no_number
from funcgrad.numpy._base.convert import as_value, dtype_of

F = TypeVar("F", bound=Callable[..., Any])


def takes_out(function: F, broadcasts: bool = False, joins: bool = False) -> F:
    """Give a function the argument ``out``: the result is computed without it, and then written into the array.

    The function declares ``out`` in its signature, so that NumPy's calls fit, but always gets the default. ``out`` is
    an array, ``...`` for a result that is never a plain number, or a tuple of one of these, as in a ufunc's protocol. A
    call with it returns the array itself.

    Args:
        function: the function.
        broadcasts: whether the result may be repeated to the shape of ``out``, as NumPy does for quantiles.
        joins: whether the function joins arrays. NumPy then takes ``out`` or ``dtype``, not both.

    Raises:
        TracerAssignmentError: ``out`` is a plain array, which cannot take a traced value.
        ValueError: the shape of ``out`` is not that of the result.
        TypeError: ``out`` is no array, or has a dtype that the result may not be cast to.
    """
    code = function.__code__
    position = code.co_varnames.index("out")
    if position >= code.co_argcount:
        position = sys.maxsize

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = args[position] if len(args) > position else kwargs.get("out")
        if out is None:
            return function(*args, **kwargs)
        return _into(function, call.__name__.rstrip("_"), broadcasts, joins, args, kwargs)

    return call  # pyright: ignore[reportReturnType]  (wraps keeps the signature)


takes_broadcast_out = functools.partial(takes_out, broadcasts=True)
takes_joined_out = functools.partial(takes_out, joins=True)


def _into(
    function: Callable[..., Any],
    name: str,
    broadcasts: bool,
    joins: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Call a function without ``out``, and write the result into that array."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    out = bound.arguments.pop("out")
    if type(out) is tuple and len(out) != 1:
        raise TypeError(f"numpy.{name}: out= is a tuple of {len(out)}; needed one array, or a tuple of one. Name one.")
    array = out[0] if type(out) is tuple else out
    bound.apply_defaults()
    given = bound.arguments
    if joins and array is not None and given["dtype"] is not None:
        raise TypeError(
            f"numpy.{name}: concatenate() only takes `out` or `dtype` as an argument, but both were provided. "
            "Leave one out."
        )
    if array is not None and array is not Ellipsis:
        check_out(array, name)
        # Sums along axes have the array as first argument. The arguments of einsum have no names.
        if not joins and function.__code__.co_argcount and "dtype" in given and given["dtype"] is None:
            given["dtype"] = _computed_in(next(iter(given.values())), array)
    y = function(*bound.args, **bound.kwargs)
    if array is Ellipsis:
        return no_number(y)
    casting = kwargs.get("casting", "same_kind")
    if array is None:
        return y
    return deliver(array, y, name, casting=casting) if broadcasts else _written(array, y, name, casting)


def _computed_in(x: ArrayLike, out: Array) -> np.dtype | None:
    """Return the dtype of a sum into an array: a wider array widens the sum."""
    dtype = dtype_of(as_value(x))
    wider = np.result_type(dtype, out.dtype)
    return wider if is_inexact(dtype) and wider != dtype else None


def check_out(out: Array, name: str) -> None:
    """Refuse an ``out`` that is no array."""
    if not isinstance(out, Tracer | np.ndarray):
        raise TypeError(f"numpy.{name}: out= is a {type(out).__name__}; return arrays must be of ArrayType.")


def _written(out: Array, y: ArrayLike, name: str, casting: Any) -> Any:
    shape = getattr(y, "shape", ())
    if shape != out.shape:
        raise ValueError(
            f"numpy.{name}: out= is {aval_of(out)} and the result {aval_of(y)}; needed one shape. Make the array with "
            f"np.empty({shape}, like=x)."
        )
    return deliver(out, y, name, casting=casting)


def deliver(
    out: Array, y: ArrayLike, name: str, ufunc: np.ufunc | None = None, operands: tuple = (), casting: Any = "same_kind"
) -> Any:
    """Write a result into the array of ``out=``, traced or not, and return it."""
    if isinstance(out, Tracer):
        return assign(out, y, ufunc, operands, f"numpy.{name} with out=", casting)
    if isinstance(y, Tracer):
        raise TracerAssignmentError(
            f"numpy.{name}: out= is an array {aval_of(out)} of plain numbers, where a traced result would carry no "
            f"derivative. {takes_traced()} Or use the returned value: t = t + x instead of t += x or "
            "np.add(t, x, out=t)."
        )
    np.copyto(out, y, casting=casting)
    return out


def assign(
    x: ArrayLike, y: ArrayLike, ufunc: np.ufunc | None, operands: tuple, asked: str, casting: Any = "same_kind"
) -> Any:
    """Write a whole result, as ``out=`` does, and return ``x``. The dtype may be any of the same kind."""
    check_cast(x, y, ufunc, operands, casting, asked)
    y = cast(y, x.dtype)
    shape = getattr(y, "shape", ())
    if shape != x.shape and np.broadcast_shapes(shape, x.shape) != x.shape:
        raise ValueError(
            f"non-broadcastable output operand with {shape_text(x.shape)} doesn't match the broadcast "
            f"{shape_text(np.broadcast_shapes(shape, x.shape))}"
        )
    write(x, y, WHOLE, (), asked)
    return x


def check_cast(
    x: ArrayLike, y: ArrayLike, ufunc: np.ufunc | None, operands: tuple, casting: Any = "same_kind", asked: str = "out="
) -> None:
    """Refuse a result with a dtype that the array does not accept, or with a derivative that it would lose."""
    source = aval_of(y).dtype
    if not np.can_cast(source, x.dtype, casting):
        if ufunc is not None:
            # NumPy raises its own error here.
            like = [np.ones(0, aval_of(each).dtype) for each in operands]
            ufunc(*like, out=(np.empty(0, x.dtype),) * ufunc.nout, casting=casting)
        raise TypeError(f"Cannot cast array data from {source!r} to {x.dtype!r} according to the rule {casting!r}")
    check_kept(x, y, asked)


def check_kept(x: ArrayLike, y: ArrayLike, asked: str) -> None:
    """Refuse to write a traced float into an array of integers, or a complex number into one of floats."""
    source = aval_of(y).dtype
    if isinstance(y, Tracer) and is_inexact(source) and not np.can_cast(source, x.dtype, "same_kind"):
        kind, part = ("complex", "its .real") if source.kind == "c" else ("float", f"its .astype({x.dtype.name})")
        raise TracerAssignmentError(
            f"{asked}: the array is {aval_of(x)} and the value {y.aval}, traced: its derivative would be cut. "
            f"Make the array of a {kind} dtype, or write {part}."
        )
