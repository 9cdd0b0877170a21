"""Add pieces to large arrays where the pieces are made, not where their sum is read.

    s = scatter[[:, 0], [:, 1]] p q   # p and q live until here, and all of s is made
    y = add x s                       # passes over all of x

become, for each piece, ``t = index[[:, 0]] x; u = add t p; x = scatter_set[[:, 0]] x u``, which is written in place.
The gradient of a loop over the columns of a matrix has thousands of such sums. Their pieces took 14 GB in the gradient
of a covariance of 1,400 columns, and deriche's filter of 1,000 columns passed over whole images 20,000 times.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var, trusted_graph
from funcgrad._core.graph.pieces import are_apart, is_plain
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.gather import index_p, scatter_p
from funcgrad._ops.index.scatter import scatter_set_p

# The elements of an array from which on its sums are looked at. The passes over smaller ones cost less than calls.
_LARGE = 1 << 15
# Pieces that have this many times the elements of their sum are added one by one.
_MANY = 4


def with_late_sums(graph: Graph) -> Graph:
    """Return the same program, in which large sums of pieces are written piece by piece. No number changes."""
    return _LateSums(graph).written()


def _fits(equation: Equation) -> bool:
    (result,), indices = equation.results, equation.params["indices"]
    return (
        result.aval.size > _LARGE
        and result.aval.dtype.kind == "f"
        and not any(index.slots for index in indices)
        and all(x.aval.dtype == result.aval.dtype and x.aval.shape for x in equation.operands)
    )


class _LateSums:
    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._uses = Counter([*graph.outputs, *[x for each in graph.equations for x in each.operands]])
        self._made: dict[Operand, int] = {y: i for i, equation in enumerate(graph.equations) for y in equation.results}
        self._constants: dict[Operand, Any] = dict(graph.constants)
        # The arrays without negative zeros: adding 0.0 to their elements changes nothing.
        self._plain: set[Operand] = set()
        # The numbers of sums that may be added to the array that they are read with.
        self._waiting: dict[Operand, int] = {}
        # The equations in place of each equation, and those after it; -1 is the beginning.
        self._written: dict[int, list[Equation]] = {}
        self._after: dict[int, list[Equation]] = {}

    def written(self) -> Graph:
        graph = self._graph
        for i, equation in enumerate(graph.equations):
            if equation.primitive is scatter_p and _fits(equation):
                self._sum(i, equation)
            elif equation.primitive is add_p and (pair := self._pair(equation)) is not None:
                x, number = pair
                self._written[number] = []
                self._written[i] = _added(x, graph.equations[number], equation.results[0])
            if is_plain(equation, self._has_plain):
                self._plain.add(equation.results[0])
        equations = [*self._after.get(-1, ())]
        for i, equation in enumerate(graph.equations):
            equations += [*self._written.get(i, (equation,)), *self._after.get(i, ())]
        return trusted_graph(graph.inputs, graph.constants, equations, graph.outputs, graph.name, graph.trees)

    def _sum(self, i: int, equation: Equation) -> None:
        """Add many pieces where they are made; few may wait for the array that they are added to."""
        (result,), pieces = equation.results, equation.operands
        size = sum(x.aval.size for x in pieces)
        if len(pieces) > 1 and size > _MANY * result.aval.size:
            # The pieces are added in their order, so each waits for those before it.
            places = [*itertools.accumulate([self._made.get(x, -1) for x in pieces], max)]
            steps = _added(None, equation, result)
            self._written[i] = []
            self._after.setdefault(places[0], []).append(steps[0])
            for k, place in enumerate(places[1:]):
                self._after.setdefault(place, []).extend(steps[3 * k + 1 : 3 * k + 4])
        elif 2 * size < result.aval.size and self._uses[result] == 1 and are_apart(equation):
            self._waiting[result] = i

    def _pair(self, equation: Equation) -> tuple[Var, int] | None:
        """Return the array and the number of the sum that an equation adds to it, if that can be done in pieces."""
        for x, y in (equation.operands, equation.operands[::-1]):
            if type(x) is Var and y in self._waiting and x.aval == equation.results[0].aval and self._has_plain(x):
                return x, self._waiting.pop(y)
        return None

    def _has_plain(self, x: Operand) -> bool:
        value = x.value if type(x) is Literal else self._constants.get(x)
        if value is None:
            return x in self._plain
        known = np.asarray(value)
        found = np.isrealobj(known) and not np.any(np.signbit(known) & (known == 0))
        if found and type(x) is Var:
            self._plain.add(x)
            del self._constants[x]
        return bool(found)


def _added(x: Var | None, pieces: Equation, result: Var) -> list[Equation]:
    """Return the equations that add pieces to an array one after another; without an array, to zeros."""
    found: list[Equation] = []
    pairs = [*zip(pieces.operands, pieces.params["indices"], strict=True)]
    for k, (piece, index) in enumerate(pairs):
        made = result if k == len(pairs) - 1 else Var(result.aval)
        if x is None:
            params = {"shape": result.aval.shape, "indices": (index,)}
            found.append(Equation(scatter_p, (piece,), params, (made,), pieces.source))
        else:
            before, after = Var(piece.aval), Var(piece.aval)
            found += [
                Equation(index_p, (x,), {"index": index}, (before,), pieces.source),
                Equation(add_p, (before, piece), {}, (after,), pieces.source),
                Equation(scatter_set_p, (x, after), {"index": index}, (made,), pieces.source),
            ]
        x = made
    return found
