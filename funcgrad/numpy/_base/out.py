"""``out=``: a result that is written whole into an array that there is."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import Tracer
from funcgrad._core.tracebacks import TAKES_TRACED
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.write import WHOLE, shape_text, write
from funcgrad.errors import TracerAssignmentError
from funcgrad.numpy._base.concrete import no_number
from funcgrad.numpy._base.convert import as_value, dtype_of

_EMPTY = inspect.Parameter.empty


def into(out: Any, function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """What a function that has ``out`` returns where it is given: the result is computed without, and written.

    Args:
        out: the array; from a ufunc's protocol a tuple that holds it.
        function: the function that was called.
        given: its arguments by name, ``locals()`` at its beginning.

    Returns:
        ``out`` itself.

    Raises:
        TracerAssignmentError: it is a plain array, which cannot take a traced value.
        ValueError: its shape is not that of the result.
        TypeError: it is no array, or of a dtype that the result may not be cast to.
    """
    name = function.__name__.rstrip("_")
    if type(out) is tuple and len(out) != 1:
        raise TypeError(f"numpy.{name}: out= is a tuple of {len(out)}; needed one array, or a tuple of one. Name one.")
    array = out[0] if type(out) is tuple else out
    args, kwargs = _arguments(function, given)
    if array is not None and array is not Ellipsis:
        check_out(array, name)
        if "dtype" in given and given["dtype"] is None:
            kwargs["dtype"] = _computed_in(next(iter(given.values())), array)
    y = function(*args, **kwargs)
    if array is Ellipsis:
        return no_number(y)
    return y if array is None else _written(array, y, name, given.get("casting", "same_kind"))


@functools.cache
def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return [each for each in inspect.signature(function).parameters.values() if each.name != "out"]


def _arguments(function: Callable[..., Any], given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for parameter in _parameters(function):
        value = given[parameter.name]
        if parameter.kind is parameter.POSITIONAL_ONLY:
            args.append(value)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            args += value
        elif parameter.kind is parameter.VAR_KEYWORD:
            kwargs |= value
        else:
            kwargs[parameter.name] = value
    return args, kwargs


def _computed_in(x: Any, out: Any) -> np.dtype | None:
    """The dtype of sums into an array: one that is wider than theirs widens them."""
    dtype = dtype_of(as_value(x))
    wider = np.result_type(dtype, out.dtype)
    return wider if is_inexact(dtype) and wider != dtype else None


def check_out(out: Any, name: str) -> None:
    """Refuse what is no array."""
    if not isinstance(out, Tracer | np.ndarray):
        raise TypeError(f"numpy.{name}: out= is a {type(out).__name__}; return arrays must be of ArrayType.")


def _written(out: Any, y: Any, name: str, casting: Any) -> Any:
    shape = getattr(y, "shape", ())
    if shape != out.shape:
        raise ValueError(
            f"numpy.{name}: out= is {aval_of(out)} and the result {aval_of(y)}; needed one shape. Make the array with "
            f"np.empty({shape}, like=x)."
        )
    return deliver(out, y, name, casting=casting)


def deliver(
    out: Any, y: Any, name: str, ufunc: np.ufunc | None = None, operands: tuple = (), casting: Any = "same_kind"
) -> Any:
    """Write a result into what ``out=`` names, traced or not, and return it."""
    if isinstance(out, Tracer):
        return assign(out, y, ufunc, operands, f"numpy.{name} with out=", casting)
    if isinstance(y, Tracer):
        raise TracerAssignmentError(
            f"numpy.{name}: out= is an array {aval_of(out)} of plain numbers, where a traced result would carry no "
            f"derivative. {TAKES_TRACED} Or use the returned value: t = t + x instead of t += x or np.add(t, x, out=t)."
        )
    np.copyto(out, y, casting=casting)
    return out


def assign(x: Any, y: Any, ufunc: np.ufunc | None, operands: tuple, asked: str, casting: Any = "same_kind") -> Any:
    """Write a result whole, as ``out=`` does: its dtype may be of the same kind; returns ``x``."""
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
    x: Any, y: Any, ufunc: np.ufunc | None, operands: tuple, casting: Any = "same_kind", asked: str = "out="
) -> None:
    """Refuse a result whose dtype the array does not take, and one whose derivative it would cut."""
    source = aval_of(y).dtype
    if not np.can_cast(source, x.dtype, casting):
        if ufunc is not None:
            # NumPy says it, with the error that it has for it.
            like = [np.ones(0, aval_of(each).dtype) for each in operands]
            ufunc(*like, out=(np.empty(0, x.dtype),) * ufunc.nout, casting=casting)
        raise TypeError(f"Cannot cast array data from {source!r} to {x.dtype!r} according to the rule {casting!r}")
    check_kept(x, y, asked)


def check_kept(x: Any, y: Any, asked: str) -> None:
    """Refuse to write a traced float into an array of integers, or a complex number into one of floats."""
    source = aval_of(y).dtype
    if isinstance(y, Tracer) and is_inexact(source) and not np.can_cast(source, x.dtype, "same_kind"):
        kind, part = ("complex", "its .real") if source.kind == "c" else ("float", f"its .astype({x.dtype.name})")
        raise TracerAssignmentError(
            f"{asked}: the array is {aval_of(x)} and the value {y.aval}, traced: its derivative would be cut. "
            f"Make the array of a {kind} dtype, or write {part}."
        )
