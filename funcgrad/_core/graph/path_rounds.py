"""Loops of guards: a chain of stretches in a tree of paths that do the same, as a ``while`` leaves one for each round.

    while abs(x * x - a) > tol:          x * x - a, abs, gt -> guard -- True --> the round -> guard -- True --> ...
        x = 0.5 * (x + a / x)                                 |                             |
                                                            False                         False

`rounds_from` finds the chain, and what each round reads: a value from outside, one of its own, or one of a round
before. A written program then has one copy of the round, in a loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.graph.ir import Equation, Operand, Var
from funcgrad._core.graph.paths import Stretch, are_equal, do_the_same, matched

# A chain has at least this many rounds. The last of these is the first whose operands all come from the chain.
LEAST_ROUNDS = 4
# The most rounds between a result and the round that reads it. The secant method has two.
_MOST_LAG = 2


class BeforeLoop(NamedTuple):
    """Each round reads this value, which is made before the loop."""

    x: Operand


class RoundResult(NamedTuple):
    """A result of this round, or of the round that many rounds before, by its number among the round's results."""

    number: int
    lag: int


Source = BeforeLoop | RoundResult


class PathLoop:
    """A chain of stretches that do the same.

    Args:
        stretches: the stretches. All but the last go on to the next one with ``answer``.
        answer: the answer of a guard with which the loop goes on.
        sources: what each operand of a round is; the guard's operand is the last.
        before: for each result that a later round reads, the values that the first rounds read instead: those of the
            round before the first, and of the round before that.

    Attributes:
        places: for each result in the chain, its round and its number among the round's results.
        results: the results of the first round, which stand for those of all rounds in the loop.
        carries: for each value of ``before``, the variable that holds it in the loop.
    """

    def __init__(
        self,
        stretches: Sequence[Stretch],
        answer: Hashable,
        sources: Sequence[Source],
        before: dict[int, list[Operand]],
    ) -> None:
        self.stretches = stretches
        self.answer = answer
        self.before = before
        made = [_results(stretch) for stretch in stretches]
        self.places = {var: (r, number) for r, results in enumerate(made) for number, var in enumerate(results)}
        self.results = made[0]
        self._made = made
        self.carries = {k: [Var(self.results[k].aval) for _ in values] for k, values in before.items()}
        found = iter([self._inside(source) for source in sources])
        self.equations = [
            Equation(e.primitive, tuple([next(found) for _ in e.operands]), e.params, e.results, e.source)
            for e in stretches[0].equations
        ]
        self.asked = next(found)

    def _inside(self, source: Source) -> Operand:
        if isinstance(source, BeforeLoop):
            return source.x
        return self.results[source.number] if not source.lag else self.carries[source.number][source.lag - 1]

    @property
    def longest(self) -> int:
        """The most rounds that a value is carried."""
        return max(map(len, self.before.values()), default=0)

    def exits(self) -> list[tuple[Hashable, list[int], Stretch]]:
        """Return the ways out of the loop: the answer, the rounds, and the stretch that follows.

        Rounds after which the program does the same share one stretch. It is that of the last one of them, as only
        there all carried values come from the chain.
        """
        found: list[tuple[Hashable, list[int], Stretch]] = []
        for r in reversed(range(len(self.stretches))):
            for answer, stretch in self.stretches[r].ways.items():
                if answer == self.answer:
                    continue
                for other_answer, rounds, other in found:
                    if answer == other_answer and self._is_same(stretch, r, other, rounds[0]):
                        rounds.append(r)
                        break
                else:
                    found.append((answer, [r], stretch))
        return found

    def _is_same(self, new: Stretch, r: int, old: Stretch, last: int) -> bool:
        """Return whether the program does the same after round ``r`` as after round ``last``."""
        if last < self.longest:
            return False
        known: dict[Operand, Any] = dict(zip(self._made[r], self._made[last], strict=True))
        for k, values in self.before.items():
            for lag in range(1, len(values) + 1):
                known[self._made[r - lag][k] if r >= lag else values[lag - r - 1]] = self._made[last - lag][k]
        for y in list(known.values()):
            # A variable has one meaning in the shared code: that of the last round.
            known.setdefault(y, None)
        return do_the_same(new, old, known)


def rounds_from(first: Stretch) -> PathLoop | None:
    """Return the loop that begins with a stretch, if there is one."""
    for answer in first.ways:
        reader = _ChainReader(first, answer)
        if (found := reader.rounds()) is not None:
            return found
    return None


class _ChainReader:
    """Reads along a chain as far as its stretches do the same."""

    def __init__(self, first: Stretch, answer: Hashable) -> None:
        self._answer = answer
        self._chain = [first]
        self._made = [_results(first)]
        # The values that stand for results of rounds before the first, by number and round.
        self._first: dict[tuple[int, int], Operand] = {}

    def rounds(self) -> PathLoop | None:
        while len(self._chain) < LEAST_ROUNDS:
            if not self._go_on():
                return None
        sources = self._sources()
        if sources is None or not all(self._reads(r, sources) for r in range(LEAST_ROUNDS)):
            return None
        if any(_is_odd(self._made[0][k].aval) for k, _ in self._first):
            return None
        while self._go_on():
            if not self._reads(len(self._chain) - 1, sources):
                self._chain.pop()
                break
        before: dict[int, list[Operand]] = {}
        for k, r in sorted(self._first, reverse=True):
            before.setdefault(k, []).append(self._first[k, r])
        return PathLoop(self._chain, self._answer, sources, before)

    def _sources(self) -> list[Source] | None:
        """Return what the last round reads; ``None`` if it reads a result of a round long before."""
        places = {x: (r, k) for r, results in enumerate(self._made) for k, x in enumerate(results)}
        last = len(self._chain) - 1
        sources: list[Source] = []
        for x in _operands(self._chain[last]):
            r, number = places.get(x, (last, -1)) if type(x) is Var else (last, -1)
            if last - r > _MOST_LAG:
                return None
            sources.append(BeforeLoop(x) if number < 0 else RoundResult(number, last - r))
        return sources

    def _go_on(self) -> bool:
        """Add the next stretch, if its operations are the same."""
        stretch = self._chain[-1].ways.get(self._answer)
        if stretch is None or stretch.guard is None or len(stretch.equations) != len(self._chain[0].equations):
            return False
        if not all(map(matched, _equations(stretch), _equations(self._chain[0]))):
            return False
        self._chain.append(stretch)
        self._made.append(_results(stretch))
        return True

    def _reads(self, r: int, sources: Sequence[Source]) -> bool:
        """Return whether round ``r`` reads what the sources say."""
        return all(self._is(x, source, r) for x, source in zip(_operands(self._chain[r]), sources, strict=True))

    def _is(self, x: Operand, source: Source, r: int) -> bool:
        if isinstance(source, BeforeLoop):
            return are_equal(x, source.x)
        made = r - source.lag
        if made >= 0:
            return x is self._made[made][source.number]
        first = self._first.setdefault((source.number, made), x)
        return are_equal(first, x) and x.aval == self._made[0][source.number].aval


def _equations(stretch: Stretch) -> list[Equation]:
    assert stretch.guard is not None
    return [*stretch.equations, stretch.guard]


def _results(stretch: Stretch) -> list[Var]:
    return [var for equation in stretch.equations for var in equation.results]


def _operands(stretch: Stretch) -> Iterable[Operand]:
    return [x for equation in _equations(stretch) for x in equation.operands]


def _is_odd(aval: Any) -> bool:
    """Return whether values of this type may be Python's integers, which do not overflow."""
    return aval.weak and aval.dtype != np.float64
