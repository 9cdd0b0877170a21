"""How the results of programs inside a program depend on their operands: calls, branches and loops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._ops.layout.depends import Application, Read

# Loops of more equations in all rounds together are followed as if each round could read the rows of every other.
_MOST_EQUATIONS = 20_000


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
    constants, carry, xs = loop.parts(tuple(applied.reads))
    length, body = loop.length, loop.body
    if length * len(body.equations) > _MOST_EQUATIONS or not length:
        return _scanned_at_once(applied, constants, carry, xs)
    stacks: dict[int, list[Read]] = {}
    for t in reversed(range(length)) if loop.reverse else range(length):
        results = applied.run(body, [*constants, *carry, *[_row(x, t) for x in xs]])
        carry = tuple(results[: loop.carry])
        stacks[t] = results[loop.carry :]
    columns = [[stacks[t][i].pattern for t in range(length)] for i in range(len(body.outputs) - loop.carry)]
    return [*_patterns(carry), *[first.joined(rest) for first, *rest in columns]]


def _scanned_at_once(
    applied: Application, constants: Sequence[Read], carry: Sequence[Read], xs: Sequence[Read]
) -> list[Any]:
    """Follow one round in which each row stands for all rows."""
    loop = applied.params["loop"]
    rows = [_any_row(x) for x in xs]
    while True:
        results = applied.run(loop.body, [*constants, *[read._replace(value=None) for read in carry], *rows])
        patterns = [a.pattern.union(b.pattern) for a, b in zip(carry, results[: loop.carry], strict=True)]
        if all(a.same(b.pattern) for a, b in zip(patterns, carry, strict=True)):
            break
        carry = tuple([read._replace(pattern=pattern) for read, pattern in zip(carry, patterns, strict=True)])
    stacks = [y.pattern.take(np.tile(np.arange(y.aval.size), loop.length)) for y in results[loop.carry :]]
    return [*_patterns(carry), *stacks]


def _row(x: Read, t: int) -> Read:
    """Return row ``t`` of an operand."""
    size = x.aval.size // x.aval.shape[0]
    value = None if x.value is None else np.asarray(x.value)[t]
    return Read(x.aval.with_shape(x.aval.shape[1:]), value, x.pattern.take(np.arange(t * size, (t + 1) * size)))


def _any_row(x: Read) -> Read:
    """Return a row that depends on what any row depends on."""
    shape = x.aval.shape
    size = x.aval.size // max(shape[0], 1)
    members = np.arange(x.aval.size).reshape(shape[0], size).T.ravel()
    starts = np.arange(size + 1) * shape[0]
    return Read(x.aval.with_shape(shape[1:]), None, x.pattern.grouped(starts, members))


def _patterns(reads: Sequence[Read]) -> list[Any]:
    return [read.pattern for read in reads]
