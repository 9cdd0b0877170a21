"""The identity that carries no derivative."""

from __future__ import annotations

from typing import Any

from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.batch import Shared
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.layout.batching import batch_same

stop_gradient_p = Primitive(
    "stop_gradient",
    operands=("x",),
    numpy=lambda x: x,
    xla="stop_gradient",
    aval=lambda x: x,
    derivative=CONSTANT,
    batch=batch_same,
    cost=lambda y, x: 0,
)


class _IdentityDerivative:
    """Cotangents and tangents pass as they are."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        return primitive(*primals), list, ()

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return primitive(*primals), tangents


def _separate_xla(lax: Any, *xs: Any) -> list[Any]:
    if not any(lax.is_traced(x) for x in xs):
        return list(xs)
    return lax.separate(*xs)


def _separate_batch(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> list[Any]:
    return [y if flag else Shared(y) for y, flag in zip(primitive(*operands), batched, strict=True)]


# All operands are finished before anything that reads the results begins, on platforms where this is faster. XLA's CPU
# backend makes a loop for each result of an optimizer's step: it would compute the new buffer twice, and copy the old
# one, which the second loop still reads. On other platforms one loop has several results.
separate_p = Primitive(
    "separate",
    operands=("*xs",),
    numpy=lambda *xs: list(xs),
    xla=_separate_xla,
    aval=lambda *xs: list(xs),
    derivative=_IdentityDerivative(),
    batch=_separate_batch,
    cost=lambda y, *xs: 0,
    multiple_results=True,
)
