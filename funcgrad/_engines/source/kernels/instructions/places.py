"""Give memory to the values of a long program, in time proportional to its steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad._engines.source.kernels.nodes import (
    Add,
    Apply,
    Call,
    Check,
    KernelMemory,
    Matrices,
    Nested,
    Picked,
    Step,
    StridedView,
)

# A memory takes whole lines of the cache.
LINE = 64


class Begin(NamedTuple):
    """The beginning of a loop's rounds.

    Args:
        slot: the number of the counter.
        kept: the memories that last from round to round.
    """

    slot: int
    kept: tuple[KernelMemory, ...]


class RowOf(NamedTuple):
    """A memory that is a row of another one in each round of a loop: ``row = base[first + step * round]``."""

    slot: int
    row: KernelMemory
    base: KernelMemory
    first: int
    step: int


class Next(NamedTuple):
    """The end of a round, and of the loop after the last one."""

    slot: int
    length: int
    begin: int
    kept: tuple[KernelMemory, ...]


# A loop of fewer steps is one instruction.
_FLAT = 24

Flat = Step | Begin | RowOf | Next


def flattened(steps: Sequence[Step]) -> list[Flat]:
    """Return the steps, with those of long loops between marks."""
    found: list[Flat] = []
    _flatten(steps, found, 0)
    return found


def _flatten(steps: Sequence[Step], found: list[Flat], slot: int) -> None:
    for step in steps:
        if not isinstance(step, Nested) or step.times is None or steps_in(step) < _FLAT:
            found.append(step)
            continue
        own = step.own
        kept = tuple(dict.fromkeys([memory for memory in memories_of(step) if memory not in own]))
        begin, (length, reverse) = len(found), step.times
        found.append(Begin(slot, kept))
        for row, base in step.rows:
            stride = base.strides[0]
            first = base.offset + (stride * (length - 1) if reverse else 0)
            found.append(RowOf(slot, row, base.memory, first, -stride if reverse else stride))
        _flatten(step.parts[-1], found, slot + 1)
        found.append(Next(slot, length, begin, kept))


def steps_in(step: Step) -> int:
    """Return the number of steps, with those inside of loops and branches."""
    return 1 + sum(steps_in(each) for part in step.parts for each in part) if isinstance(step, Nested) else 1


def allotted(used: Sequence[dict[KernelMemory, Any]], placed: set[KernelMemory]) -> tuple[dict[KernelMemory, int], int]:
    """Return the byte offset of each intermediate memory in the workspace, and the size of the workspace.

    Args:
        used: the memories that need a place while a group of steps runs.
        placed: the memories that have a place elsewhere.
    """
    last = {memory: i for i, each in enumerate(used) for memory in each if memory not in placed}
    places: dict[KernelMemory, int] = {}
    free: dict[int, list[int]] = {}
    total = 0
    for i, each in enumerate(used):
        for memory in each:
            if memory in last and memory not in places:
                room = _room(memory)
                if free.get(room):
                    places[memory] = free[room].pop()
                else:
                    places[memory] = total
                    total += room
        for memory in each:
            if last.get(memory) == i:
                free.setdefault(_room(memory), []).append(places[memory])
    return places, total


def memories_of(step: Flat) -> list[KernelMemory]:
    """Return the memories that a step reads or writes, in a fixed order, without rows of other memories."""
    if type(step) is Apply and Picked not in map(type, step.operands):
        return [x.memory for x in (*step.operands, step.target) if type(x) is StridedView]
    if isinstance(step, (Begin, Next)):
        return list(step.kept)
    if isinstance(step, RowOf):
        return [step.base]
    if isinstance(step, Nested):
        rows = {row for row, _ in step.rows}
        found = [memory for part in step.parts for each in part for memory in memories_of(each)]
        found += [base.memory for _, base in step.rows] + [x.memory for x in step.targets]
        found += [step.flag.memory] if isinstance(step.flag, StridedView) else []
        return [memory for memory in found if memory not in rows]
    given: tuple[Any, ...]
    if isinstance(step, (Apply, Call)):
        given = (*step.operands, step.target)
    elif isinstance(step, Matrices):
        given = (*step.operands, *step.targets)
    elif isinstance(step, Add):
        given = (step.place, step.v, step.target)
    elif isinstance(step, Check):
        given = (step.ids, step.target)
    else:
        given = tuple([x for x in step if isinstance(x, StridedView)])
    views = [y for x in given for y in ((x.x, *x.ids, *x.checks) if isinstance(x, Picked) else (x,))]
    return [x.memory for x in views if isinstance(x, StridedView)]


def _room(memory: KernelMemory) -> int:
    """Return the bytes of a place: one of a few sizes, so that a place serves memories of several lengths."""
    lines = -(-math.prod(memory.shape) * memory.dtype.itemsize // LINE)
    step = 1 << max(0, lines.bit_length() - 3)
    # A spare line, as in `fuse.py`.
    return (-(-lines // step) * step + 1) * LINE
