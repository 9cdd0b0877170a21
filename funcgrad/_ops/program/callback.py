"""Calls of a Python function of NumPy arrays that has no derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import untraced
from funcgrad._core.primitive import Primitive
from funcgrad._types import Array, Lax, Value
from funcgrad.errors import NotDifferentiableError

Function = Callable[..., Sequence[Any]]


class _NoDerivative:
    """The inside of the function is unknown, so a derivative through it is refused."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        raise self._error(params)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        raise self._error(params)

    def _error(self, params: dict) -> NotDifferentiableError:
        return NotDifferentiableError(
            f"call_numpy: a derivative was asked through {params['name']}, but its derivative is unknown. "
            "Give it a rule: call it inside a function declared with fg.custom_vjp or fg.custom_jvp."
        )


def _run(*xs: Value, function: Function, avals: tuple[Aval, ...], name: str) -> list[Any]:
    with untraced():
        # Copies, because the function may write to what it gets, and may keep what it returns.
        results = function(*map(np.array, xs))
    return [_checked(y, aval, name) for y, aval in zip(results, avals, strict=True)]


def _checked(y: Value, aval: Aval, name: str) -> Value:
    y = np.array(y)
    if y.shape != aval.shape or not np.can_cast(y.dtype, aval.dtype, "same_kind"):
        raise ValueError(
            f"call_numpy: {name} returned {Aval(y.shape, y.dtype)}; needed {aval}, by result_shape_dtype. "
            "Change the result, or result_shape_dtype."
        )
    return y.astype(aval.dtype, copy=False)[()]


def _run_xla(lax: Lax, *xs: Array, function: Function, avals: tuple[Aval, ...], name: str) -> list[Any]:
    results = tuple([Aval(aval.shape, lax.canonical_dtype(aval.dtype)) for aval in avals])
    return lax.pure_callback(lambda *xs: _run(*xs, function=function, avals=results, name=name), results, *xs)


class _MappedFunction(NamedTuple):
    """A function called once for each element of a batch, because it may not accept a whole batch."""

    function: Function
    avals: tuple[Aval, ...]
    name: str
    size: int
    batched: tuple[bool, ...]

    def __call__(self, *xs: Value) -> list[Any]:
        ys = [np.empty((self.size, *aval.shape), aval.dtype) for aval in self.avals]
        for i in range(self.size):
            row = [x[i] if flag else x for x, flag in zip(xs, self.batched, strict=True)]
            found = _run(*row, function=self.function, avals=self.avals, name=self.name)
            for y, result in zip(ys, found, strict=True):
                y[i] = result
        return ys


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    function = _MappedFunction(params["function"], params["avals"], params["name"], size, batched)
    avals = tuple([Aval((size, *aval.shape), aval.dtype) for aval in params["avals"]])
    return primitive(*operands, function=function, avals=avals, name=params["name"])


callback_p = Primitive(
    "callback",
    operands=("*xs",),
    numpy=_run,
    xla=_run_xla,
    aval=lambda *xs, avals, **_: list(avals),
    derivative=_NoDerivative(),
    batch=_batch,
    cost=lambda y, *xs, **_: 0,
    multiple_results=True,
)
callback_p.fails = True
