"""The record of a kernel that is to be compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Graph, Var
from funcgrad._engines.source.kernels.nodes import Shape
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
