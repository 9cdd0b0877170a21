"""Side effects of programs: a Python function that gets values and returns nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.batch import Shared
from funcgrad._core.trace.staging import effects_trace
from funcgrad._engines import is_abstract, tracing_engine
from funcgrad._types import Array, Lax, Value

Function = Callable[..., None]

# An equation needs a result, though nobody reads that of an effect.
DONE = np.bool_(False)


class NothingMoves:
    """An effect has no derivative; it gets the primal values."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        return primitive(*primals, **params), None, ()

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return primitive(*primals, **params), [None]


def _run(*xs: Value, function: Function, ordered: bool) -> list[Any]:
    # If the values are known while a program is staged, the effect must still happen in each run of the program.
    params = {"function": function, "ordered": ordered}
    staging = effects_trace()
    if staging is not None:
        return staging.apply(effect_p, xs, params)
    engine = tracing_engine()
    if engine is not None:
        return engine.run(effect_p, xs, params)
    function(*map(np.array, xs))
    return [DONE]


def _run_xla(lax: Lax, *xs: Array, function: Function, ordered: bool) -> list[Any]:
    staging = effects_trace()
    if staging is not None:
        return staging.apply(effect_p, xs, {"function": function, "ordered": ordered})
    if tracing_engine() is None and not any(map(is_abstract, xs)):
        function(*map(np.array, xs))
        return [DONE]
    lax.debug_callback(lambda *xs: function(*map(np.array, xs)), *xs, ordered=ordered)
    return [DONE]


class _Each(NamedTuple):
    """The effect for each element of a batch, one after the other."""

    function: Function
    size: int
    batched: tuple[bool, ...]

    def __call__(self, *xs: Value) -> None:
        for i in range(self.size):
            self.function(*[x[i] if flag else x for x, flag in zip(xs, self.batched, strict=True)])

    @property
    def name(self) -> str:
        return f"each of {self.size}: {getattr(self.function, 'name', self.function)}"


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    function = _Each(params["function"], size, batched)
    return [Shared(primitive(*operands, function=function, ordered=params["ordered"])[0])]


effect_p = Primitive(
    "effect",
    operands=("*xs",),
    numpy=_run,
    xla=_run_xla,
    aval=lambda *xs, function, ordered: [Aval((), np.dtype(bool))],
    derivative=NothingMoves(),
    batch=_batch,
    cost=lambda y, *xs, function, ordered: 0,
    multiple_results=True,
)
effect_p.effect = True
