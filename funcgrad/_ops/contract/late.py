"""Sums over the rounds of a loop that are computed after the loop.

The derivative of a loop adds a share to the cotangent of a weight in each round. If the weight is a matrix, the share
is a product ``a . b`` of two values of the round. The loop can stack ``a`` and ``b`` instead. The product of the
stacks, which also contracts the rounds, is the sum of all shares. It writes the cotangent once, not in each round.

A value is stacked only if it has at most as many elements as the share. All new stacks together take at most as much
memory as the stacks that the loop has without them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from funcgrad._core.bind import bind
from funcgrad._core.graph.ir import Equation, Graph, Operand, Var
from funcgrad._ops.contract.dot import dot_general, dot_general_p
from funcgrad._ops.elementwise.arithmetic import add_p, mul_p
from funcgrad._ops.layout.batching import moved_axes
from funcgrad._ops.layout.broadcast import reduce_sum, reduce_sum_p
from funcgrad._ops.layout.shape import reshape, reshape_p, transpose_p
from funcgrad._types import Value

# The least number of operations in all rounds. A product after the loop costs 3 us on Numba and 9 us on XLA, as much as
# a loop saves in which the shares are computed by so many operations.
LEAST_OPERATIONS = 50_000


class LateSums:
    """The sums of shares that are computed after a loop.

    Attributes:
        late: for each share whether its sum is computed after the loop.
        stacked: the values that the loop has to stack for this.

    Args:
        graph: one round.
        shares: the number of shares, which are the first outputs.
        rows: the values of the round that are rows of stacks anyway.
        own: the inputs that differ from round to round.
        length: the number of rounds.
    """

    def __init__(self, graph: Graph, shares: int, rows: Sequence[Operand], own: Sequence[Var], length: int) -> None:
        self._makers: dict[Any, Equation] = {y: equation for equation in graph.equations for y in equation.results}
        self._reads: Counter[Any] = Counter(
            x for equation in graph.equations for x in equation.operands if type(x) is Var
        )
        self._reads.update(x for x in (*set(graph.outputs[:shares]), *graph.outputs[shares:]) if type(x) is Var)
        self._own = {*own, *self._makers}
        self._rows = {x for x in rows if type(x) is Var}
        self._room = sum(x.aval.size for x in self._rows)
        self._shares = graph.outputs[:shares]
        self._length = length
        self.stacked: list[Any] = []
        self.late = [False] * shares
        # A large share may need a stack that serves a small one too.
        for i in sorted(range(shares), key=lambda i: -self._shares[i].aval.size):
            self.late[i] = self._take(self._shares[i])

    def totals(self, stacks: dict[Any, Any]) -> list[Any]:
        """Return the late sums, from the stacks of the values of all rounds."""
        return [self._total(x, stacks) for x, is_late in zip(self._shares, self.late, strict=True) if is_late]

    def _take(self, share: Operand) -> bool:
        """Make room for the stacks of a share; return whether there is enough, and whether it pays."""
        products = self._products(share)
        if products is None or sum(x.flops for x in products) * self._length < LEAST_OPERATIONS:
            return False
        new: dict[Any, None] = {}
        for product in products:
            needed = [x for x in dict.fromkeys(product.operands) if x not in self._rows and x not in new]
            if sum(x.aval.size for x in needed) > product.results[0].aval.size:
                return False
            new.update(dict.fromkeys(needed))
        size = sum(x.aval.size for x in new)
        if size > self._room:
            return False
        self._room -= size
        self._rows.update(new)
        self.stacked += new
        return True

    def _products(self, x: Operand) -> list[Equation] | None:
        """Return the equations whose results ``x`` adds up; ``None`` if it is no such sum, or is read elsewhere too."""
        equation = self._makers.get(x)
        if equation is None or self._reads[x] > 1:
            return None
        if _sum_over_rounds(equation) is not None:
            return [equation] if all(each in self._own for each in equation.operands) else None
        sizes = {each.aval.size for each in equation.operands}
        if equation.primitive not in (add_p, transpose_p, reshape_p) or sizes != {x.aval.size}:
            return None
        parts = [self._products(each) for each in equation.operands]
        return None if None in parts else [product for part in parts for product in part or ()]

    def _total(self, x: Operand, stacks: dict[Any, Any]) -> Any:
        equation = self._makers[x]
        over_rounds = _sum_over_rounds(equation)
        if over_rounds is None:
            return bind(
                equation.primitive, tuple([self._total(each, stacks) for each in equation.operands]), equation.params
            )
        return reshape(over_rounds(*[stacks[each] for each in equation.operands], **equation.params), x.aval.shape)


def _sum_over_rounds(equation: Equation) -> Any:
    """Return the function of stacks that sums the result of an equation over the rounds; ``None`` if there is none."""
    if equation.primitive is mul_p:
        a, b = [x.aval.shape for x in equation.operands]
        return _outer if _are_column_and_row(a, b) else _outer_exchanged if _are_column_and_row(b, a) else None
    return {dot_general_p: _dot_general, reduce_sum_p: _reduce_sum}.get(equation.primitive)


def _are_column_and_row(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    return len(a) == 2 and a[1] == 1 and len(b) in (1, 2) and b[:-1] in ((), (1,))


def _outer(column: Value, row: Value) -> Any:
    return dot_general(column, row, ((0,), (0,)))


def _outer_exchanged(row: Value, column: Value) -> Any:
    return _outer(column, row)


def _dot_general(a: Value, b: Value, *, contract: Any, batch: Any) -> Any:
    left, right = [(0, *moved_axes(axes)) for axes in contract]
    return dot_general(a, b, (left, right), (moved_axes(batch[0]), moved_axes(batch[1])))


def _reduce_sum(x: Value, *, axes: tuple[int, ...], keepdims: bool) -> Any:
    del keepdims
    return reduce_sum(x, (0, *moved_axes(axes)))
