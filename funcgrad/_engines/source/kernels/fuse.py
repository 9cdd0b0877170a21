"""Fuse steps into loops, and assign memory in the workspace to intermediate values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from funcgrad._engines.source.kernels.nodes import (
    Access,
    Apply,
    Check,
    Guard,
    KernelMemory,
    Nested,
    Picked,
    Step,
    StridedView,
    in_order,
    reads,
    writes,
)

_ALIGNMENT = 64


def needed(steps: Sequence[Step], results: Iterable[KernelMemory]) -> list[Step]:
    """Return the steps that the results depend on."""
    read = set(results)
    kept: list[Step] = []
    for each in reversed(steps):
        if not read.isdisjoint(writes(each)) or isinstance(each, (Check, Guard)):
            step = _with_needed_parts(each) if isinstance(each, Nested) else each
            kept.append(step)
            read |= reads(step)
    return kept[::-1]


def _with_needed_parts(step: Nested) -> Nested:
    """Return a loop or branch whose parts compute nothing but its results."""
    ends = [x.memory for x in step.targets] + [row for row, _ in step.rows]
    return step._replace(parts=tuple([tuple(needed(part, ends)) for part in step.parts]))


def fused(steps: Sequence[Step]) -> list[list[Step]]:
    """Group the steps: expressions over one shape become one loop if no dependency prevents it."""
    pending = [(step, reads(step), writes(step)) for step in steps]
    groups: list[list[Step]] = []
    while pending:
        first = pending.pop(0)[0]
        if isinstance(first, Nested):
            first = first._replace(groups=tuple([fused(part) for part in first.parts]))
        group: list[Any] = [first]
        if isinstance(first, Apply):
            rest: list[tuple[Step, set[KernelMemory], set[KernelMemory]]] = []
            read: set[KernelMemory] = set()
            written: set[KernelMemory] = set()
            ended = False
            for each in pending:
                step = each[0]
                # Steps after a guard are not computed where the guard ends the kernel.
                ended = ended or isinstance(step, Guard)
                if not ended and isinstance(step, Apply) and joins(step, group, read, written):
                    group.append(step)
                else:
                    rest.append(each)
                    read |= each[1]
                    written |= each[2]
            pending = rest
        groups.append(group)
    return groups


def joins(step: Apply, group: Sequence[Apply], read: set[KernelMemory], written: set[KernelMemory]) -> bool:
    """Return whether an expression can join a loop, which runs before the steps that are left for later."""
    target = step.target
    if target.shape != group[0].target.shape or target.memory in read or target.memory in written:
        return False
    if written and not written.isdisjoint(reads(step)):
        return False
    made = {each.target.memory: each.target for each in group}
    picked = [x for x in step.operands if isinstance(x, Picked)]
    if any(x.x.memory in made for x in picked):
        return False
    # In the loop, an expression sees only the current element of memory that the loop itself makes.
    given = [*step.operands, *[y for x in picked for y in x.ids]]
    own = [x for x in given if isinstance(x, StridedView) and x.memory in made]
    if target.memory in made or not all(x == made[x.memory] for x in own):
        return False
    # The loop writes an element that it has read already, and no other.
    before = [x for each in group for x in each.operands if _memory(x) is target.memory]
    return all(x == target for x in before) and not any(
        y.memory is target.memory for each in group for x in each.operands if isinstance(x, Picked)
        for y in (*x.ids, *x.checks)
    )  # fmt: skip


def _memory(x: Access | Picked) -> KernelMemory | None:
    """Return the memory of an operand of an expression."""
    if isinstance(x, Picked):
        return x.x.memory
    return x.memory if isinstance(x, StridedView) else None


def hidden_memories(used: Sequence[Collection[KernelMemory]], results: set[KernelMemory]) -> list[set[KernelMemory]]:
    """Return for each group the memories that no other group uses. ``used`` are the memories of each group."""
    count = Counter(memory for each in used for memory in each)
    return [{m for m in each if count[m] == 1 and m.name is None and m not in results} for each in used]


def inside(groups: Sequence[Sequence[Step]], results: set[KernelMemory]) -> list[set[KernelMemory]]:
    """Return for each group the memory of expressions that only it uses: their values stay in registers."""
    used = [{m for step in group for m in reads(step) | writes(step)} for group in groups]
    made = [{step.target.memory for step in group if isinstance(step, Apply)} for group in groups]
    return [hidden & own for hidden, own in zip(hidden_memories(used, results), made, strict=True)]


def kept_outside(step: Nested, results: set[KernelMemory]) -> set[KernelMemory]:
    """Return the memory that steps inside a loop or a branch use, and that is not theirs."""
    return results | reads(step) | writes(step) | {row for row, _ in step.rows}


def _parts(group: Sequence[Step], results: set[KernelMemory]) -> list[tuple[list[list[Step]], set[KernelMemory]]]:
    """Return the parts of loops and branches, each with the memory that is not theirs."""
    nested = [step for step in group if isinstance(step, Nested)]
    return [(part, kept_outside(step, results)) for step in nested for part in step.groups]


def allotted(groups: Sequence[Sequence[Step]], results: set[KernelMemory]) -> tuple[dict[KernelMemory, int], int]:
    """Return the byte offset of each intermediate memory in the workspace, and the size of the workspace.

    Memory that is not read again is reused for later memory of its size. The memory of a loop's body is not: a later
    memory could then begin within it, and the compiler would take the two for different memories.
    """
    used: list[dict[KernelMemory, None]] = []
    for group, hidden in zip(groups, inside(groups, results), strict=True):
        memories = [memory for step in group for memory in in_order((writes(step) | reads(step)) - hidden)]
        used.append(dict.fromkeys([memory for memory in memories if memory.name is None and memory not in results]))
    last = {memory: i for i, each in enumerate(used) for memory in each}
    places: dict[KernelMemory, int] = {}
    free: dict[int, list[int]] = {}
    total = 0
    for i, each in enumerate(used):
        for part, kept in _parts(groups[i], results):
            inner, size = allotted(part, kept)
            places |= {memory: total + offset for memory, offset in inner.items()}
            total += size
        for memory in each:
            if memory not in places:
                spare = free.setdefault(_room(memory), [])
                places[memory] = spare.pop() if spare else total
                total += _room(memory) if places[memory] == total else 0
        for memory in each:
            if last[memory] == i:
                free[_room(memory)].append(places[memory])
    return places, total


def _room(memory: KernelMemory) -> int:
    lines = -(-math.prod(memory.shape) * memory.dtype.itemsize // _ALIGNMENT)
    # The spare line moves equal elements of arrays whose size is a power of two to different sets of the cache: a loop
    # over 160 arrays of 32 KB took 22 ms without it, and takes 0.7 ms.
    return (lines + 1) * _ALIGNMENT
