"""Identities: one stops derivatives, one separates operations, one copies the sharding of another array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from funcgrad._core.bind import NUMPY_TYPES
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.batch import Shared
from funcgrad._core.trace.derivative import CONSTANT, LinearTogether
from funcgrad._engines import on_several_devices
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.depends import same
from funcgrad._types import Array, Lax, Value

stop_gradient_p = Primitive(
    "stop_gradient",
    operands=("x",),
    numpy=lambda x: x,
    xla="stop_gradient",
    aval=lambda x: x,
    derivative=CONSTANT,
    batch=batch_same,
    cost=lambda y, x: 0,
    forms=Forms(basic=Basic.STOP_GRADIENT),
)


class _IdentityDerivative(LinearTogether):
    """Cotangents and tangents pass unchanged."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        return primitive(*primals), list, ()

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return primitive(*primals), tangents


def _separate_xla(lax: Lax, *xs: Array) -> list[Any]:
    if not any(lax.is_traced(x) for x in xs):
        return list(xs)
    return lax.separate(*xs)


def _separate_batch(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> list[Any]:
    return [y if flag else Shared(y) for y, flag in zip(primitive(*operands), batched, strict=True)]


# All operands are computed before any operation that reads the results, on platforms where this is faster. XLA's CPU
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
    forms=Forms(basic=Basic.BARRIER, depends=same),
)


class _AlikeDerivative(LinearTogether):
    """Cotangents and tangents of the first half pass unchanged; the second half only gives the sharding."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        return primitive(*primals), lambda y_bars: [*y_bars, *[None] * len(y_bars)], ()

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return primitive(*primals), tangents[: len(tangents) // 2]


def _first_half(*xs: Value) -> list[Any]:
    return list(xs[: len(xs) // 2])


def _alike_batch(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> list[Any]:
    count = len(operands) // 2
    made = list(operands[:count])
    both = [i for i in range(count) if batched[i] == batched[count + i]]
    moved = primitive(*[operands[i] for i in both], *[operands[count + i] for i in both]) if both else []
    for i, y in zip(both, moved, strict=True):
        made[i] = y
    return [y if flag else Shared(y) for y, flag in zip(made, batched, strict=False)]


# Return the first half of the operands, each sharded as its partner of the same shape in the second half.
alike_p = Primitive(
    "alike",
    operands=("*xs",),
    numpy=_first_half,
    xla=lambda lax, *xs: lax.alike(xs[: len(xs) // 2], xs[len(xs) // 2 :]),
    aval=_first_half,
    derivative=_AlikeDerivative(),
    batch=_alike_batch,
    cost=lambda y, *xs: 0,
    multiple_results=True,
    forms=Forms(basic=Basic.BARRIER, depends=same),
)


def alike(ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
    """Return new values, each sharded as the value that it replaces, if there are several devices."""
    made = list(ys)
    if on_several_devices():
        numbers = [i for i, (y, x) in enumerate(zip(ys, xs, strict=True)) if y is not x and _may_move(y, x)]
        moved = alike_p(*[ys[i] for i in numbers], *[xs[i] for i in numbers]) if numbers else []
        for i, y in zip(numbers, moved, strict=True):
            made[i] = y
    return made


def _may_move(y: Value, x: Value) -> bool:
    plain = type(y) in NUMPY_TYPES or type(x) in NUMPY_TYPES
    return not plain and getattr(y, "shape", ()) == getattr(x, "shape", ()) != ()
