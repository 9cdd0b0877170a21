"""Stage a function before it is differentiated, so that single rounds of its loops are not differentiated.

The function runs once, on values of a trace of its own. If the program is long and rolls, the rolled program is
differentiated. If not, the equations run again on a tape, as in the gradient of a compiled function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import NO_PARAMS
from funcgrad._core.graph.ir import Graph, Operand, Var, trusted_graph
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._core.trace.joint import component, hub
from funcgrad._core.trace.place import had_writes, settled
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._core.trace.staging import StagedTracer, StagingTrace
from funcgrad._ops.layout.copy import copy_p
from funcgrad._ops.program.call import call_p
from funcgrad._ops.program.derived import zeros_of
from funcgrad._ops.rolling.order import keeps_order
from funcgrad._ops.rolling.reverse import pulled_program
from funcgrad._ops.rolling.roll import rolled
from funcgrad.numpy.extend import is_array_without_axes
from funcgrad.tree import flatten, unflatten
from funcgrad.tree import map as tree_map

# A program of fewer equations is differentiated equation by equation.
_LEAST_EQUATIONS = 1000
# The rolled program has at most this share of the equations, else single equations are differentiated.
_SHARE = 0.25


class Unrecorded:
    """A function that is staged first, and differentiated after that.

    Args:
        staging: the trace that stages the program around it.
        values: the values of the differentiated arguments, which belong to this trace.
    """

    def __init__(self, staging: StagingTrace, values: Sequence[StagedTracer]) -> None:
        self._staging = staging
        self._values = values
        self._inputs: list[Var] = []
        self._start = 0

    def run(self, f: Callable[[list[Any]], Any]) -> Any:
        """Return the function's result. A derivative inside of the function is recorded as it runs."""
        # This trace records nothing. It tells the function's own arrays from those of the program around it.
        scope = ReverseTrace()
        with scope:
            # The function may read the same values without their derivatives, so its arguments are variables of their
            # own. Values that it keeps elsewhere stay values of the program around it.
            arguments = [self._staging.apply(copy_p, (x,), NO_PARAMS) for x in self._values]
            for x, argument in zip(self._values, arguments, strict=True):
                if not x.shape:
                    self._staging.without_axes[argument._variable] = partial(is_array_without_axes, x)
            self._inputs = [x._variable for x in arguments]
            self._start = len(self._staging.equations)
            out = f(arguments)
            return tree_map(settled, out) if had_writes(scope) else out

    def recorded(self, trace: ReverseTrace, primals: Sequence[Any], out: Any, aux: Any) -> tuple[Any, Any]:
        """Return the output and the auxiliary data, recorded on a tape.

        A long program that rolls has one node there, and any other one for each equation.

        Args:
            trace: the trace of the tape.
            primals: the differentiated arguments, as its tracers.
            out: the output, which is differentiated.
            aux: auxiliary data.
        """
        leaves, treedef = flatten((out, aux))
        count = len(flatten(out)[0])
        places = [k for k, x in enumerate(leaves) if type(x) is StagedTracer and x._owner is self._staging]
        graph, captured = self._graph([leaves[k]._variable for k in places])
        found = None
        if len(graph.equations) > max(_LEAST_EQUATIONS, (self._staging.rolls_above or 0) // 3):
            seeded = [k < count for k in places]
            found = self._shortened(graph, seeded, trace, primals, captured)
        if found is None:
            self._staging.drop_effects(self._start)
            with trace:
                found = graph.evaluate(*primals, *captured)
        for k, y in zip(places, found, strict=True):
            leaves[k] = y
        return unflatten(treedef, leaves)

    def _graph(self, outputs: Sequence[Var]) -> tuple[Graph, list[Any]]:
        """Return the function's program, and the values of its inputs after the arguments."""
        staging = self._staging
        inputs = self._inputs
        graph = drop_dead(trusted_graph(inputs, (), staging.equations[self._start :], outputs, "rolled"))
        made = {*inputs, *[var for equation in graph.equations for var in equation.results]}
        read = dict.fromkeys([x for equation in graph.equations for x in equation.operands])
        outer = [x for x in (*read, *graph.outputs) if type(x) is Var and x not in made]
        outer = list(dict.fromkeys(outer))
        graph = trusted_graph([*inputs, *outer], (), graph.equations, graph.outputs, graph.name)
        return graph, [StagedTracer(staging, var) for var in outer]

    def _shortened(
        self,
        graph: Graph,
        seeded: Sequence[bool],
        trace: ReverseTrace,
        primals: Sequence[Any],
        captured: Sequence[Any],
    ) -> list[Any] | None:
        """Return the results of a rolled program; ``None`` where it does not roll or would give other numbers."""
        active = _active(graph, len(primals))
        if active is None or not all(
            x in active for x, is_seeded in zip(graph.outputs, seeded, strict=True) if is_seeded
        ):
            return None
        short = rolled(graph, simplifies=False)
        if len(short.equations) > _SHARE * len(graph.equations) or not keeps_order(graph, short, active):
            return None
        flags = [*[True] * len(primals), *[False] * len(captured)]
        pulled = pulled_program(short, flags, seeded)
        if pulled is None:
            return None
        first, second = pulled
        found = first.evaluate(*self._values, *captured)
        values, kept = found[: len(seeded)], found[len(seeded) :]
        needed = [x.aval for x, is_seeded in zip(graph.outputs, seeded, strict=True) if is_seeded]

        def pull(y_bars: list[Any], *kept: Any) -> list[Any]:
            pairs = zip(y_bars, needed, strict=True)
            return second.evaluate(*kept, *[zeros_of(aval) if bar is None else bar for bar, aval in pairs])

        whole = hub(call_p, [x._node for x in primals], pull, tuple(kept), None)
        nodes = iter([component(call_p, whole, k, len(needed)) for k in range(len(needed))])
        return [
            ReverseTracer(trace, y, next(nodes)) if is_seeded else y
            for y, is_seeded in zip(values, seeded, strict=True)
        ]


def _active(graph: Graph, count: int) -> set[Operand] | None:
    """Return the variables that depend on the first inputs; ``None`` if the program has effects.

    Effects would happen twice.
    """
    active: set[Operand] = set(graph.inputs[:count])
    for equation in graph.equations:
        if (equation.params or equation.primitive.effect) and equation.has_effect:
            return None
        if equation.primitive.derivative is not CONSTANT and not active.isdisjoint(equation.operands):
            active.update([var for var in equation.results if is_inexact(var.aval.dtype)])
    return active
