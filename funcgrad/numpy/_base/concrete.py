"""Conversion of tracers to plain values: refused if a derivative would be lost, allowed otherwise."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer, bind
from funcgrad._core.graph.line import user_line
from funcgrad._core.trace.place import bare_value, is_number, new_place, settled
from funcgrad._core.trace.reads import refused
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._engines import is_abstract
from funcgrad._ops.index.gather import index
from funcgrad._ops.layout.shape import reshape, reshape_p
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

# Arrays of more integers are not followed, because each integer is a guard of its own.
MOST_FOLLOWED = 32


def innermost(x: ArrayLike) -> Any:
    """Return the bare value beneath tracers, or a staged tracer if there is none."""
    return bare_value(settled(x))


def no_number(y: ArrayLike) -> Any:
    """Return a result as a writable array, even if it has no axes, where NumPy makes an array."""
    if issubclass(type(y), np.generic):
        return np.asarray(y)
    if not isinstance(y, Tracer) or not is_number(y):
        return y
    # A value with known numbers becomes an array here. For a staged value an equation has to record it.
    return (
        bind(reshape_p, (y,), {"shape": ()})
        if issubclass(type(innermost(y)), np.generic)
        else new_place(y, owned=False)
    )


def is_array_without_axes(x: ArrayLike) -> bool:
    """Return whether a value has no axes and is an array, to which a program may write, and no number."""
    return not x.shape and not is_number(x) if isinstance(x, Tracer) else type(x) is np.ndarray and not x.shape


def arrays_of(leaves: Sequence[Any], is_array: Callable[[Any], bool] = is_array_without_axes) -> tuple[int, ...]:
    """Return the positions of the leaves that are arrays without axes, as a key of what was staged for them."""
    return tuple([i for i, leaf in enumerate(leaves) if is_array(leaf)])


def as_number(y: ArrayLike) -> Any:
    """Return a result without axes as a number, where NumPy makes one of an array."""
    return index(y, ()) if isinstance(y, Tracer) and not y.shape and not is_number(y) else y


def concrete_value(x: ArrayLike, asked: str, has_path: bool = False) -> Any:
    """Return the bare value, for results that carry no derivative; refuse a value that is not known yet.

    A trace that follows numbers gives integers and bools, with a guard for each of them. ``has_path`` says that the
    caller follows other numbers, too.
    """
    value = innermost(x)
    if isinstance(value, Tracer):
        is_few = value.dtype.kind in "biu" and value.size <= MOST_FOLLOWED
        if value._owner.follows and is_few:
            return _followed(value)
        raise ConcretizationTypeError(
            f"{asked} needs the numbers of a value {value.aval}{_place()}, and under {value._owner.transform} "
            f"{value._owner.unknown}. {_STAGED_REMEDY}{path_hint(value, is_few or has_path)}"
        )
    return value


def followed_index(x: Tracer) -> np.ndarray | None:
    """Return the numbers of an index into a plain array if the trace follows them, else ``None``."""
    value = innermost(x)
    is_followed = isinstance(value, Tracer) and value._owner.follows and value.size <= MOST_FOLLOWED
    return _followed(value) if is_followed else None


def path_hint(value: Tracer, has_path: bool = True, what: str = "numbers") -> str:
    """Return the advice to compile a path, where `jit` refused what a path follows."""
    is_jit = value._owner.transform == "jit" and not value._owner.follows
    return f" Or follow the {what}: fg.jit(f, paths=8)." if is_jit and has_path else ""


def _followed(value: Tracer) -> np.ndarray:
    """Return the numbers of a staged array; each is an answer of its trace."""
    elements = reshape(value, (value.size,))
    answers = [value._owner.follow(index(elements, (i,)), "item") for i in range(value.size)]
    return np.array(answers, value.dtype).reshape(value.shape)


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
        raise TracerBoolConversionError(
            f"bool() was asked of a value {value.aval}{_place()}, and under {value._owner.transform} "
            f"{value._owner.unknown}, so the branch cannot be chosen. {_dependence(value)}"
            "Compute both sides and choose with np.where (or fg.cond), or make the argument static (static_argnums; "
            f"in_axes=None in vmap).{path_hint(value, what='branch')}"
        )
    return bool(value)


def to_int(self: Tracer) -> int:
    """Return ``int(x)``. It carries no derivative: it is constant between two integers."""
    value = innermost(self)
    return _staged_to_int(self) if isinstance(value, Tracer) else int(value)


def to_list(self: Tracer) -> Any:
    """Return ``x.tolist()`` of integers whose trace follows them, as an index needs; refuse what loses a derivative."""
    value = innermost(self)
    if isinstance(value, Tracer) and value.dtype.kind in "biu":
        return concrete_value(self, "tolist()").tolist()
    return _staged_to_list(self)


def to_hash(self: Tracer) -> int:
    """Return the hash of an integer that is known or followed. Arrays with axes have that of their identity.

    Other numbers are refused: sets and dictionaries compare numbers, and two equal ones would be two keys.
    """
    value = innermost(self)
    if self.shape:
        return object.__hash__(self)
    if not isinstance(value, Tracer) and value.dtype.kind in "biu":
        return hash(value)
    if isinstance(value, Tracer) and value._owner.follows and value.dtype.kind in "biu":
        return hash(value._owner.follow(value, "item"))
    raise ConcretizationTypeError(
        f"hash() was asked of a value {self.aval}{_place()}, which is traced under {self._owner.transform}, for a key "
        "of a dictionary, an element of a set or an argument of a cached function. Equal numbers would be different "
        "keys. Use a list, or a key that is known: int(x), a name, or id(x)."
    )


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
        if staged and follow:
            remedy += path_hint(value, _is_countable(value, follow), "number")
        if error is TracerIntegerConversionError and trace.note is None:
            # NumPy replaces the error by one of its own.
            hint = path_hint(value, what="number") if staged else ""
            trace.note = _SHAPE.format(aval=self.aval, transform=trace.transform) + hint, "a single integer"
        depends = _dependence(value) if staged else ""
        if not staged:
            refused(self, asked)
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
_staged_to_int = refuse("int()", int, TracerIntegerConversionError, "int")
to_index = refuse("an integer index", operator.index, TracerIntegerConversionError, "index")
to_count = refuse("a number of repetitions of a sequence", int, TracerIntegerConversionError, "int")
to_item = refuse("item()", np.ndarray.item, follow="item")
_staged_to_list = refuse("tolist()", np.ndarray.tolist)
