"""Conversion of tracers to plain values: refused if a derivative would be lost, allowed otherwise."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer, bind
from funcgrad._core.graph.line import user_line
from funcgrad._core.trace.place import is_number, new_place, settled
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._engines import is_abstract
from funcgrad._ops.index.gather import index
from funcgrad._ops.layout.shape import reshape_p
from funcgrad._types import ArrayLike
from funcgrad.errors import ConcretizationTypeError, TracerBoolConversionError, TracerIntegerConversionError

_REMEDY = (
    "Stay in NumPy's functions to keep the derivative; where the number is meant to count as a constant, "
    "take it from fg.stop_gradient(x)."
)
_STAGED_REMEDY = (
    "Compute it from shapes or static arguments (static_argnums; in_axes=None in vmap), or keep it an array."
)


# The note for NumPy's own error about a shape or a size.
_SHAPE = (
    "NumPy was given a value {aval} as a length, which is traced under {transform}: the shape of an array must be "
    "known when the function is staged. Take it from the shape of an argument, or make the argument static "
    "(static_argnums), or make an array of the greatest length and choose by np.arange(length) < n."
)


def innermost(x: ArrayLike) -> Any:
    """Return the bare value beneath tracers, or a staged tracer if there is none."""
    x = settled(x)
    while isinstance(x, Tracer) and x._owner.concrete:
        x = x._value
    return x


def no_number(y: ArrayLike) -> Any:
    """Return a result as a writable array, even if it has no axes, where NumPy makes an array."""
    if isinstance(y, np.generic):
        return np.asarray(y)
    if not isinstance(y, Tracer) or not is_number(y):
        return y
    # A value with known numbers becomes an array here. For a staged value an equation has to record it.
    return bind(reshape_p, (y,), {"shape": ()}) if isinstance(innermost(y), np.generic) else new_place(y, owned=False)


def is_array_without_axes(x: ArrayLike) -> bool:
    """Return whether a value has no axes and is an array, to which a program may write, and no number."""
    return not x.shape and not is_number(x) if isinstance(x, Tracer) else type(x) is np.ndarray and not x.shape


def arrays_of(leaves: Sequence[Any], is_array: Callable[[Any], bool] = is_array_without_axes) -> tuple[int, ...]:
    """Return the positions of the leaves that are arrays without axes, as a key of what was staged for them."""
    return tuple([i for i, leaf in enumerate(leaves) if is_array(leaf)])


def as_number(y: ArrayLike) -> Any:
    """Return a result without axes as a number, where NumPy makes one of an array."""
    return index(y, ()) if isinstance(y, Tracer) and not y.shape and not is_number(y) else y


def concrete_value(x: ArrayLike, asked: str) -> Any:
    """Return the bare value, for results that carry no derivative; refuse a value that is not known yet."""
    value = innermost(x)
    if isinstance(value, Tracer):
        raise ConcretizationTypeError(
            f"{asked} needs the numbers of a value {value.aval}{_place()}, and under {value._owner.transform} "
            f"{value._owner.unknown}. {_STAGED_REMEDY}"
        )
    return value


def known_value(x: ArrayLike) -> np.ndarray | None:
    """Return the numbers as a NumPy array, or ``None`` if they are not known yet.

    The caller uses them without derivative.
    """
    value = innermost(x)
    return None if isinstance(value, Tracer) or is_abstract(value) else np.asarray(value)


def _place() -> str:
    line = user_line()
    return f" at {line}" if line else ""


def _dependence(x: Tracer) -> str:
    """Say which arguments a staged value is computed from."""
    found = x._owner.comes_from(x) if isinstance(x._owner, StagingTrace) else []
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return f"It depends on {', '.join(found[:4])}{more}. " if found else ""


def to_bool(self: Tracer) -> bool:
    """Return ``bool(x)``, which selects a branch and carries no derivative."""
    value = innermost(self)
    if isinstance(value, Tracer):
        if value._owner.follows:
            return value._owner.follow(value, "bool")
        branch = " Or follow the branch: fg.jit(f, paths=8)." if value._owner.transform == "jit" else ""
        raise TracerBoolConversionError(
            f"bool() was asked of a value {value.aval}{_place()}, and under {value._owner.transform} "
            f"{value._owner.unknown}, so the branch cannot be chosen. {_dependence(value)}"
            "Compute both sides and choose with np.where (or fg.cond), or make the argument static (static_argnums; "
            f"in_axes=None in vmap).{branch}"
        )
    return bool(value)


def refuse(
    asked: str,
    plainly: Callable[..., Any],
    error: type[ConcretizationTypeError] = ConcretizationTypeError,
    follow: str = "",
) -> Any:
    """Return a method that refuses a conversion which would lose the derivative.

    A place with plain numbers is converted.
    """

    def convert(self: Tracer, *args: Any) -> Any:
        value = innermost(self)
        self = settled(self)
        if not isinstance(self, Tracer):
            return plainly(np.asarray(self), *args)
        staged = isinstance(value, Tracer)
        if staged and follow and value._owner.follows and not args and _is_countable(value, follow):
            return value._owner.follow(value, follow)
        trace = value._owner if staged else self._owner
        why = trace.unknown if staged else "the plain number would carry no derivative"
        remedy = _STAGED_REMEDY if staged else _REMEDY
        if staged and follow and trace.transform == "jit" and not trace.follows:
            remedy += " Or follow the number: fg.jit(f, paths=8)."
        if error is TracerIntegerConversionError and trace.note is None:
            # NumPy replaces the error by one of its own.
            trace.note = _SHAPE.format(aval=self.aval, transform=trace.transform), "a single integer"
        depends = _dependence(value) if staged else ""
        raise error(
            f"{asked} was asked of a value {self.aval}{_place()}, and under {trace.transform} {why}. {depends}{remedy}"
        )

    convert.__doc__ = f"Refuse {asked} of a traced value; of an array that holds plain numbers, compute it."
    return convert


def _is_countable(value: Tracer, asked: str) -> bool:
    """Return whether there are few possible answers: ``item()`` of a float would record a path for each number."""
    return asked != "item" or value.dtype.kind in "biu"


to_float = refuse("float()", float)
to_complex = refuse("complex()", complex)
to_int = refuse("int()", int, TracerIntegerConversionError, "int")
to_index = refuse("an integer index", operator.index, TracerIntegerConversionError, "index")
to_item = refuse("item()", np.ndarray.item, follow="item")
to_list = refuse("tolist()", np.ndarray.tolist)
