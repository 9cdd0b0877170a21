"""Find out what the rounds of a repeated stretch read: the same value, the next of many, or a result of a round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from funcgrad._core.graph.ir import Equation, Literal, Operand, Var
from funcgrad._core.graph.key import value_key
from funcgrad._ops.rolling.repeats import LEAST_ROUNDS, Repeat
from funcgrad._ops.rolling.rows import Pattern, Row


class Same(NamedTuple):
    """Every round reads this operand, which is made outside of the loop."""

    x: Operand


class Rows(NamedTuple):
    """Each round reads its own of these operands, which are made outside of the loop."""

    parts: tuple[Operand, ...]


class Here(NamedTuple):
    """A result of the same round, by the position of its equation and its number there."""

    position: int
    number: int


class Before(NamedTuple):
    """A result of an earlier round; ``first`` are the operands that the first rounds read instead."""

    position: int
    number: int
    lag: int
    first: tuple[Operand, ...]


class Part(NamedTuple):
    """A row of a result of this round or of an earlier one, at fixed integers."""

    of: Here | Before
    pattern: Pattern
    key: tuple[int, ...]


Source = Same | Rows | Here | Before | Part


class Stretch(NamedTuple):
    """A repeated stretch whose rounds were found to read alike.

    Args:
        repeat: where it lies.
        sources: for each equation of a round and each of its operands, where it comes from.
    """

    repeat: Repeat
    sources: list[list[Source]]


class Rounds:
    """Finds out what the rounds of a stretch read.

    Args:
        equations: the program without its row reads.
        rows: the variables that are rows of arrays.
        places: for each variable that an equation makes, the number of the equation and of the result.
    """

    def __init__(
        self, equations: Sequence[Equation], rows: dict[Operand, Row], places: dict[Operand, tuple[int, int]]
    ) -> None:
        self._equations = equations
        self._rows = rows
        self._places = places

    def of(self, repeat: Repeat) -> Stretch | None:
        """Return what each round reads, of as many rounds as read alike; ``None`` if these are too few."""
        while repeat.rounds >= LEAST_ROUNDS:
            first, last = 0, repeat.rounds
            sources: list[list[Source]] = []
            for j in range(repeat.period):
                row: list[Source] = []
                for k in range(len(self._equations[repeat.start + j].operands)):
                    parts = [
                        self._equations[repeat.start + r * repeat.period + j].operands[k] for r in range(repeat.rounds)
                    ]
                    source, lo, hi = self._source(repeat, parts, first, last)
                    first, last = max(first, lo), min(last, hi)
                    if source is not None:
                        row.append(source)
                sources.append(row)
            if last - first < LEAST_ROUNDS:
                return None
            if (first, last) == (0, repeat.rounds):
                return Stretch(repeat, sources)
            # Rounds at the ends differ: they stay as they are.
            repeat = Repeat(repeat.start + first * repeat.period, repeat.period, last - first)
        return None

    def _source(
        self, repeat: Repeat, parts: Sequence[Operand], first: int, last: int
    ) -> tuple[Source | None, int, int]:
        """Return what an operand is in the rounds around the middle one, and the rounds for which this holds."""
        middle = (first + last) // 2
        x = parts[middle]
        inside = self._inside(repeat, x)
        if inside is not None:
            return self._carried(repeat, parts, middle, inside)
        row = self._rows.get(x) if type(x) is Var else None
        if row is not None and (of := self._inside(repeat, row.base)) is not None:
            return self._part(repeat, parts, middle, row, of)
        # Made outside of the loop in every round.
        lo, hi = _around(middle, len(parts), lambda r: self._is_outside(repeat, parts[r]))
        if hi - lo < len(parts):
            return None, lo, hi
        return self._outside(parts), 0, len(parts)

    def _outside(self, parts: Sequence[Operand]) -> Source:
        x = parts[0]
        if type(x) is Literal:
            is_same = all(type(y) is Literal and value_key(y.value) == value_key(x.value) for y in parts)
        else:
            is_same = all(y is x for y in parts) or self._is_one_row(parts)
        return Same(x) if is_same else Rows(tuple(parts))

    def _is_one_row(self, parts: Sequence[Operand]) -> bool:
        rows = [self._rows.get(y) for y in parts]
        return rows[0] is not None and all(row == rows[0] for row in rows)

    def _inside(self, repeat: Repeat, x: Operand) -> tuple[int, int, int] | None:
        """Return round, position and number of a result of the stretch."""
        place = self._places.get(x) if type(x) is Var else None
        if place is None or not repeat.start <= place[0] < repeat.end:
            return None
        r, position = divmod(place[0] - repeat.start, repeat.period)
        return r, position, place[1]

    def _is_outside(self, repeat: Repeat, x: Operand) -> bool:
        row = self._rows.get(x) if type(x) is Var else None
        return self._inside(repeat, x if row is None else row.base) is None

    def _carried(
        self, repeat: Repeat, parts: Sequence[Operand], middle: int, inside: tuple[int, int, int]
    ) -> tuple[Source | None, int, int]:
        lag = middle - inside[0]
        position, number = inside[1], inside[2]

        def fits(r: int) -> bool:
            return self._inside(repeat, parts[r]) == (r - lag, position, number)

        lo, hi = _around(middle, len(parts), fits)
        if lag == 0:
            return Here(position, number), lo, hi
        # The first rounds read what was there before the loop.
        before = [self._is_outside(repeat, x) for x in parts[:lag]]
        if lo > lag or not all(before[:lag]):
            return None, max(lo - lag, 1) if lo >= lag else 1, hi
        return Before(position, number, lag, tuple(parts[:lag])), 0, hi

    def _part(
        self, repeat: Repeat, parts: Sequence[Operand], middle: int, row: Row, inside: tuple[int, int, int]
    ) -> tuple[Source | None, int, int]:
        bases: list[Operand] = []
        for x in parts:
            found = self._rows.get(x) if type(x) is Var else None
            same = found is not None and found.pattern == row.pattern and found.key == row.key
            bases.append(found.base if same and found is not None else Literal(0))
        source, lo, hi = self._carried(repeat, bases, middle, inside)
        if isinstance(source, Before) and any(type(x) is Literal for x in source.first):
            # The first rounds read something else than a row of the array's first value.
            return None, 1, hi
        return (Part(source, row.pattern, row.key) if isinstance(source, Here | Before) else None), lo, hi


def _around(middle: int, count: int, fits: Callable[[int], bool]) -> tuple[int, int]:
    """Return the longest range of rounds around the middle one that fit."""
    lo = middle
    while lo > 0 and fits(lo - 1):
        lo -= 1
    hi = middle + 1
    while hi < count and fits(hi):
        hi += 1
    return lo, hi
