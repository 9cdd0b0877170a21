"""How the results of programs inside a program depend on their operands: calls, branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._ops.layout.depends import Application, Read
from funcgrad._types import Value

# Loops of more equations in all rounds together are followed without the numbers that differ from round to round.
_MOST_EQUATIONS = 20_000
# The most elements that the rounds of a loop may pass on, if they are followed together: 400 MB.
_MOST_MEMBERS = 50_000_000
_NONE = np.empty(0, np.intp)


def inside(applied: Application) -> list[Any]:
    """Follow the program in the parameter ``graph``."""
    return _patterns(applied.run(applied.params["graph"], applied.reads))


def either(applied: Application) -> list[Any]:
    """Follow both branches, or the one that a known condition selects."""
    pred, *operands = applied.reads
    branches = applied.params["branches"]
    if pred.value is not None:
        return _patterns(applied.run(branches.true if pred.value else branches.false, operands))
    pairs = zip(*[_patterns(applied.run(graph, operands)) for graph in (branches.true, branches.false)], strict=True)
    return [a.union(b) for a, b in pairs]


def repeated(applied: Application) -> list[Any]:
    """Follow a loop of unknown length: run its body until its carry depends on nothing new."""
    body = applied.params["loop"].body
    _, constants, carry = applied.params["loop"].parts(tuple(applied.reads))
    carry = [read._replace(value=None) for read in carry]
    while True:
        results = applied.run(body, [*constants, *carry])
        patterns = [a.pattern.union(b.pattern) for a, b in zip(carry, results, strict=True)]
        if all(a.same(b.pattern) for a, b in zip(patterns, carry, strict=True)):
            return patterns
        carry = [read._replace(pattern=pattern) for read, pattern in zip(carry, patterns, strict=True)]


def scanned(applied: Application) -> list[Any]:
    """Follow the rounds of a loop, each with its own rows."""
    loop = applied.params["loop"]
    _, carry, xs = loop.parts(tuple(applied.reads))
    # Numbers that are known, such as positions in arrays, select other elements in each round.
    is_known = any(read.value is not None for read in (*carry, *xs))
    if not loop.length or (is_known and loop.length * len(loop.body.equations) <= _MOST_EQUATIONS):
        return _scanned_one_by_one(applied)
    together = _scanned_together(applied)
    return _scanned_one_by_one(applied) if together is None else together


def _scanned_one_by_one(applied: Application) -> list[Any]:
    loop = applied.params["loop"]
    constants, carry, xs = loop.parts(tuple(applied.reads))
    if not loop.length:
        return [*_patterns(carry), *[applied.reads[0].pattern.take(_NONE) for _ in loop.body.outputs[loop.carry :]]]
    stacks: dict[int, list[Read]] = {}
    for t in reversed(range(loop.length)) if loop.reverse else range(loop.length):
        results = applied.run(loop.body, [*constants, *carry, *[_row(x, t) for x in xs]])
        carry = tuple(results[: loop.carry])
        stacks[t] = results[loop.carry :]
    columns = [[stacks[t][i].pattern for t in range(loop.length)] for i in range(len(loop.body.outputs) - loop.carry)]
    return [*_patterns(carry), *[first.joined(rest) for first, *rest in columns]]


def _scanned_together(applied: Application) -> list[Any] | None:
    """Follow all rounds at once; return ``None`` where this takes too much memory.

    The body is followed once, alone. A state is the carry before a round. States join those 1, 2, 4, ... rounds before.
    """
    loop = applied.params["loop"]
    constants, carry, xs = loop.parts(tuple(applied.reads))
    rows = [Read(x.aval.with_shape(x.aval.shape[1:]), None, None) for x in xs]
    reads = [*constants, *[read._replace(value=None) for read in carry], *rows]
    in_carry = [loop.constants <= i < loop.constants + loop.carry for i in range(len(reads))]
    by_carry = applied.alone(loop.body, reads, in_carry)
    by_given = applied.alone(loop.body, reads, [not each for each in in_carry])
    nothing, empty = applied.reads[0].pattern.take(_NONE), by_carry[0].take(_NONE)
    given = nothing.joined(_patterns([*constants, *xs]))
    places = _places_by_round(constants, xs, loop.length, loop.reverse)

    onward, begun = empty.joined(by_carry[: loop.carry]), by_given[0].take(_NONE).joined(by_given[: loop.carry])
    size = len(onward.starts) - 1
    rounds = size * np.arange(loop.length + 1)[:, None]
    states = nothing.joined([*_patterns(carry), _in_rounds(given, begun, places)])
    distance = 1
    while distance <= loop.length and not onward.empty:
        if loop.length * len(onward.columns) > _MOST_MEMBERS:
            return None
        before = _in_rounds(states, onward, rounds[: loop.length + 1 - distance] + np.arange(size))
        states = states.union(nothing.grouped(np.zeros(distance * size + 1, np.intp), _NONE).joined([before]))
        onward = onward.grouped(onward.starts, onward.columns)
        distance *= 2

    last = np.split(rounds[-1] + np.arange(size), np.cumsum([read.aval.size for read in carry])[:-1])
    stacks = []
    for by_state, by_others in zip(by_carry[loop.carry :], by_given[loop.carry :], strict=True):
        y = _in_rounds(states, by_state, rounds[:-1] + np.arange(size)).union(_in_rounds(given, by_others, places))
        order = np.arange(len(y.starts) - 1).reshape(loop.length, -1)
        stacks.append(y.take(order[::-1].ravel()) if loop.reverse else y)
    return [*[states.take(each) for each in last[: len(carry)]], *stacks]


def _places_by_round(constants: Sequence[Read], xs: Sequence[Read], length: int, reverse: bool) -> np.ndarray:
    """Return for each round where the constants and its rows stand in the joined constants and stacks."""
    start = sum(read.aval.size for read in constants)
    found = [np.tile(np.arange(start), (length, 1))]
    for x in xs:
        rows = start + np.arange(x.aval.size).reshape(length, -1)
        found.append(rows[::-1] if reverse else rows)
        start += x.aval.size
    return np.concatenate(found, 1)


def _in_rounds(values: Value, pattern: Any, places: np.ndarray) -> Any:
    """Return the pattern of arrays that depend as ``pattern`` on the values at the places of each round."""
    counts = np.tile(np.diff(pattern.starts), len(places))
    return values.grouped(np.concatenate([[0], np.cumsum(counts)]), places[:, pattern.columns].ravel())


def _row(x: Read, t: int) -> Read:
    """Return row ``t`` of an operand."""
    size = x.aval.size // x.aval.shape[0]
    value = None if x.value is None else np.asarray(x.value)[t]
    return Read(x.aval.with_shape(x.aval.shape[1:]), value, x.pattern.take(np.arange(t * size, (t + 1) * size)))


def _patterns(reads: Sequence[Read]) -> list[Any]:
    return [read.pattern for read in reads]
