"""Choose the operations of a program that are compiled: a graph with one equation for each kernel.

Small dependent operations become one kernel; the whole program does if all operations have forms. Large operations over
the same rows become one kernel too. It runs on blocks of rows that stay in cache, on all cores, and sums over rows are
added up block by block.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Operand, Var, trusted_graph
from funcgrad._core.primitive import Primitive
from funcgrad._engines.source.kernels.copies import VIEWS, without_copies
from funcgrad._engines.source.kernels.equations import given, has_form, lowered
from funcgrad._engines.source.kernels.expand import prepared
from funcgrad._engines.source.kernels.fuse import needed
from funcgrad._engines.source.kernels.kernel import KernelPlan, outputs_of
from funcgrad._engines.source.kernels.lowering import Lowering
from funcgrad._engines.source.kernels.nodes import KernelMemory, Scalar, Shape, StridedView
from funcgrad._engines.source.kernels.rounds import LOOPS, bodies_of
from funcgrad._engines.source.kernels.rows import BLOCK, SMALL, FlatRows, RowsOf, matrix_of, row_length
from funcgrad._engines.source.kernels.text import KernelWriter, Text

# The same for rounds of loops that write to slices.
_SLICED = 1 << 18
# The time that a call of a kernel with one result takes, and each further result of a number, in operations on numbers
# (75 ns). An operation on a small array takes as long as some of these.
_CALL, _RESULT, _ARRAY = 10, 5, 4
# A program or a loop's body of at most this many operations is not cut. A kernel's build takes longer for each array
# that it passes to the next kernel than for an operation. The equation of state, 939 operations, builds in 3.6 s and
# not in 11.5 s.
_WHOLE = 4000
# The most operations in one kernel of a longer program: compile time grows faster than the number of operations.
_MOST = 160
# Above this many operations, independent parts become kernels of their own, and steps of equal parameters share one.
_JOINED = 64

# Operations that read an index, which may be out of bounds.
_INDEXED = frozenset({Basic.EMBEDDING, Basic.INDEX, Basic.SCATTER})

# Operations on slices of an array, which do not run on blocks of rows.
_SLICES = frozenset({Basic.SCATTER, Basic.WRITE})

# Makes a kernel. An equation has it in place of a primitive.
Make = Callable[[KernelPlan], Any]


def looped(graph: Graph, whole: Make, blocks: Make) -> Graph:
    """Return the same program with kernels. Operations move up to the first operation of their kernel.

    Its equations hold their expansions (`expand.prepared`).
    """
    pending, equations = list(graph.equations), []
    most = _WHOLE if len(pending) <= _WHOLE else _MOST
    constants = [*graph.constants]
    forms = {equation: has_form(equation) for equation in pending}
    small = {e for e in pending if forms[e] and all(x.aval.size <= SMALL for x in (*e.operands, *e.results))}
    while pending:
        first = pending[0]
        if first.primitive.forms.basic in LOOPS:
            equations.append(_rounds(pending.pop(0), graph, whole, constants))
            continue
        group, others = _small(pending, small, most) if first in small else ([first], pending[1:])
        try:
            found = _small_kernel(graph, group, others) or _large(graph, pending, forms, most)
        except _NoFormError as error:
            # The form alone cannot know the kernel's shapes. Leave the equation out and plan again.
            forms[error.args[0]] = False
            small.discard(error.args[0])
            continue
        if found is None:
            equations += group
            pending = others
            continue
        plan, pending = found
        made = cast(Primitive, (whole if plan.length is None else blocks)(plan))
        equations.append(Equation(made, plan.operands, {}, plan.results, first.source))
    return trusted_graph(graph.inputs, constants, equations, graph.outputs, graph.name, graph.trees)


def whole_plan(graph: Graph) -> KernelPlan | None:
    """Return one kernel for a program of small arrays; ``None`` if not all of it has a form."""
    graph = prepared(graph)
    small = all(x.aval.size <= SMALL for each in graph.equations for x in (*each.operands, *each.results))
    return _one_kernel(graph, lambda each: small and each.primitive.forms.basic not in LOOPS, {}, None)


def flat_plan(graph: Graph) -> KernelPlan | None:
    """Return one kernel for a graph of elementwise operations on vectors; ``None`` if not all of it has a form."""
    graph = prepared(graph)
    rows = FlatRows(graph.inputs[0].aval.shape)
    return _one_kernel(graph, rows.takes, rows.shapes, rows.length)


def _one_kernel(graph: Graph, takes: Callable[[Equation], bool], shapes: dict[Any, Shape], length: Any) -> Any:
    if not graph.equations or not all(has_form(each) and takes(each) for each in graph.equations):
        return None
    try:
        return _planned(graph, graph.equations, shapes, length)
    except _NoFormError:
        return None


def _rounds(equation: Equation, graph: Graph, whole: Make, constants: list[Any]) -> Equation:
    """Return a loop or a branch as one kernel; the equation itself if an operation of its body has no form.

    The kernel reads the constants of bodies as constants of the program, which are added to ``constants``.
    """
    bodies = bodies_of(equation)
    inside = [e for body in bodies for e in body.equations]
    # A kernel on blocks of rows reads no slices, so each of its operands would be copied.
    most = _SLICED if any(e.primitive.forms.basic in _SLICES for e in inside) else SMALL
    small = all(x.aval.size <= most for e in inside for x in (*e.operands, *e.results))
    types = all(x.aval.dtype.kind in "fiub" for body in bodies for x in (*body.inputs, *body.outputs))
    if not small or not types or len(inside) > _WHOLE:
        return equation
    try:
        plan = _planned(graph, [equation], {}, None, constants=constants)
    except _NoFormError:
        return equation
    return Equation(cast(Primitive, whole(plan)), plan.operands, {}, plan.results, equation.source)


class _NoFormError(Exception):
    """An equation that has a form by itself has no form in this kernel."""


Found = tuple[KernelPlan, list[Equation]] | None


def _small(pending: list[Equation], small: set[Equation], most: int) -> tuple[list[Equation], list[Equation]]:
    """Gather the small operations that need no result of the others; return them, and the others."""
    members: list[Equation] = []
    others: list[Equation] = []
    late: set[Operand] = set()
    for i, equation in enumerate(pending):
        if len(members) == most:
            others += pending[i:]
            break
        if equation in small and late.isdisjoint(equation.operands):
            members.append(equation)
        else:
            others.append(equation)
            late.update(equation.results)
    return _connected(members, pending) if len(members) > _JOINED else (members, others)


def _small_kernel(graph: Graph, group: list[Equation], others: list[Equation]) -> Found:
    """Return the kernel of small operations, if it saves time."""
    members, others = _without_views(group, others)
    return (_planned(graph, members, {}, None), others) if _saves_time(graph, members) else None


def _saves_time(graph: Graph, members: Sequence[Equation]) -> bool:
    """Return whether a call of a kernel takes less time than its operations, one by one."""
    if len(members) > _JOINED and not any(map(_arrays, members)):
        # The group is a part of a long program of numbers, and would be compiled for this part alone.
        return False
    computed = [e for e in members if e.primitive.forms.basic not in VIEWS]
    saved = sum(_ARRAY if _arrays(e) else 1 for e in computed)
    numbers = sum(not var.aval.shape for var in _results(graph, members))
    return saved >= _CALL + _RESULT * max(numbers - 1, 0)


def _results(graph: Graph, members: Sequence[Equation]) -> list[Var]:
    """Return the results that other operations read, or that are outputs."""
    uses = graph.made(_uses)
    inside = Counter([x for equation in members for x in equation.operands])
    return [var for equation in members for var in equation.results if uses[var] > inside[var]]


def _uses(graph: Graph) -> Counter[Operand]:
    return Counter([*graph.outputs, *[x for equation in graph.equations for x in equation.operands]])


def _connected(members: list[Equation], pending: list[Equation]) -> tuple[list[Equation], list[Equation]]:
    """Split off the operations connected with the first. Equal groups then share one text, which is compiled once.

    If the first is an operation on numbers, split off all of these that need no array.
    """
    if not _arrays(members[0]):
        late: set[Operand] = set()
        for equation in members:
            if _arrays(equation) or not late.isdisjoint(equation.operands):
                late.update(equation.results)
        numbers = {e for e in members if late.isdisjoint(e.results)}
        return [e for e in members if e in numbers], [e for e in pending if e not in numbers]
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
    result, longest = pending[0].results[0].aval, row_length(pending[0])
    if not forms[pending[0]] or result.size * max(longest, 1) <= SMALL or not result.shape:
        return None
    rowed = math.prod(result.shape[1:]) <= BLOCK
    rows = RowsOf(result.shape, math.prod(result.shape[1:])) if rowed else FlatRows(result.shape)
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
    flat = FlatRows(result.shape)
    if all(map(flat.takes, members)):
        rows = flat
    longest = max(map(row_length, members), default=0)
    if longest > math.prod(result.shape[1:]):
        rows = RowsOf(result.shape, longest)
        assert all(map(rows.takes, members))
    # NumPy multiplies as fast. A kernel that reads a matrix once for two products saves more.
    products = [equation for equation in members if row_length(equation)]
    flops = sum(equation.flops for equation in members) - sum(equation.flops for equation in products)
    if flops < 2 * result.size and len({matrix_of(equation) for equation in products}) == len(products):
        return None
    return _planned(graph, members, rows.shapes, rows.length, rows.is_partial), others


def _planned(
    graph: Graph,
    members: Sequence[Equation],
    shapes: dict[Any, Shape],
    length: tuple[int, int] | None,
    is_partial: Callable[[Equation], bool] = lambda equation: False,
    constants: list[Any] | None = None,
) -> KernelPlan:
    """Return the kernel for the members.

    With ``constants`` the kernel is a loop; the constants of its body are operands, and are added to the list.
    """
    made = {var for equation in members for var in equation.results}
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
    results = _results(graph, members)
    targets = outputs_of(lowering, results, shapes)
    steps = lowering.steps if constants is None else without_copies(needed(lowering.steps, targets), set(targets))
    partial = {var: _joined(each) for each in members if is_partial(each) for var in each.results}
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
        writer = KernelWriter(steps, given, memories, names, length is not None)
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
    """Return the function that combines the parts of a result that blocks compute."""
    return np.add if row_length(equation) else equation.primitive.forms.ufunc
