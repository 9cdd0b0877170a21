"""Leave out copies: a write makes a copy of its array, which is the array itself where nothing reads the array later.

b = copy of a; b[1:-1] = v              is   a[1:-1] = v
b = copy of held; b[0] = v; held = b    is   held[0] = v, in each round of a loop
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph
from funcgrad._engines.source.kernels.nodes import (
    Apply,
    Call,
    KernelMemory,
    Nested,
    Product,
    Reduce,
    Step,
    StridedView,
    reads,
    writes,
)

# Operations that only show the memory of their operand; the copy is made when the result is read.
VIEWS = frozenset(
    {
        Basic.BARRIER,
        Basic.BROADCAST,
        Basic.COPY,
        Basic.DIAGONAL,
        Basic.FLIP,
        Basic.INDEX,
        Basic.RESHAPE,
        Basic.STOP_GRADIENT,
        Basic.TRANSPOSE,
    }
)

# The steps whose memory is all in what they read and write.
_FLAT = (Apply, Call, Reduce, Product)


def late_writes(body: Graph) -> list[Equation]:
    """Return the equations in an order in which an array is read before it is written to.

    A write waits for later reads of its array, and runs before its own result is read.
    """
    roots: dict[Any, Any] = {}
    last: dict[Any, int] = {}
    for i, equation in enumerate(body.equations):
        of_operands = [roots.get(x, x) for x in equation.operands]
        last.update(dict.fromkeys(of_operands, i))
        if equation.primitive.forms.basic in VIEWS:
            roots[equation.results[0]] = of_operands[0]
    waiting: dict[Any, Equation] = {}
    found: list[Equation] = []

    def add(equation: Equation) -> None:
        for x in equation.operands:
            if x in waiting:
                add(waiting.pop(x))
        found.append(equation)

    for i, equation in enumerate(body.equations):
        x = equation.operands[0] if equation.operands else None
        if equation.primitive.forms.basic is Basic.WRITE and last[roots.get(x, x)] > i:
            waiting[equation.results[0]] = equation
        else:
            add(equation)
    while waiting:
        add(waiting.pop(next(iter(waiting))))
    return found


def without_copies(steps: Sequence[Step], results: set[KernelMemory]) -> list[Step]:
    """Return the steps without copies of memory that no later step reads: the copy is the memory itself.

    Args:
        steps: in the order in which they run.
        results: the memory of results.
    """
    last: dict[KernelMemory, int] = {}
    first: dict[KernelMemory, int] = {}
    first_read: dict[KernelMemory, int] = {}
    used = [(reads(step), writes(step)) for step in steps]
    for i, (read, written) in enumerate(used):
        for memory in read:
            last[memory] = i
            first_read.setdefault(memory, i)
        for memory in written:
            first.setdefault(memory, i)
    same: dict[KernelMemory, KernelMemory] = {}

    def root(memory: KernelMemory) -> KernelMemory:
        while memory in same:
            memory = same[memory]
        return memory

    kept: list[int] = []
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
        kept.append(i)
    # Few steps of a long program use memory that another memory replaces. The rest are kept as they are.
    found = [
        steps[i]
        if isinstance(steps[i], _FLAT) and same.keys().isdisjoint(used[i][0]) and same.keys().isdisjoint(used[i][1])
        else _renamed(steps[i], root)
        for i in kept
    ]
    del used
    found = _without_round_trips(found, results)
    return [_inside_too(step) if isinstance(step, Nested) else step for step in found]


def _without_round_trips(steps: list[Step], results: set[KernelMemory]) -> list[Step]:
    """Return the steps without copies that are copied back: ``made = x; made[0] = v; x = made`` is ``x[0] = v``.

    Nothing uses ``x`` between the two copies. This is how a round of a loop writes into an array that it carries.
    """
    copies = {i: pair for i, step in enumerate(steps) if (pair := _copied(step)) is not None}
    known = set(copies.values())
    pairs = {i: (x, made) for i, (x, made) in copies.items() if (made, x) in known}
    if not pairs:
        return list(steps)
    used: dict[KernelMemory, list[int]] = {memory: [] for pair in pairs.values() for memory in pair}
    for i, step in enumerate(steps):
        for memory in (reads(step) | writes(step)) & used.keys():
            used[memory].append(i)
    same: dict[KernelMemory, KernelMemory] = {}
    left_out: set[int] = set()
    for i, (x, made) in pairs.items():
        after = next((k for k in used[x] if k > i), None)
        if after is None or pairs.get(after) != (made, x) or {x, made} & same.keys():
            continue
        # Both hold the same value from the second copy on, and so neither may change after it.
        late = {memory for k in used[x] + used[made] if k > after for memory in writes(steps[k])}
        own = made.name is None and made not in results and used[made][0] == i
        if own and late.isdisjoint((x, made)):
            same[made] = x
            left_out |= {i, after}
    kept = [step for i, step in enumerate(steps) if i not in left_out]
    return [_renamed(step, lambda memory: same.get(memory, memory)) for step in kept] if same else kept


def _inside_too(step: Nested) -> Nested:
    """Return a loop or a branch without such copies inside. Memory of the steps around it is not written to."""
    ends = {x.memory for x in step.targets} | {row for row, _ in step.rows}
    return step._replace(parts=tuple([tuple(without_copies(part, ends)) for part in step.parts]))


def _copied(step: Step) -> tuple[KernelMemory, KernelMemory] | None:
    """Return the memory that a step copies as a whole, and the copy; ``None`` if the step does something else."""
    if type(step) is not Apply or step.text != "{}":
        return None
    x, target = step.operands[0], step.target
    if type(x) is not StridedView or x.offset or target.offset or x.dtype != target.dtype or x.memory is target.memory:
        return None
    return (x.memory, target.memory) if _is_whole(x) and _is_whole(target) else None


def _is_whole(x: StridedView) -> bool:
    return x.offset == 0 and x.is_contiguous and math.prod(x.shape) == math.prod(x.memory.shape)


def _renamed(step: Any, root: Any) -> Any:
    """Return a step, a view or a sequence of them with other memories."""
    if type(step) is Apply:
        operands = tuple([_renamed(x, root) for x in step.operands])
        return Apply(_renamed(step.target, root), step.text, operands)
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
