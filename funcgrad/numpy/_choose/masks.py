"""Positions of a mask's true elements: how many there are depends on its numbers."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._engines import is_abstract
from funcgrad._types import ArrayLike
from funcgrad.errors import NonConcreteBooleanIndexError
from funcgrad.numpy._base.concrete import concrete_value, innermost, path_hint


def is_unknown(mask: ArrayLike) -> bool:
    """Return whether the count of a mask's true elements can neither be known nor followed."""
    value = innermost(mask)
    return not is_followed(value) if isinstance(value, Tracer) else is_abstract(value)


def is_followed(value: Tracer) -> bool:
    """Return whether a trace answers how many elements of a mask are true."""
    return value._owner.follows and value._owner.is_answered


def refuse_unknown(mask: ArrayLike, asked: str) -> NoReturn:
    """Refuse what needs the number of elements that a mask selects, or their places."""
    value = innermost(mask)
    raise NonConcreteBooleanIndexError(
        f"an array was indexed by a traced mask {aval_of(mask)}: the shape of the result would depend on numbers "
        f"that are not known yet. It is needed for {asked}. Write np.where(mask, x, 0) instead of x[mask], which keeps "
        "the shape; or assign what is computed element by element to the same elements: z[mask] = x[mask] ** 2."
        + (path_hint(value) if isinstance(value, Tracer) else "")
    )


def positions_of(mask: ArrayLike) -> tuple[Any, ...]:
    """Return the positions of a mask's true elements, an array for each axis.

    Where a trace follows the numbers of a call (``fg.jit(f, paths=n)``), the count of true elements is a guard and the
    positions are traced.
    """
    value = innermost(mask)
    if isinstance(value, Tracer) and is_followed(value):
        return _followed(mask)
    if is_unknown(mask):
        refuse_unknown(mask, "an array of indices")
    known = np.asarray(value)
    return (np.zeros(int(known), np.intp),) if known.ndim == 0 else np.nonzero(known)


def nonzero_of(a: ArrayLike, asked: str) -> tuple[Any, ...]:
    """Return the same of an array of numbers, which ``asked`` needs."""
    value = innermost(a)
    if isinstance(value, Tracer) and value._owner.follows and a.shape:
        return _followed(np.not_equal(a, 0))
    return np.nonzero(concrete_value(a, asked, has_path=bool(np.shape(a))))


def _followed(mask: ArrayLike) -> tuple[Any, ...]:
    if mask.shape == ():
        return (np.zeros(int(bool(mask)), np.intp),)
    count = operator.index(np.count_nonzero(mask))
    # A stable sort puts the true elements first, in their order.
    order = np.argsort(np.logical_not(np.reshape(mask, -1)), kind="stable")[:count]
    return tuple(np.unravel_index(order, mask.shape))
