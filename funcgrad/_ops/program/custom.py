"""Calls with the user's own derivative: a pair of functions for reverse mode, or one function for forward mode.

A staged call is an equation that holds the function's graph and the user's rule, so a derivative of the graph uses the
rule too. On JAX's tracers the call becomes ``jax.custom_vjp`` or ``jax.custom_jvp``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import Trace, Tracer, top_trace
from funcgrad._core.graph.ir import Graph
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._engines import is_abstract
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.program.batch import batched_graph
from funcgrad._ops.program.custom_batch import Backward, JvpRule, MappedJvp, MappedVjp, VjpRule
from funcgrad._types import Array, Lax, Value
from funcgrad.errors import NotDifferentiableError


def runs_at_once(xs: Sequence[Any]) -> Trace | None:
    """Return the trace that runs the user's rule for a call on numbers, or ``None`` where the call needs a graph."""
    first = trace = top_trace(xs)
    while trace is not None and trace.binds_primals:
        xs = [x._value if isinstance(x, Tracer) and x._owner is trace else x for x in xs]
        trace = top_trace(xs)
    if trace is None:
        return None if any(map(is_abstract, xs)) else first
    return first if trace.concrete else None


def _refuse_captured(rule: VjpRule | JvpRule, moving: Sequence[bool]) -> None:
    """Raise if a value that the function closes over is active.

    It comes after the arguments, and the rule cannot see it.
    """
    if any(moving[rule.arity :]):
        raise NotDifferentiableError(
            f"{rule.name}: a derivative was asked by a traced value that the function closes over; its rule "
            "covers its arguments only. Pass the value as an argument."
        )


class _VjpDerivative:
    """Reverse mode uses the user's pair of functions; forward mode uses a third one, or is refused."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        rule = params["rule"]
        _refuse_captured(rule, [bool(active >> i & 1) for i in range(len(primals))])
        ys, residuals, backward = rule.forward(primals[: rule.arity])
        avals = [aval_of(y) for y in ys]
        captured = [None] * (len(primals) - rule.arity)

        def pull(y_bars: list, *kept: Any) -> list:
            bars = instantiated(y_bars, avals) if rule.instantiate else y_bars
            return [*backward(kept, bars), *captured]

        return ys, pull, tuple(residuals)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        rule = params["rule"]
        if rule.pushes is not None:
            return _pushed(rule.pushes, primals, tangents)
        name = rule.name
        raise NotDifferentiableError(
            f"jvp: {name} is a custom_vjp function, which has a rule for reverse mode only; here forward mode was "
            f"asked of it. Use grad or vjp, or declare a rule for it too: {name}.defjvp(jvp)."
        )


class _JvpDerivative:
    """Forward mode uses the user's function; reverse mode transposes it, because it is linear in the tangents."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        rule = params["rule"]
        moving = [bool(active >> i & 1) for i in range(len(primals))]
        _refuse_captured(rule, moving)
        # Record the rule's tape over zero tangents. Linear operations keep only the primals, so any tangents would do.
        trace = ReverseTrace()
        zeros = [zeros_like(x) for x in primals[: rule.arity]]
        x_dots = [trace.input(x_dot) if moves else x_dot for x_dot, moves in zip(zeros, moving, strict=False)]
        with trace:
            ys, y_dots = rule.push(primals[: rule.arity], x_dots)
        # A loop of primals and tangents returns both as results that depend on the tangents.
        ys = [y._value if _belongs(y, trace) else y for y in ys]
        nodes = [y_dot._node if _belongs(y_dot, trace) else None for y_dot in y_dots]
        if not any(nodes):
            return ys, None, ()
        inputs = [x_dot._node if _belongs(x_dot, trace) else None for x_dot in x_dots]
        captured = [None] * (len(primals) - rule.arity)

        def pull(y_bars: list) -> list:
            seeds = [
                (node, y_bar)
                for node, y_bar in zip(nodes, y_bars, strict=True)
                if node is not None and y_bar is not None
            ]
            bars = backward_pass(seeds)
            return [*[None if node is None else bars.get(node) for node in inputs], *captured]

        return ys, pull, ()

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return _pushed(params["rule"], primals, tangents)


def _pushed(rule: JvpRule, primals: tuple, tangents: list) -> tuple[list, list]:
    """Return results and tangents by the user's function."""
    _refuse_captured(rule, [x_dot is not None for x_dot in tangents])
    pairs = zip(primals[: rule.arity], tangents, strict=False)
    ys, y_dots = rule.push(primals[: rule.arity], [zeros_like(x) if x_dot is None else x_dot for x, x_dot in pairs])
    return ys, list(y_dots)


def _belongs(x: Value, trace: ReverseTrace) -> bool:
    return type(x) is ReverseTracer and x._owner is trace


def instantiated(y_bars: Sequence[Any], avals: Sequence[Aval]) -> list[Any]:
    """Return cotangents, with zeros in place of absent ones."""
    return [
        np.zeros(aval.shape, aval.dtype)[()] if y_bar is None else y_bar
        for y_bar, aval in zip(y_bars, avals, strict=True)
    ]


def _vjp_xla(lax: Lax, *xs: Array, graph: Graph, rule: VjpRule) -> list:
    if not any(lax.is_traced(x) for x in xs):
        return _value(*xs, graph=graph, rule=rule)

    def forward(*xs: Array) -> tuple[list, list, Backward]:
        ys, residuals, backward = rule.forward(xs[: rule.arity])
        captured = [None] * (len(xs) - rule.arity)
        return ys, residuals, lambda kept, y_bars: [*backward(kept, y_bars), *captured]

    return lax.custom_vjp(graph.evaluate, forward)(*xs)


def _jvp_xla(lax: Lax, *xs: Array, graph: Graph, rule: JvpRule) -> list:
    if not any(lax.is_traced(x) for x in xs):
        return _value(*xs, graph=graph, rule=rule)
    return lax.custom_jvp(graph.evaluate, lambda xs, x_dots: rule.push(xs[: rule.arity], x_dots[: rule.arity]))(*xs)


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    """Bind the same primitive with the graph mapped and the rule mapped."""
    graph, _ = batched_graph(params["graph"], size, batched, (True,) * len(params["graph"].outputs))
    kind = MappedVjp if primitive is custom_vjp_p else MappedJvp
    return primitive(*operands, graph=graph, rule=kind(params["rule"], size, batched))


def _value(*xs: Value, graph: Any, rule: Any) -> list[Any]:
    """Return the results of a call; an unrecorded call of a tensor has no graph."""
    return rule.value(xs) if graph is None else graph.evaluate(*xs)


custom_vjp_p = Primitive(
    "custom_vjp",
    operands=("*xs",),
    numpy=_value,
    xla=_vjp_xla,
    aval=lambda *xs, graph, rule: [x.aval for x in graph.outputs],
    derivative=_VjpDerivative(),
    batch=_batch,
    cost=lambda y, *xs, graph, rule: graph.flops,
    multiple_results=True,
)
custom_jvp_p = Primitive(
    "custom_jvp",
    operands=("*xs",),
    numpy=_value,
    xla=_jvp_xla,
    aval=lambda *xs, graph, rule: [x.aval for x in graph.outputs],
    derivative=_JvpDerivative(),
    batch=_batch,
    cost=lambda y, *xs, graph, rule: graph.flops,
    multiple_results=True,
)
