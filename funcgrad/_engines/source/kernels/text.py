"""Write the text of a kernel: fuse steps into loops, assign memory to temporaries, collect sizes in a table.

    def run(t, a0, a1, q0):
        S = t
        p0 = a0; p1 = a1; p2 = q0
        n0 = at(S, 1)
        for i0 in range(n0):
            v0 = load(0, p0, i0)          # model.py:12  loss = np.sum(x * x)
            v1 = v0 * v0
            store(2, p2, i0, v1)

The table ``t`` holds sizes, strides and the addresses of inner loops, so arrays of other lengths use the same code.
With arguments ``lo`` and ``hi`` a kernel runs on blocks of rows; the last, shorter block has a table of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad._engines.source.kernels.calls import CallWriter, kind_of
from funcgrad._engines.source.kernels.fuse import allotted, fused, inside, kept_outside, needed
from funcgrad._engines.source.kernels.nodes import (
    GUARD_SHIFT,
    UNKNOWN_NUMBER,
    Access,
    Add,
    Apply,
    BlockRows,
    Call,
    Check,
    Guard,
    KernelMemory,
    Matrices,
    Nested,
    Picked,
    Product,
    Reduce,
    Scalar,
    Step,
    StridedView,
    merged,
    reads,
    strides_of,
    writes,
)

# A larger workspace is allocated on the heap. The smallest thread stack of a supported system has 512 kB.
STACK_BYTES = 1 << 16


class Text(NamedTuple):
    """A kernel as text.

    Args:
        source: the source of the function ``run``.
        table: returns the table for a given number of rows per block.
        workspace: bytes of workspace that the caller must pass; 0 if the workspace is on the stack.
        checks: whether it returns a number other than 0 if it ends early: an index is out of bounds, or a matrix is
            singular. If a guard ends it, the number is negative.
    """

    source: str
    table: Callable[[int | None], list[int]]
    workspace: int
    checks: bool


class KernelWriter(CallWriter):
    """Writes the steps of a kernel as loops.

    Args:
        steps: in an order in which each step reads only what earlier steps made.
        arguments: the names of the function's arguments, in order.
        memories: those of the arguments that are arrays.
        results: memory of the results, by the name of the argument that holds it.
        blocked: whether the kernel runs on blocks of rows.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        arguments: Sequence[str],
        memories: Sequence[KernelMemory],
        results: dict[str, KernelMemory],
        blocked: bool,
    ) -> None:
        super().__init__()
        self._groups = fused(needed(steps, results.values()))
        self._arguments = arguments
        self._blocked = blocked
        self._outputs = {memory: name for name, memory in results.items()}
        self._memories = memories
        # Byte offsets in the workspace.
        self._offsets: dict[KernelMemory, int] = {}

    def may_take(self, result: KernelMemory, name: str) -> bool:
        """Return whether a result may use an argument's memory: no later read, and no read of other elements."""
        operand = next((memory for memory in self._memories if memory.name == name), None)
        if operand is None or not operand.sliced or operand.dtype != result.dtype or operand.shape != result.shape:
            return False
        first = next(i for i, group in enumerate(self._groups) if any(result in writes(s) for s in group))
        users = [(i, step) for i, group in enumerate(self._groups) for step in group if operand in reads(step)]
        for i, step in users:
            same = isinstance(step, Apply) and all(
                x.offset == 0 and x.strides == strides_of(x.shape) and x.shape == operand.shape
                for x in step.operands
                if isinstance(x, StridedView) and x.memory is operand
            )
            if i > first or (i == first and not same):
                return False
        return True

    def text(self) -> Text:
        """Return the source, its table and its workspace."""
        self._offsets, total = allotted(self._groups, set(self._outputs))
        heap = total > STACK_BYTES
        self._open(heap, total)
        self._write(self._groups, set(self._outputs))
        self._entries[:2] = [0 if heap else total, len(self._entries)]
        head = ["t", *(["lo", "hi"] if self._blocked else []), *(["w"] if heap else []), *self._arguments]
        lines = [f"def run({', '.join(head)}):", *self._lines]
        checks = any(map(may_end, [step for group in self._groups for step in group]))
        lines += ["    return 0"] if checks else []
        return Text("\n".join(lines) + "\n", self._table, total if heap else 0, checks)

    def _table(self, rows: int | None) -> list[int]:
        """Return the table for blocks of this many rows."""

        def length(n: int) -> int:
            return rows if rows is not None and isinstance(n, BlockRows) else int(n)

        return [math.prod(map(length, e)) if isinstance(e, tuple) else int(e) for e in self._entries]

    def _open(self, heap: bool, total: int) -> None:
        """Write the lines that find the arguments and the workspace."""
        self._depth = 1
        names = {memory: str(memory.name) for memory in self._memories} | self._outputs
        self._line("T = t")
        for name in dict.fromkeys(names.values()):
            self._line(f"b_{name} = {name}")
        if total:
            self._line("space_ = w" if heap else "space_ = space(at(T, 0))")
        if self._blocked:
            self._line("for k in range(lo, hi):")
            self._depth = 2
            # The table of the last block follows the table of the others.
            self._line("S = part(T, at(T, 1) if k == at(T, 2) else 0)")
        else:
            self._line("S = T")
        numbers: dict[Any, int] = {}
        rows: list[tuple[int, str, KernelMemory]] = []
        for memory, name in names.items():
            number = self._numbers[memory] = numbers.setdefault(name, len(numbers))
            self._places[memory] = f"p{number}"
            if memory.sliced or (self._blocked and memory in self._outputs):
                rows.append((number, name, memory))
            else:
                self._line(f"p{number} = b_{name}")
        for memory, offset in self._offsets.items():
            number = self._numbers[memory] = numbers.setdefault(offset, len(numbers))
            self._places[memory] = name = f"w{len(self._places)}"
            self._line(f"{name} = typed(space_, {self._entry(offset)}, {kind_of(memory.dtype)})  # memory {number}")
        for number, name, memory in rows:
            # The offset uses the full block size, because only the last block is shorter.
            self._line(f"p{number} = part(b_{name}, k * {self._entry(math.prod(map(int, memory.shape)))})")

    def _write(self, groups: Sequence[Sequence[Step]], kept: set[KernelMemory]) -> None:
        """Write groups of steps; ``kept`` is the memory that is read after them."""
        for group, hidden in zip(groups, inside(groups, kept), strict=True):
            if isinstance(group[0], Apply):
                self._loop([each for each in group if isinstance(each, Apply)], hidden)
            else:
                self._step(group[0], kept)
        if not groups:
            self._line("pass")

    def _step(self, step: Step, kept: set[KernelMemory]) -> None:
        if isinstance(step, Nested):
            self._nested(step, kept_outside(step, kept))
        elif isinstance(step, Call):
            self._call(step)
        elif isinstance(step, Reduce):
            self._reduce(step)
        elif isinstance(step, Product):
            self._product(step)
        elif isinstance(step, Check):
            self._check(step)
        elif isinstance(step, Guard):
            self._guard(step)
        elif isinstance(step, Matrices):
            self._matrices(step)
        elif isinstance(step, Add):
            self._add(step)

    def _nested(self, step: Nested, kept: set[KernelMemory]) -> None:
        """Write a loop or a branch around the steps inside."""
        start = self._depth
        if step.branches:
            self._line(f"if {self._number(step.flag)}:")
            self._depth += 1
            self._write(step.groups[0], kept)
            self._depth = start
            self._line("else:")
        elif step.times is None:
            self._line("while True:")
            self._depth += 1
            self._write(step.groups[0], kept)
            self._line(f"if not {self._number(step.flag)}: break")
            self._depth = start
        else:
            self._line(f"for r{start} in range({self._entry(step.times.length)}):")
        self._depth += 1
        if step.times is not None and step.rows:
            number = self._new()
            last = f"{self._entry(step.times.length - 1)} - r{start}"
            self._line(f"{number} = {last if step.times.reverse else f'r{start}'}")
            for row, base in step.rows:
                name = self._new()
                self._line(f"{name} = {self._at(base, [f'{number} * {self._entry(base.strides[0])}'])}")
                self._numbers[row], self._places[row] = self._numbers[base.memory], name
        self._write(step.groups[-1], kept)
        self._depth = start

    def _number(self, x: Access | None) -> str:
        """Return the text of a number."""
        if isinstance(x, StridedView):
            return f"load({self._numbers[x.memory]}, {self._places[x.memory]}, {self._index((), x.offset)})"
        assert x is not None
        return x.text

    def _guard(self, step: Guard) -> None:
        """Write a line that leaves the kernel if a number is another one than a path needs."""
        name = self._new()
        self._line(f"{name} = int64({self._number(step.x)})")
        found = f"({name} if 0 <= {name} < {UNKNOWN_NUMBER} else {UNKNOWN_NUMBER})"
        self._line(f"if {name} != {step.answer}: return -1 - {step.number << GUARD_SHIFT} - {found}")

    def _loop(self, group: Sequence[Apply], made_here: set[KernelMemory]) -> None:
        """Write one loop over the elements for all steps of a group."""
        shape = group[0].target.shape
        made: set[Any] = set()
        accesses: dict[Any, StridedView] = {}
        for step in group:
            for x in [y for each in step.operands for y in (each.ids if isinstance(each, Picked) else (each,))]:
                # The loop computed this element before, so a variable holds it.
                if isinstance(x, StridedView) and _key(x) not in made:
                    accesses.setdefault(_key(x), x)
            made.add(_key(step.target))
        picked = {id(x): x.x for step in group for x in step.operands if isinstance(x, Picked)}
        stores = [step.target for step in group if step.target.memory not in made_here]
        every = [*accesses.values(), *stores, *picked.values()]
        dims, strides = merged([(n,) for n in shape], [x.strides for x in every])
        indices = self._indices(dims, strides)
        rest = dict(zip(picked, indices[len(accesses) + len(stores) :], strict=True))
        loads = dict(zip(accesses, indices, strict=False))
        targets = dict(zip([_key(x) for x in stores], indices[len(accesses) :], strict=False))
        depths = {key: max([d + 1 for d, s in enumerate(each) if s], default=0) for key, each in
                  zip([*accesses, *map(_key, stores)], strides, strict=False)}  # fmt: skip
        names: dict[Any, str] = {}
        start = self._depth
        for depth in range(len(dims) + 1):
            for key, x in accesses.items():
                if depths[key] == depth:
                    names[key] = self._new()
                    index = self._index(loads[key], x.offset)
                    self._line(f"{names[key]} = load({self._numbers[x.memory]}, {self._places[x.memory]}, {index})")
            if depth < len(dims):
                self._line(f"for i{depth} in range({self._entry(dims[depth])}):")
                self._depth += 1
        for step in group:
            operands = [
                self._pick(x, rest[id(x)], names)
                if isinstance(x, Picked)
                else x.text
                if isinstance(x, Scalar)
                else names[_key(x)]
                for x in step.operands
            ]
            key = _key(step.target)
            names[key] = self._new()
            self._line(f"{names[key]} = {step.text.format(*operands)}")
            if key in targets:
                place = self._places[step.target.memory]
                index = self._index(targets[key], step.target.offset)
                self._line(f"store({self._numbers[step.target.memory]}, {place}, {index}, {names[key]})")
        self._depth = start

    def _pick(self, x: Picked, terms: Sequence[str], names: dict[Any, str]) -> str:
        """Return the text of an element that index arrays name."""
        name = self._new()
        index = self._named(x, terms, [names[_key(each)] for each in x.ids])
        self._line(f"{name} = load({self._numbers[x.x.memory]}, {self._places[x.x.memory]}, {index})")
        return name


def may_end(step: Any) -> bool:
    """Return whether a step can end the kernel before its results are complete."""
    if isinstance(step, Nested):
        return any(may_end(each) for part in step.parts for each in part)
    return isinstance(step, Check | Guard) or (isinstance(step, Matrices) and step.refuses)


def _key(x: StridedView) -> Any:
    return id(x.memory), x.offset, x.shape, x.strides
