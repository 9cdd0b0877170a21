"""Large elementwise operations in blocks that stay in cache, on all cores.

Each ufunc passes over memory once. Dependent operations on arrays of one large shape form a *cluster*: its program runs
on one block of rows at a time, so that memory is read and written once, by all cores. The numbers equal those of whole
arrays, because each element of a result depends on one element of each operand.

    v6, v7 = blocks_3((x0, x1, v5), (None, x0))      # operands; memory for the results, or None for new memory
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.forms import NO_FORMS

# Elements per block of each array. With larger blocks fewer arrays stay in cache; with smaller ones the threads wait
# for each other between ufuncs.
BLOCK = 1 << 15


class CombinedPrimitive:
    """Takes the place of a primitive in an equation that stands for several equations."""

    name = "part"
    forms = NO_FORMS
    view = None
    numpy = None
    multiple_results = True
    elementwise = False
    source: str
    # ``(writer, equation, i)`` -> lines, if the part writes itself.
    lines: Callable[..., list[str]]


class Blocks(CombinedPrimitive):
    """Takes the place of a primitive in an equation whose operations run on one block of rows at a time.

    ``sliced`` says for each operand whether a block takes some of its rows, or all of it.
    """

    sliced: tuple[bool, ...]

    def may_take(self, operand: int, result: int) -> bool:
        """Return whether a result may be written into the memory of a dead operand, both given by their numbers."""
        del operand, result
        return True

    def place(self, aliases: Sequence[int | None]) -> None:
        """Write the code for results in the memory of these operands, by number; ``None`` stands for new memory.

        It does nothing in a class that looks at the arrays of each call instead.
        """
        del aliases

    def __call__(self, operands: Sequence[Any], given: Sequence[Any]) -> list[np.ndarray]:
        """Return the results, in the given memory or in new memory."""
        raise NotImplementedError


def rows_of(shape: tuple[int, ...]) -> int:
    """Return the number of rows in a block of an array of this shape."""
    return max(1, BLOCK // max(1, math.prod(shape[1:])))


def has_blocks(shape: tuple[int, ...]) -> bool:
    """Return whether an array of this shape has rows for several blocks, and one row fits into a block."""
    return len(shape) > 0 and shape[0] > rows_of(shape) and math.prod(shape[1:]) <= BLOCK
