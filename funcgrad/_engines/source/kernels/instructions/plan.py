"""Choose the parts of a long program that run as instructions (`writer.py`).

A kernel's build takes 2 ms for each operation of the program, because each has code of its own. Long programs repeat
few operations: those of Python's loops that do not become structured loops, because each round reads a longer slice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.primitive import Primitive
from funcgrad._engines.source.kernels.copies import VIEWS
from funcgrad._engines.source.kernels.instructions.empty import lowered_round
from funcgrad._engines.source.kernels.instructions.sums import Sums, Uses
from funcgrad._engines.source.kernels.instructions.writer import InstructionWriter
from funcgrad._engines.source.kernels.kernel import KernelPlan, outputs_of
from funcgrad._engines.source.kernels.lowering import Lowering
from funcgrad._engines.source.kernels.nodes import Access, KernelMemory, StridedView, strides_of
from funcgrad._engines.source.kernels.rounds import LOOPS, bodies_of
from funcgrad._engines.source.kernels.rows import SMALL

# A program of fewer operations is compiled as it stands: its code runs faster.
_LEAST = 400
# A loop counts as this many operations more, since a kernel of its own takes half a second to compile. The instructions
# of 24 loops over 2 to 13 numbers are compiled in half a second together.
_LOOP = 16
# Instructions pay if each code has this many of them on average.
_SHARED = 4
# The most lines of the codes of a kernel. 2,000 lines build in two seconds, and 10,000 lines in 40.
_MOST_LINES = 2000
# Constants of at most this many elements are copied into one array.
_HELD = 1 << 12
# Larger results run in blocks, on all cores.
_LARGE = 1 << 20
# The most bytes of results that are made before a stretch, which may run before their readers. The gradient of a
# covariance of 1,400 columns has 14 GB of outer products.
_EARLY = 1 << 27
# The operations that move no element, or only those of a part.
_PARTIAL = frozenset({Basic.INDEX, Basic.RESHAPE, Basic.TRANSPOSE, Basic.WRITE, Basic.COPY, Basic.BROADCAST})

Make = Callable[[KernelPlan], Any]


def with_instructions(graph: Graph, make: Make) -> Graph:
    """Return the same program, whose long stretches are kernels of instructions."""
    if _size_of(graph.equations) < _LEAST:
        return graph
    uses = Uses(graph)
    constants = [*graph.constants]
    known = dict(graph.constants)
    equations: list[Equation] = []
    stretch = _Stretch(uses, known)
    long = _in_long_parts(graph)
    for i, equation in enumerate(graph.equations):
        if equation in long and stretch.takes(equation):
            continue
        made = sum(y.aval.nbytes for y in equation.results) if equation.primitive.forms.basic not in _PARTIAL else 0
        if stretch.made.isdisjoint(equation.operands) and stretch.early + made <= _EARLY:
            # It needs nothing of the stretch, so it runs before.
            stretch.early += made
            equations.append(equation)
            continue
        equations += stretch.ended(i, make, constants)
        stretch = _Stretch(uses, known)
        if equation not in long or not stretch.takes(equation):
            equations.append(equation)
    equations += stretch.ended(len(graph.equations), make, constants)
    return trusted_graph(graph.inputs, constants, equations, graph.outputs, graph.name, graph.trees)


def _in_long_parts(graph: Graph) -> set[Equation]:
    """Return the equations of independent parts that have many equations.

    The steps of 161 parameters are 161 short parts. Each becomes a kernel, and equal ones share one code. Such kernels
    write into donated memory and run on all cores, and instructions do not.
    """
    parts = ConnectedParts()
    # Numbers that depend on inputs and numbers alone, as hyperparameters do, do not connect the parts that read them.
    early: set[Operand] = {*graph.inputs, *[var for var, _ in graph.constants]}
    keys: list[Any] = []
    for equation in graph.equations:
        operands = [x for x in equation.operands if type(x) is Var]
        variables = [*operands, *equation.results]
        if early.issuperset(operands) and not any(x.aval.shape for x in equation.results):
            early.update(equation.results)
            variables = []
        connecting = [x for x in variables if x.aval.shape or x not in early]
        keys.append(connecting[0] if connecting else None)
        parts.connect(connecting)
    members: dict[Any, list[Equation]] = {}
    for equation, key in zip(graph.equations, keys, strict=True):
        members.setdefault(parts.root(key), []).append(equation)
    return {equation for found in members.values() if _size_of(found) >= _LEAST for equation in found}


class ConnectedParts:
    """Connected variables, each with the way to the representative of its part."""

    def __init__(self) -> None:
        self._parents: dict[Any, Any] = {}

    def root(self, x: Any) -> Any:
        """Return the representative of a variable's part."""
        parents = self._parents
        while (parent := parents.get(x, x)) is not x:
            # Each place on the way skips one: `parents[x]` is assigned before `x`.
            parents[x] = x = parents.get(parent, parent)
        return x

    def connect(self, variables: Sequence[Var]) -> None:
        """Make one part of the parts of some variables."""
        for x in variables[1:]:
            self._parents[self.root(x)] = self.root(variables[0])


def _size_of(equations: Sequence[Equation]) -> int:
    """Return the number of equations, with those of bodies, and more for each loop."""
    loops = [each for each in equations if each.primitive.forms.basic in LOOPS]
    return len(equations) + sum(_LOOP + len(body.equations) for each in loops for body in bodies_of(each))


class _Numbers(Lowering):
    """Lowers the equations of a stretch. Literals and small constants are in memory: they are no part of the code."""

    is_long = True

    def __init__(self) -> None:
        super().__init__({}, lowered_round)
        # For each dtype a memory, its content so far, and where each value begins.
        self._held: dict[np.dtype, tuple[KernelMemory, list[np.ndarray], dict[bytes, int]]] = {}
        self._sizes: dict[np.dtype, int] = {}

    def access(self, x: Operand, dtype: np.dtype | None = None) -> Access | None:
        """Return an operand; a literal is converted to ``dtype``."""
        found = super().access(x, dtype)
        if type(x) is not Literal or found is None or found.dtype.kind not in "fi":
            return found
        return self.constant(np.asarray(x.value, found.dtype))

    def constant(self, value: np.ndarray) -> StridedView:
        """Return a known array as a part of the array that holds all of them."""
        dtype, content = value.dtype, value.tobytes()
        if dtype not in self._held:
            self._held[dtype] = KernelMemory(dtype, (1,), f"c_{dtype.name}"), [], {}
        memory, values, places = self._held[dtype]
        if content not in places:
            places[content] = self._sizes.get(dtype, 0)
            self._sizes[dtype] = places[content] + value.size
            values.append(np.ascontiguousarray(value).reshape(-1))
        return StridedView(memory, places[content], value.shape, strides_of(value.shape))

    def add_constants(self, body: Graph) -> None:
        """Make the constants of a body known."""
        for var, value in body.constants:
            if var not in self.known:
                self.known[var] = self.constant(np.asarray(value, var.aval.dtype))

    def arrays(self) -> list[tuple[Var, np.ndarray, KernelMemory]]:
        """Return the arrays that hold literals and constants, with their memories."""
        found = []
        for memory, values, _ in self._held.values():
            value = np.concatenate(values)
            value.flags.writeable = False
            found.append((Var(Aval(value.shape, value.dtype)), value, memory))
        return found


class _Stretch:
    """Equations in a row that have forms.

    Args:
        uses: the readers of each variable of the program.
        known: the constants of the program.
    """

    def __init__(self, uses: Uses, known: dict[Any, np.ndarray]) -> None:
        self.made: set[Operand] = set()
        # The bytes of results of other equations that run before it.
        self.early = 0
        self._members: list[Equation] = []
        self._uses = uses
        self._known = known
        self._constants: list[tuple[Var, Any]] = []
        # The memory of each operand.
        self._operands: dict[Var, KernelMemory] = {}
        self._lowering = _Numbers()
        self._sums = Sums(self._lowering, uses, known, self._lowering.constant)

    def takes(self, equation: Equation) -> bool:
        """Return whether the equation has a form. Then it is a member."""
        if any(var.aval.size > _LARGE for var in equation.results) and equation.primitive.forms.basic not in _PARTIAL:
            return False
        lowering = self._lowering
        for x in equation.operands:
            if type(x) is Var and x not in lowering.known and x not in self.made:
                self._reads(x)
        lowering.loop = equation.primitive.forms.basic in LOOPS
        if not self._sums.lower(equation):
            return False
        self._members.append(equation)
        self.made.update(equation.results)
        return True

    def _reads(self, x: Var) -> None:
        """Make the value of a variable from outside known."""
        value = self._known.get(x)
        if type(value) is np.ndarray and value.size <= _HELD and value.dtype.kind in "fiu":
            self._constants.append((x, value))
            self._lowering.known[x] = self._lowering.constant(value)
        else:
            memory = self._operands[x] = KernelMemory(x.aval.dtype, x.aval.shape, f"a{len(self._operands)}")
            self._lowering.known[x] = memory.whole()

    def ended(self, end: int, make: Make, constants: list[tuple[Var, Any]]) -> Sequence[Equation]:
        """Return one equation for all members, or the members; ``end`` is the number of the next equation."""
        members = self._members
        if _size_of(members) < _LEAST:
            return members
        results = [var for equation in members for var in equation.results if self._uses.last.get(var, -1) >= end]
        views = self._views_of_operands(results)
        shown = {var for equation in views for var in equation.results}
        found = self._plan([var for var in results if var not in shown], constants)
        if found is None:
            return members
        made = cast(Primitive, make(found))
        return [Equation(made, found.operands, {}, found.results, members[0].source), *views]

    def _views_of_operands(self, results: Sequence[Var]) -> list[Equation]:
        """Return the members that make large results and only show parts of operands: the kernel would copy them."""
        shows: dict[Operand, Equation] = {}
        for equation in self._members:
            x = equation.operands[0] if len(equation.operands) == 1 else None
            if equation.primitive.forms.basic in VIEWS and (x in shows or (type(x) is Var and x not in self.made)):
                shows[equation.results[0]] = equation
        needed = {var for var in results if var in shows and var.aval.size > SMALL}
        found: list[Equation] = []
        for equation in reversed(shows.values()):
            if equation.results[0] in needed:
                found.append(equation)
                needed.update([x for x in equation.operands if type(x) is Var])
        return found[::-1]

    def _plan(self, results: list[Var], constants: list[tuple[Var, Any]]) -> KernelPlan | None:
        lowering = self._lowering
        lowering.steps = self._sums.steps()
        targets = outputs_of(lowering, results, {})
        literals = lowering.arrays()
        given = [*self._operands.values(), *[memory for _, _, memory in literals]]
        arrays = [memory for memory in given if memory.shape]
        numbers = {str(memory.name): memory for memory in given if not memory.shape}
        names = {f"q{k}": memory for k, memory in enumerate(targets)}
        arguments = [*[str(memory.name) for memory in given], *names]
        writer = InstructionWriter(lowering.steps, arguments, arrays, numbers, names)
        lines = sum(code.count("\n") + 1 for code in writer.codes)
        if len(writer.codes) * _SHARED > len(writer.instructions) or lines > _MOST_LINES:
            return None
        constants += [(var, value) for var, value, _ in literals]
        operands = (*self._operands, *[var for var, _, _ in literals])
        text = writer.text()
        return KernelPlan(
            text,
            operands,
            tuple(results),
            (False,) * len(operands),
            (None,) * len(results),
            tuple([memory.shape for memory in targets]),
            None,
            lambda places: None if places else text,
            trusted_graph(operands, self._constants, self._members, results, "part"),
        )
