"""Large elementwise operations in blocks that stay in cache, on all cores.

Each ufunc is a pass over memory. Operations on arrays of one large shape that follow from each other are one *cluster*:
its program runs on a block of rows at a time, so that memory is read and written once, by as many threads as there are
cores. Every number comes out as it would from whole arrays, since no operation of a cluster looks at two elements.

    v6, v7 = blocks_3((x0, x1, v5), (None, x0))      # operands; memory for the results, or None for memory of their own
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import NO_FORMS
from funcgrad._core.threads import each

# Of each array of a cluster a block has so many elements: with more, fewer arrays stay in cache; with less, the threads
# wait for each other between ufuncs.
BLOCK = 1 << 15


class Part:
    """Stands in a program for the primitive of several equations at once."""

    name = "part"
    forms = NO_FORMS
    view = None
    numpy = None
    multiple_results = True
    elementwise = False
    source: str
    # What it writes itself: ``(writer, equation, i)``.
    lines: Callable[..., list[str]]


class Blocks(Part):
    """What stands in a program for the primitive of a cluster, and runs it.

    Args:
        run: the program of one block, a function of arrays and numbers that returns a list.
        source: its source.
        sliced: for each operand, whether a block has some of its rows, or all of it.
        avals: the types of the results, of one shape.
    """

    def __init__(self, run: Callable[..., list], source: str, sliced: Sequence[bool], avals: Sequence[Aval]) -> None:
        self.source = source
        self.sliced = tuple(sliced)
        self._run = run
        self._avals = tuple(avals)
        length = avals[0].shape[0]
        rows = rows_of(avals[0].shape)
        self._places = [slice(start, min(start + rows, length)) for start in range(0, length, rows)]

    def may_take(self, operand: int, result: int) -> bool:
        """Whether a result may be written where an operand lies, which nothing reads any more, by their numbers."""
        del operand, result
        return True

    def __call__(self, operands: Sequence[Any], given: Sequence[Any]) -> list[np.ndarray]:
        """The results, in the memory that is given or in new."""
        if any(cut and x.ndim > 1 and not x.flags.c_contiguous for x, cut in zip(operands, self.sliced, strict=True)):
            # Of turned matrices NumPy makes turned ones, which sums read in another order.
            return self._run(*operands)
        pairs = zip(given, self._avals, strict=True)
        results = [np.empty(aval.shape, aval.dtype) if y is None else y for y, aval in pairs]

        def compute(place: slice) -> None:
            parts = [x[place] if cut else x for x, cut in zip(operands, self.sliced, strict=True)]
            for result, y in zip(results, self._run(*parts), strict=True):
                result[place] = y

        each(compute, self._places)
        return results


def rows_of(shape: tuple[int, ...]) -> int:
    """How many rows of an array of this shape a block has."""
    return max(1, BLOCK // max(1, math.prod(shape[1:])))


def has_blocks(shape: tuple[int, ...]) -> bool:
    """Whether an array of this shape has rows for several blocks, and they fit."""
    return len(shape) > 0 and shape[0] > rows_of(shape) and math.prod(shape[1:]) <= BLOCK
