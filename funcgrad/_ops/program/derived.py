"""Graphs with tangents or cotangents, derived from a graph, whole or in two parts, for primitives that hold graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeVar

import numpy as np

from funcgrad._core.aval import Aval, is_inexact
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.simplify import lift_tracers, partition, simplify
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._core.trace.forward import ForwardTrace, ForwardTracer
from funcgrad._core.trace.jet import JetTrace, JetTracer
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._ops.index.gather import index
from funcgrad._ops.index.join import stack
from funcgrad._ops.layout.broadcast import broadcast_to_p
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._types import Array

Mask = tuple[bool, ...]
T = TypeVar("T")


def staged_graph(f: Callable[..., Sequence[Any]], avals: Sequence[Aval], name: str) -> Graph:
    """Return the simplified graph of a function of flat values."""
    staging = StagingTrace()
    inputs = [staging.input(aval) for aval in avals]
    with staging:
        return simplify(staging.graph(f(*inputs), name))


def moving_outputs(graph: Graph, active: Mask) -> Mask:
    """Return which outputs may depend on the active inputs, from the equations alone; no rule runs."""
    return graph.made(_moving_outputs, active)


def _moving_outputs(graph: Graph, active: Mask) -> Mask:
    pairs = zip(graph.inputs, active, strict=True)
    moving = {var for var, is_active in pairs if is_active and is_inexact(var.aval.dtype)}
    for equation in graph.equations:
        if equation.primitive.derivative is not CONSTANT and any(x in moving for x in equation.operands):
            moving.update(var for var in equation.results if is_inexact(var.aval.dtype))
    return tuple([x in moving for x in graph.outputs])


def moving_carry(body: Graph, constants: Mask, carry: Mask, xs: Mask = ()) -> tuple[Mask, Mask]:
    """Return the carry of a loop that becomes active (it then stays so), and the active outputs of the body."""
    while True:
        outputs = moving_outputs(body, (*constants, *carry, *xs))
        grown = tuple([a or b for a, b in zip(carry, outputs, strict=False)])
        if grown == carry:
            return carry, outputs
        carry = grown


def pushed_graph(graph: Graph, active: Sequence[bool], wanted: Sequence[bool], order: int = 0) -> Graph:
    """Return the graph of inputs and tangents of active ones to outputs and tangents of wanted ones.

    With an order, a tangent has the coefficients of a series along its last axis.
    """
    staging = StagingTrace()
    with staging:
        values = [staging.input(var.aval) for var in graph.inputs]
        if order:
            primals, tangents = _pushed_series(graph, values, active, wanted, staging, order)
            return simplify(staging.graph([*primals, *tangents], f"jet_{graph.name}"))
        primals, tangents = _pushed(graph, values, active, wanted, staging)
        return simplify(staging.graph([*primals, *tangents], f"jvp_{graph.name}"))


def series_aval(aval: Aval, order: int) -> Aval:
    """Return the type of a tangent: that of the value, or that of a stack of coefficients."""
    return Aval((*aval.shape, order), aval.dtype) if order else aval


def _pushed_series(
    graph: Graph,
    values: Sequence[Any],
    active: Sequence[bool],
    wanted: Sequence[bool],
    staging: StagingTrace,
    order: int,
) -> tuple[list[Any], list[Any]]:
    """Return outputs and the wanted stacks of coefficients; the stacks of the inputs are inputs of ``staging``."""
    trace = JetTrace(order, zeros_like)
    with trace:
        xs = []
        for x, is_active in zip(values, active, strict=True):
            if is_active:
                terms = staging.input(series_aval(x.aval, order))
                xs.append(trace.input(x, [index(terms, (Ellipsis, k)) for k in range(order)]))
            else:
                xs.append(x)
        ys = graph.evaluate(*xs)
    primals, stacks = [], []
    for y, is_wanted in zip(ys, wanted, strict=True):
        moves = type(y) is JetTracer and y._owner is trace
        value = y._value if moves else y
        primals.append(value)
        if is_wanted:
            found = [y._series[k] if moves else None for k in range(1, order + 1)]
            terms = [zeros_like(value) if term is None else term for term in found]
            stacks.append(stack(terms, len(getattr(value, "shape", ()))))
    return primals, stacks


def _pushed(
    graph: Graph, values: Sequence[Any], active: Sequence[bool], wanted: Sequence[bool], staging: StagingTrace
) -> tuple[list[Any], list[Any]]:
    """Return outputs and wanted tangents for these inputs; the tangents are staged as inputs of ``staging``."""
    forward = ForwardTrace()
    with forward:
        pairs = zip(values, active, strict=True)
        ys = graph.evaluate(*[forward.input(x, staging.input(x.aval)) if is_active else x for x, is_active in pairs])
    primals, tangents = [], []
    for y, is_wanted in zip(ys, wanted, strict=True):
        moves = type(y) is ForwardTracer and y._owner is forward
        primals.append(y._value if moves else y)
        if is_wanted:
            tangents.append(y._tangent if moves else zeros_like(y))
    return primals, tangents


def linearized_graphs(graph: Graph, active: Sequence[bool], wanted: Sequence[bool]) -> tuple[Graph, Graph]:
    """Return two graphs: inputs to outputs and residuals; residuals and tangents to the wanted tangents.

    The tangents are staged on an inner level, so that nested primitives keep the two parts separate as well.
    """
    outer = StagingTrace()
    with outer:
        values = [outer.input(var.aval) for var in graph.inputs]
        inner = StagingTrace(effects=False)
        with inner:
            primals, tangents = _pushed(graph, values, active, wanted, inner)
            second = simplify(inner.graph(tangents, f"jvp_{graph.name}"))
        second, residuals = lift_tracers(second)
        first = simplify(outer.graph([*primals, *residuals], graph.name))
    own = len(second.inputs) - len(residuals)
    order = [*range(own, len(second.inputs)), *range(own)]
    return first, permuted(second, order, range(len(second.outputs)))


def pulled_graph(graph: Graph, active: Sequence[bool], seeded: Sequence[bool]) -> Graph:
    """Return the graph of inputs and cotangents of seeded outputs to outputs and cotangents of active inputs."""
    staging = StagingTrace()
    with staging:
        values = [staging.input(var.aval) for var in graph.inputs]
        reverse = ReverseTrace()
        with reverse:
            pairs = zip(values, active, strict=True)
            xs = [reverse.input(x) if is_active else x for x, is_active in pairs]
            ys = graph.evaluate(*xs)
        primals, seeds = [], []
        for y, var, is_seeded in zip(ys, graph.outputs, seeded, strict=True):
            moves = type(y) is ReverseTracer and y._owner is reverse
            primals.append(y._value if moves else y)
            if is_seeded:
                seed = staging.input(Aval(var.aval.shape, var.aval.dtype))
                if moves:
                    seeds.append((y._node, seed))
        bars = backward_pass(seeds)
        x_bars = [bars.get(x._node) for x in xs if type(x) is ReverseTracer]
        whole = [
            zeros_like(x) if x_bar is None else x_bar
            for x, x_bar in zip(
                [x for x, is_active in zip(values, active, strict=True) if is_active], x_bars, strict=True
            )
        ]
        return simplify(staging.graph([*primals, *whole], f"vjp_{graph.name}"))


def pulled_graphs(graph: Graph, active: Sequence[bool], seeded: Sequence[bool]) -> tuple[Graph, Graph]:
    """Return two graphs: inputs to outputs and residuals; residuals and cotangents to the cotangents."""
    return partition(pulled_graph(graph, active, seeded), len(graph.inputs), len(graph.outputs))


def permuted(graph: Graph, inputs: Sequence[int], outputs: Sequence[int]) -> Graph:
    """Return the graph with its inputs and outputs in another order."""
    return trusted_graph(
        [graph.inputs[i] for i in inputs],
        graph.constants,
        graph.equations,
        [graph.outputs[i] for i in outputs],
        graph.name,
    )


def invariants(graph: Graph, fixed: int) -> set[Operand]:
    """Return the variables that the first ``fixed`` inputs determine."""
    found: set[Any] = {*graph.inputs[:fixed], *[var for var, _ in graph.constants]}
    for equation in graph.equations:
        if all(type(x) is Literal or x in found for x in equation.operands):
            found.update(equation.results)
    return found


def zeros_equation(aval: Aval) -> Equation:
    """Return an equation that makes zeros. A constant array would be stored with the program."""
    zero = Literal(np.zeros((), aval.dtype)[()])
    return Equation(broadcast_to_p, (zero,), {"shape": aval.shape}, (Var(Aval(aval.shape, aval.dtype)),), None)


def zeros_of(aval: Aval) -> Array:
    """Return zeros of a type as NumPy values."""
    return np.zeros(aval.shape, aval.dtype)[()]


def chosen(values: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """Return the values whose flag is set."""
    return [x for x, flag in zip(values, mask, strict=True) if flag]


def split(values: Sequence[T], *counts: int) -> list[Sequence[T]]:
    """Return consecutive parts of these lengths, and the rest."""
    ends = [*accumulate(counts, initial=0), len(values)]
    return [values[a:b] for a, b in pairwise(ends)]


def spread_out(values: Sequence[Any], mask: Sequence[bool]) -> list[Any]:
    """Undo `chosen`: put the values where the flags are set, and ``None`` elsewhere."""
    rest = iter(values)
    return [next(rest) if flag else None for flag in mask]
