"""Ways from an argument to a result that carry no derivative: comparisons that choose branches, and rounding.

A program such as a bisection reads its argument by comparisons alone, so its result has no derivative, where the
function has one. A trace notes where its values are compared and rounded, and where a conversion is refused. If the
result then depends on none of the arguments that were read at such a place, the transform warns. A place counts if its
comparison gave both answers, as in a search; ``if x > 0`` of one answer chooses a piece, whose derivative is right.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable
from typing import Any

from funcgrad._core.bind import Trace, Tracer
from funcgrad._core.definition import definition_of
from funcgrad._core.graph.line import Line, origin
from funcgrad._core.trace.tape import LEAF, Node, parents_of
from funcgrad._core.tracebacks import caller_level
from funcgrad.errors import HiddenDependenceWarning

_MOST_NAMED = 3


class ReadingPlace:
    """A place of a program that reads values without derivative.

    Args:
        line: the line.
        verb: what the line does to the values.
    """

    __slots__ = ("line", "nodes", "verb")

    def __init__(self, line: Line | None, verb: str) -> None:
        self.line = line
        self.verb = verb
        # For each answer the nodes of the operands that gave it first. A reference to all of them would keep the tape.
        self.nodes: dict[bool, tuple[Any, ...]] = {}

    def __str__(self) -> str:
        text = "" if self.line is None or not self.line.text else f" ({self.line.text})"
        return f"{self.verb} at {self.line or 'an unknown line'}{text}"


def compared(operands: tuple, position: Any, answer: bool) -> None:
    """Note a comparison of numbers at a position of the user's code, in each trace that has one of the operands."""
    for x in operands:
        trace = x._owner if isinstance(x, Tracer) else None
        if trace is None or not trace.notes_reads:
            continue
        place = trace.reads.get(position)
        if place is None:
            place = ReadingPlace(origin(_nowhere), "compared")
            trace.reads = {**trace.reads, position: place}
        if answer not in place.nodes:
            place.nodes[answer] = tuple([y._node for y in operands if isinstance(y, Tracer) and y._owner is trace])


def rounded(trace: Trace, nodes: tuple, params: dict) -> None:
    """Note a rounding to a number of digits, which has no derivative."""
    if params["decimals"]:
        _note(trace, "rounded", nodes)


def refused(x: Tracer, asked: str) -> None:
    """Note a conversion that is refused, because the program may catch the error and go on without the number."""
    _note(x._owner, f"asked for {asked}", (x._node,))


def _note(trace: Trace, verb: str, nodes: tuple) -> None:
    """Note a place that counts at once."""
    if trace.notes_reads:
        line = origin(_nowhere)
        place = ReadingPlace(line, verb)
        place.nodes = {True: nodes, False: nodes}
        trace.reads = {**trace.reads, (line, verb): place}


def _nowhere(serial: int) -> Line | None:
    del serial


def warn_if_hidden(trace: Trace, reached: Collection[Any] | None) -> None:
    """Warn if values of a trace were read at a place, and the result depends on none of the inputs that they have.

    Args:
        trace: the trace, which has ended.
        reached: the nodes of the inputs that the result depends on; ``None`` if it depends on none, and nodes are
            not known.
    """
    both = [place for place in trace.reads.values() if len(place.nodes) == 2]
    places = [place for place in both if reached is None or _is_hidden(place, reached)]
    if not places:
        return
    name = "the function" if trace.function is None else definition_of(trace.function)
    more = f", and at {len(places) - _MOST_NAMED} more places" if len(places) > _MOST_NAMED else ""
    warnings.warn(
        f"{trace.transform}: the result of {name} has the derivative 0 with respect to numbers that are "
        f"{'; '.join(map(str, places[:_MOST_NAMED]))}{more}. It depends on them through these lines alone, which carry "
        "no derivative; that is right only if the result is constant. For a search write fg.implicit_root, or "
        "scipy.optimize.brentq of funcgrad.scipy; leave out a rounding. If the result is constant, read "
        "fg.stop_gradient(x) there.",
        HiddenDependenceWarning,
        stacklevel=caller_level(),
    )


def _is_hidden(place: ReadingPlace, reached: Collection[Any]) -> bool:
    """Return whether the values of a place have inputs, and none of these is reached."""
    inputs = _inputs_of([node for nodes in place.nodes.values() for node in nodes if node is not None])
    return bool(inputs) and not any(node in reached for node in inputs)


def _inputs_of(nodes: Iterable[Node]) -> list[Node]:
    """Return the nodes of the inputs that nodes depend on."""
    waiting, seen, found = list(nodes), set[int](), list[Node]()
    while waiting:
        node = waiting.pop()
        if node[0] not in seen:
            seen.add(node[0])
            if node[1] == LEAF:
                found.append(node)
            waiting += [parent for parent in parents_of(node) if parent is not None]
    return found
