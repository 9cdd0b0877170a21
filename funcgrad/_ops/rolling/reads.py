"""The reads of each operand of a program, as arrays of numbers, so that thousands of rounds are compared at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat

import numpy as np

from funcgrad._core.graph.ir import Equation, Operand
from funcgrad._core.graph.repeats import Repeat, repeats
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
        # Each variable is made once, before it is read, so the order of these passes does not matter.
        results = [equation.results for equation in equations]
        lengths = set(map(len, results))
        self.width = width = max(lengths, default=1)
        if lengths == {1}:
            numbers: dict[Operand, int] = dict(zip(chain.from_iterable(results), range(len(results)), strict=True))
        else:
            numbers = {var: i * width + k for i, found in enumerate(results) for k, var in enumerate(found)}
        operands = [equation.operands for equation in equations]
        read = list(chain.from_iterable(operands))
        # The operands of equation i begin at starts[i].
        self._starts = np.cumsum([0, *map(len, operands)])[:-1]
        self._made = np.fromiter(map(numbers.get, read, repeat(OUTSIDE)), np.int64, len(read))
        # For each operand that is a row: its position, and the array that it is a row of.
        self._bases = np.full(len(read), OUTSIDE)
        if rows:
            found = list(map(rows.get, read))
            bases = [row.base for row in found if row is not None]
            places = [k for k, row in enumerate(found) if row is not None]
            self._bases[places] = list(map(numbers.get, bases, repeat(OUTSIDE)))
        self._last = self._last_reads(len(equations))
        shown = [x if (row := rows.get(x)) is None else row.base for x in outputs]
        self._last[[numbers[x] for x in shown if x in numbers]] = len(equations)

    def _last_reads(self, count: int) -> np.ndarray:
        readers = np.repeat(np.arange(count), np.diff(self._starts, append=len(self._made)))
        last = np.full((2, count * self.width), -1)
        for found, read in zip(last, (self._made, self._bases), strict=True):
            # The readers ascend, and NumPy keeps the last of the values for one place.
            found[read[read != OUTSIDE]] = readers[read != OUTSIDE]
        return last.max(0)

    def turns(self, repeat: Repeat) -> int:
        """Return the number of rounds of a stretch after which the rounds read the same earlier equations again."""
        equations = np.arange(repeat.start, repeat.end)
        ends = np.append(self._starts, len(self._made))
        readers = np.repeat(equations, np.diff(ends[repeat.start : repeat.end + 1]))
        found = []
        for read in (self._made, self._bases):
            part = read[ends[repeat.start] : ends[repeat.end]]
            inside = part >= repeat.start * self.width
            found.append(
                np.where(inside, part - readers * self.width, part.size * self.width).reshape(repeat.rounds, -1)
            )
        _, kinds = np.unique(np.concatenate(found, 1), axis=0, return_inverse=True)
        best = max(repeats(kinds.reshape(-1)), key=lambda each: each.rounds * each.period, default=None)
        return 1 if best is None else best.period

    def made(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the number that operand ``k`` of each of these equations reads."""
        return self._made[self._starts[equations] + k]

    def bases(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the number of the array of which operand ``k`` of each of these equations is a row."""
        return self._bases[self._starts[equations] + k]

    def last(self, equations: np.ndarray, k: int) -> np.ndarray:
        """Return the last equation that reads result ``k`` of each of these equations; the count if an output does."""
        return self._last[equations * self.width + k]
