"""A black box: a Python function of NumPy arrays, without derivative."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.primitive import Primitive
from funcgrad.errors import NotDifferentiableError

Function = Callable[..., Sequence[Any]]


class _NoDerivative:
    """What happens in a black box is not known: a derivative through it is refused."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        raise self._error(params)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        raise self._error(params)

    def _error(self, params: dict) -> NotDifferentiableError:
        return NotDifferentiableError(
            f"call_numpy: a derivative was asked through {params['name']}, of which only the values are known. "
            "Give it a rule: call it inside a function declared with fg.custom_vjp or fg.custom_jvp."
        )


def _run(*xs: Any, function: Function, avals: tuple[Aval, ...], name: str) -> list[Any]:
    results = function(*[np.asarray(x) for x in xs])
    return [_checked(y, aval, name) for y, aval in zip(results, avals, strict=True)]


def _checked(y: Any, aval: Aval, name: str) -> Any:
    y = np.asarray(y)
    if y.shape != aval.shape or not np.can_cast(y.dtype, aval.dtype, "same_kind"):
        raise ValueError(
            f"call_numpy: {name} returned {Aval(y.shape, y.dtype)}; needed {aval}, as result_shape_dtype says. "
            "Change the one or the other."
        )
    return y.astype(aval.dtype, copy=False)[()]


def _run_xla(lax: Any, *xs: Any, function: Function, avals: tuple[Aval, ...], name: str) -> list[Any]:
    results = tuple([Aval(aval.shape, lax.canonical_dtype(aval.dtype)) for aval in avals])
    return lax.pure_callback(lambda *xs: _run(*xs, function=function, avals=results, name=name), results, *xs)


callback_p = Primitive(
    "callback",
    operands=("*xs",),
    numpy=_run,
    xla=_run_xla,
    aval=lambda *xs, avals, **_: list(avals),
    derivative=_NoDerivative(),
    batch=None,
    cost=lambda y, *xs, **_: 0,
    multiple_results=True,
)
