"""A function written in JAX as a primitive: JAX differentiates and batches it, our transforms see one operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from funcgrad._core.aval import Aval, is_inexact
from funcgrad._core.primitive import Primitive
from funcgrad._ops.program.derivative import Moves, ProgramDerivative
from funcgrad._ops.program.derived import Mask
from funcgrad._types import Array, Value


class FlatJaxFunction(Protocol):
    """The functions that the XLA engine makes of a function written in JAX."""

    name: str

    def __call__(self, *xs: Value) -> list[Any]: ...

    def on_numpy(self, *xs: Array) -> list[Any]: ...

    @property
    def results(self) -> list[Aval]: ...

    def pushed(self, moving: tuple[bool, ...]) -> FlatJaxFunction: ...

    def pulled(self, moving: tuple[bool, ...]) -> tuple[FlatJaxFunction, FlatJaxFunction]: ...

    def mapped(self, batched: tuple[bool, ...], size: int) -> FlatJaxFunction: ...


class _Written(NamedTuple):
    """The derivatives are ``jax.vjp`` and ``jax.jvp`` of the function: functions of the same kind."""

    function: FlatJaxFunction

    def __call__(self, *operands: Value) -> list[Any]:
        return apply(self.function, operands)

    @property
    def avals(self) -> list[Aval]:
        return self.function.results

    def moves(self, active: Mask) -> Moves:
        return Moves(active, tuple([is_inexact(y.dtype) for y in self.avals]))

    def pulled(self, moves: Moves, primals: tuple) -> tuple[list, Callable[..., list], list]:
        forward, backward = self.function.pulled(moves.operands)
        results, count = apply(forward, primals), len(self.avals)
        return results[:count], _Written(backward), results[count:]

    def pushed(self, moves: Moves, primals: tuple, x_dots: list, separate: bool) -> tuple[list, list]:
        results, count = apply(self.function.pushed(moves.operands), (*primals, *x_dots)), len(self.avals)
        return self(*primals) if separate else results[:count], results[count:]


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    return apply(params["function"].mapped(batched, size), operands)


jax_function_p = Primitive(
    "jax_function",
    operands=("*xs",),
    numpy=lambda *xs, function: function.on_numpy(*xs),
    xla=lambda lax, *xs, function: function(*xs),
    aval=lambda *xs, function: function.results,
    derivative=ProgramDerivative(_Written),
    batch=_batch,
    cost=lambda y, *xs, function: 0,
    multiple_results=True,
)


def apply(function: FlatJaxFunction, operands: Sequence[Any]) -> list[Any]:
    """Run a function written in JAX on values of any kind."""
    return jax_function_p(*operands, function=function)
