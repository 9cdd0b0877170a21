"""Guards: the answers that a path of a program took to be true, each an equation of its graph.

A path is the straight program that a function runs for some numbers. ``if x > 0`` chose a branch, so the program holds
for those numbers alone that give the same answer. A guard records which value was asked, for what, and the answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import Tracer
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.batch import Shared
from funcgrad._core.trace.path import PathTrace
from funcgrad._core.trace.staging import StagedTracer
from funcgrad._ops.program.effect import DONE, NothingMoves, effect_p
from funcgrad._types import Array, Lax, Value
from funcgrad.errors import GraphError

# The Python functions that a guard may stand for. Each maps a value without a derivative to a hashable answer.
ASKED: dict[str, Callable[[Any], Any]] = {
    "bool": bool,
    "int": int,
    "index": operator.index,
    "item": lambda x: x.item() if isinstance(x, Tracer) else np.asarray(x).item(),
}


def answer_to(asked: str, value: Value) -> Value:
    """Return the answer of Python's function to a value of any engine."""
    return ASKED[asked](value if issubclass(type(value), int | float | complex | Tracer) else np.asarray(value)[()])


def record_guard(trace: PathTrace, x: StagedTracer, asked: str, answer: Any) -> None:
    """Add the equation of a guard to a path."""
    trace.apply(guard_p, (x,), {"asked": asked, "answer": answer})


def _check(asked: str, answer: Any, x: Value) -> None:
    """Raise an error if a value gives another answer than the one that was recorded."""
    found = answer_to(asked, x)
    if found != answer:
        raise GraphError(
            f"guard: a graph of one path was evaluated where {asked}() of a value is {found!r}. The graph holds where "
            f"it is {answer!r}. Make the graph of the other path with fg.make_graph(f, paths=True), or call "
            "fg.jit(f, paths=8), which follows both."
        )


def _run(x: Value, *, asked: str, answer: Any) -> list[Any]:
    _check(asked, answer, x)
    return [DONE]


class _Check:
    """The effect that checks a guard where a compiled program runs."""

    def __init__(self, asked: str, answer: Any) -> None:
        self._given = asked, answer
        self.name = f"guard: {asked} is {answer!r}"

    def __call__(self, x: Value) -> None:
        _check(*self._given, x)


def _run_xla(lax: Lax, x: Array, *, asked: str, answer: Array) -> list[Any]:
    del lax
    return effect_p(x, function=_Check(asked, answer), ordered=False)


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    """Check every element of a batch: the graph holds where all of them give the same answer."""
    del primitive, batched
    (x,) = operands
    for i in range(size):
        guard_p(x[i], **params)
    return [Shared(DONE)]


guard_p = Primitive(
    "guard",
    operands=("x",),
    numpy=_run,
    xla=_run_xla,
    aval=lambda x, *, asked, answer: [Aval((), np.dtype(bool))],
    derivative=NothingMoves(),
    batch=_batch,
    cost=lambda y, x, *, asked, answer: 0,
    forms=Forms(basic=Basic.GUARD),
    multiple_results=True,
)
guard_p.effect = True
guard_p.guards = True
