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
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.paths import PathTree, Stretch
from funcgrad._engines.signature import Signature, Unknown, is_plain
from funcgrad._engines.source.call import argument_check, checked_donations, made, put_together
from funcgrad._engines.source.clusters import clustered
from funcgrad._engines.source.writer import Writer, results_of

_INDENT = "    "


class _Here(NamedTuple):
    """A stretch to write: its writer, the lines before it, and the answers that lead to it."""

    stretch: Stretch
    writer: Writer
    first: list[str]
    answers: tuple[Hashable, ...]


def written_paths(
    tree: PathTree,
    signature: Signature,
    questions: dict[str, Callable[[Any], Any]],
    prepared: Callable[[Graph], Graph] = clustered,
) -> tuple[Callable[[tuple, dict], Any], str]:
    """Return the function of the user's arguments, and its source.

    For arguments of another signature the function returns ``MISS``; for answers that no path gave, `Unknown`.

    Args:
        tree: the paths.
        signature: the signature of the arguments.
        questions: for each question of a guard, the function that answers it.
        prepared: groups the operations of a graph.
    """
    return _Program(tree, signature, questions, prepared).written()


class _Program:
    def __init__(
        self,
        tree: PathTree,
        signature: Signature,
        questions: dict[str, Callable[[Any], Any]],
        prepared: Callable[[Graph], Graph],
    ) -> None:
        self._tree = tree
        self._signature = signature
        self._questions = questions
        self._prepared = prepared
        self._places = [i for i, leaf in enumerate(signature.leaves) if is_plain(leaf)]
        numbers = [k for k, i in enumerate(self._places) if i in signature.donated]
        self._donated = {f"x{k}": k for k in numbers if tree.inputs[k].aval.shape != ()}
        # The number of guards below each stretch.
        self._guards: dict[Stretch, int] = {}
        for stretch in reversed(list(tree)):
            self._guards[stretch] = sum(1 + self._guards[way] for way in stretch.ways.values())

    def written(self) -> tuple[Callable[[tuple, dict], Any], str]:
        root = self._tree.root
        assert root is not None
        # All arguments are inputs of the root, also those that nothing reads.
        graph = Graph(self._tree.inputs, (), (), self._tree.inputs, root.graph.name)
        arguments = Writer(graph, prepared=self._prepared)
        lines = argument_check(arguments, self._signature)
        first = self._continued(arguments, root, dict(zip(graph.inputs, graph.inputs, strict=True)))
        lines += self._lines(_Here(root, *first, ()))
        return made(arguments, lines, graph.name)

    def _lines(self, here: _Here) -> list[str]:
        """Write a stretch and all that may follow it."""
        lines: list[str] = []
        while True:
            body = here.writer.body()
            if here.stretch.guard is None:
                return [*lines, *here.first, *self._ended(here, body)]
            lines += [*here.first, *body]
            ways = self._ways(here)
            asked = here.writer.name(here.writer.graph.outputs[-1])
            question = here.writer.value(here.stretch.asked, self._questions[here.stretch.asked], bare=True)
            lines.append(f"asked = {question}({asked})")
            for answer, way in ways[:-1]:
                lines.append(f"if {_condition(answer, True)}:")
                lines += [f"{_INDENT}{line}" for line in self._lines(way)]
            answer, here = ways[-1]
            if len(ways) < 2 or type(answer) is not bool:
                unknown = here.writer.value("Unknown", Unknown, bare=True)
                before = "".join([f"{each!r}, " for each in here.answers[:-1]])
                lines.append(f"if {_condition(answer, False)}: return {unknown}(({before}asked,))")

    def _ways(self, here: _Here) -> list[tuple[Hashable, _Here]]:
        """Return the stretches that may follow, the one with the most guards last."""
        outputs = here.writer.graph.outputs
        given = dict(zip(here.stretch.given, outputs, strict=False))
        found = []
        for answer, way in sorted(here.stretch.ways.items(), key=lambda item: self._guards[item[1]]):
            writer, first = self._continued(here.writer, way, given)
            found.append((answer, _Here(way, writer, first, (*here.answers, answer))))
        return found

    def _continued(self, before: Writer, stretch: Stretch, given: dict[Any, Any]) -> tuple[Writer, list[str]]:
        # The memory of donated arguments may be written to where no guard follows.
        donated = self._donated if stretch.guard is None else ()
        graph = stretch.graph.made(self._prepared)
        return before.continued(graph, [given[var] for var in graph.inputs], donated)

    def _ended(self, here: _Here, body: list[str]) -> list[str]:
        """Return the lines of the last stretch: the check of donated memory, the operations, the result."""
        writer = here.writer
        names, copies = results_of(writer)
        used = {writer.inputs[x] for x in writer.graph.inputs if x in writer.inputs and x in writer.buffers.used}
        donated = [k for name, k in self._donated.items() if name in used]
        checked = checked_donations(writer, donated, self._tree.inputs, self._places, self._signature)
        result = put_together(writer, self._tree.paths[here.stretch.number].tree, names)
        return [*checked, *body, *copies, f"return {result}"]


def _condition(answer: Hashable, holds: bool) -> str:
    """Return the condition that the guard was answered so, or that it was not."""
    if type(answer) is bool:
        return "asked" if answer is holds else "not asked"
    return f"asked {'==' if holds else '!='} {answer!r}"
