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
    reads,
    writes,
)

# A memory takes whole lines of the cache.
LINE = 64


def without_copies(steps: Sequence[Step], results: set[KernelMemory]) -> list[Step]:
    """Return the steps without copies of memory that no later step reads: the copy is the memory itself.

    Args:
        steps: in the order in which they run.
        results: the memory of results.
    """
    last: dict[KernelMemory, int] = {}
    first: dict[KernelMemory, int] = {}
    first_read: dict[KernelMemory, int] = {}
    for i, step in enumerate(steps):
        for memory in reads(step):
            last[memory] = i
            first_read.setdefault(memory, i)
        for memory in writes(step):
            first.setdefault(memory, i)
    same: dict[KernelMemory, KernelMemory] = {}

    def root(memory: KernelMemory) -> KernelMemory:
        while memory in same:
            memory = same[memory]
        return memory

    kept = []
    for i, step in enumerate(steps):
        pair = _copied(step)
        if pair is not None and last[pair[0]] == i and first[pair[1]] == i and pair[0] in first:
            x, target = map(root, pair)
            # A result has memory of its own, which then holds the copied value from the beginning. But a round may read
            # the value of the round before there.
            is_read = target in results and first_read.get(target, i) < i
            if x.name is None and x not in results and not is_read:
                same.update({x: target} if target in results else {target: x})
                continue
        kept.append(step)
    kept = [_renamed(step, root) for step in kept] if same else kept
    return [_inside_too(step) if isinstance(step, Nested) else step for step in kept]


def _inside_too(step: Nested) -> Nested:
    """Return a loop or a branch without such copies inside. Memory of the steps around it is not written to."""
    ends = {x.memory for x in step.targets} | {row for row, _ in step.rows}
    return step._replace(parts=tuple([tuple(without_copies(part, ends)) for part in step.parts]))


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


def _copied(step: Step) -> tuple[KernelMemory, KernelMemory] | None:
    """Return the memory that a step copies as a whole, and the copy; ``None`` if the step does something else."""
    if not isinstance(step, Apply) or step.text != "{}":
        return None
    x, target = step.operands[0], step.target
    if not isinstance(x, StridedView) or x.dtype != target.dtype or x.memory is target.memory:
        return None
    return (x.memory, target.memory) if _is_whole(x) and _is_whole(target) else None


def _is_whole(x: StridedView) -> bool:
    return x.offset == 0 and x.is_contiguous and math.prod(x.shape) == math.prod(x.memory.shape)


def _renamed(step: Any, root: Any) -> Any:
    """Return a step, a view or a sequence of them with other memories."""
    if isinstance(step, StridedView):
        memory = root(step.memory)
        return step if memory is step.memory else step._replace(memory=memory)
    if isinstance(step, KernelMemory):
        return root(step)
    if isinstance(step, tuple):
        parts = [_renamed(each, root) for each in step]
        if all(a is b for a, b in zip(parts, step, strict=True)):
            return step
        return tuple(parts) if type(step) is tuple else type(step)(*parts)
    return step


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
    if isinstance(step, Begin | Next):
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
    if isinstance(step, Apply | Call):
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
