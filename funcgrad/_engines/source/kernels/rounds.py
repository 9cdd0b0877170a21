"""A loop as one kernel: the steps of its body, run for each round.

    def run(t, a0, a1, q0, q1):
        ...                                    # pointers; q0 is carried, and holds the first value at the start
        for r in range(at(S, 3)):
            k = r                              # or from the last row to the first
            p2 = part(b_a1, k * at(S, 4))      # a row of an array, a row of a stacked result
            ...                                # the body; its last steps write to q0

What is carried has the memory of its result. A round reads it, and writes it when nothing in the round reads it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._core.graph.ir import Equation, Graph, Operand, Var, trusted_graph
from funcgrad._engines.source.kernels.equations import given, lowered
from funcgrad._engines.source.kernels.kernel import KernelPlan
from funcgrad._engines.source.kernels.lowering import Lowering
from funcgrad._engines.source.kernels.nodes import Apply, KernelMemory, Scalar, StridedView, Times
from funcgrad._engines.source.kernels.text import KernelWriter


def rounds(equation: Equation, body: Graph) -> tuple[KernelPlan, tuple[Operand, ...]] | None:
    """Return the kernel of a scan and its operands, or ``None`` if an operation of its body has no form.

    The kernel's operands are the loop's constants and rows; then the first values of what it carries.

    Args:
        equation: the scan.
        body: its body, with expansions and without barriers.
    """
    loop = equation.params["loop"]
    fixed, carry, xs = loop.parts(equation.operands)
    inside = loop.parts(body.inputs)
    if loop.length == 0 or body.constants or not _fits(equation, body):
        return None
    operands, variables = (*fixed, *xs, *carry), (*inside[0], *inside[2], *inside[1])
    inputs = tuple([Var(x.aval) if x.aval.shape else Var(var.aval) for x, var in zip(operands, variables, strict=True)])
    lowering = Lowering({})
    memories: list[KernelMemory] = []
    for i, var in enumerate((*inside[0], *inside[2])):
        value: Any = given(var, var.aval.shape, f"a{i}")
        if i >= len(fixed):
            value = KernelMemory(var.aval.dtype, var.aval.shape, f"a{i}", sliced=True).whole()
        lowering.known[var] = value
        memories += [value.memory] if isinstance(value, StridedView) else []
    held = [KernelMemory(var.aval.dtype, var.aval.shape, f"q{k}").whole() for k, var in enumerate(inside[1])]
    lowering.known.update(zip(inside[1], held, strict=True))
    for each in body.equations:
        if not lowered(lowering, each):
            return None
    targets = _ends(lowering, body.outputs, held)
    if targets is None:
        return None
    names = [*[f"a{i}" for i in range(len(fixed) + len(xs))], *[f"q{k}" for k in range(len(targets))]]
    results = {f"q{k}": memory for k, memory in enumerate(targets)}
    times = Times(loop.length, loop.reverse)
    text = KernelWriter(lowering.steps, names, memories, results, False, times).text()
    made = [Var(var.aval) for var in equation.results]
    ordered = tuple([inputs[k] for k in _order(loop, len(inputs))])
    again = Equation(equation.primitive, ordered, equation.params, tuple(made), equation.source)
    count = len(inputs) - loop.carry
    plan = KernelPlan(
        text,
        inputs[:count],
        equation.results,
        (False,) * count,
        (None,) * len(made),
        tuple([var.aval.shape for var in made]),
        None,
        lambda places: None if places else text,
        trusted_graph(inputs, (), [again], made, body.name),
        (*range(count, len(inputs)), *[None] * (len(made) - loop.carry)),
    )
    return plan, operands


def _order(loop: Any, count: int) -> list[int]:
    """Return the numbers of the kernel's operands in the order of the loop's: constants, carry, rows."""
    rows = range(loop.constants, count - loop.carry)
    return [*range(loop.constants), *range(count - loop.carry, count), *rows]


def _fits(equation: Equation, body: Graph) -> bool:
    """Return whether the types are those that kernels take."""
    loop = equation.params["loop"]
    fixed, carry, _ = loop.parts(equation.operands)
    inside = loop.parts(body.inputs)
    pairs = zip((*fixed, *carry), (*inside[0], *inside[1]), strict=True)
    known = all(x.aval.dtype == var.aval.dtype and x.aval.shape == var.aval.shape for x, var in pairs)
    ends = zip(body.outputs, inside[1], strict=False)
    same = all(y.aval.dtype == var.aval.dtype and y.aval.shape == var.aval.shape for y, var in ends)
    types = all(x.aval.dtype.kind in "fiub" and x.aval.dtype.isnative for x in (*body.inputs, *body.outputs))
    return known and same and types


def _ends(w: Lowering, outputs: Sequence[Operand], held: Sequence[StridedView]) -> list[KernelMemory] | None:
    """Add the steps that end a round; return the memory of each result."""
    found = []
    for y in outputs:
        value = w.access(y)
        if value is None:
            return None
        found.append(value)
    count, carried = len(held), {x.memory for x in held}
    targets = [x.memory for x in held]
    for y, value in zip(outputs[count:], found[count:], strict=True):
        # Each stacked result has rows of its own.
        target = w.applied("{}", [value], y.aval.shape, y.aval.dtype).memory
        target.sliced = True
        targets.append(target)
    moved = []
    for x, value in zip(held, found, strict=False):
        if value == x:
            continue
        # If another carried value takes its place, this one is read before all are written.
        waits = isinstance(value, StridedView) and value.memory in carried
        end = w.applied("{}", [value], x.shape, x.dtype) if waits else value
        moved.append(Apply(x, "{}", (end if isinstance(end, Scalar) else end.spread(x.shape),)))
    w.steps += moved
    return targets
