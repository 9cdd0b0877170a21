"""Choose the operations of a program that are compiled: a graph with one equation for each kernel.

Small dependent operations become one kernel; the whole program does if all operations have forms. Large operations over
the same rows become one kernel too. It runs on blocks of rows that stay in cache, on all cores, and sums over rows are
added up block by block.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, cast

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Operand, Var, trusted_graph
from funcgrad._core.primitive import Primitive
from funcgrad._engines.source.kernels.equations import VIEWS, given, has_form, lowered
from funcgrad._engines.source.kernels.expand import parts_of, prepared
from funcgrad._engines.source.kernels.kernel import KernelPlan, outputs_of
from funcgrad._engines.source.kernels.lowering import Lowering
from funcgrad._engines.source.kernels.nodes import BlockRows, KernelMemory, Scalar, Shape, StridedView
from funcgrad._engines.source.kernels.rounds import LOOPS, bodies_of
from funcgrad._engines.source.kernels.text import KernelWriter, Text

# An array of more elements is large: kernels run on blocks of it.
SMALL = 1 << 15
# Elements per block. The blocks of a few arrays fit into L2 cache together.
BLOCK = 1 << 12
# Calling a kernel costs more than running fewer operations than this directly.
_WORTH = 3
# A program or a loop's body of at most this many operations is not cut. A kernel's build takes longer for each array
# that it hands to the next kernel than for an operation. The equation of state, 939 operations, builds in 3.6 s instead
# of 11.5 s.
_WHOLE = 4000
# The most operations in one kernel of a longer program: compile time grows faster than the number of operations.
_MOST = 160
# Above this many operations, independent parts become kernels of their own, and steps of equal parameters share one.
_JOINED = 64

# Operations that compute each element from one element, in addition to elementwise primitives.
_BY_ELEMENT = frozenset({Basic.BROADCAST, Basic.CAST, Basic.COPY, Basic.STOP_GRADIENT})
# Operations that read an index, which may be out of bounds.
_INDEXED = frozenset({Basic.EMBEDDING, Basic.INDEX, Basic.SCATTER})

# Makes a kernel, to stand in place of a primitive.
Make = Callable[[KernelPlan], Any]


def looped(graph: Graph, whole: Make, blocks: Make) -> Graph:
    """Return the same program with kernels. Operations move up to the first operation of their kernel.

    Its equations hold their expansions (`expand.prepared`).
    """
    pending, equations = list(graph.equations), []
    most = _WHOLE if len(pending) <= _WHOLE else _MOST
    constants = [*graph.constants]
    forms = {equation: has_form(equation) for equation in pending}
    while pending:
        first = pending[0]
        if first.primitive.forms.basic in LOOPS:
            equations.append(_rounds(pending.pop(0), graph, pending, whole, constants))
            continue
        try:
            found = _small(graph, pending, forms, most) or _large(graph, pending, forms, most)
        except _NoFormError as error:
            # The form alone cannot know the kernel's shapes. Leave the equation out and plan again.
            forms[error.args[0]] = False
            continue
        if found is None:
            equations.append(pending.pop(0))
            continue
        plan, pending = found
        made = cast(Primitive, (whole if plan.length is None else blocks)(plan))
        equations.append(Equation(made, plan.operands, {}, plan.results, first.source))
    return trusted_graph(graph.inputs, constants, equations, graph.outputs, graph.name, graph.trees)


def flat_plan(graph: Graph) -> KernelPlan | None:
    """Return one kernel for a graph of elementwise operations on vectors; ``None`` if not all of it has a form."""
    graph = prepared(graph)
    rows = _Flat(graph.inputs[0].aval.shape)
    if not graph.equations or not all(has_form(each) and rows.takes(each) for each in graph.equations):
        return None
    try:
        return _planned(graph, graph.equations, [], rows.shapes, rows.length)
    except _NoFormError:
        return None


def _rounds(equation: Equation, graph: Graph, pending: list[Equation], whole: Make, constants: list[Any]) -> Equation:
    """Return a loop or a branch as one kernel; the equation itself if an operation of its body has no form.

    The kernel reads the constants of bodies as constants of the program, which are added to ``constants``.
    """
    bodies = bodies_of(equation)
    inside = [e for body in bodies for e in body.equations]
    small = all(x.aval.size <= SMALL for e in inside for x in (*e.operands, *e.results))
    types = all(x.aval.dtype.kind in "fiub" for body in bodies for x in (*body.inputs, *body.outputs))
    if not small or not types or len(inside) > _WHOLE:
        return equation
    try:
        plan = _planned(graph, [equation], pending, {}, None, constants=constants)
    except _NoFormError:
        return equation
    return Equation(cast(Primitive, whole(plan)), plan.operands, {}, plan.results, equation.source)


class _NoFormError(Exception):
    """An equation that has a form by itself has no form in this kernel."""


Found = tuple[KernelPlan, list[Equation]] | None


def _small(graph: Graph, pending: list[Equation], forms: dict[Equation, bool], most: int) -> Found:
    """Gather the small operations that need no result of the others."""
    members: list[Equation] = []
    others: list[Equation] = []
    late: set[Operand] = set()
    for equation in pending:
        avals = [x.aval for x in (*equation.operands, *equation.results)]
        small = forms[equation] and max(aval.size for aval in avals) <= SMALL
        if small and len(members) < most and late.isdisjoint(equation.operands):
            members.append(equation)
        elif not members:
            return None
        else:
            others.append(equation)
            late.update(equation.results)
    if len(members) > _JOINED:
        members, others = _connected(members, pending)
    members, others = _without_views(members, others)
    if sum(equation.primitive.forms.basic not in VIEWS for equation in members) < _WORTH:
        return None
    return _planned(graph, members, others, {}, None), others


def _connected(members: list[Equation], pending: list[Equation]) -> tuple[list[Equation], list[Equation]]:
    """Split off the operations connected with the first. Equal groups then share one text, which is compiled once."""
    found = [members[0]]
    seen = _arrays(members[0])
    rest = members[1:]
    while joined := [e for e in rest if not seen.isdisjoint(_arrays(e))]:
        found += joined
        seen = seen.union(*map(_arrays, joined))
        rest = [e for e in rest if e not in joined]
    # Add the scalar operations that they read.
    makers = {x: e for e in members for x in e.results}
    kept: set[Equation] = set()
    while found:
        equation = found.pop()
        if equation not in kept:
            kept.add(equation)
            found += [makers[x] for x in equation.operands if x in makers]
    return [e for e in members if e in kept], [e for e in pending if e not in kept]


def _arrays(equation: Equation) -> set[Operand]:
    return {x for x in (*equation.operands, *equation.results) if type(x) is Var and x.aval.shape}


def _without_views(members: list[Equation], others: list[Equation]) -> tuple[list[Equation], list[Equation]]:
    """Leave out views that nothing else in the kernel reads: the kernel would copy them."""
    while True:
        read = {x for equation in members for x in equation.operands}
        out = [e for e in members if e.primitive.forms.basic in VIEWS and read.isdisjoint(e.results)]
        if not out:
            return members, others
        members = [e for e in members if e not in out]
        others = [*out, *others]


def _large(graph: Graph, pending: list[Equation], forms: dict[Equation, bool], most: int) -> Found:
    """Gather the operations over the same rows as the first."""
    result = pending[0].results[0].aval
    if not forms[pending[0]] or result.size <= SMALL:
        return None
    rowed = math.prod(result.shape[1:]) <= BLOCK
    rows = _RowsOf(result.shape) if rowed else _Flat(result.shape)
    members: list[Equation] = []
    others: list[Equation] = []
    late: set[Operand] = set()
    for equation in pending:
        if forms[equation] and late.isdisjoint(equation.operands) and len(members) < most and rows.takes(equation):
            members.append(equation)
            late.update(equation.results if rows.is_partial(equation) else ())
        elif not members:
            return None
        else:
            others.append(equation)
            late.update(equation.results)
    members, others = _without_views(*_connected(members, pending))
    flat = _Flat(result.shape)
    if all(map(flat.takes, members)):
        rows = flat
    if sum(equation.flops for equation in members) < 2 * result.size:
        return None
    return _planned(graph, members, others, rows.shapes, rows.length, rows.is_partial), others


class _RowsOf:
    """The shapes of operations over the rows of arrays with one number of rows; the other axes may differ."""

    def __init__(self, shape: Shape) -> None:
        self._count: int = shape[0]
        rows = max(1, BLOCK // max(1, math.prod(shape[1:])))
        self.length = (self._count, rows)
        # Shapes of variables that are cut into blocks, and the variables that are read whole.
        self.shapes: dict[Any, Shape] = {}
        self._whole: set[Operand] = set()

    def is_partial(self, equation: Equation) -> bool:
        """Return whether a block computes only a part of each number."""
        return equation.primitive.forms.basic is Basic.REDUCTION and 0 in equation.params["axes"]

    def takes(self, equation: Equation) -> bool:
        """Return whether an operation works row by row; record its variables as cut or whole."""
        before = self.shapes.copy(), self._whole.copy()
        parts = parts_of(equation)
        if all(self._takes(part) and (part is equation or not self.is_partial(part)) for part in parts):
            return True
        # The equation is refused as a whole, so forget what its first parts recorded.
        self.shapes, self._whole = before
        return False

    def _takes(self, equation: Equation) -> bool:
        (result, *more), shape = equation.results, equation.results[0].aval.shape
        basic = equation.primitive.forms.basic
        if more or math.prod(shape[1:]) > BLOCK:
            return False
        arrays = [x for x in equation.operands if type(x) is Var and x.aval.shape != ()]
        if basic is Basic.FILL:
            cut: list[bool] = [False] * len(arrays)
        elif equation.primitive.elementwise or basic in _BY_ELEMENT:
            cut = [len(x.aval.shape) == len(shape) and x.aval.shape[0] == self._count for x in arrays]
        elif self._is_by_rows(basic, equation.params, arrays):
            cut = [True]
        else:
            return False
        partial = self.is_partial(equation)
        if (not partial and (not shape or shape[0] != self._count)) or not self._agrees(arrays, cut):
            return False
        for x, is_cut in zip(arrays, cut, strict=True):
            if is_cut:
                self.shapes[x] = (BlockRows(self.length[1]), *x.aval.shape[1:])
            else:
                self._whole.add(x)
        if not partial:
            self.shapes[result] = (BlockRows(self.length[1]), *shape[1:])
        return True

    def _is_by_rows(self, basic: Basic | None, params: dict[str, Any], arrays: Sequence[Var]) -> bool:
        if len(arrays) != 1 or arrays[0].aval.shape[0] != self._count or math.prod(arrays[0].aval.shape[1:]) > BLOCK:
            return False
        if basic is Basic.INDEX:
            entries = params["index"].entries
            return len(entries) > 0 and entries[0] == slice(None)
        if basic is Basic.TRANSPOSE:
            return params["permutation"][0] == 0
        return basic in (Basic.REDUCTION, Basic.RESHAPE)

    def _agrees(self, arrays: Sequence[Var], cut: Sequence[bool]) -> bool:
        pairs = zip(arrays, cut, strict=True)
        return all(x not in self._whole if is_cut else x not in self.shapes for x, is_cut in pairs)


class _Flat:
    """The shapes of elementwise operations on arrays of one shape whose rows are too long for a block."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.length: tuple[int, int] = (math.prod(shape), BLOCK)
        self.shapes: dict[Any, Shape] = {}

    def is_partial(self, equation: Equation) -> bool:
        """Return ``False``: operations over axes are not taken."""
        del equation
        return False

    def takes(self, equation: Equation) -> bool:
        """Return whether all operands have this shape, or are scalars."""
        return all(self._takes(part) for part in parts_of(equation))

    def _takes(self, equation: Equation) -> bool:
        basic = equation.primitive.forms.basic
        result, *more = equation.results
        if more or result.aval.shape != self._shape:
            return False
        if not equation.primitive.elementwise and basic not in (Basic.CAST, Basic.FILL, Basic.COPY):
            return False
        if any(x.aval.shape not in ((), self._shape) for x in equation.operands):
            return False
        for x in (*equation.operands, *equation.results):
            if type(x) is Var and x.aval.shape:
                self.shapes[x] = (BlockRows(BLOCK),)
        return True


def _planned(  # noqa: PLR0917  (the last ones are given by some callers)
    graph: Graph,
    members: Sequence[Equation],
    others: Sequence[Equation],
    shapes: dict[Any, Shape],
    length: tuple[int, int] | None,
    is_partial: Callable[[Equation], bool] = lambda equation: False,
    constants: list[Any] | None = None,
) -> KernelPlan:
    """Return the kernel for the members; ``others`` read some of its results.

    With ``constants`` the kernel is a loop; the constants of its body are operands, and are added to the list.
    """
    made = {var for equation in members for var in equation.results}
    read = {x for equation in others for x in equation.operands} | set(graph.outputs)
    indexed = any(equation.primitive.forms.basic in _INDEXED for equation in members)
    operands = tuple(
        dict.fromkeys(
            x
            for equation in members
            # FILL uses only the shape of its operand. But an index out of bounds makes all members run again, on all
            # operands.
            if equation.primitive.forms.basic is not Basic.FILL or indexed
            for x in equation.operands
            if type(x) is Var and x not in made
        )
    )
    lowering = Lowering(shapes, lowered, loop=constants is not None)
    memories: list[KernelMemory] = []
    for i, var in enumerate(operands):
        value = given(var, shapes.get(var, var.aval.shape), f"a{i}", sliced=var in shapes)
        lowering.known[var] = value
        memories += [value.memory] if isinstance(value, StridedView) else []
    for equation in members:
        for x in equation.operands:
            # An operand that only gives its shape is not passed to the kernel.
            if type(x) is Var:
                lowering.known.setdefault(x, Scalar("0", x.aval.dtype))
        if not lowered(lowering, equation):
            raise _NoFormError(equation)
    results = [var for equation in members for var in equation.results if var in read]
    targets = outputs_of(lowering, results, shapes)
    partial = {var: _joined(equation) for equation in members if is_partial(equation) for var in equation.results}
    arguments = [f"a{i}" for i in range(len(operands))]
    for var, value in lowering.constants:
        assert constants is not None
        known = lowering.known[var]
        arguments.append(known.text if isinstance(known, Scalar) else str(known.memory.name))
        memories += [known.memory] if isinstance(known, StridedView) else []
        constants.append((var, value))
    operands = (*operands, *[var for var, _ in lowering.constants])

    @functools.cache
    def text(places: tuple[tuple[int, int], ...]) -> Text | None:
        inside = {k: f"a{i}" for k, i in places}
        names = {inside.get(k, f"q{k}"): memory for k, memory in enumerate(targets)}
        given = [*arguments, *[f"q{k}" for k in range(len(targets)) if k not in inside]]
        writer = KernelWriter(lowering.steps, given, memories, names, length is not None)
        if not all(writer.may_take(targets[k], f"a{i}") for k, i in places):
            return None
        return writer.text()

    plain = text(())
    assert plain is not None
    sliced = tuple([var in shapes for var in operands])
    made_shapes = tuple([memory.shape for memory in targets])
    return KernelPlan(
        plain,
        operands,
        tuple(results),
        sliced,
        tuple([partial.get(var) for var in results]),
        made_shapes,
        length,
        text,
        trusted_graph(operands, [], members, results, f"part of {graph.name}"),
    )


def _joined(equation: Equation) -> Any:
    return equation.primitive.forms.ufunc
