"""Derivatives of primitives that hold graphs: one skeleton with three hooks for each primitive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.bind import level_of
from funcgrad._core.primitive import Primitive
from funcgrad._ops.program.derived import Mask, chosen, spread_out, zeros_of
from funcgrad._types import Value


class Moves(NamedTuple):
    """Which operands and which results carry derivatives."""

    operands: Mask
    results: Mask


class GraphProgram(Protocol):
    """The parameters of a primitive that holds graphs: a function to run, and the programs of its derivatives."""

    def __call__(self, *operands: Value) -> list[Any]:
        """Run it, as an application of the primitive."""
        ...

    @property
    def avals(self) -> Sequence[Aval]:
        """The types of the results."""
        ...

    def moves(self, active: Mask) -> Moves:
        """Return which operands and results carry derivatives if these operands do.

        A loop can make more operands active.
        """
        ...

    def pulled(self, moves: Moves, primals: tuple) -> tuple[list, Callable[..., list], Sequence[Any]]:
        """Return ``(results, backward, kept)``.

        ``backward(*kept, *y_bars)`` takes a cotangent for each active result and returns one for each active operand.
        """
        ...

    def pushed(self, moves: Moves, primals: tuple, x_dots: list, separate: bool) -> tuple[list, list]:
        """Return the results, and a tangent for each active result, from a tangent for each active operand.

        With ``separate`` the tangents belong to an inner transform without primals; the results must not depend on it.
        """
        ...


class ProgramDerivative:
    """Both modes of a primitive whose parameters, by name, make a `GraphProgram`."""

    __slots__ = ("program",)

    def __init__(self, program: Callable[..., GraphProgram]) -> None:
        self.program = program

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        program = self.program(**params)
        flags = [bool(active >> i & 1) for i in range(len(primals))]
        moves = moves_of(program, primals, flags)
        if not any(moves.results):
            return program(*primals), None, ()
        ys, backward, kept = program.pulled(moves, primals)
        avals = chosen(program.avals, moves.results)

        def pull(y_bars: list, *kept: Any) -> list:
            pairs = zip(chosen(y_bars, moves.results), avals, strict=True)
            x_bars = backward(*kept, *[zeros_of(aval) if y_bar is None else y_bar for y_bar, aval in pairs])
            pairs = zip(spread_out(x_bars, moves.operands), flags, strict=True)
            return [x_bar if flag else None for x_bar, flag in pairs]

        return ys, pull, tuple(kept)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        program = self.program(**params)
        moves = moves_of(program, primals, [x_dot is not None for x_dot in tangents])
        if not any(moves.results):
            return program(*primals), [None] * len(moves.results)
        pairs = chosen(list(zip(primals, tangents, strict=True)), moves.operands)
        x_dots = [zeros_of(aval_of(x)) if x_dot is None else x_dot for x, x_dot in pairs]
        ys, y_dots = program.pushed(moves, primals, x_dots, level_of(x_dots) > level_of(primals))
        return ys, spread_out(y_dots, moves.results)


def moves_of(program: GraphProgram, primals: tuple, flags: Sequence[bool]) -> Moves:
    """Return what moves if the flagged operands of inexact dtype do."""
    pairs = zip(primals, flags, strict=True)
    return program.moves(tuple([flag and is_inexact(aval_of(x).dtype) for x, flag in pairs]))
