"""Split loops with small bodies: an equation that reads no result of a round before runs once, on all rows.

The NumPy engine writes a loop as a ``for`` of Python. There an operation on a few numbers takes as long as the same
operation on the rows of a thousand rounds. On the left is a loop, on the right what it is split into:

    for t: y = y * (2.0 * x[t]) + b         d = 2.0 * x
           s = s + y * c[t]                 for t: y = y * d[t] + b;  ys[t] = y
                                            s = cumsum([s, *(ys * c)])[-1]

Only +, -, *, / and negation of real floats are moved, and sums of a row. NumPy rounds each of their elements in the
same way for one row and for many, so every number is the same to the last bit. Operations that no round changes, such
as ``0.01 * a``, run once before the loop.
"""

from __future__ import annotations

from collections.abc import Sequence

from funcgrad._core.aval import Aval
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._ops.elementwise.arithmetic import neg_p
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate_p, stack_p
from funcgrad._ops.index.plan import Index
from funcgrad._ops.layout.broadcast import reduce_sum_p
from funcgrad._ops.layout.copy import copy_p
from funcgrad._ops.layout.shape import reshape_p
from funcgrad._ops.program.scan import Loop, scan_p
from funcgrad._ops.reduce.cumulative import cumsum_p
from funcgrad._ops.rolling.moved import Moved, moved_of, unchanged
from funcgrad._ops.rolling.rows import Emitter

_REVERSED = Index((slice(None, None, -1),))
_LAST = Index((-1,))


class _Splitter(Emitter):
    """Splits the loops of one program."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self._graph = graph
        self._constants = list(graph.constants)
        # Arrays whose rows lie one after another in memory, such as the stacks of loops.
        self._stacks: set[Operand] = set()
        self._lifted: dict[Operand, Operand] = {}
        self._length = 0

    def run(self) -> Graph:
        graph = self._graph
        found = False
        for equation in graph.equations:
            self.source = equation.source
            moved = moved_of(equation, self._stacks) if equation.primitive is scan_p else None
            if moved is None:
                self.equations.append(equation)
            else:
                found = True
                self._split(equation, moved)
            if equation.primitive is scan_p:
                self._note(equation, moved)
        if not found:
            return graph
        split = trusted_graph(graph.inputs, self._constants, self.equations, graph.outputs, graph.name, graph.trees)
        return drop_dead(split)

    def _note(self, equation: Equation, moved: Moved | None) -> None:
        """Note the stacks whose rows lie one after another: those that a loop fills, and results computed of these."""
        loop: Loop = equation.params["loop"]
        for x, stack in zip(loop.body.outputs[loop.carry :], equation.results[loop.carry :], strict=True):
            if moved is None or x not in moved.made or x in moved.even:
                self._stacks.add(stack)

    def _split(self, equation: Equation, moved: Moved) -> None:
        """Append a loop, with the equations that run before and after it."""
        loop: Loop = equation.params["loop"]
        body = loop.body
        self._length = loop.length
        # For each variable of the body: the array of its values in all rounds, or its value if no round changes it.
        self._lifted = dict(zip(body.inputs, equation.operands, strict=True))
        for var, value in body.constants:
            own = self._lifted[var] = Var(var.aval)
            self._constants.append((own, value))
        results = dict(zip(body.outputs[loop.carry :], equation.results[loop.carry :], strict=True))
        for i in moved.once:
            self._once(body.equations[i])
        for i in moved.before:
            self._vector(body.equations[i], moved, results)
        self._loop(equation, moved, results)
        for i in moved.after:
            self._vector(body.equations[i], moved, results)
        for k, parts in moved.sums.items():
            self._sum(equation, k, parts)

    def _once(self, equation: Equation) -> None:
        """Run an equation that no round changes."""
        operands = tuple([x if type(x) is Literal else self._lifted[x] for x in equation.operands])
        results = tuple([Var(var.aval) for var in equation.results])
        self.equations.append(Equation(equation.primitive, operands, equation.params, results, equation.source))
        self._lifted.update(zip(equation.results, results, strict=True))

    def _vector(self, equation: Equation, moved: Moved, results: dict[Operand, Var]) -> None:
        """Run an equation for all rounds at once."""
        self.source = equation.source
        (own,) = equation.results
        shape, params = own.aval.shape, equation.params
        if equation.primitive is reduce_sum_p:
            operands, params = [self._lifted[equation.operands[0]]], {"axes": (1,), "keepdims": False}
        else:
            operands = [self._operand(x, moved, len(shape)) for x in equation.operands]
        result = results.get(own) or Var(Aval((self._length, *shape), own.aval.dtype))
        self.equations.append(Equation(equation.primitive, tuple(operands), params, (result,), self.source))
        self._lifted[own] = result

    def _operand(self, x: Operand, moved: Moved, ndim: int) -> Operand:
        """Return the rows of an operand. If it is a number and ``ndim`` is larger, its rows get axes of length 1."""
        if type(x) is Literal:
            return x
        y = self._lifted[x]
        if x in moved.fixed or len(x.aval.shape) == ndim:
            return y
        return self.emit(reshape_p, y, shape=(self._length, *(1,) * ndim))

    def _loop(self, equation: Equation, moved: Moved, results: dict[Operand, Var]) -> None:
        """Append the loop of the equations that are left."""
        loop: Loop = equation.params["loop"]
        body = loop.body
        equations = [body.equations[i] for i in moved.inside]
        still = unchanged(loop)
        for k in still:
            first = equation.operands[loop.constants + k]
            self.equations.append(Equation(copy_p, (first,), {}, (equation.results[k],), equation.source))
        kept = [k for k in range(loop.carry) if k not in moved.sums and k not in still]
        carries = [body.inputs[loop.constants + k] for k in kept]
        outputs: list[Operand] = [body.outputs[k] for k in kept]
        stacked = [x for x in body.outputs[loop.carry :] if x not in moved.made] + moved.stored
        made = {*carries, *[var for each in equations for var in each.results]}
        read = [x for each in equations for x in each.operands] + outputs + stacked
        inputs = [x for x in dict.fromkeys(read) if type(x) is Var and x not in made]
        known = {var for var, _ in body.constants}
        constants = [x for x in inputs if x in moved.fixed and x not in known]
        rows = [x for x in inputs if x not in moved.fixed]
        graph = trusted_graph([*constants, *carries, *rows], body.constants, equations, [*outputs, *stacked], body.name)
        operands = [self._lifted[x] for x in (*constants, *carries, *rows)]
        stacks = [
            results[x] if x in results else Var(Aval((loop.length, *x.aval.shape), x.aval.dtype)) for x in stacked
        ]
        self._lifted.update({x: y for x, y in zip(stacked, stacks, strict=True) if x not in moved.fixed})
        if not outputs and not stacks:
            return
        cut = Loop(graph, len(constants), len(carries), loop.length, loop.reverse, loop.unroll)
        found = (*[equation.results[k] for k in kept], *stacks)
        self.equations.append(Equation(scan_p, tuple(operands), {"loop": cut}, found, equation.source))

    def _sum(self, equation: Equation, k: int, parts: Sequence[tuple[Operand, bool]]) -> None:
        """Add the parts of all rounds to a carry, one after the other, as the rounds do."""
        loop: Loop = equation.params["loop"]
        self.source = equation.source
        first, result = equation.operands[loop.constants + k], equation.results[k]
        rows: list[Operand] = []
        for x, is_negative in parts:
            y = self._lifted[x]
            y = self.emit(neg_p, y) if is_negative else y
            rows.append(self.emit(index_p, y, index=_REVERSED) if loop.reverse else y)
        shape = result.aval.shape
        y = rows[0]
        if len(rows) > 1:
            y = self.emit(reshape_p, self.emit(stack_p, *rows, axis=1), shape=(len(rows) * loop.length, *shape))
        start = self.emit(stack_p, first, axis=0)
        sums = self.emit(cumsum_p, self.emit(concatenate_p, start, y, axis=0), axis=0, reverse=False)
        self.equations.append(Equation(index_p, (sums,), {"index": _LAST}, (result,), self.source))


def split_loops(graph: Graph) -> Graph:
    """Return the same program with smaller loops, where a round is small enough to gain.

    Args:
        graph: a program for the NumPy engine.
    """
    return _Splitter(graph).run() if any(each.primitive is scan_p for each in graph.equations) else graph
