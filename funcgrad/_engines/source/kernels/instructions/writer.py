"""Write a long program as instructions: each is the number of a loop's code, and the loop's sizes and places.

    def run(t, w, a0, q0):
        T = t; B = ...                # the addresses of the workspace, the operands and the results
        pc = 2
        while pc < at(T, 1):
            S = part(T, pc)
            op = at(S, 0)
            if op == 0:
                code_0(B, S)                   # one code for all instructions that differ in sizes and places only
                pc += 12
                continue

    def code_0(B, S):
        p0 = located(B, S, 1, float64)         # the base and the byte where the array begins
        for i0 in range(at(S, 3)): ...

A program of 100,000 operations compiles in the time of the 20 to 100 codes that differ.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad._engines.source.kernels.calls import kind_of
from funcgrad._engines.source.kernels.compiler.functions import MEMORIES
from funcgrad._engines.source.kernels.copies import without_copies
from funcgrad._engines.source.kernels.fuse import fused, hidden_memories, joins, needed
from funcgrad._engines.source.kernels.instructions.places import (
    LINE,
    Begin,
    Flat,
    Next,
    RowOf,
    allotted,
    flattened,
    memories_of,
)
from funcgrad._engines.source.kernels.nodes import Apply, KernelMemory, Nested, Step, StridedView
from funcgrad._engines.source.kernels.text import STACK_BYTES, KernelWriter, Text, may_end

# The most expressions in one loop. Longer ones differ more from each other.
_MOST = 12
# The most loops in each other.
_DEEPEST = 32


class Instruction(NamedTuple):
    """The code of a loop, and its numbers."""

    code: str
    entries: list[int]


class _After(int):
    """The place of the instruction after this one."""


class _Offset(int):
    """The offset of a view: the number of the view in its group."""

    number: int


class _GroupKind:
    """The parts of a group that others have too, which differ in places only.

    Args:
        group: the steps.
        used: the memories that have a place.
    """

    def __init__(self, group: Sequence[Step], used: dict[KernelMemory, Any]) -> None:
        self.offsets: list[int] = []
        self._views: dict[StridedView, int] = {}
        self._memories: dict[KernelMemory, int] = {memory: k for k, memory in enumerate(used)}
        self._group = group
        self.key = (len(used), *map(self._part, group))

    def _part(self, x: Any) -> Any:
        if isinstance(x, StridedView):
            number = self._views.setdefault(x, len(self.offsets))
            if number == len(self.offsets):
                self.offsets.append(x.offset)
            memory = self._memories.setdefault(x.memory, len(self._memories))
            return number, memory, x.dtype, x.shape, x.strides
        if type(x) is Apply:
            return Apply, x.text, self._part(x.target), *map(self._part, x.operands)
        if isinstance(x, KernelMemory):
            return self._memories.setdefault(x, len(self._memories)), x.dtype, x.shape
        if isinstance(x, (tuple, list)):
            return type(x), *map(self._part, x)
        return x

    @property
    def group(self) -> list[Step]:
        """The steps, with numbers of views in place of offsets."""
        return [self._tagged(step) for step in self._group]

    def _tagged(self, x: Any) -> Any:
        if isinstance(x, StridedView):
            offset = _Offset(x.offset)
            offset.number = self._views[x]
            return x._replace(offset=offset)
        if isinstance(x, list):
            return [self._tagged(each) for each in x]
        if isinstance(x, tuple):
            parts = [self._tagged(each) for each in x]
            return tuple(parts) if type(x) is tuple else type(x)(*parts)
        return x


class InstructionWriter(KernelWriter):
    """Writes the steps of a long program as instructions.

    Args:
        steps: in an order in which each step reads only what earlier steps made.
        arguments: the names of the function's arguments, in order.
        memories: those of the arguments that are arrays.
        numbers: the memory that holds each of the arguments that are numbers, by name.
        results: memory of the results, by the name of the argument that holds it.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        arguments: Sequence[str],
        memories: Sequence[KernelMemory],
        numbers: dict[str, KernelMemory],
        results: dict[str, KernelMemory],
    ) -> None:
        super().__init__((), arguments, memories, results, False)
        self._held = numbers
        made = set(self._outputs)
        kept = flattened(without_copies(needed(steps, made), made))
        groups = _grouped(kept)
        used = [dict.fromkeys([memory for step in group for memory in memories_of(step)]) for group in groups]
        rows = [step.row for step in kept if isinstance(step, RowOf)]
        for group, each, hidden in zip(groups, used, hidden_memories(used, {*made, *rows}), strict=True):
            # Values of a loop of expressions that no other loop reads stay in registers.
            for memory in hidden if isinstance(group[0], Apply) else ():
                del each[memory]
        self._based = {str(memory.name): memory for memory in memories} | results
        fixed = [*self._based.values(), *rows]
        placed, size = allotted(used, {*fixed, *numbers.values()})
        # For each memory the number of its base, and the byte at which it begins there.
        self._bases = {memory: (0, offset) for memory, offset in placed.items()}
        self._bases |= {memory: (k, 0) for k, memory in enumerate(fixed, 1)}
        self._bases |= {memory: (0, size + LINE * k) for k, memory in enumerate(numbers.values())}
        self._size = size + LINE * len(numbers)
        self._slots = len(fixed) + 1
        self._ends = any(may_end(step) for step in kept)
        # For each kind of group its code and its numbers, some of which are other for each group.
        self._kinds: dict[Any, tuple[Instruction, list[tuple[int, int]]]] = {}
        self.instructions: list[Instruction] = []
        # The number of the first instruction of each loop that has not ended.
        self._begun: list[int] = []
        for group, each in zip(groups, used, strict=True):
            (first, *_) = group
            mark = isinstance(first, (Begin, RowOf, Next))
            self.instructions.append(self._mark(first) if mark else self._instruction(group, each))

    @property
    def codes(self) -> Counter[str]:
        """The codes, and how many instructions each has."""
        return Counter(each.code for each in self.instructions)

    def _mark(self, mark: Begin | RowOf | Next) -> Instruction:
        """Return the instruction at the beginning of a loop, for a row of a round, or at its end."""
        count = self._slots + mark.slot
        if isinstance(mark, Begin):
            self._begun.append(len(self.instructions))
            return Instruction(f"store({MEMORIES}, B, at(S, 1), 0)", [0, count])
        if isinstance(mark, RowOf):
            base, offset = self._bases[mark.base]
            size = mark.base.dtype.itemsize
            place = f"load({MEMORIES}, B, at(S, 3)) + at(S, 4) + load({MEMORIES}, B, at(S, 1)) * at(S, 5)"
            numbers = [0, count, self._bases[mark.row][0], base, offset + size * mark.first, size * mark.step]
            return Instruction(f"store({MEMORIES}, B, at(S, 2), {place})", numbers)
        lines = [
            f"v1 = load({MEMORIES}, B, at(S, 1)) + 1",
            f"store({MEMORIES}, B, at(S, 1), v1)",
            "if v1 < at(S, 2):",
            "    pc = at(S, 3)",
            "    continue",
        ]
        return Instruction("\n".join(lines), [0, count, mark.length, _After(self._begun.pop())])

    def _instruction(self, group: Sequence[Step], used: dict[KernelMemory, Any]) -> Instruction:
        """Return the instruction of a group. Groups that differ in places only are written once."""
        form = _GroupKind(group, used)
        found = self._kinds.get(form.key)
        if found is None:
            instruction = self._written(form.group, used)
            offsets = [(k, e.number) for k, e in enumerate(instruction.entries) if type(e) is _Offset]
            found = self._kinds[form.key] = instruction, offsets
        (code, entries), offsets = found
        entries = list(entries)
        for k, memory in enumerate(used):
            entries[2 * k + 1 : 2 * k + 3] = self._bases[memory]
        for k, number in offsets:
            entries[k] = form.offsets[number]
        return Instruction(code, entries)

    def _written(self, group: Sequence[Step], used: dict[KernelMemory, Any]) -> Instruction:
        self._lines, self._depth, self._counter, self._places = [], 0, 0, {}
        self._entries = [0]
        for k, memory in enumerate(used):
            name = self._places[memory] = f"p{k}"
            # No alias scope: a memory of this instruction is another number's memory in others of its code.
            self._numbers[memory] = MEMORIES
            self._line(f"{name} = located(B, S, {len(self._entries)}, {kind_of(memory.dtype)})")
            self._entries += [0, 0]
        if isinstance(group[0], Apply):
            written = [step for step in group if isinstance(step, Apply)]
            self._loop(written, {step.target.memory for step in written}.difference(used))
        else:
            self._step(group[0], set(self._outputs))
        return Instruction("\n".join(self._lines), [math.prod(e) if isinstance(e, tuple) else e for e in self._entries])

    def _index(self, terms: Sequence[str], offset: int) -> str:
        # An offset of zero has the same code as others.
        return " + ".join([self._entry(offset), *terms])

    def text(self) -> Text:
        """Return the source, its table and its workspace."""
        order = {code: k for k, (code, _) in enumerate(self.codes.most_common())}
        heap = self._size > STACK_BYTES
        table = [0 if heap else self._size, 0, *[self._bases[memory][1] for memory in self._held.values()]]
        lines = self._opened(heap, len(table))
        starts = list(itertools.accumulate([len(entries) for _, entries in self.instructions], initial=len(table)))
        for code, entries in self.instructions:
            table += [order[code], *[starts[e + 1] if type(e) is _After else e for e in entries[1:]]]
        table[1] = len(table)
        lengths = {code: len(entries) for code, entries in self.instructions}
        functions: list[str] = []
        for code, k in order.items():
            call = code
            if "continue" not in code:
                # Functions of their own: LLVM takes time in proportion to the square of a function's length.
                functions += [f"def code_{k}(B, S):", *[f"    {line}" for line in code.split("\n")]]
                ends = "return" in code
                functions += ["    return 0", ""] if ends else [""]
                call = f"v0 = code_{k}(B, S)\nif v0 != 0: return v0" if ends else f"code_{k}(B, S)"
            lines += [f"        if op == {k}:", *[f"            {line}" for line in call.split("\n")]]
            lines += [f"            pc += {lengths[code]}", "            continue"]
        lines += ["        return 1", "    return 0"] if self._ends else ["        return"]
        lines = [*functions, *lines]
        return Text("\n".join(lines) + "\n", lambda rows: table, self._size if heap else 0, self._ends)

    def _opened(self, heap: bool, start: int) -> list[str]:
        """Return the lines before the codes: addresses and numbers, and the beginning of the loop."""
        head = ["t", *(["w"] if heap else []), *self._arguments]
        lines = [f"def run({', '.join(head)}):", "    T = t"]
        lines += ["    W = w" if heap else "    W = space(at(T, 0))"]
        lines += [f"    B = typed(space({8 * (self._slots + _DEEPEST)}), 0, int64)"]
        lines += [f"    store({MEMORIES}, B, 0, address(W))"]
        for k, name in enumerate(self._based, 1):
            lines.append(f"    store({MEMORIES}, B, {k}, address({name}))")
        for k, (name, memory) in enumerate(self._held.items(), 2):
            kind = kind_of(memory.dtype)
            lines.append(f"    store({MEMORIES}, typed(W, at(T, {k}), {kind}), 0, {kind}({name}))")
        lines += [f"    pc = {start}", "    while pc < at(T, 1):", "        S = part(T, pc)", "        op = at(S, 0)"]
        return lines


def _grouped(steps: Sequence[Flat]) -> list[list[Any]]:
    """Group the steps: neighbouring expressions over one shape become one loop."""
    groups: list[list[Any]] = []
    for each in steps:
        step = each._replace(groups=tuple(map(fused, each.parts))) if isinstance(each, Nested) else each
        group = groups[-1] if groups else []
        if (
            isinstance(step, Apply) and group and isinstance(group[0], Apply) and len(group) < _MOST
            and joins(step, group, set(), set())
        ):  # fmt: skip
            group.append(step)
        else:
            groups.append([step])
    return groups
