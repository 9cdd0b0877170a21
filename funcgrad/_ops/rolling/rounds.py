"""Find out what each operand is in the rounds of a stretch, and make the body of a loop from one round.

An operand of a round is one of these:

    Same        the same value in all rounds                              a constant of the loop
    PerRound    a value of its own for each round, made outside           a row of an array that the loop reads
    Here        a result of this round                                    a variable of the body
    Before      a result of an earlier round, 1, 2, ... rounds back       a carry
    ResultRow   a row of one of these results, at fixed integers          an equation of the body
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.repeats import LEAST_ROUNDS, Repeat
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.rolling.numbering import OUTSIDE
from funcgrad._ops.rolling.patterns import Pattern, entries_of
from funcgrad._ops.rolling.reads import Reads, RowReads
from funcgrad._ops.rolling.rows import is_window
from funcgrad.tree.extend import static_key

# The most bytes of separate operands that are copied into one array, so that a loop can read them one by one.
COPIED_BYTES = 1 << 26
# Copying operands of more elements than this takes longer than the loop saves, unless the loop has at least
# `_LEAST_FLOPS` operations for each element. A copy into a stack and back takes 3 ns an element, as 200 operations of a
# product do. An optimizer's step has two or three operations for each element, and a layer twice its batch.
LARGE = 1 << 15
_LEAST_FLOPS = 1000
# Programs of fewer equations do not copy their arguments, such as the weights of layers. The copies are made in each
# call (60 layers of 32 x 32 on Numba run in 0.7 ms, with them in 1.2), and XLA compiles no faster with them: equal
# layers share their kernels, and each row that is read alone has one of its own, which takes 40 ms.
LEAST_WITH_COPIES = 5000


class Same(NamedTuple):
    """Every round reads this operand. It is made outside of the loop."""

    x: Operand


class PerRound(NamedTuple):
    """Round ``r`` reads ``parts[r]``. These operands are made outside of the loop."""

    parts: tuple[Operand, ...]


class Here(NamedTuple):
    """A result of the same round: number ``number`` of the equation at this position in the round."""

    position: int
    number: int


class Before(NamedTuple):
    """A result of ``lag`` rounds before. The first ``lag`` rounds read the operands ``first`` instead."""

    position: int
    number: int
    lag: int
    first: tuple[Operand, ...]


class ResultRow(NamedTuple):
    """A row of a result of this round or of an earlier one, at fixed integers."""

    of: Here | Before
    pattern: Pattern
    key: tuple[int, ...]


Source = Same | PerRound | Here | Before | ResultRow


class AlikeRounds(NamedTuple):
    """A stretch whose rounds read alike: each operand has one source that is right for all rounds.

    Args:
        repeat: where the stretch is, and its rounds.
        sources: for each equation of a round, the source of each operand.
    """

    repeat: Repeat
    sources: list[list[Source]]


class RoundReads:
    """Finds the sources of the operands of a stretch.

    Args:
        equations: the program without its row reads.
        rows: the variables that are rows of arrays.
        reads: what each operand reads.
        arguments: inputs of the program that loops must not copy.
    """

    def __init__(
        self, equations: Sequence[Equation], rows: RowReads, reads: Reads, arguments: Iterable[Var] = ()
    ) -> None:
        self._equations = equations
        self._rows = rows
        self._reads = reads
        self._arguments = {x for x in arguments if x.aval.shape}

    def of(self, repeat: Repeat) -> AlikeRounds | None:
        """Return the part of a stretch whose rounds read as its middle round does; ``None`` if it is too short."""
        while repeat.rounds >= LEAST_ROUNDS:
            first, last = 0, repeat.rounds
            sources: list[list[Source]] = []
            for j in range(repeat.period):
                row: list[Source] = []
                for k in range(len(self._equations[repeat.start + j].operands)):
                    source, lo, hi = self._source(_RoundOperand(repeat, j, k), (first + last) // 2)
                    first, last = max(first, lo), min(last, hi)
                    if source is not None:
                        row.append(source)
                sources.append(row)
            if last - first < LEAST_ROUNDS:
                return None
            if (first, last) == (0, repeat.rounds):
                return AlikeRounds(repeat, sources)
            # Rounds at the ends differ: they stay as they are.
            repeat = Repeat(repeat.start + first * repeat.period, repeat.period, last - first)
        return None

    def is_worth(self, stretch: AlikeRounds) -> bool:
        """Return whether copying separate operands costs little."""
        copied = {
            source.parts
            for sources in stretch.sources
            for source in sources
            if isinstance(source, PerRound) and not self._is_even(source)
        }
        if any(self._arguments.issuperset(parts) for parts in copied):
            return False
        avals = [x.aval for parts in copied for x in parts]
        size = sum(aval.size for aval in avals)
        if size > LARGE * len(avals):
            members = self._equations[stretch.repeat.start : stretch.repeat.end]
            if sum(equation.flops for equation in members) < _LEAST_FLOPS * size:
                return False
        return sum(aval.nbytes for aval in avals) <= COPIED_BYTES

    def _is_even(self, source: PerRound) -> bool:
        # Windows overlap, so they are copied.
        return not is_window(self._rows.get(source.parts[0])) and self._rows.are_of_one(source.parts)

    def _source(self, slot: _RoundOperand, middle: int) -> tuple[Source | None, int, int]:
        """Return the source of an operand in the middle round, and the range of rounds around it that have it, too."""
        made = self._inside(slot, self._reads.made(slot.equations, slot.operand))
        bases = self._inside(slot, self._reads.bases(slot.equations, slot.operand))
        outside = (made == OUTSIDE) & (bases == OUTSIDE)
        if made[middle] != OUTSIDE:
            return self._carried(slot, made, outside, middle)
        if bases[middle] != OUTSIDE:
            return self._part(slot, bases, outside, middle)
        # The operand is made outside of the loop. A variable and a number are different sources.
        numbers = self._reads.numbers(slot.equations, slot.operand)
        if outside.all() and (numbers == numbers[0]).all():
            return Same(*self._parts(slot, range(1))), 0, slot.repeat.rounds
        parts = self._parts(slot)
        is_number = np.array([type(x) is Literal for x in parts])
        lo, hi = _around(middle, outside & (is_number == is_number[middle]))
        if hi - lo < slot.repeat.rounds:
            return None, lo, hi
        return self._outside(parts), 0, slot.repeat.rounds

    def _parts(self, slot: _RoundOperand, rounds: range | None = None) -> list[Operand]:
        """Return the operand in some rounds, one after the other; in all if none are given."""
        start, period, count = slot.repeat
        rounds = range(count) if rounds is None else rounds
        first = start + slot.position
        equations = self._equations[first + period * rounds.start : first + period * rounds.stop : period]
        found = [equation.operands[slot.operand] for equation in equations]
        return [self._rows.same.get(x, x) for x in found] if self._rows.same else found

    def _outside(self, parts: Sequence[Operand]) -> Source:
        x = parts[0]
        return Same(x) if all(is_equal(y, x) for y in parts) else PerRound(tuple(parts))

    def _inside(self, slot: _RoundOperand, numbers: np.ndarray) -> np.ndarray:
        """Return the numbers of results of the stretch, and `OUTSIDE` for all others."""
        width = self._reads.width
        inside = (numbers >= slot.repeat.start * width) & (numbers < slot.repeat.end * width)
        return np.where(inside, numbers, OUTSIDE)

    def _carried(
        self, slot: _RoundOperand, numbers: np.ndarray, outside: np.ndarray, middle: int
    ) -> tuple[Source | None, int, int]:
        """Return the source of an operand that the middle round reads from this round or an earlier one.

        Round ``r`` must read the result of round ``r - lag``, with one ``lag`` for all rounds.

        Args:
            slot: the operand.
            numbers: the number of the value that it is in each round.
            outside: a mask of the rounds in which it is made before the loop, as it must be in the first rounds.
            middle: a round that reads a result of the stretch.
        """
        start, period, rounds = slot.repeat
        width = self._reads.width
        equation, number = divmod(int(numbers[middle]), width)
        source_round, position = divmod(equation - start, period)
        lag = middle - source_round
        expected = numbers[middle] + (np.arange(rounds) - middle) * (period * width)
        lo, hi = _around(middle, (numbers == expected) & (numbers != OUTSIDE))
        if lag == 0:
            return Here(position, number), lo, hi
        # The first `lag` rounds must read values that are made before the loop.
        if lo > lag or not outside[:lag].all():
            return None, max(lo - lag, 1) if lo >= lag else 1, hi
        return Before(position, number, lag, tuple(self._parts(slot, range(lag)))), 0, hi

    def _part(
        self, slot: _RoundOperand, bases: np.ndarray, outside: np.ndarray, middle: int
    ) -> tuple[Source | None, int, int]:
        (operand,) = self._parts(slot, range(middle, middle + 1))
        row = self._rows.get(operand)
        assert row is not None
        parts = self._reads.parts(slot.equations, slot.operand)
        same = parts == parts[middle]
        source, lo, hi = self._carried(slot, np.where(same, bases, OUTSIDE), outside, middle)
        if isinstance(source, Before):
            if not same[: source.lag].all():
                # The first rounds do not read this row of the array's first value.
                return None, 1, hi
            firsts = [self._rows.get(x) for x in self._parts(slot, range(source.lag))]
            source = source._replace(first=tuple([each.base for each in firsts if each is not None]))
        return (ResultRow(source, row.pattern, row.key) if isinstance(source, Here | Before) else None), lo, hi


class RoundBody:
    """The body of a loop, from the equations of its first round.

    Args:
        stretch: the stretch, with the source of each operand.
        equations: the equations of one round.
    """

    def __init__(self, stretch: AlikeRounds, equations: Sequence[Equation]) -> None:
        # The inputs of the body, by the operands outside: constants and rows. For each result that is carried, the
        # carries of 1, 2, ... rounds before, and the operands with which they begin. Results that begin with different
        # operands have carries of their own.
        self.constants: dict[Operand, Var] = {}
        self.rows: dict[tuple[Operand, ...], Var] = {}
        self._chains: dict[Here, list[tuple[list[Var], list[Operand]]]] = {}
        self.results = [[Var(var.aval) for var in equation.results] for equation in equations]
        self._equations: list[Equation] = []
        self._parts: dict[Any, Var] = {}
        for equation, sources, results in zip(equations, stretch.sources, self.results, strict=True):
            self._source = equation.source
            operands = tuple([self._operand(each, x) for each, x in zip(sources, equation.operands, strict=True)])
            self._equations.append(
                Equation(equation.primitive, operands, equation.params, tuple(results), equation.source)
            )

    @property
    def carries(self) -> list[tuple[Var, Operand]]:
        """The carries of the loop, with their first values."""
        return [pair for chains in self._chains.values() for each in chains for pair in zip(*each, strict=True)]

    def carries_of(self, here: Here) -> dict[int, Var]:
        """Return the carries that hold a result after the loop: key 1 has that of the last round, 2 that before it."""
        chains = self._chains.get(here, [])
        return dict(enumerate(chains[0][0], 1)) if chains else {}

    def _operand(self, source: Source, x: Operand) -> Operand:
        if isinstance(source, Same):
            if type(source.x) is Literal:
                return source.x
            return self.constants.setdefault(source.x, Var(source.x.aval))
        if isinstance(source, PerRound):
            return self.rows.setdefault(source.parts, Var(Aval(x.aval.shape, x.aval.dtype)))
        if isinstance(source, Here):
            return self.results[source.position][source.number]
        if isinstance(source, Before):
            return self._carry(source)
        base = self._operand(source.of, self.results[source.of.position][source.of.number])
        entry = base, source.pattern, source.key
        if entry not in self._parts:
            var = self._parts[entry] = Var(Aval(x.aval.shape, x.aval.dtype))
            index = Index(entries_of(source.pattern, source.key))
            self._equations.append(Equation(index_p, (base,), {"index": index}, (var,), self._source))
        return self._parts[entry]

    def _carry(self, source: Before) -> Var:
        """Return the carry that holds a result of ``source.lag`` rounds before."""
        made = self.results[source.position][source.number].aval
        chains = self._chains.setdefault(Here(source.position, source.number), [])
        firsts = list(reversed(source.first))
        for variables, known in chains:
            if all(is_equal(a, b) for a, b in zip(known, firsts, strict=False)):
                for first in firsts[len(known) :]:
                    variables.append(Var(Aval(made.shape, made.dtype)))
                    known.append(first)
                return variables[source.lag - 1]
        variables = [Var(Aval(made.shape, made.dtype)) for _ in firsts]
        chains.append((variables, firsts))
        return variables[source.lag - 1]

    def graph(self, stacked: Sequence[Here], name: str) -> Graph:
        """Return the body as a graph. Its outputs are the next carries, then the results that are stacked."""
        outputs: list[Operand] = []
        for here, chains in self._chains.items():
            for variables, _ in chains:
                outputs += [self.results[here.position][here.number], *variables[:-1]]
        outputs += [self.results[here.position][here.number] for here in stacked]
        inputs = [*self.constants.values(), *[var for var, _ in self.carries], *self.rows.values()]
        return trusted_graph(inputs, [], self._equations, outputs, f"round of {name}")


class _RoundOperand:
    """One operand of one equation of a round, in all rounds of a stretch.

    Args:
        repeat: the stretch.
        position: the number of the equation in its round.
        operand: the number of the operand.
    """

    def __init__(self, repeat: Repeat, position: int, operand: int) -> None:
        self.repeat = repeat
        self.position = position
        self.operand = operand
        self.equations = repeat.start + position + repeat.period * np.arange(repeat.rounds)


def is_equal(x: Operand, y: Operand) -> bool:
    """Return whether operands are the same variable, or equal numbers."""
    if x is y or type(x) is not Literal or type(y) is not Literal:
        return x is y
    return static_key(x.value) == static_key(y.value)


def _around(middle: int, fits: np.ndarray) -> tuple[int, int]:
    """Return the longest range of rounds that contains the middle one and in which all rounds fit."""
    others = np.flatnonzero(~fits)
    cut = int(np.searchsorted(others, middle))
    lo = int(others[cut - 1]) + 1 if cut else 0
    hi = int(others[cut]) if cut < len(others) else len(fits)
    return lo, hi
