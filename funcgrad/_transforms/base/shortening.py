"""Stage a function before it is differentiated, so that single rounds of its loops are not differentiated.

The function runs once, on values of a trace of its own. If the program is long and rolls, the rolled program is
differentiated. If not, the equations run again on a tape, as in the gradient of a compiled function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.bind import NO_PARAMS
from funcgrad._core.graph.ir import Graph, Var, trusted_graph
from funcgrad._core.trace.joint import component, hub
from funcgrad._core.trace.place import had_writes, settled
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._core.trace.staging import StagedTracer, StagingTrace
from funcgrad._ops.layout.copy import copy_p
from funcgrad._ops.program.call import call_p
from funcgrad._ops.program.derived import zeros_of
from funcgrad._ops.rolling.early.order import keeps_order
from funcgrad._ops.rolling.early.reverse import pulled_program
from funcgrad._ops.rolling.roll import rolled
from funcgrad._ops.rolling.table import Table
from funcgrad.tree import LEAF, TreeDef, flatten, unflatten
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
        # This trace records nothing. It shows which arrays belong to the function, and which to the program around it.
        scope = ReverseTrace()
        with scope:
            # The function may read the same values without their derivatives, so its arguments are variables of their
            # own. Values that it keeps elsewhere stay values of the program around it.
            arguments = [self._staging.apply(copy_p, (x,), NO_PARAMS) for x in self._values]
            for x, argument in zip(self._values, arguments, strict=True):
                asked = self._staging.without_axes.get(x._variable)
                if asked is not None:
                    # A question that refers to ``x`` would be a cycle, which keeps the long program in memory.
                    self._staging.without_axes[argument._variable] = asked
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
        graph, captured, table = self._graph([leaves[k]._variable for k in places])
        found = None
        if len(graph.equations) > max(_LEAST_EQUATIONS, (self._staging.rolls_above or 0) // 3):
            seeded = [k < count for k in places]
            found = self._shortened(graph, table, seeded, trace, primals, captured)
        if found is None:
            self._staging.drop_effects(self._start)
            with trace:
                found = graph.evaluate(*primals, *captured)
        for k, y in zip(places, found, strict=True):
            leaves[k] = y
        return unflatten(treedef, leaves)

    def _graph(self, outputs: Sequence[Var]) -> tuple[Graph, list[Any], Table]:
        """Return the function's program, the values of its inputs after the arguments, and its table."""
        staging = self._staging
        table = Table(staging.equations[self._start :], outputs)
        live = table.live()
        if not live.all():
            table = table.kept(live)
        inputs = set(self._inputs)
        # In the order of the reads, so that equal functions have equal programs.
        read = zip(table.outside, table.uses()[table.size :], strict=True)
        outer = [x for x, count in read if count and type(x) is Var and x not in inputs]
        graph = trusted_graph([*self._inputs, *outer], (), table.equations, outputs, "rolled")
        return graph, [StagedTracer(staging, var) for var in outer], table

    def _shortened(
        self,
        graph: Graph,
        table: Table,
        seeded: Sequence[bool],
        trace: ReverseTrace,
        primals: Sequence[Any],
        captured: Sequence[Any],
    ) -> list[Any] | None:
        """Return the results of a rolled program; ``None`` where it does not roll or would give other numbers."""
        # Effects would happen twice.
        if table.effects.any():
            return None
        active = table.active(self._inputs)
        if not active[table.outputs[np.array(seeded, bool)]].all():
            return None
        short = rolled(graph, simplifies=False, table=table)
        if len(short.equations) > _SHARE * len(graph.equations) or not keeps_order(table, short, active):
            return None
        flags = [*[True] * len(primals), *[False] * len(captured)]
        pulled = pulled_program(short, flags, seeded)
        if pulled is None:
            return None
        first, second = pulled
        self._staging.replace_from(self._start)
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


def with_leaves(
    args: Sequence[Any], numbers: Sequence[int], inputs: Sequence[tuple[Any, TreeDef]], leaves: Iterable[Any]
) -> list[Any]:
    """Return the arguments with other leaves in those that are differentiated."""
    new_args, rest = list(args), iter(leaves)
    for number, (tracers, treedef) in zip(numbers, inputs, strict=True):
        part = [next(rest) for _ in tracers]
        new_args[number] = part[0] if treedef is LEAF else unflatten(treedef, part)
    return new_args
