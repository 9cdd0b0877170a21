"""A function written in JAX as a primitive: JAX differentiates and batches it, our transforms see one operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from funcgrad._core.aval import Aval, is_inexact
from funcgrad._core.bind import level_of
from funcgrad._core.primitive import Primitive
from funcgrad._ops.program.derived import chosen, spread_out, zeros_of


class Function(Protocol):
    """What the XLA engine makes of a function written in JAX."""

    name: str

    def __call__(self, *xs: Any) -> list[Any]: ...

    def on_numpy(self, *xs: Any) -> list[Any]: ...

    @property
    def results(self) -> list[Aval]: ...

    def pushed(self, moving: tuple[bool, ...]) -> Function: ...

    def pulled(self, moving: tuple[bool, ...]) -> tuple[Function, Function]: ...

    def mapped(self, batched: tuple[bool, ...], size: int) -> Function: ...


class _JaxDerivative:
    """By ``jax.vjp`` and ``jax.jvp`` of the function: functions of the same kind."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        function: Function = params["function"]
        moving = tuple([bool(active >> i & 1) for i in range(len(primals))])
        inexact = [is_inexact(y.dtype) for y in function.results]
        if not any(inexact):
            return apply(function, primals), None, ()
        forward, backward = function.pulled(moving)
        results = apply(forward, primals)

        def pull(y_bars: list, *kept: Any) -> list:
            pairs = chosen(list(zip(y_bars, function.results, strict=True)), inexact)
            seeds = [zeros_of(y) if y_bar is None else y_bar for y_bar, y in pairs]
            return spread_out(apply(backward, (*kept, *seeds)), moving)

        count = len(inexact)
        return results[:count], pull, tuple(results[count:])

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        function: Function = params["function"]
        moving = tuple([x_dot is not None for x_dot in tangents])
        inexact = [is_inexact(y.dtype) for y in function.results]
        x_dots = chosen(tangents, moving)
        results = apply(function.pushed(moving), (*primals, *x_dots))
        count = len(inexact)
        # Where the tangents belong to an inner transform that has no primals, the results stay out of it.
        ys = apply(function, primals) if level_of(x_dots) > level_of(primals) else results[:count]
        return ys, spread_out(results[count:], inexact)


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    return apply(params["function"].mapped(batched, size), operands)


jax_function_p = Primitive(
    "jax_function",
    operands=("*xs",),
    numpy=lambda *xs, function: function.on_numpy(*xs),
    xla=lambda lax, *xs, function: function(*xs),
    aval=lambda *xs, function: function.results,
    derivative=_JaxDerivative(),
    batch=_batch,
    cost=lambda y, *xs, function: 0,
    multiple_results=True,
)


def apply(function: Function, operands: Sequence[Any]) -> list[Any]:
    """Run a function written in JAX on values of any kind."""
    return jax_function_p(*operands, function=function)
