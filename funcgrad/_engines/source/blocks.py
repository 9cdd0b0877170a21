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

from funcgrad._core.aval import Aval
from funcgrad._core.forms import NO_FORMS
from funcgrad._core.threads import each

# Elements per block of each array. With larger blocks fewer arrays stay in cache; with smaller ones the threads wait
# for each other between ufuncs.
BLOCK = 1 << 15


class Part:
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


class Blocks(Part):
    """Takes the place of a primitive in the equation of a cluster, and runs the cluster.

    Args:
        run: the program of one block, a function of arrays and numbers that returns a list.
        source: its source.
        sliced: for each operand, whether a block takes some of its rows, or all of it.
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
        """Return whether a result may be written into the memory of a dead operand, both given by their numbers."""
        del operand, result
        return True

    def __call__(self, operands: Sequence[Any], given: Sequence[Any]) -> list[np.ndarray]:
        """Return the results, in the given memory or in new memory."""
        if any(cut and x.ndim > 1 and not x.flags.c_contiguous for x, cut in zip(operands, self.sliced, strict=True)):
            # For transposed matrices NumPy makes transposed results, and sums would read those in another order.
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
    """Return the number of rows in a block of an array of this shape."""
    return max(1, BLOCK // max(1, math.prod(shape[1:])))


def has_blocks(shape: tuple[int, ...]) -> bool:
    """Return whether an array of this shape has rows for several blocks, and one row fits into a block."""
    return len(shape) > 0 and shape[0] > rows_of(shape) and math.prod(shape[1:]) <= BLOCK
