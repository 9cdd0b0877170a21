"""``numpy.piecewise``: functions that see the elements of their own condition alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Trace, Tracer
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.place import settled
from funcgrad._ops.elementwise import logic
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.write import replaced
from funcgrad._ops.layout.depends import same
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import ArrayLike, Value
from funcgrad.errors import NonConcreteBooleanIndexError
from funcgrad.numpy._base.concrete import no_number
from funcgrad.numpy._base.convert import as_value, strong
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._choose.indexing import parse
from funcgrad.numpy._choose.masks import is_unknown
from funcgrad.numpy._choose.where import truth


@implements(np.piecewise)
def piecewise(x: ArrayLike, condlist: ArrayLike, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """Return ``numpy.piecewise``.

    Each function gets the elements of its condition. If the numbers of a condition are not known, as under ``fg.jit``,
    it gets all elements, with 1 in the places of the others, and has to compute element by element.

    Raises:
        NonConcreteBooleanIndexError: a condition is not known, and its function combines elements.
    """
    x = strong(x)
    conditions = [truth(condition) for condition in _conditions(x, condlist)]
    functions = list(funclist)
    if len(functions) == len(conditions) + 1:
        conditions.append(_none_of(conditions))
    elif len(functions) != len(conditions):
        raise ValueError(f"with {len(conditions)} condition(s), either {len(conditions)} or one more function needed")
    y = zeros_like(x)
    for condition, function in zip(conditions, functions, strict=True):
        if not callable(function):
            y = select(condition, cast(as_value(function), x.dtype), y)
        elif is_unknown(condition):
            with _element_by_element(x, condition):
                # Outside its condition a function may be infinite, and the derivative would reach x as NaN.
                piece = as_value(function(select(condition, x, x.dtype.type(1)), *args, **kw))
            y = select(condition, cast(piece, x.dtype), y)
        else:
            # A condition without axes adds an axis, and NumPy hands it to the function.
            whole, index, arrays = parse(x, condition)
            part = index_p(whole, *arrays, index=index)
            if 0 not in part.shape:
                piece = cast(strong(as_value(function(part, *args, **kw))), x.dtype)
                y = reshape(replaced(reshape(y, whole.shape), [], settled(piece), index, arrays), x.shape)
    return no_number(y)


def _conditions(x: ArrayLike, condlist: ArrayLike) -> list[Any]:
    """Return the list of conditions. A single condition may be given without a list."""
    if np.isscalar(condlist):
        return [condlist]
    conditions: Any = condlist
    listed = isinstance(conditions[0], list) or bool(getattr(conditions[0], "shape", ()))
    return list(conditions) if listed or len(x.shape) == 0 else [conditions]


def _none_of(conditions: Sequence[Any]) -> Any:
    result = logic.logical_not_p(conditions[0])
    for condition in conditions[1:]:
        result = logic.logical_and_p(result, logic.logical_not_p(condition))
    return result


def _is_elementwise(primitive: Primitive) -> bool:
    return primitive.elementwise or primitive.forms.depends is same


@contextmanager
def _element_by_element(x: Value, condition: Value) -> Iterator[None]:
    """Refuse operations that combine elements of ``x`` while a function runs that should see a part of them."""
    traces = {each._owner for each in (settled(x), settled(condition)) if isinstance(each, Tracer)}
    before = {trace: trace.check for trace in traces}

    def check(trace: Trace, primitive: Primitive, operands: tuple, params: dict, y: Any) -> None:
        combines = any(aval_of(each).shape == x.shape for each in operands if hasattr(each, "shape"))
        if combines and x.shape and not (_is_elementwise(primitive) and aval_of(y).shape == x.shape):
            raise NonConcreteBooleanIndexError(
                f"piecewise: the function of a piece applies {primitive.name}, which is not done element by element, "
                f"and which elements of {aval_of(x)} it gets depends on a condition that is not known under "
                f"{trace.transform}. Compute what combines elements before, or leave fg.jit and fg.vmap out, or follow "
                "the numbers: fg.jit(f, paths=8)."
            )
        if (outer := before[trace]) is not None:
            outer(trace, primitive, operands, params, y)

    try:
        for trace in traces:
            trace.set_check(check)
        yield
    finally:
        for trace, outer in before.items():
            trace.set_check(outer)
