"""A tree of paths as one generated function: a guard is an ``if`` between straight lines.

    def run(args, kwargs):
        ...                                        # the arguments, checked
        v1 = x0 > 0.0                              # model.py:3  if x > 0:
        asked = bool(v1)
        if asked:
            v2 = sqrt(x0)                          # model.py:4
            return v2
        v3 = negative(x0)                          # model.py:6
        return v3

A function returns ``Unknown((True, 3))`` where no path gave these answers. The branch with the most guards goes on
without indentation, so a chain of a thousand guards is not nested.

One `Writer` writes all that follows one another; only where the program goes several ways is its state copied, once for
each further way. It knows which later stretches read a variable (`_TreeWriter._reads`), and so when memory is free.

A chain of stretches that do the same (`PathLoop`) is a loop. Rounds after which the program does the same share lines:

        for r0 in range(9):
            v4 = v3 - 0.5                          # model.py:9  while x > tol:
            asked = bool(v4 > tol)
            if not asked: break
            v3 = v4
        if not asked and r0 in rounds:             # the numbers of rounds that calls had until now
            return v4
"""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, NamedTuple

from funcgrad._core.graph.ir import Graph, Literal, Operand, Var
from funcgrad._core.graph.path_rounds import PathLoop, rounds_from
from funcgrad._core.graph.paths import PathTree, Stretch
from funcgrad._engines.signature import Signature, Unknown, is_plain
from funcgrad._engines.source.call import argument_check, checked_donations, made, put_together
from funcgrad._engines.source.clusters import clustered
from funcgrad._engines.source.loops import as_number
from funcgrad._engines.source.writer import Writer, results_of
from funcgrad._types import Value

_INDENT = "    "


class _Way(NamedTuple):
    """A way on from a guard.

    Args:
        holds: the condition that the program goes this way.
        fails: the condition that it does not; empty if all other ways were tried before.
        guards: the number of guards that follow.
        enter: writes what follows.
    """

    holds: str
    fails: str
    guards: int
    enter: Callable[[Writer], _Here]


class _Before(NamedTuple):
    """The program before a part of it.

    Args:
        answers: the answers until the end of the last loop, as the name of a variable (`_all_answers`).
        guards: the number of guards until there.
        donated: the numbers of arguments whose memory may be written to.
    """

    answers: str
    guards: int
    donated: Collection[int]


class _Here(NamedTuple):
    """A written part of the program.

    Args:
        lines: its lines, up to the answer of its guard or to the end of the program.
        ways: the ways on.
        answers: the answers until here, as the text of a tuple's elements (`_all_answers`).
    """

    lines: list[str]
    ways: list[_Way]
    answers: str


class _Follow(NamedTuple):
    """The program after a loop.

    Args:
        answer: the answer of the guard.
        rounds: the rounds after which it follows.
        stretch: the program that follows.
        goes_on: whether it follows the last round, and not an answer that ends the loop.
        reads: for each variable of the loop that it reads: the number of a result of the last round, a variable that
            the loop carries, or a result's number and its round.
    """

    answer: Hashable
    rounds: list[int]
    stretch: Stretch
    goes_on: bool
    reads: dict[Var, int | Var | tuple[int, int]]


class _Follows:
    """The ways out of a loop.

    Args:
        rounds: the loop.
        reads: returns whether a variable is read from a stretch on.

    Attributes:
        ways: what follows.
        read: the results of a round that are read after it, by their numbers.
        kept: the results of which the values of all rounds are read.
    """

    def __init__(self, rounds: PathLoop, reads: Callable[[Operand, Stretch], bool]) -> None:
        self._is_read = reads
        exits = [(*each, False) for each in rounds.exits()]
        last = rounds.stretches[-1].ways.get(rounds.answer)
        exits += [] if last is None else [(rounds.answer, [len(rounds.stretches) - 1], last, True)]
        self.ways = [_Follow(*each, self._reads(rounds, each[2], each[1][0], each[3])) for each in exits]
        sources = [source for way in self.ways for source in way.reads.values()]
        self.kept = sorted({source[0] for source in sources if isinstance(source, tuple)})
        self.read = sorted({*rounds.before, *self.kept, *[source for source in sources if type(source) is int]})

    def _reads(
        self, rounds: PathLoop, stretch: Stretch, r: int, goes_on: bool
    ) -> dict[Var, int | Var | tuple[int, int]]:
        found: dict[Var, int | Var | tuple[int, int]] = {}
        for x, (q, k) in rounds.places.items():
            if self._is_read(x, stretch):
                carries = () if goes_on else rounds.carries.get(k, ())
                found[x] = k if q == r else carries[r - q - 1] if r - q <= len(carries) else (k, q)
        return found


def written_paths(
    tree: PathTree,
    signature: Signature,
    questions: dict[str, Callable[[Any], Any]],
    prepared: Callable[[Graph], Graph] = clustered,
    rolls_above: int | None = None,
) -> tuple[Callable[[tuple, dict], Any], str]:
    """Return the function of the user's arguments, and its source.

    For arguments of another signature the function returns ``MISS``; for answers that no path gave, `Unknown`.

    Args:
        tree: the paths.
        signature: the signature of the arguments.
        questions: for each question of a guard, the function that answers it.
        prepared: groups the operations of a graph.
        rolls_above: a stretch of more equations is rolled (`Graph.roll`), and rounds that do the same are written as
            a loop; ``None`` for neither.
    """
    return _TreeWriter(tree, signature, questions, prepared, rolls_above).written()


class _TreeWriter:
    def __init__(
        self,
        tree: PathTree,
        signature: Signature,
        questions: dict[str, Callable[[Any], Any]],
        prepared: Callable[[Graph], Graph],
        rolls_above: int | None,
    ) -> None:
        self._tree = tree
        self._signature = signature
        self._questions = questions
        self._prepared = prepared
        self._rolls_above = rolls_above
        self._loops = 0
        # Stretches at which a loop of guards begins that is not written as one.
        self._straight: set[Stretch] = set()
        self._places = [i for i, leaf in enumerate(signature.leaves) if is_plain(leaf)]
        numbers = [k for k, i in enumerate(self._places) if i in signature.donated]
        self._donated = [k for k in numbers if tree.inputs[k].aval.shape != ()]
        # For each stretch: the number of guards below it, the number of guards before it, and a path that goes through
        # it. In the order of the positions, what follows a stretch comes directly after it.
        stretches = list(tree)
        self._guards: dict[Stretch, int] = {}
        self._paths: dict[Stretch, int] = {}
        for stretch in reversed(stretches):
            self._guards[stretch] = sum(1 + self._guards[way] for way in stretch.ways.values())
            self._paths[stretch] = max([stretch.number, *[self._paths[way] for way in stretch.ways.values()]])
        self._depths: dict[Stretch, int] = {stretches[0]: 0}
        self._positions: dict[Stretch, int] = {stretches[0]: 0}
        for stretch in stretches:
            position = self._positions[stretch] + 1
            for way in stretch.ways.values():
                self._depths[way], self._positions[way] = self._depths[stretch] + 1, position
                position += 1 + self._guards[way]
        # The positions of the stretches that read a variable.
        self._readers: dict[Operand, list[int]] = {}
        for stretch in sorted(stretches, key=lambda stretch: self._positions[stretch]):
            for x in stretch.graph.inputs:
                self._readers.setdefault(x, []).append(self._positions[stretch])

    def _reads(self, x: Operand, stretch: Stretch, *, after: bool = False) -> bool:
        """Return whether a stretch or one that follows it reads a variable; ``after`` asks those that follow only."""
        readers, position = self._readers.get(x, ()), self._positions[stretch]
        k = bisect.bisect_left(readers, position + after)
        return k < len(readers) and readers[k] <= position + self._guards[stretch]

    def written(self) -> tuple[Callable[[tuple, dict], Any], str]:
        root = self._tree.root
        assert root is not None
        # All arguments are inputs of the root, also those that nothing reads.
        graph = Graph(self._tree.inputs, (), (), (), root.graph.name)
        self._arguments = writer = Writer(graph, prepared=self._prepared)
        lines = argument_check(writer, self._signature)
        lines += self._lines(writer, self._entered(_Before("()", 0, self._donated), root, writer))
        return made(writer, lines, graph.name)

    def _lines(self, writer: Writer, here: _Here) -> list[str]:
        """Return a part and all that may follow it."""
        lines: list[str] = []
        while True:
            lines += here.lines
            if not here.ways:
                return lines
            for way in here.ways[:-1]:
                inside = writer.forked()
                lines += [f"if {way.holds}:", *_indented(self._lines(inside, way.enter(inside)))]
            last = here.ways[-1]
            if last.fails:
                unknown = f"{self._value('Unknown', Unknown)}({self._value('all_answers', _all_answers)}"
                lines.append(f"if {last.fails}: return {unknown}(({here.answers})))")
            here = last.enter(writer)

    def _value(self, name: str, value: Value) -> str:
        return self._arguments.value(name, value, bare=True)

    def _entered(self, before: _Before, stretch: Stretch, writer: Writer) -> _Here:
        """Write a stretch, or the loop that begins with it; ``writer`` wrote the lines before."""
        if self._rolls_above is not None and stretch.guard is not None and stretch not in self._straight:
            rounds = rounds_from(stretch)
            if rounds is not None and (loop := self._loop(writer, rounds, before)) is not None:
                return loop
            self._straight.update(() if rounds is None else rounds.stretches)
        graph = stretch.graph
        if self._rolls_above is not None and len(graph.equations) > self._rolls_above:
            graph = graph.made(Graph.roll)
        graph = graph.made(self._prepared)
        writer.goes_on(graph, functools.partial(self._reads, stretch=stretch, after=True))
        if stretch.guard is None:
            # The memory of donated arguments may be written to where no guard follows.
            for k in before.donated:
                writer.buffers.give(self._tree.inputs[k])
            return _Here(self._ended(writer, stretch, before.donated), [], "")
        lines = writer.body()
        for var, x in zip(stretch.given, graph.outputs, strict=False):
            if var is not x:
                lines += writer.takes(var, writer, x)
                writer.buffers.shows(var, x, whole=True)
            writer.buffers.keep([var])
        ways = []
        for answer, way in stretch.ways.items():
            fails = "" if type(answer) is bool and len(stretch.ways) == 2 else _condition(answer, False)
            enter = functools.partial(self._entered, before, way)
            ways.append(_Way(_condition(answer, True), fails, self._guards[way], enter))
        lines.append(self._question(writer, stretch, graph.outputs[-1]))
        return _Here(lines, sorted(ways, key=_guards_of), f"{self._answers(before, stretch)}asked")

    def _answers(self, before: _Before, stretch: Stretch) -> str:
        """Return the answers until a stretch, as the text of a tuple's elements (`_all_answers`)."""
        path = self._tree.paths[self._paths[stretch]]
        known = f"*{self._value('answers', path.answers)}[{before.guards}:{self._depths[stretch]}]"
        return f"{before.answers}, {known}, "

    def _question(self, writer: Writer, stretch: Stretch, x: Operand) -> str:
        return f"asked = {self._value(stretch.asked, self._questions[stretch.asked])}({writer.name(x)})"

    def _loop(self, writer: Writer, rounds: PathLoop, before: _Before) -> _Here | None:
        """Write a chain of stretches as a loop; ``None`` if a value that it needs is not known before it."""
        follows, stretch = _Follows(rounds, self._reads), rounds.stretches[0]
        outputs = [*[rounds.results[k] for k in follows.read], rounds.asked]
        graph = self._prepared(self._tree.part(rounds.equations, outputs))
        carried = [
            (var, x)
            for k, variables in rounds.carries.items()
            for var, x in zip(variables, rounds.before[k], strict=True)
        ]
        needed = [*set(graph.inputs).difference([var for var, _ in carried]), *[x for _, x in carried]]
        if not all(type(x) is Literal or (x in writer.names and self._reads(x, stretch)) for x in needed):
            return None
        inside, r = writer.inside(graph), f"r{self._loops}"
        self._loops += 1
        first = [f"{_kept(r, k)} = []" for k in follows.kept]
        for var, x in carried:
            # The memory of carried values is never written to: it may be an argument's.
            inside.buffers.made(var, own=False)
            inside.numbers.update(() if var.aval.shape else (var,))
            first.append(f"{inside.new(var)} = {as_number(writer, x, var.aval.dtype)}")
        for var in graph.inputs:
            first += [] if var in inside.names else inside.takes(var, writer, var)
        body = [*inside.body(), self._question(inside, stretch, graph.outputs[-1])]
        after = dict(zip(follows.read, graph.outputs, strict=False))
        body += [f"{_kept(r, k)}.append({inside.name(after[k])})" for k in follows.kept]
        body.append(f"if {_condition(rounds.answer, False)}: break")
        targets = [inside.name(var) for variables in rounds.carries.values() for var in reversed(variables)]
        values = [
            as_number(inside, x, x.aval.dtype)
            for k, variables in rounds.carries.items()
            for x in (*reversed(variables[:-1]), after[k])
        ]
        body += [f"{', '.join(targets)} = {', '.join(values)}"] if targets else []
        lines = [*first, *writer.hoisted(), f"for {r} in range({len(rounds.stretches)}):", *_indented(body)]
        writer.passed(inside)
        # The results may be views of what the rounds read.
        writer.buffers.leaks((), needed)
        going = f"{self._answers(before, stretch)}*({rounds.answer!r},) * "
        ways = []
        for follow in follows.ways:
            answers = f"{going}{len(rounds.stretches) if follow.goes_on else r}, "
            answers += "" if follow.goes_on else f"{follow.answer!r}, "
            enter = functools.partial(self._followed, inside, follow, after, r, answers)
            holds, fails = _condition(follow.answer, True), _condition(follow.answer, False)
            if not follow.goes_on:
                holds = f"{holds} and {r} in {self._value('rounds', frozenset(follow.rounds))}"
                fails = f"not ({holds})"
            ways.append(_Way(holds, fails, self._guards[follow.stretch], enter))
        return _Here(lines, sorted(ways, key=_guards_of), f"{going}{r}, asked")

    def _followed(
        self, inside: Writer, follow: _Follow, after: dict[Any, Operand], r: str, answers: str, writer: Writer
    ) -> _Here:
        """Write what follows a loop. Its values may lie in lists, so it does not write to donated memory."""
        known = f"before_{r}"
        lines = [f"{known} = ({answers})"]
        for x, source in follow.reads.items():
            if isinstance(source, tuple):
                k, q = source
                lines.append(f"{writer.new(x)} = {_kept(r, k)}[{q}]")
                for held, found in ((inside.numbers, writer.numbers), (inside.packed, writer.packed)):
                    found.update((x,) if after[k] in held else ())
            else:
                lines += writer.takes(x, inside, after[source] if isinstance(source, int) else source)
            writer.buffers.made(x, own=False)
            writer.buffers.keep([x])
        here = self._entered(_Before(known, self._depths[follow.stretch], ()), follow.stretch, writer)
        return here._replace(lines=[*lines, *here.lines])

    def _ended(self, writer: Writer, stretch: Stretch, donated: Collection[int]) -> list[str]:
        """Return the lines of the last stretch: the check of donated memory, the operations, the result."""
        body = writer.body()
        names, copies = results_of(writer)
        used = [k for k in donated if self._tree.inputs[k] in writer.buffers.used]
        checked = checked_donations(writer, used, self._tree.inputs, self._places, self._signature)
        result = put_together(writer, self._tree.paths[stretch.number].tree, names)
        return [*checked, *body, *copies, f"return {result}"]


def _all_answers(answers: tuple) -> tuple:
    """Return all answers of guards in order, from a tuple of earlier answers and those after the last loop.

    The first element is such a tuple itself, or ``()``. A loop makes one in the time of its own rounds.
    """
    parts = []
    while answers:
        parts.append(answers[1:])
        answers = answers[0]
    return tuple(itertools.chain.from_iterable(reversed(parts)))


def _kept(r: str, k: int) -> str:
    """Return the name of the list of a result's values in all rounds."""
    return f"kept_{r}_{k}"


def _guards_of(way: _Way) -> int:
    return way.guards


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"{_INDENT}{line}" for line in lines]


def _condition(answer: Hashable, holds: bool) -> str:
    """Return the condition that the guard was answered so, or that it was not."""
    if type(answer) is bool:
        return "asked" if answer is holds else "not asked"
    return f"asked {'==' if holds else '!='} {answer!r}"
