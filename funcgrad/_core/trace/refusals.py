"""Writes that are refused, because other code would not see them as it would in NumPy."""

from __future__ import annotations

from typing import NoReturn

from funcgrad._core.bind import Trace, Tracer, active_trace
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
