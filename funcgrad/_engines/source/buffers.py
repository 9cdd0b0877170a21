"""Track the memory of each variable of a graph, so that generated code can write into memory that is free.

A *root* is a variable with memory of its own; a view has the root of its operand. The program may write to memory if it
owns it (it allocated it, or the memory is donated) and if every variable in it is dead.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Graph, Literal, Operand, Var

# Smaller memory is allocated faster than a free buffer is found: only larger allocations get new pages from the system.
_SPARE_LIMIT_BYTES = 1 << 16
# The number of an equation of a part that comes later.
_LATER = sys.maxsize


class Buffers:
    """Tracks which variables share a buffer, and which buffers are free, while a program is written.

    Args:
        graph: the program.
        donated: inputs whose memory the program may write to.
    """

    def __init__(self, graph: Graph, donated: Sequence[Var] = ()) -> None:
        # The number of the last equation that reads each variable.
        self.last: dict[Any, int] = {}
        # The number of equations in all parts of the program until now.
        self.end = 0
        self._graph = graph
        # Memory that was reserved for an output: the number of the equation that makes the output, and an input that
        # may use the same memory. And the memory that is reserved for each output.
        self._reserved: dict[Var, tuple[int, Var | None]] = {}
        self._own_place: dict[Any, Var] = {}
        # Roots that were written to, or are returned as results.
        self.used: set[Var] = set()
        self._roots: dict[Any, Var] = {}
        self._shown: dict[Var, list[Var]] = {}
        # A dict keeps the order, so that the generated program is the same each time.
        self._own: dict[Var, None] = dict.fromkeys(donated)
        # Variables whose elements may have another order in memory than their root's.
        self.views: set[Var] = set()
        # Variables that show each element of their root exactly once.
        self._whole: set[Var] = set()
        for var in graph.inputs:
            self.made(var, own=var in self._own)
        self.goes_on(graph)

    def goes_on(self, graph: Graph, is_read_later: Callable[[Operand], bool] | None = None) -> int:
        """Go on with the next part of the program, and return the number of its first equation.

        Args:
            graph: the part. It reads what the parts before it made.
            is_read_later: returns whether a part after this one reads a variable.
        """
        start = self.end
        self.end += len(graph.equations)
        for i, equation in enumerate(graph.equations, start):
            self.last.update(dict.fromkeys(equation.operands, i))
        self.last.update(dict.fromkeys(graph.outputs, self.end))
        if is_read_later is not None:
            self.keep([x for x in (*graph.inputs, *graph.outputs) if is_read_later(x)])
        for var, _ in graph.constants:
            if var not in self._roots:
                self.made(var, own=False)
        return start

    def keep(self, variables: Iterable[Operand]) -> None:
        """Register variables that a later part of the program reads."""
        self.last.update(dict.fromkeys(variables, _LATER))

    def dropped(self, variables: Iterable[Var]) -> None:
        """Register variables that have no name any more, so that no later part of the program writes to them."""
        for var in variables:
            shown = self._shown[self._roots[var]]
            shown[:] = [x for x in shown if x is not var]

    def give(self, var: Var) -> None:
        """Register that the program may write to the memory of an input from now on."""
        self._own[var] = None

    def forked(self) -> Buffers:
        """Return the same state once more, for one of several ways on."""
        other = copy.copy(self)
        names = ("last", "used", "views", "_roots", "_own", "_whole")
        vars(other).update({name: copy.copy(vars(self)[name]) for name in names})
        vars(other)["_shown"] = {root: list(shown) for root, shown in self._shown.items()}
        return other

    def made(self, var: Var, *, own: bool) -> None:
        """Register a variable in new memory; ``own`` if nobody outside the program sees that memory."""
        self._roots[var] = var
        self._shown[var] = [var]
        self._whole.add(var)
        if own:
            self._own[var] = None

    def reserve(self, memory: Var, output: Operand, shared: Var | None) -> None:
        """Register memory for an output. Until the output is made, other variables may use it.

        Args:
            memory: the variable that represents the memory.
            output: the output. It is in this memory at the end, or has to be copied to it.
            shared: an input that may use the same memory; nothing is written there before its last read.
        """
        self.made(memory, own=True)
        made = next((i for i, e in enumerate(self._graph.equations) if output in e.results), -1)
        self._reserved[memory] = made, shared
        if made >= 0:
            self._own_place.setdefault(output, memory)

    def shows(self, var: Var, x: Operand, *, whole: bool = False) -> None:
        """Register a variable that is, or may be, a view of ``x``; ``whole`` if it shows each element of ``x`` once."""
        if type(x) is Literal:
            self.made(var, own=False)
            return
        root = self._roots[var] = self._roots[x]
        self._shown[root].append(var)
        self.views.add(var)
        if whole and x in self._whole:
            self._whole.add(var)

    def leaks(self, results: Sequence[Var], operands: Sequence[Operand]) -> None:
        """Register results of an unknown function: they may share memory with any operand."""
        for x in operands:
            if type(x) is Var:
                self._own.pop(self._roots[x], None)
        for var in results:
            self.made(var, own=False)

    def takes(self, var: Var, x: Var) -> None:
        """Register a variable that is written into the memory of ``x``, which is dead now."""
        root = self._roots[x]
        self.used.add(root)
        self._roots[var] = root
        self._shown[root] = [var]
        self._whole.add(var)

    def root(self, x: Operand) -> Any:
        """Return the variable that owns the memory of ``x``."""
        return x if type(x) is Literal else self._roots[x]

    def is_own(self, x: Operand) -> bool:
        """Return whether only the program sees the memory of a variable."""
        return type(x) is Var and self._roots[x] in self._own

    def is_whole(self, x: Operand) -> bool:
        """Return whether a variable shows each element of its memory once.

        Only then may it be written to or returned.
        """
        return x in self._whole

    def is_free_after(self, x: Operand, i: int) -> bool:
        """Return whether equation ``i`` may write to a variable: no later equation reads anything in its memory."""
        if type(x) is not Var or x not in self._whole:
            return False
        root = self._roots[x]
        return root in self._own and self._is_dead(root, i)

    def _is_dead(self, root: Var, i: int) -> bool:
        """Return whether no equation after ``i`` reads anything in this memory."""
        _, shared = self._reserved.get(root, (0, None))
        return all(self.last.get(each, -1) <= i for each in self._shown[root]) and (
            shared is None or all(self.last.get(each, -1) <= i for each in self._shown[self._roots[shared]])
        )

    def _may_hold(self, root: Var, var: Var) -> bool:
        """Return whether a variable may use this memory: reserved memory takes only what is read before its output."""
        if root not in self._reserved or self._own_place.get(var) is root:
            return True
        return self.last.get(var, -1) <= self._reserved[root][0]

    def reusable(self, operands: Sequence[Operand], var: Var, i: int) -> Any:
        """Return a variable in whose memory equation ``i`` may write ``var``: reserved, or that of an operand."""
        own = self._own_place.get(var)
        if own is not None and self.is_free_after(own, i):
            return own
        fits = [x for x in operands if same_type(x.aval, var.aval) and self.is_free_after(x, i)]
        return next((x for x in fits if self._may_hold(self._roots[x], var)), None)

    def spare(self, var: Var, i: int) -> Any:
        """Return a variable in free memory for ``var`` that was last read before equation ``i``, or ``None``."""
        if var.aval.nbytes < _SPARE_LIMIT_BYTES:
            return None
        for root in self._own:
            if self._may_hold(root, var) and self._is_dead(root, i - 1):
                shown = self._shown[root]
                found = next((x for x in shown if x in self._whole and same_type(x.aval, var.aval)), None)
                if found is not None:
                    return found
        return None


def same_type(a: Aval, b: Aval) -> bool:
    """Return whether two avals have one shape and dtype; weak types are ignored."""
    return a.shape == b.shape and a.dtype == b.dtype
