"""Group large elementwise operations of a graph into clusters, which run in blocks."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.choose import choose
from funcgrad._core.graph.ir import Equation, Graph, Operand, Var, trusted_graph
from funcgrad._core.primitive import Primitive
from funcgrad._core.threads import each, workers
from funcgrad._engines.source.barriers import without_barriers
from funcgrad._engines.source.blocks import Blocks, has_blocks, rows_of
from funcgrad._engines.source.code import function_of
from funcgrad._engines.source.elementwise import in_memory
from funcgrad._engines.source.writer import Writer

# Smaller arrays fit into cache anyway, and waking the threads takes longer than the operation.
_LARGE_BYTES = 1 << 20
# A cluster must do at least this many operations per element to be worth the blocks.
_WORTH = 2
# Blocks of very large arrays are this many times as long, as long as each thread gets this many of them.
_WIDER = 4
_SHARES = 4


class Cluster(Blocks):
    """A cluster whose program is NumPy's ufuncs.

    Args:
        block: the program of one block.
        sliced: for each operand, whether a block takes some of its rows, or all of it.
        avals: the types of the results, of one shape.
    """

    def __init__(self, block: Graph, sliced: Sequence[bool], avals: Sequence[Aval]) -> None:
        self.sliced = tuple(sliced)
        self._block = block
        self._avals = tuple(avals)
        length = avals[0].shape[0]
        rows = rows_of(avals[0].shape)
        # Threads wait for each other less often between the ufuncs of larger blocks.
        rows *= max(1, min(_WIDER, length // rows // (_SHARES * workers())))
        self._places = [slice(start, min(start + rows, length)) for start in range(0, length, rows)]

    def place(self, aliases: Sequence[int | None]) -> None:
        """Write the code for results in the memory of these operands, by number; ``None`` stands for new memory."""
        self._program = in_memory(self._block, aliases)
        self.source = self._program.source

    @functools.cached_property
    def _whole(self) -> Callable[..., list]:
        """The function of whole arrays that returns the results in new memory."""
        writer = Writer(self._block)
        lines = [*writer.body(), f"return [{', '.join([writer.name(x) for x in self._block.outputs])}]"]
        head = f"def run({', '.join(writer.inputs.values())}):"
        return function_of("\n    ".join([head, *lines]), writer.scope, self._block.name)

    def __call__(self, operands: Sequence[Any], given: Sequence[Any]) -> list[np.ndarray]:
        """Return the results, in the given memory or in new memory."""
        if any(cut and x.ndim > 1 and not x.flags.c_contiguous for x, cut in zip(operands, self.sliced, strict=True)):
            # For transposed matrices NumPy makes transposed results, and sums would read those in another order.
            return self._whole(*operands)
        pairs = zip(given, self._avals, strict=True)
        results = [np.empty(aval.shape, aval.dtype) if y is None else y for y, aval in pairs]

        run, _, scratch = self._program
        rows = self._places[0].stop

        def compute(place: slice, *held: np.ndarray) -> None:
            parts = [x[place] if cut else x for x, cut in zip(operands, self.sliced, strict=True)]
            count = place.stop - place.start
            run(*parts, *[y[place] for y in results], *[x if count == rows else x[:count] for x in held])

        # In new memory for each block, the system's pages would take longer than the arithmetic.
        each(compute, self._places, lambda: [np.empty((rows, *results[0].shape[1:]), dtype) for dtype in scratch])
        return results


def clustered(graph: Graph) -> Graph:
    """Return the same program with one equation per cluster. Members move up to the first member of their cluster."""
    if not any(_may_join(equation) for equation in graph.equations):
        return graph
    graph = without_barriers(graph)
    pending, equations = list(graph.equations), []
    while pending:
        first = pending[0]
        if not _may_join(first):
            equations.append(pending.pop(0))
            continue
        members, pending = _gathered(first.results[0].aval.shape, pending)
        size = first.results[0].aval.size
        worth = sum(equation.flops for equation in members) >= _WORTH * size
        equations += [_cluster(graph, members, pending)] if worth else members
    return trusted_graph(graph.inputs, graph.constants, equations, graph.outputs, graph.name, graph.trees)


def _may_join(equation: Equation) -> bool:
    """Return whether an operation is elementwise and large, and has rows that fit into a block."""
    primitive = equation.primitive
    if not primitive.elementwise or primitive.multiple_results or primitive.view is not None:
        return False
    plain = isinstance(primitive.numpy, np.ufunc) or primitive.numpy is choose or primitive.forms.new_memory
    aval = equation.results[0].aval
    return plain and aval.nbytes >= _LARGE_BYTES and aval.dtype.kind in "fciub" and has_blocks(aval.shape)


def _gathered(shape: tuple[int, ...], pending: list[Equation]) -> tuple[list[Equation], list[Equation]]:
    """Split pending operations: those of this shape that need no result of the others, and the others."""
    members: list[Equation] = []
    others: list[Equation] = []
    late: set[Operand] = set()
    for equation in pending:
        if _may_join(equation) and equation.results[0].aval.shape == shape and late.isdisjoint(equation.operands):
            members.append(equation)
        else:
            others.append(equation)
            late.update(equation.results)
    return members, others


def _cluster(graph: Graph, members: list[Equation], others: list[Equation]) -> Equation:
    """Return one equation for all members. Its primitive runs the members' program on each block."""
    shape = members[0].results[0].aval.shape
    made = {var for equation in members for var in equation.results}
    read = {x for equation in others for x in equation.operands} | set(graph.outputs)
    given = dict.fromkeys(x for equation in members for x in equation.operands if type(x) is Var and x not in made)
    results = [var for equation in members for var in equation.results if var in read]
    sliced = [_has_rows(x.aval, shape) for x in given]
    new: dict[Any, Any] = {x: Var(_of_block(x.aval, shape)) for x in (*given, *made)}
    equations = [
        Equation(e.primitive, tuple([new.get(x, x) for x in e.operands]), e.params, (new[e.results[0]],), e.source)
        for e in members
    ]
    block = trusted_graph(
        [new[x] for x in given], [], equations, [new[var] for var in results], f"block of {graph.name}"
    )
    primitive = Cluster(block, sliced, [var.aval for var in results])
    return Equation(cast(Primitive, primitive), tuple(given), {}, tuple(results), members[0].source)


def _has_rows(aval: Aval, shape: tuple[int, ...]) -> bool:
    return len(aval.shape) == len(shape) and aval.shape[0] == shape[0]


def _of_block(aval: Aval, shape: tuple[int, ...]) -> Aval:
    return Aval((rows_of(shape), *aval.shape[1:]), aval.dtype) if _has_rows(aval, shape) else aval
