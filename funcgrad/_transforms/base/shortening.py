"""Roll a long staged program before it is differentiated, so that single rounds of its loops are not differentiated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from funcgrad._core.graph.ir import Equation, Operand, Var, trusted_graph
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._core.trace.joint import component, hub
from funcgrad._core.trace.reverse import LoggedReverseTrace, ReverseTracer
from funcgrad._core.trace.staging import StagedTracer, StagingTrace
from funcgrad._ops.program.call import call_p
from funcgrad._ops.program.derived import zeros_of
from funcgrad._ops.rolling.order import keeps_order
from funcgrad._ops.rolling.reverse import pulled_program
from funcgrad._ops.rolling.roll import rolled
from funcgrad.tree import flatten, unflatten

# The rolled program has at most this share of the equations, else single equations are differentiated.
_SHARE = 0.25


class Long(NamedTuple):
    """A function of many equations that was staged and recorded on a tape.

    Args:
        staging: the trace that staged it.
        trace: the reverse trace above.
        equations: the function's equations.
    """

    staging: StagingTrace
    trace: LoggedReverseTrace
    equations: Sequence[Equation]


def shortened(long: Long, primals: Sequence[ReverseTracer], out: Any, aux: Any) -> tuple[Any, Any]:
    """Return the outputs and auxiliary data, computed by a rolled program that has one node on the tape.

    Where the program does not roll, or the rolled program would not give the same numbers, they are returned unchanged.
    """
    leaves, treedef = flatten((out, aux))
    count = len(flatten(out)[0])
    places = [k for k, x in enumerate(leaves) if type(x) is ReverseTracer and x._owner is long.trace]
    seeded = [k < count for k in places]
    inputs = _variables(long.staging, primals)
    outputs = _variables(long.staging, [leaves[k] for k in places])
    if not any(seeded) or inputs is None or outputs is None or len(set(inputs)) < len(inputs):
        return out, aux
    active = _active(long, inputs)
    if active is None or not all(x in active for x, is_seeded in zip(outputs, seeded, strict=True) if is_seeded):
        return out, aux
    graph = drop_dead(trusted_graph(inputs, (), long.equations, outputs, "rolled"))
    made = {var for equation in graph.equations for var in equation.results}
    free = dict.fromkeys(x for equation in graph.equations for x in equation.operands)
    outer = [x for x in free if type(x) is Var and x not in made and x not in set(inputs)]
    graph = trusted_graph([*inputs, *outer], (), graph.equations, outputs, graph.name)
    short = rolled(graph, simplifies=False)
    if len(short.equations) > _SHARE * len(graph.equations) or not keeps_order(graph, short, active):
        return out, aux
    flags = [*[True] * len(inputs), *[False] * len(outer)]
    pulled = pulled_program(short, flags, seeded)
    if pulled is None:
        return out, aux
    first, second = pulled
    found = first.evaluate(*[StagedTracer(long.staging, var) for var in graph.inputs])
    values, kept = found[: len(places)], found[len(places) :]
    needed = [x.aval for x, is_seeded in zip(outputs, seeded, strict=True) if is_seeded]

    def pull(y_bars: list[Any], *kept: Any) -> list[Any]:
        pairs = zip(y_bars, needed, strict=True)
        return second.evaluate(*kept, *[zeros_of(aval) if bar is None else bar for bar, aval in pairs])

    whole = hub(call_p, [x._node for x in primals], pull, tuple(kept), None)
    k = 0
    for place, value, is_seeded in zip(places, values, seeded, strict=True):
        node = component(call_p, whole, k, len(needed)) if is_seeded else None
        leaves[place] = ReverseTracer(long.trace, value, node)
        k += is_seeded
    return unflatten(treedef, leaves)


def _variables(staging: StagingTrace, values: Sequence[ReverseTracer]) -> list[Var] | None:
    """Return the staged variables of values, if all are variables of this trace and have a dtype of their own."""
    found = [x._value for x in values]
    if all(type(x) is StagedTracer and x._owner is staging and not x._variable.aval.weak for x in found):
        return [x._variable for x in found]
    return None


def _active(long: Long, inputs: Sequence[Var]) -> set[Operand] | None:
    """Return the variables that carry a derivative; ``None`` if the staged program does not say which.

    It does not where a variable is used with and without its derivative, and where a rule of the user's decides.
    Effects would happen twice.
    """
    active: set[Operand] = set(inputs)
    log = long.trace.active
    for equation in long.equations:
        if (equation.params or equation.primitive.effect) and equation.has_effect:
            return None
        mask = 0
        for i, x in enumerate(equation.operands):
            if x in active:
                mask |= 1 << i
        for result in equation.results:
            noted = log.get(result)
            if noted is not None and noted[:2] == (equation.primitive, mask):
                if noted[2]:
                    active.add(result)
            elif noted is not None or mask:
                return None
    return active
