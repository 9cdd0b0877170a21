"""``scan(..., checkpoint=k)``: a loop over segments of ``k`` rounds. Reverse mode keeps the carry before each one."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from funcgrad._transforms.control.checkpoint import checkpoint
from funcgrad._types import PyTree
from funcgrad.numpy import concatenate
from funcgrad.tree import map as map_tree

# Runs ``scan`` from a carry over some of the rows; the integer is the number of rounds.
Run = Callable[[Any, Any, int], tuple[Any, Any]]


def checked_segment(name: str, segment: Any, rounds: int) -> int:
    """Return the number of rounds of a segment, or raise an error that says what is needed."""
    needed = f"needed an integer from 1 to the number of rounds, {rounds}. Near its square root memory is least"
    if isinstance(segment, bool) or not hasattr(segment, "__index__"):
        raise TypeError(f"scan: checkpoint is {segment!r} for {name}; {needed}.")
    number = operator.index(segment)
    if not 1 <= number <= max(rounds, 1):
        raise ValueError(f"scan: checkpoint is {number} for {name}; {needed}.")
    return number


def scan_in_segments(
    scan: Callable[..., tuple[Any, Any]], run: Run, init: PyTree, xs: PyTree, rounds: int, size: int, *, reverse: bool
) -> tuple[Any, Any]:
    """Return the results of a scan that runs segment by segment.

    Args:
        scan: `funcgrad.scan`.
        run: runs the loop from a carry over some of the rows.
        init: the first carry.
        xs: the rows of all rounds.
        rounds: their number.
        size: the number of rounds of a segment.
        reverse: whether the loop goes from the last round to the first.
    """
    count = rounds // size
    cut = count * size
    whole = map_tree(lambda x: x[:cut].reshape((count, size, *x.shape[1:])), xs)
    rest = map_tree(lambda x: x[cut:], xs)

    def segments(carry: PyTree) -> tuple[Any, Any]:
        one = checkpoint(lambda carry, rows: run(carry, rows, size))
        carry, ys = scan(one, carry, whole, length=count, reverse=reverse)
        return carry, map_tree(lambda y: y.reshape((cut, *y.shape[2:])), ys)

    if cut == rounds:
        return segments(init)
    last = checkpoint(lambda carry, rows: run(carry, rows, rounds - cut))
    if reverse:
        carry, after = last(init, rest)
        carry, before = segments(carry)
    else:
        carry, before = segments(init)
        carry, after = last(carry, rest)
    return carry, map_tree(lambda a, b: concatenate([a, b]), before, after)
