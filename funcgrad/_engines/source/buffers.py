"""Whose memory each variable of a graph lies in, and when it is free: what straight-line code may write into.

A *root* is a variable that came with memory of its own; a view belongs to the root of what it shows. Memory may be
written to when it is the program's own (made by it, or donated) and when all that shows it is dead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Graph, Literal, Operand, Var

# Smaller memory is got faster than it is looked for: only of more than this do systems give new pages.
_SPARE_LIMIT_BYTES = 1 << 16


class Buffers:
    """The books of memory, kept while a program is written equation by equation.

    Args:
        graph: the program.
        donated: inputs whose memory is the program's own.
    """

    def __init__(self, graph: Graph, donated: Sequence[Var] = ()) -> None:
        self.last = last_reads(graph)
        # Roots that were written over, or are handed out as results.
        self.used: set[Var] = set()
        self._roots: dict[Any, Var] = {}
        self._shown: dict[Var, list[Var]] = {}
        # In order, so that the same program is written each time.
        self._own: dict[Var, None] = dict.fromkeys(donated)
        # What shows all of its root, each element once.
        self._whole: set[Var] = set()
        for var in (*graph.inputs, *[var for var, _ in graph.constants]):
            self.made(var, own=var in self._own)

    def made(self, var: Var, *, own: bool) -> None:
        """A variable in memory that no other lies in; ``own`` where nobody outside sees it."""
        self._roots[var] = var
        self._shown[var] = [var]
        self._whole.add(var)
        if own:
            self._own[var] = None

    def shows(self, var: Var, x: Operand, *, whole: bool = False) -> None:
        """A variable that may be a view of another, or that very array; ``whole`` where it shows all of it, once."""
        if type(x) is Literal:
            self.made(var, own=False)
            return
        root = self._roots[var] = self._roots[x]
        self._shown[root].append(var)
        if whole and x in self._whole:
            self._whole.add(var)

    def leaks(self, results: Sequence[Var], operands: Sequence[Operand]) -> None:
        """Results of a function of which nothing is known: they may lie in the memory of any operand."""
        for x in operands:
            if type(x) is Var:
                self._own.pop(self._roots[x], None)
        for var in results:
            self.made(var, own=False)

    def takes(self, var: Var, x: Var) -> None:
        """A variable that is written into the memory of one that is dead now."""
        root = self._roots[x]
        self.used.add(root)
        self._roots[var] = root
        self._shown[root] = [var]
        self._whole.add(var)

    def root(self, x: Operand) -> Any:
        """In whose memory a variable lies."""
        return x if type(x) is Literal else self._roots[x]

    def is_own(self, x: Operand) -> bool:
        """Whether a variable lies in memory that only the program knows of."""
        return type(x) is Var and self._roots[x] in self._own

    def is_whole(self, x: Operand) -> bool:
        """Whether a variable shows each element of its memory once, and so may be written to and handed out."""
        return x in self._whole

    def is_free_after(self, x: Operand, i: int) -> bool:
        """Whether equation ``i`` may write over a variable: it is the last that reads anything of this memory."""
        if type(x) is not Var or x not in self._whole:
            return False
        root = self._roots[x]
        return root in self._own and all(self.last.get(each, -1) <= i for each in self._shown[root])

    def reusable(self, operands: Sequence[Operand], aval: Aval, i: int) -> Any:
        """An operand of this type that equation ``i`` may write over; ``None`` where there is none."""
        return next((x for x in operands if same_type(x.aval, aval) and self.is_free_after(x, i)), None)

    def spare(self, aval: Aval, i: int) -> Any:
        """What shows memory of this type that nothing has read since before equation ``i``; ``None`` without any."""
        if aval.nbytes < _SPARE_LIMIT_BYTES:
            return None
        for root in self._own:
            shown = self._shown[root]
            if all(self.last.get(each, -1) < i for each in shown):
                found = next((x for x in shown if x in self._whole and same_type(x.aval, aval)), None)
                if found is not None:
                    return found
        return None


def same_type(a: Aval, b: Aval) -> bool:
    """Whether two arrays have one shape and dtype, apart from what is weak."""
    return a.shape == b.shape and a.dtype == b.dtype


def last_reads(graph: Graph) -> dict[Any, int]:
    """The number of the equation that reads each variable last; beyond all of them where it is an output."""
    last: dict[Any, int] = {x: i for i, equation in enumerate(graph.equations) for x in equation.operands}
    last.update({x: len(graph.equations) for x in graph.outputs})
    return last
