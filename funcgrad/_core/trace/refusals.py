"""Writes that are refused, because other code would not see them as it would in NumPy."""

from __future__ import annotations

from typing import NoReturn

from funcgrad._core.bind import Trace, Tracer, active_trace
from funcgrad._types import Value
from funcgrad.errors import TracerAssignmentError


def check_inside(trace: Trace | None, x: Tracer, asked: str) -> None:
    """Refuse a write to an array that belongs to an outer function."""
    if trace is not active_trace():
        refuse_outer(trace, x, asked)


def refuse_outer(trace: Trace | None, x: Tracer, asked: str) -> NoReturn:
    """Refuse a write to an outer function's array: the outer function would not see it."""
    active = active_trace()
    inner = "no transform" if active is None else active.transform
    outer = "no transform" if trace is None else trace.transform
    raise TracerAssignmentError(
        f"{asked} writes into an array {x.aval} that was made outside the function that {inner} runs (in the one of "
        f"{outer}): the code outside would not see the write, or not in every call. Write into a copy made inside "
        "(y = x.copy()) and return it."
    )


def check_known(x: Tracer, value: Value, asked: str) -> None:
    """Refuse a write to a view of an argument that may be a number or an array without axes.

    NumPy would write to an array, and not to a number; a staged program has one type for both.
    """
    if isinstance(value, Tracer) and value._owner.may_be_array(value):
        raise TracerAssignmentError(
            f"{asked} writes into a view of an argument {x.aval} of {value._owner.transform}: if the argument is an "
            "array of shape [], it has to change too, and if it is a number, it must not. Which one it is, is not "
            "known. Write into a copy, y = np.atleast_1d(x).copy()."
        )
