"""Write the steps of a kernel that are calls: inner loops, products, functions of matrices, checks, sums at indices."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._engines.source.kernels.nodes import (
    Add,
    Call,
    Check,
    KernelMemory,
    Matrices,
    Picked,
    Product,
    Reduce,
    Shape,
    StridedView,
    merged,
)

Entry = int | tuple[int, ...]


class CallWriter:
    """The lines and the table of a kernel, and the steps that are calls."""

    def __init__(self) -> None:
        # The first three entries are the stack workspace, the size of one table, and the number of the last block; they
        # are filled in later.
        self._entries: list[Entry] = [0, 0, 0]
        self._lines: list[str] = []
        self._depth = 1
        # Memories with one number may overlap; memories with different numbers do not.
        self._numbers: dict[KernelMemory, int] = {}
        self._places: dict[KernelMemory, str] = {}
        self._counter = 0

    def _line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    def _entry(self, value: Entry) -> str:
        """Add a number to the table and return its name."""
        self._entries.append(value)
        return f"at(S, {len(self._entries) - 1})"

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
        zero = f"{kind_of(target.dtype)}(0)"
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
        self._line(f"store({m}, {p}, {index}, {kind_of(target.dtype)}(load({m}, {p}, {index}) + {loads[-1]}))")
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

    def _matrices(self, step: Matrices) -> None:
        """Write the call of a function of matrices."""
        start, index, views = self._depth, "", (*step.operands, *step.targets)
        if step.stack > 1:
            index = self._new()
            self._line(f"for {index} in range({self._entry(step.stack)}):")
            self._depth += 1
        places = [self._at(x, [f"{index} * {math.prod(x.shape) // step.stack}"] if index else []) for x in views]
        # A product whose lengths the compiler knows is unrolled, and takes half the time.
        numbers = map(str if step.name == "multiply" else self._entry, step.numbers)
        call = f"{step.name}({', '.join([*numbers, *places])})"
        self._line(f"if {call}: return 1" if step.refuses else call)
        self._depth = start


@functools.cache
def kind_of(dtype: np.dtype) -> str:
    """Return the name of a dtype in kernels."""
    return "boolean" if dtype.kind == "b" else dtype.name
