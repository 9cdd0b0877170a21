"""Write the text of a kernel: fuse steps into loops, assign memory to temporaries, collect sizes in a table.

    def run(t, a0, a1, q0):
        S = pointer(t)
        p0 = pointer(a0); p1 = pointer(a1); p2 = pointer(q0)
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

import numpy as np

from funcgrad._engines.source.kernels.fuse import allotted, fused, inside, needed
from funcgrad._engines.source.kernels.nodes import (
    Add,
    Apply,
    BlockRows,
    Call,
    Check,
    KernelMemory,
    Picked,
    Product,
    Reduce,
    Scalar,
    Shape,
    Step,
    StridedView,
    Times,
    merged,
    reads,
    strides_of,
)

# A larger workspace is allocated on the heap. The smallest thread stack of a supported system has 512 kB.
STACK_BYTES = 1 << 16

Entry = int | tuple[int, ...]


class Text(NamedTuple):
    """A kernel as text.

    Args:
        source: the source of the function ``run``.
        table: returns the table for a given number of rows per block.
        workspace: bytes of workspace that the caller must pass; 0 if the workspace is on the stack.
        checks: whether it returns a number other than 0 if an index is out of bounds.
    """

    source: str
    table: Callable[[int | None], list[int]]
    workspace: int
    checks: bool


class KernelWriter:
    """Writes the steps of a kernel as loops.

    Args:
        steps: in an order in which each step reads only what earlier steps made.
        arguments: the names of the function's arguments, in order.
        memories: those of the arguments that are arrays.
        results: memory of the results, by the name of the argument that holds it.
        blocked: whether the kernel runs on blocks of rows.
        times: how often it runs the steps, where they are the body of a loop.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        arguments: Sequence[str],
        memories: Sequence[KernelMemory],
        results: dict[str, KernelMemory],
        blocked: bool,
        times: Times | None = None,
    ) -> None:
        self._groups = fused(needed(steps, results.values()))
        self._arguments = arguments
        self._blocked = blocked
        self._times = times
        self._outputs = {memory: name for name, memory in results.items()}
        # Memories with one number may overlap; memories with different numbers do not.
        self._numbers: dict[KernelMemory, int] = {}
        self._places: dict[KernelMemory, str] = {}
        # The first three entries are the stack workspace, the size of one table, and the number of the last block; they
        # are filled in later.
        self._entries: list[Entry] = [0, 0, 0]
        self._lines: list[str] = []
        self._depth = 1
        self._memories = memories
        # Byte offsets in the workspace.
        self._offsets: dict[KernelMemory, int] = {}
        self._counter = 0

    def may_take(self, result: KernelMemory, name: str) -> bool:
        """Return whether a result may use an argument's memory: no later read, and no read of other elements."""
        operand = next((memory for memory in self._memories if memory.name == name), None)
        if operand is None or not operand.sliced or operand.dtype != result.dtype or operand.shape != result.shape:
            return False
        first = next(i for i, group in enumerate(self._groups) if any(s.target.memory is result for s in group))
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
        for i in range(len(self._groups)):
            self._group(i)
        self._entries[:2] = [0 if heap else total, len(self._entries)]
        head = ["t", *(["lo", "hi"] if self._blocked else []), *(["w"] if heap else []), *self._arguments]
        lines = [f"def run({', '.join(head)}):", *self._lines]
        checks = any(isinstance(step, Check) for group in self._groups for step in group)
        lines += ["    return 0"] if checks else []
        return Text("\n".join(lines) + "\n", self._table, total if heap else 0, checks)

    def _table(self, rows: int | None) -> list[int]:
        """Return the table for blocks of this many rows."""

        def length(n: int) -> int:
            return rows if rows is not None and isinstance(n, BlockRows) else int(n)

        return [math.prod(map(length, e)) if isinstance(e, tuple) else int(e) for e in self._entries]

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _entry(self, value: Entry) -> str:
        """Add a number to the table and return its name."""
        self._entries.append(value)
        return f"at(S, {len(self._entries) - 1})"

    def _open(self, heap: bool, total: int) -> None:
        """Write the lines that find the arguments and the workspace."""
        self._depth = 1
        names = {memory: str(memory.name) for memory in self._memories} | self._outputs
        self._line("T = pointer(t)")
        for name in dict.fromkeys(names.values()):
            self._line(f"b_{name} = pointer({name})")
        if total:
            self._line("space_ = pointer(w)" if heap else "space_ = space(at(T, 0))")
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
            self._line(f"{name} = typed(space_, {self._entry(offset)}, {_kind(memory.dtype)})  # memory {number}")
        if self._times is not None:
            length, reverse = self._times
            self._line(f"for r in range({self._entry(length)}):")
            self._depth = 2
            self._line(f"k = {self._entry(length - 1)} - r" if reverse else "k = r")
        for number, name, memory in rows:
            # The offset uses the full block size, because only the last block is shorter.
            self._line(f"p{number} = part(b_{name}, k * {self._entry(math.prod(map(int, memory.shape)))})")

    def _group(self, i: int) -> None:
        group = self._groups[i]
        step = group[0]
        if isinstance(step, Apply):
            self._loop([each for each in group if isinstance(each, Apply)], inside(self._groups, i, set(self._outputs)))
        elif isinstance(step, Call):
            self._call(step)
        elif isinstance(step, Reduce):
            self._reduce(step)
        elif isinstance(step, Product):
            self._product(step)
        elif isinstance(step, Check):
            self._check(step)
        else:
            self._add(step)

    def _loop(self, group: Sequence[Apply], made_here: set[KernelMemory]) -> None:
        """Write one loop over the elements for all steps of a group."""
        shape = group[0].target.shape
        made: set[Any] = set()
        accesses: dict[Any, StridedView] = {}
        for step in group:
            for x in [y for each in step.operands for y in (each.ids if isinstance(each, Picked) else (each,))]:
                # An element that the loop made before is at hand.
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

    def _named(self, x: Picked, terms: Sequence[str], ids: Sequence[str]) -> str:
        """Return the index of an element that index arrays name; negative numbers count from the end."""
        terms = list(terms)
        for name, (step, count) in zip(ids, x.steps, strict=True):
            n = self._entry(count)
            number = f"int64({name})"
            terms.append(f"choose({number} < 0, {number} + {n}, {number}) * {self._entry(step)}")
        return self._index(terms, x.x.offset)

    def _check(self, step: Check) -> None:
        """Write a loop that leaves the kernel at the first number out of bounds."""
        x = step.ids
        dims, (strides,) = merged([(n,) for n in x.shape], [x.strides])
        start = self._depth
        (terms,) = self._indices(dims, [strides])
        n = self._new()
        self._line(f"{n} = {self._entry(step.length)}")
        for d, length in enumerate(dims):
            self._line(f"for i{d} in range({self._entry(length)}):")
            self._depth += 1
        index = self._index(terms, x.offset)
        name = self._new()
        self._line(f"{name} = int64(load({self._numbers[x.memory]}, {self._places[x.memory]}, {index}))")
        self._line(f"if {name} < -{n} or {name} >= {n}: return 1")
        self._depth = start

    def _add(self, step: Add) -> None:
        """Write a loop that adds one element after the other."""
        place, target, v = step.place, step.target.memory, step.v
        m, p = self._numbers[target], self._places[target]
        zero = f"{_kind(target.dtype)}(0)"
        self._line(f"for i in range({self._entry(target.shape)}): store({m}, {p}, i, {zero})")
        views = [place.x, *place.ids, v]
        dims, strides = merged([(n,) for n in place.x.shape], [x.strides for x in views])
        start = self._depth
        terms = self._indices(dims, strides)
        for d, length in enumerate(dims):
            self._line(f"for i{d} in range({self._entry(length)}):")
            self._depth += 1
        loads = [
            f"load({self._numbers[x.memory]}, {self._places[x.memory]}, {self._index(each, x.offset)})"
            for x, each in zip(views[1:], terms[1:], strict=True)
        ]
        index = self._new()
        self._line(f"{index} = {self._named(place, terms[0], loads[: len(place.ids)])}")
        self._line(f"store({m}, {p}, {index}, {_kind(target.dtype)}(load({m}, {p}, {index}) + {loads[-1]}))")
        self._depth = start

    def _indices(self, dims: Sequence[Shape], strides: Sequence[Sequence[int]]) -> list[list[str]]:
        """Return the terms of the index of each access."""
        named: dict[int, str] = {}
        found = []
        for each in strides:
            terms = []
            for d, stride in enumerate(each):
                if stride == 1 and d == len(dims) - 1:
                    terms.append(f"i{d}")
                elif stride:
                    if stride not in named:
                        named[stride] = f"s{self._counter}"
                        self._counter += 1
                        self._line(f"{named[stride]} = {self._entry(stride)}")
                    terms.append(f"i{d} * {named[stride]}")
            found.append(terms)
        return found

    def _index(self, terms: Sequence[str], offset: int) -> str:
        return " + ".join([*([self._entry(offset)] if offset else []), *terms]) or "0"

    def _new(self) -> str:
        self._counter += 1
        return f"v{self._counter}"

    def _at(self, x: StridedView, terms: Sequence[str] = ()) -> str:
        """Return the address of a view's first element, or of a later one."""
        index = self._index(terms, x.offset)
        place = self._places[x.memory]
        return place if index == "0" else f"part({place}, {index})"

    def _addresses(self, loop: Any) -> str:
        return f"{self._entry(loop.function)}, {self._entry(loop.data)}"

    def _call(self, step: Call) -> None:
        arguments = [self._addresses(step.loop), self._entry(step.target.shape)]
        for x in (*step.operands, step.target):
            arguments += [self._at(x), str(x.dtype.itemsize if any(x.strides) else 0)]
        self._line(f"inner({', '.join(arguments)})  # {step.name}")

    def _reduce(self, step: Reduce) -> None:
        """Write a reduction in NumPy's order: its own loop along the last axis, row after row along the others."""
        x, target, size = step.x, step.target, step.x.dtype.itemsize
        kept = [0 if k in step.axes else s for k, s in enumerate(target.strides)]
        dims, (steps, places) = merged([(n,) for n in x.shape], [x.strides, kept])
        out = self._places[target.memory]
        number = self._numbers[target.memory]
        self._line(f"for i in range({self._entry(target.shape)}):")
        self._line(f"    store({number}, {out}, i, {step.first.text})")
        start = self._depth
        indices = self._indices(dims, [steps, places])
        for d in range(len(dims) - 1):
            self._line(f"for i{d} in range({self._entry(dims[d])}):")
            self._depth += 1
        arguments = [self._addresses(step.loop), self._entry(dims[-1]) if dims else "1"]
        given = self._at(x, indices[0][: self._outer(steps)])
        made = self._at(target, indices[1][: self._outer(places)])
        steps_of = str(size if places and places[-1] else 0)
        arguments += [made, steps_of, given, str(size), made, steps_of]
        self._line(f"inner({', '.join(arguments)})  # {step.name}")
        self._depth = start

    def _outer(self, strides: Sequence[int]) -> int:
        """Return the number of terms that an index has before the last axis."""
        return sum(1 for s in strides[:-1] if s)

    def _product(self, step: Product) -> None:
        a, b, target = step.a, step.b, step.target
        m, k, n = a.shape[0], a.shape[1], b.shape[1]
        size = target.dtype.itemsize
        lengths = [self._entry((each,)) for each in (m, k, n)]
        arguments = [self._addresses(step.loop), *lengths]
        for x, strides in ((a, a.strides), (b, b.strides), (target, (n, 1))):
            arguments += [self._at(x), *[self._entry((s, size)) for s in strides]]
        self._line(f"product({', '.join(arguments)})  # matmul")


def _key(x: StridedView) -> Any:
    return id(x.memory), x.offset, x.shape, x.strides


def _kind(dtype: np.dtype) -> str:
    return "boolean" if dtype.kind == "b" else dtype.name
