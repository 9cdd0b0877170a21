"""A staged function is differentiated as a program, so that single rounds of its loops are not differentiated.

The function runs once, on values of a trace of its own. If its program is long, it is rolled. The program is then
applied to the tracers of the derivative, where a loop has a rule of its own. Tracers that the function reads from
outside are further inputs, so it does not matter which transforms run around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Trace, Tracer, active_trace
from funcgrad._core.graph.ir import Equation, Graph, Var, trusted_graph
from funcgrad._core.graph.simplify import lift_tracers
from funcgrad._core.trace.place import had_writes, settled
from funcgrad._core.trace.staging import StagedTracer, StagingTrace
from funcgrad._ops.rolling.roll import rolled
from funcgrad._ops.rolling.table import Table
from funcgrad._transforms.base.shape_dtype import is_array_argument
from funcgrad.numpy.extend import innermost
from funcgrad.tree import flatten, unflatten
from funcgrad.tree import map as tree_map

# A gradient has some three times as many equations as the function: one of a shorter function is not rolled at all.
_EQUATIONS_OF_GRADIENT = 3
# The rolled program has at most this share of the equations, else single equations are differentiated.
_SHARE = 0.25


def stages_first(trace: Trace, args: Sequence[Any]) -> StagingTrace | None:
    """Return the trace around a derivative that stages a program which may be rolled.

    ``None`` if there is none, or if a number among the arguments is known, for which the function may ask.
    """
    outer = active_trace()
    while outer is not None:
        if isinstance(outer, StagingTrace):
            if type(outer) is not StagingTrace:
                return None
            if outer.rolls_above is not None:
                values = [x._value for x in flatten(args)[0] if isinstance(x, Tracer) and x._owner is trace]
                return outer if all(isinstance(innermost(x), Tracer) for x in values) else None
        outer = outer.outer
    return None


def run_staged(outer: StagingTrace, f: Callable[[list[Any]], Any], args: Sequence[Any], trace: Trace) -> Any:
    """Return the function's result: its program, rolled if it is long, applied to the tracers of a derivative.

    Args:
        outer: the trace that stages the program around the function.
        f: the function of a list of arguments.
        args: the arguments, with tracers of the derivative.
        trace: the trace of the derivative.
    """
    own, start = StagingTrace(outer.transform, outer.copies), len(outer.equations)
    own.rolls_above, own.note = outer.rolls_above, trace.note
    own.around, own.is_differentiated = outer if active_trace() is outer else None, True
    leaves, treedef = flatten(args)
    tracers = [x for x in leaves if isinstance(x, Tracer) and x._owner is trace]
    own.outside = [x._value for x in tracers]
    for x in map(innermost, own.outside):
        # The trace that does not know the numbers, for messages.
        own.transform, own.unknown = x._owner.transform, x._owner.unknown
    inputs = iter([own.input(aval_of(x), partial(is_array_argument, x)) for x in own.outside])
    with own:
        out = f(
            unflatten(treedef, [next(inputs) if isinstance(x, Tracer) and x._owner is trace else x for x in leaves])
        )
        leaves, treedef = flatten(tree_map(settled, out) if had_writes(own) else out)
    places = [k for k, x in enumerate(leaves) if type(x) is StagedTracer and x._owner is own]
    graph, captured = lift_tracers(own.graph([leaves[k] for k in places], "differentiated"))
    is_long = _EQUATIONS_OF_GRADIENT * len(graph.equations) > (outer.rolls_above or 0)
    short = _shortened(graph, own.with_equations_around(start)) if is_long else None
    graph, free = short or _closed(graph, graph.equations)
    # Messages of values that the function keeps name the derivative, which has ended.
    own.transform = trace.transform
    with trace:
        found = graph.evaluate(*tracers, *captured, *[StagedTracer(outer, var) for var in free])
    for k, y in zip(places, found, strict=True):
        leaves[k] = y
    return unflatten(treedef, leaves)


def _shortened(graph: Graph, equations: Sequence[Equation]) -> tuple[Graph, list[Var]] | None:
    """Return the rolled program of equations, as `_closed`, if it is much shorter than the given one; else ``None``."""
    table = Table(equations, graph.outputs)
    live = table.live()
    table = table if live.all() else table.kept(live)
    long, free = _closed(graph, table.equations)
    short = rolled(long, table=table, growth=_EQUATIONS_OF_GRADIENT)
    return (short, free) if len(short.equations) <= _SHARE * len(graph.equations) else None


def _closed(graph: Graph, equations: Sequence[Equation]) -> tuple[Graph, list[Var]]:
    """Return the program of these equations, with the variables that it reads from around as its last inputs."""
    made = {*graph.inputs, *[var for var, _ in graph.constants]}
    made.update(var for equation in equations for var in equation.results)
    read = chain(graph.outputs, *[equation.operands for equation in equations])
    free = [x for x in dict.fromkeys(read) if type(x) is Var and x not in made]
    return trusted_graph([*graph.inputs, *free], graph.constants, equations, graph.outputs, graph.name), free
