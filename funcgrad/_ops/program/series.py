"""Taylor mode of primitives that hold graphs: their graphs run on values and stacks of coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from funcgrad._core.trace.jet import Coefficients, Series
from funcgrad._ops.index.gather import index
from funcgrad._ops.index.join import stack
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.program.derivative import GraphProgram, Moves, ProgramDerivative, moves_of
from funcgrad._ops.program.derived import chosen, spread_out


class SeriesProgram(GraphProgram, Protocol):
    """A program that also runs on series."""

    def pushed(self, moves: Moves, primals: tuple, x_dots: list, separate: bool, order: int = 0) -> tuple[list, list]:
        """Push tangents as any program does, or, with an order, coefficients stacked along the last axis."""
        ...


class GraphDerivative(ProgramDerivative):
    """The derivative of a program that runs graphs. It also runs them on series."""

    __slots__ = ()

    def __init__(self, program: Callable[..., SeriesProgram]) -> None:
        super().__init__(program)

    def jets(self, xs: Sequence[Series], order: int, params: dict) -> tuple[list, Coefficients]:
        """Return the results, and the function that gives the coefficients of each order.

        Args:
            xs: the series of the operands.
            order: the highest order that will be asked for, if it is known, else 0.
            params: the parameters of the primitive.
        """
        program: Any = self.program(**params)
        primals = tuple([x[0] for x in xs])
        moves = moves_of(program, primals, [not x.is_constant for x in xs])
        found: list[list[Any]] = []

        def run(order: int) -> list[Any]:
            stacks = [_stacked(x, order) for x in chosen(xs, moves.operands)]
            ys, y_dots = program.pushed(moves, primals, stacks, False, order)
            columns = [[index(y_dot, (Ellipsis, k)) for k in range(order)] for y_dot in y_dots]
            found[:] = [spread_out([column[k] for column in columns], moves.results) for k in range(order)]
            return ys

        def coefficients(k: int) -> list[Any]:
            if not any(moves.results):
                return [None] * len(moves.results)
            if len(found) < k:
                # Within a rule the orders are asked for one by one.
                run(max(k, min(x.order for x in xs if not x.is_constant)))
            return found[k - 1]

        return run(order) if order and any(moves.results) else program(*primals), coefficients


def _stacked(x: Series, order: int) -> Any:
    terms = [zeros_like(x[0]) if x[k] is None else x[k] for k in range(1, order + 1)]
    return stack(terms, len(x[0].shape))
