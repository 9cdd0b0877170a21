"""The record of a kernel that is to be compiled."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Graph, Var
from funcgrad._engines.source.kernels.lowering import Lowering
from funcgrad._engines.source.kernels.nodes import KernelMemory, Shape, StridedView
from funcgrad._engines.source.kernels.text import Text


class KernelPlan(NamedTuple):
    """A kernel that is to be compiled.

    Args:
        text: the source and its table.
        operands: the variables that it reads.
        results: the variables that it makes.
        sliced: for each operand, whether a block takes some of its rows, or all of it.
        partial: for each result, the function that combines the parts from all blocks; ``None`` if it is whole.
        shapes: for each result, the shape that a block makes.
        length: the number of rows, and the rows per block; ``None`` without blocks.
        placed: returns the text of the same kernel with some results in the memory of operands, both by number;
            ``None`` if that memory is read later.
        members: the operations themselves, as a graph of the operands.
    """

    text: Text
    operands: tuple[Var, ...]
    results: tuple[Var, ...]
    sliced: tuple[bool, ...]
    partial: tuple[Any, ...]
    shapes: tuple[Shape, ...]
    length: tuple[int, int] | None
    placed: Callable[[tuple[tuple[int, int], ...]], Text | None]
    members: Graph

    def of_length(self, n: int) -> KernelPlan:
        """Return the plan for vectors of another length: the code stays, and the table differs."""
        assert self.length is not None

        def sized(var: Var) -> Var:
            return Var(Aval((n,), var.aval.dtype)) if var.aval.shape else var

        return self._replace(
            operands=tuple(map(sized, self.operands)),
            results=tuple(map(sized, self.results)),
            length=(n, self.length[1]),
        )


def outputs_of(lowering: Lowering, results: Sequence[Var], shapes: dict[Any, Shape]) -> list[KernelMemory]:
    """Return memory for each result that holds this result and nothing else."""
    taken: set[KernelMemory] = set()
    found: list[KernelMemory] = []
    for var in results:
        x = lowering.known[var]
        shape = shapes.get(var, var.aval.shape)
        whole = isinstance(x, StridedView) and x.is_contiguous and math.prod(x.shape) == math.prod(x.memory.shape)
        if not isinstance(x, StridedView) or not whole or x.memory.name is not None or x.memory in taken:
            x = lowering.applied("{}", [x], shape, x.dtype)
        taken.add(x.memory)
        found.append(x.memory)
    return found
