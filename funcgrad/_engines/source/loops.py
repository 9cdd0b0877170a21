"""Write loops and branches as Python's own statements, with the lines of their bodies inside.

    v3, v2 = x0, empty((1000, 4), dtype)         # scan: the first carry, and memory for a stack
    for v4, v2_t0 in zip(x1, v2):                # a row of x1, which is read, and a row of the stack, which is written
        v5 = add(v3, v4)                         # the body
        v6 = sin(v5, v2_t0)
        v3 = v5                                  # the next carry

A round may write into the memory of a carry if only the loop uses this memory. So the first carry is copied, unless the
program owns its memory, and each round must return a carry in memory of its own (`_Carried`). Python's parser limits
how deep statements are nested; a body that is nested deeper is called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var

if TYPE_CHECKING:
    from funcgrad._engines.source.writer import Writer

# Python's parser takes 20 statements in each other, and 100 steps of indentation.
_DEEPEST = 16
_INDENT = "    "


def scan(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Write a scan as a ``for``."""
    loop = equation.params["loop"]
    if loop.length == 0 or w.depth >= _DEEPEST:
        return None
    fixed, carry, xs = loop.parts(equation.operands)
    graph = loop.body.made(w.prepared)
    stacks = equation.results[loop.carry :]
    lines = []
    for var in stacks:
        w.buffers.made(var, own=True)
        w.packed.add(var)
        lines.append(f"{w.new(var)} = {w.numpy(np.empty)}({var.aval.shape}, {w.value('dtype', var.aval.dtype)})")
    rows = _Rows(w, graph, loop, xs, stacks)

    def write(inside: Writer, lines: list[str]) -> list[str]:
        lines += _taken(inside, w, graph.inputs[: loop.constants], fixed)
        return rows.body(inside)

    carried = _Carried(w, equation, i, graph, range(loop.constants, loop.constants + loop.carry), carry)
    body = carried.written(write)
    carried.give(equation.results[: loop.carry], runs=True)
    head = rows.head(loop.length, loop.reverse)
    return [*lines, *carried.before, head, *_indented([*body, *carried.next()]), *rows.ends()]


def while_loop(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Write a loop of unknown length as a ``while``."""
    loop = equation.params["loop"]
    if w.depth >= _DEEPEST:
        return None
    of_condition, fixed, carry = loop.parts(equation.operands)
    graph, condition = loop.body.made(w.prepared), loop.condition.made(w.prepared)

    def write(inside: Writer, lines: list[str]) -> list[str]:
        lines += _taken(inside, w, graph.inputs[: loop.body_constants], fixed)
        asks = w.inside(condition)
        asks.first = inside.first + len(inside.names)
        lines += _taken(asks, w, condition.inputs[: loop.condition_constants], of_condition)
        held = zip(condition.inputs[loop.condition_constants :], graph.inputs[loop.body_constants :], strict=True)
        for var, x in held:
            asks.names[var] = inside.names[x]
            (asks.numbers.add if x in inside.numbers else asks.numbers.discard)(var)
        asked = [*asks.body(), f"if not {asks.name(condition.outputs[0])}: break"]
        inside.passed(asks)
        return [*asked, *inside.body()]

    places = range(loop.body_constants, len(graph.inputs))
    carried = _Carried(w, equation, i, graph, places, carry)
    body = carried.written(write)
    carried.give(equation.results, runs=False)
    return [*carried.before, "while True:", *_indented([*body, *carried.next()])]


def cond(w: Writer, equation: Equation, i: int) -> list[str] | None:
    """Write a choice between two programs as an ``if``."""
    if w.depth >= _DEEPEST:
        return None
    asked, *operands = equation.operands
    branches, ways = equation.params["branches"], []
    for branch in (branches.true, branches.false):
        graph = branch.made(w.prepared)
        inside = w.inside(graph)
        lines = [*_taken(inside, w, graph.inputs, operands), *inside.body()]
        w.passed(inside)
        ways.append((inside, graph, lines))
    own = [all(_is_given(inside, graph.outputs, k) for inside, graph, _ in ways) for k in range(len(equation.results))]
    _register(w, equation, equation.results, own)
    names = [w.new(var) for var in equation.results]
    for inside, graph, lines in ways:
        ends = [as_number(inside, y, y.aval.dtype) for y in graph.outputs]
        lines += [f"{name} = {end}" for name, end in zip(names, ends, strict=True)]
    (_, _, then), (_, _, other) = ways
    return [f"if {w.name(asked)}:", *_indented(then), "else:", *_indented(other)]


class _Rows:
    """The rows that a round of a scan reads and makes.

    The ``for`` iterates over the arrays, which takes half of the time of an index in each round. A ufunc writes its
    result into the row of the stack, which takes half of the time of a copy.

    Args:
        w: the writer of the program around the loop.
        graph: the body of the loop.
        loop: the loop.
        xs: the arrays whose rows are read.
        stacks: the arrays whose rows are made.
    """

    def __init__(self, w: Writer, graph: Graph, loop: Any, xs: Sequence[Operand], stacks: Sequence[Var]) -> None:
        self._w = w
        self._t = f"t{w.depth}"
        self._inputs = list(zip(graph.inputs[loop.constants + loop.carry :], xs, strict=True))
        names = [w.names[stack] for stack in stacks]
        self._outputs = list(zip(graph.outputs[loop.carry :], names, strict=True))
        self._kept = Counter(graph.outputs)
        # For each value: whether all equations that read it are ufuncs whose results have axes.
        self._makes_arrays: dict[Operand, bool] = {}
        for equation in graph.equations:
            is_made = isinstance(equation.primitive.numpy, np.ufunc) and equation.results[0].aval.shape != ()
            for x in equation.operands:
                self._makes_arrays[x] = is_made and self._makes_arrays.get(x, True)
        # The names of rows in the ``for``, and the names of their arrays.
        self._named: dict[str, str] = {}
        # Whether the body reads the number of the round.
        self._counts = False
        # The names of views. They keep their arrays alive.
        self._views: list[str] = []

    def body(self, inside: Writer) -> list[str]:
        """Return the lines of a round."""
        w, t = self._w, self._t
        reads, self._named, self._views = [], {}, []
        for var, x in self._inputs:
            name = inside.new(var)
            if not var.aval.shape and not var.aval.weak and self._meets_arrays(var):
                # A ufunc reads an array without axes in half of the time of a number. A weak number stays a number.
                inside.numbers.discard(var)
                reads.append(f"{name} = {w.name(x)}[{t}, ...]")
                self._views.append(name)
                continue
            self._named[name] = w.name(x)
            if not var.aval.shape:
                inside.numbers.add(var)
                continue
            self._views.append(name)
            if x in w.packed:
                inside.packed.add(var)
        inside.places.update({y: f"{stack}_{t}" for y, stack in self._outputs if self._fits_row(y)})
        lines = inside.body()
        stores = []
        for y, stack in self._outputs:
            if y in inside.placed:
                self._named[inside.places[y]] = stack
                self._views += [inside.places[y], inside.name(y)]
            else:
                stores.append(f"{stack}[{t}] = {inside.name(y)}")
        self._counts = bool(reads or stores)
        return [*reads, *lines, *stores]

    def head(self, length: int, reverse: bool) -> str:
        """Return the line that begins the loop."""
        names, texts = list(self._named), [f"{x}[::-1]" if reverse else x for x in self._named.values()]
        if self._counts or not names:
            names.insert(0, self._t)
            texts.insert(0, f"range({length - 1}, -1, -1)" if reverse else f"range({length})")
        through = texts[0] if len(texts) == 1 else f"zip({', '.join(texts)})"
        return f"for {', '.join(names)} in {through}:"

    def ends(self) -> list[str]:
        """Return the line after the loop that drops the views."""
        return [f"del {', '.join(self._views)}"] if self._views else []

    def _meets_arrays(self, var: Var) -> bool:
        """Return whether a row is read only by ufuncs whose results have axes."""
        return not self._kept[var] and self._makes_arrays.get(var, True)

    def _fits_row(self, y: Operand) -> bool:
        """Return whether a result may be made in its row of a stack.

        A matrix that the round reads keeps the order of its elements in memory, because sums follow this order. If an
        equation of the round shows a view of the result, the view would keep the whole stack alive.
        """
        if type(y) is not Var or not y.aval.shape or self._kept[y] > 1:
            return False
        return y not in self._makes_arrays or (y.aval.ndim == 1 and self._makes_arrays[y])


class _Carried:
    """The carries of a loop: the name of each, and whether a round may write to its memory.

    Args:
        w: the writer of the program around the loop.
        equation: the loop, number ``i`` of that program.
        graph: the body; its first outputs are the next carries.
        places: the numbers of the body's inputs that are carries.
        values: the first carries.
    """

    def __init__(
        self, w: Writer, equation: Equation, i: int, graph: Graph, places: Sequence[int], values: Sequence[Operand]
    ) -> None:
        self._w = w
        self._equation = equation
        self._i = i
        self._vars = [graph.inputs[k] for k in places]
        self._values = values
        self._graph = graph
        self._ends = graph.outputs[: len(self._vars)]
        self._same = [y is x for x, y in zip(self._vars, self._ends, strict=True)]
        # For each carry: whether only the loop uses its memory.
        self.own = w.carried_own.get(id(equation)) or [
            bool(var.aval.shape) and not same for var, same in zip(self._vars, self._same, strict=True)
        ]
        self.inside: Writer
        self.before: list[str] = []

    def written(self, write: Callable[[Writer, list[str]], list[str]]) -> list[str]:
        """Return the lines of the body, as ``write(inside, before)`` gives them.

        Writing the body shows whether a round returns each carry in memory of its own. If it does not, the body is
        written once more. The writers share the answer: without it, the lines of a loop in ``n`` others would be
        written ``2**n`` times.
        """
        while True:
            free = [var for var, own in zip(self._vars, self.own, strict=True) if own]
            inside = self.inside = self._w.inside(self._graph, free)
            for var in self._vars:
                inside.new(var)
                if not var.aval.shape:
                    inside.numbers.add(var)
            before: list[str] = []
            body = write(inside, before)
            own = [own and _is_given(inside, self._ends, k) for k, own in enumerate(self.own)]
            if own == self.own:
                break
            self.own = own
        self._w.carried_own[id(self._equation)] = self.own
        self._w.passed(inside)
        self.before = [*before, *self._first()]
        return body

    def _first(self) -> list[str]:
        """Return the lines that assign the first carries to their names."""
        w, inside, buffers = self._w, self.inside, self._w.buffers
        # A round may return the memory of one carry as another carry. The next round then writes to it.
        moved = {inside.buffers.root(y) for y in self._ends}
        roots = [buffers.root(x) for x in self._equation.operands if type(x) is Var]
        self._taken: list[Any] = [None] * len(self._vars)
        lines = []
        for k, (var, x) in enumerate(zip(self._vars, self._values, strict=True)):
            if not var.aval.shape:
                text = as_number(w, x, var.aval.dtype)
            else:
                text = w.name(x)
                if self.own[k] and (var in inside.buffers.used or var in moved):
                    if buffers.is_free_after(x, self._i) and roots.count(buffers.root(x)) == 1:
                        self._taken[k] = x
                    else:
                        text = f"{text}.copy()"
            lines.append(f"{inside.names[var]} = {text}")
        return lines

    def next(self) -> list[str]:
        """Return the lines that assign the next carries."""
        triples = list(zip(self._vars, self._ends, self._same, strict=True))
        names = [self.inside.names[var] for var, _, same in triples if not same]
        ends = [as_number(self.inside, y, var.aval.dtype) for var, y, same in triples if not same]
        # One line for each carry is enough, unless the next value of one carry is another carry.
        if set(ends).isdisjoint(names):
            return [f"{name} = {end}" for name, end in zip(names, ends, strict=True)]
        return [f"{', '.join(names)} = {', '.join(ends)}"]

    def give(self, results: Sequence[Var], *, runs: bool) -> None:
        """Register the last carries as results.

        Args:
            results: the results of the loop.
            runs: whether the loop has at least one round.
        """
        w = self._w
        own = list(self.own)
        if not runs:
            # Without a round, the last carry is the first one.
            moved = {self.inside.buffers.root(y) for y in self._ends}
            own = [o and (v in self.inside.buffers.used or v in moved) for o, v in zip(own, self._vars, strict=True)]
        changed = [k for k, same in enumerate(self._same) if not same or not results[k].aval.shape]
        # A value in the memory of the first one has no memory of its own. If it had, this memory would be free twice.
        new = [k for k in changed if self._taken[k] is None]
        _register(w, self._equation, [results[k] for k in new], [own[k] for k in new])
        for k, (var, x) in enumerate(zip(self._vars, results, strict=True)):
            w.names[x] = self.inside.names[var]
            if k not in changed:
                w.buffers.shows(x, self._values[k], whole=True)
            elif self._taken[k] is not None:
                w.buffers.takes(x, self._taken[k])


def _register(w: Writer, equation: Equation, results: Sequence[Var], own: Sequence[bool]) -> None:
    """Register the memory of results: memory of their own, or memory that an operand may share."""
    numbers = [var for var in results if not var.aval.shape]
    w.numbers.update(numbers)
    for var in numbers:
        w.buffers.made(var, own=False)
    shared = [var for var, o in zip(results, own, strict=True) if var.aval.shape and not o]
    if shared:
        w.buffers.leaks(shared, equation.operands)
    for var, o in zip(results, own, strict=True):
        if o:
            w.buffers.made(var, own=True)


def _is_given(inside: Writer, outputs: Sequence[Operand], k: int) -> bool:
    """Return whether a body returns an output in memory that the body made, and that no other output shares."""
    y, buffers = outputs[k], inside.buffers
    if not buffers.is_own(y) or not buffers.is_whole(y):
        return False
    return [buffers.root(x) for x in outputs if type(x) is Var].count(buffers.root(y)) == 1


def _taken(inside: Writer, w: Writer, inputs: Sequence[Var], operands: Sequence[Operand]) -> list[str]:
    return [line for var, x in zip(inputs, operands, strict=True) for line in inside.takes(var, w, x)]


def as_number(w: Writer, x: Operand, dtype: np.dtype) -> str:
    """Return the text of a value; if it has no axes, as NumPy's number."""
    text = w.name(x)
    known = issubclass(type(x.value), np.generic) if type(x) is Literal else x in w.numbers and x not in w.inputs
    return text if x.aval.shape or known else f"{w.scalar(dtype)}({text})"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"{_INDENT}{line}" for line in lines] or [f"{_INDENT}pass"]
