"""``np.add(x, y, out=c, where=mask, dtype=...)``: the options of ufuncs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import Tracer
from funcgrad._core.numbers import PYTHON_NUMBERS
from funcgrad._core.trace.place import settled
from funcgrad._engines import is_abstract
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.write import shape_text
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import ArrayLike, DTypeLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy._base.concrete import innermost
from funcgrad.numpy._base.convert import as_value, assigned, kind_of, operands_for
from funcgrad.numpy._base.foreign import is_object_array
from funcgrad.numpy._base.object_arrays import put_elements
from funcgrad.numpy._base.out import check_cast, check_out, deliver
from funcgrad.numpy._choose.assign import setitem
from funcgrad.numpy._layout.shape import moveaxis

Function = Callable[..., Any]


def with_options(ufunc: np.ufunc, function: Function, inputs: tuple, options: dict[str, Any]) -> Any:
    """Call our function for a ufunc with NumPy's options; ``out`` is a tuple of arrays and ``None``."""
    outs = options.get("out", (None,) * ufunc.nout)
    if len(options) == len(outs) == 1 and is_object_array(outs[0]):
        return put_elements(outs[0], function(*inputs))
    where = options.get("where", True)
    if ufunc.signature:
        function = _along(ufunc, function, {name: options.pop(name) for name in _AXES & options.keys()})
    unknown = set(options) - {"out", "where", "dtype", "casting", "order", "subok"}
    if unknown or (where is not True and ufunc.signature):
        raise UnsupportedFunctionError(
            f"numpy.{ufunc.__name__}: the option {min(unknown or {'where'})!r} is not supported on traced arrays. "
            "Compute without it and choose with numpy.where."
        )
    dtype = options.get("dtype")
    casting = options.get("casting", "same_kind")
    if dtype is not None or "casting" in options:
        inputs = _cast(ufunc, inputs, dtype, casting)
    outs = tuple([None if out is Ellipsis else out for out in outs])
    for out in outs:
        if out is not None:
            check_out(out, ufunc.__name__)
    if where is not True:
        return _where(ufunc, function, inputs, where, outs, casting)
    return _delivered(ufunc, function(*inputs), inputs, outs, casting)


def _cast(ufunc: np.ufunc, inputs: tuple, dtype: DTypeLike, casting: Any) -> tuple:
    """Return the operands in the dtypes of the ufunc's loop with results of this dtype; NumPy refuses other dtypes."""
    values = [as_value(x) for x in inputs]
    options: dict[str, Any] = {"casting": casting}
    if dtype is not None:
        options["signature"] = (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout
    kinds = (*[kind_of(x) for x in values], *[None] * ufunc.nout)
    dtypes = ufunc.resolve_dtypes(kinds, **options)
    if dtype is None:
        return inputs
    return tuple([assigned(x, each) for x, each in zip(values, dtypes, strict=False)])


# The options of products of vectors and matrices, besides those of all ufuncs.
_AXES = frozenset({"axis", "axes", "keepdims"})


def _along(ufunc: np.ufunc, function: Function, options: dict[str, Any]) -> Function:
    """Return the function of a product along other axes than the last ones: it moves the axes there and back."""
    if not options:
        return function

    def product(*inputs: Any) -> Any:
        arrays = [as_value(x) for x in inputs]
        # NumPy checks the options and computes the shape of the result.
        like = ufunc(*[np.broadcast_to(0.0, aval_of(x).shape) for x in arrays], **options)
        axes = _core_axes(ufunc, arrays, options)
        moved = [moveaxis(x, each, range(-len(each), 0)) for x, each in zip(arrays, axes, strict=False)]
        y = function(*moved)
        if options.get("keepdims"):
            return reshape(y, like.shape)
        return moveaxis(y, range(-len(axes[-1]), 0), axes[-1]) if len(axes) > len(arrays) and axes[-1] else y

    return product


def _core_axes(ufunc: np.ufunc, arrays: list[Any], options: dict[str, Any]) -> list[tuple[int, ...]]:
    """Return the multiplied axes of each operand, and those of the result if they are given."""
    if "axis" in options:
        return [(options["axis"],)] * len(arrays)
    if "axes" in options:
        return [tuple(np.atleast_1d(np.asarray(each, int)).tolist()) for each in options["axes"]]
    return [() for _ in arrays]


def _delivered(ufunc: np.ufunc, results: Any, inputs: tuple, outs: tuple, casting: Any) -> Any:
    """Return the results, each written into its array if there is one."""
    several = ufunc.nout > 1
    pairs = list(zip(results if several else (results,), outs, strict=True))
    for y, out in pairs:
        if out is not None:
            # All results are checked before any is written.
            check_cast(out, y, ufunc, inputs, casting)
            _check_shape(ufunc, out.shape, getattr(y, "shape", ()))
    given = tuple([y if out is None else deliver(out, y, ufunc.__name__, ufunc, inputs, casting) for y, out in pairs])
    return given if several else given[0]


def _check_shape(ufunc: np.ufunc, shape: tuple[int, ...], needed: tuple[int, ...]) -> None:
    """Refuse an array that the operands do not broadcast to. For a product it must have the shape of the result."""
    reached = np.broadcast_shapes(shape, needed)
    if reached != shape or (ufunc.signature and shape != needed):
        raise ValueError(
            f"non-broadcastable output operand with {shape_text(shape)} doesn't match the broadcast "
            f"{shape_text(needed if ufunc.signature else reached)}"
        )


def _where(ufunc: np.ufunc, function: Function, inputs: tuple, where: ArrayLike, outs: tuple, casting: Any) -> Any:
    """Compute the elements that a mask selects. The others keep their values, and are not computed."""
    if any(out is None for out in outs):
        raise UnsupportedFunctionError(
            f"numpy.{ufunc.__name__}: where= without out= leaves what is not selected undefined. Say what it is: "
            "out=np.zeros_like(x), or compute without where= and choose with numpy.where."
        )
    mask = as_value(where)
    if aval_of(mask).dtype.kind != "b":
        raise TypeError(
            f"Cannot cast array data from {aval_of(mask).dtype!r} to dtype('bool') according to the rule 'safe'"
        )
    inputs = tuple([settled(as_value(x)) for x in inputs])
    shape = outs[0].shape
    for x in (*inputs, mask):
        _check_shape(ufunc, shape, aval_of(x).shape)
    known = innermost(mask)
    traced = isinstance(known, Tracer) or is_abstract(known)
    if traced:
        mask = broadcast_to(settled(mask), shape)
        results = function(*_made_safe(ufunc, inputs, mask))
    else:
        mask = np.broadcast_to(np.asarray(known), shape)
        results = function(*[broadcast_to(x, shape)[mask] if aval_of(x).shape else x for x in inputs])
    results = results if ufunc.nout > 1 else (results,)
    for y, out in zip(results, outs, strict=True):
        check_cast(out, y, ufunc, inputs, casting)
        if traced:
            new = broadcast_to(cast(y, out.dtype), shape)
            deliver(out, select(mask, new, broadcast_to(settled(out), shape)), ufunc.__name__)
        elif isinstance(out, Tracer):
            setitem(out, mask, cast(y, out.dtype))
        elif isinstance(y, Tracer):
            deliver(out, y, ufunc.__name__)
        else:
            out[mask] = y
    return outs if ufunc.nout > 1 else outs[0]


def _made_safe(ufunc: np.ufunc, inputs: tuple, mask: ArrayLike) -> list[Any]:
    """Return the operands with a harmless number where the mask is false: the derivative may be infinite there."""
    operands = operands_for(ufunc, inputs)
    return [
        x
        if type(x) in PYTHON_NUMBERS
        else select(mask, x, x.dtype.type(_harmless(ufunc) if is_inexact(x.dtype) else 1))
        for x in operands
    ]


@functools.cache
def _harmless(ufunc: np.ufunc) -> float:
    """Return a number at which the function is smooth: 0.5, or 2 for functions with a domain from 1 on."""
    with np.errstate(all="ignore"):
        try:
            finite = np.all(np.isfinite(ufunc(*[0.5] * ufunc.nin)))
        except TypeError:
            # The operand is an integer.
            finite = True
    return 0.5 if finite else 2.0
