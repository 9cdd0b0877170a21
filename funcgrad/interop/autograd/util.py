"""Replace some arguments by others, under autograd's names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from funcgrad._public import publish
from funcgrad._types import ArrayLike

__all__ = ["subval", "subvals"]


def subvals(x: Sequence[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """Return a tuple with other values at some positions.

    Args:
        x: a sequence.
        ivs: pairs of a position and its new value.

    Returns:
        The tuple; the sequence is not changed.

    Example:
        >>> from funcgrad.interop.autograd.util import subvals
        >>> subvals([1, 2, 3], [(0, 10), (2, 30)])
        (10, 2, 30)
    """
    whole = list(x)
    for place, value in ivs:
        whole[place] = value
    return tuple(whole)


def subval(x: Sequence[Any], i: int, v: ArrayLike) -> tuple[Any, ...]:
    """Return a tuple with another value at one position.

    Args:
        x: a sequence.
        i: the position.
        v: the new value.

    Returns:
        The tuple; the sequence is not changed.

    Example:
        >>> from funcgrad.interop.autograd.util import subval
        >>> subval((1, 2), 1, 20)
        (1, 20)
    """
    return subvals(x, [(i, v)])


__dir__ = publish(__name__)
