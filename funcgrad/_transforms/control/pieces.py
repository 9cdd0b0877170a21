"""``scan(..., checkpoint=k)``: a loop of loops of k steps, of which reverse mode keeps the first carry of each."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from funcgrad._transforms.control.checkpoint import checkpoint
from funcgrad._types import PyTree
from funcgrad.numpy import concatenate
from funcgrad.tree import map as map_tree

# Runs ``scan`` on a carry and on rows, for a number of steps.
Run = Callable[[Any, Any, int], tuple[Any, Any]]


def checked_piece(name: str, piece: Any, steps: int) -> int:
    """Return the number of steps of a piece, or raise an error that says what is needed."""
    needed = f"needed an integer from 1 to the number of steps, which is {steps}. Near its square root memory is least"
    if isinstance(piece, bool) or not hasattr(piece, "__index__"):
        raise TypeError(f"scan: checkpoint is {piece!r} for {name}; {needed}.")
    number = operator.index(piece)
    if not 1 <= number <= max(steps, 1):
        raise ValueError(f"scan: checkpoint is {number} for {name}; {needed}.")
    return number


def scan_in_pieces(
    scan: Callable[..., tuple[Any, Any]], run: Run, init: PyTree, xs: PyTree, steps: int, piece: int, *, reverse: bool
) -> tuple[Any, Any]:
    """Return what a scan returns, run piece by piece.

    Args:
        scan: `funcgrad.scan`.
        run: runs the loop on a carry and on some of the rows.
        init: the first carry.
        xs: the rows of all steps.
        steps: their number.
        piece: the number of steps of a piece.
        reverse: whether the loop goes from the last step to the first.
    """
    count = steps // piece
    cut = count * piece
    whole = map_tree(lambda x: x[:cut].reshape((count, piece, *x.shape[1:])), xs)
    rest = map_tree(lambda x: x[cut:], xs)

    def pieces(carry: PyTree) -> tuple[Any, Any]:
        of_piece = checkpoint(lambda carry, rows: run(carry, rows, piece))
        carry, ys = scan(of_piece, carry, whole, length=count, reverse=reverse)
        return carry, map_tree(lambda y: y.reshape((cut, *y.shape[2:])), ys)

    if cut == steps:
        return pieces(init)
    last = checkpoint(lambda carry, rows: run(carry, rows, steps - cut))
    if reverse:
        carry, after = last(init, rest)
        carry, before = pieces(carry)
    else:
        carry, before = pieces(init)
        carry, after = last(carry, rest)
    return carry, map_tree(lambda a, b: concatenate([a, b]), before, after)
