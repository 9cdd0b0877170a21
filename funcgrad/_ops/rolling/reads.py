"""The reads of each operand of a program, as arrays of numbers, so that thousands of rounds are compared at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from funcgrad._core.graph.ir import Equation, Operand
from funcgrad._ops.rolling.rows import Row

# Stands for what no equation of the program makes.
OUTSIDE = -1


class Reads:
    """The results that operands read. Result ``k`` of equation ``i`` has the number ``i * width + k``.

    Args:
        equations: the program without its row reads.
        rows: the variables that are rows of arrays, which are no rows themselves.
        outputs: the program's outputs.
    """

    def __init__(self, equations: Sequence[Equation], rows: dict[Operand, Row], outputs: Iterable[Operand]) -> None:
        self.width = width = max((len(equation.results) for equation in equations), default=1)
        numbers: dict[Operand, int] = {}
        starts: list[int] = []
        made: list[int] = []
        # For each operand that is a row: its position, and the array that it is a row of.
        parts: list[tuple[int, int]] = []
        for i, equation in enumerate(equations):
            starts.append(len(made))
            for x in equation.operands:
                if (row := rows.get(x)) is not None:
                    parts.append((len(made), numbers.get(row.base, OUTSIDE)))
                made.append(numbers.get(x, OUTSIDE))
            for k, var in enumerate(equation.results):
                numbers[var] = i * width + k
        # The operands of equation i begin at starts[i].
        self._starts = np.array(starts, np.int64)
        self._made = np.array(made, np.int64)
        self._bases = np.full(len(made), OUTSIDE)
        if parts:
            places, bases = np.array(parts, np.int64).T
            self._bases[places] = bases
        self._last = self._last_reads(len(equations))
        shown = [x if (row := rows.get(x)) is None else row.base for x in outputs]
        self._last[[numbers[x] for x in shown if x in numbers]] = len(equations)

    def _last_reads(self, count: int) -> np.ndarray:
        readers = np.repeat(np.arange(count), np.diff(self._starts, append=len(self._made)))
        last = np.full(count * self.width, -1)
        for read in (self._made, self._bases):
            np.maximum.at(last, read[read != OUTSIDE], readers[read != OUTSIDE])
        return last

    def made(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the number that operand ``k`` of each of these equations reads."""
        return self._made[self._starts[equations] + k]

    def bases(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the number of the array of which operand ``k`` of each of these equations is a row."""
        return self._bases[self._starts[equations] + k]

    def last(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the last equation that reads result ``k`` of each of these equations; the count if an output does."""
        return self._last[equations * self.width + k]
