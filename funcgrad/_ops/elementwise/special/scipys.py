"""Factories for primitives that have the values of a ufunc of ``scipy.special``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.forms import NEW_MEMORY, Forms
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._core.threads import each
from funcgrad._core.trace.recorder import Rule
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._types import Array, Lax, Value
from funcgrad.errors import NotDifferentiableError

scipy_special = LazyModule("scipy.special")
scipy_ufuncs = LazyModule("scipy.special._ufuncs")


# Arrays of at least this many elements use all cores: SciPy takes 24 ns for a quantile. Blocks of compiled programs are
# smaller, because those programs use all cores already.
_MANY = 1 << 16
_BLOCK = 1 << 14


def on_all_cores(name: str) -> Callable[[Any], Any]:
    """Return SciPy's function of one array, run on all cores for large arrays."""

    def compute(x: Value) -> Value:
        function = getattr(scipy_special, name)
        if type(x) is not np.ndarray or x.size < _MANY or not x.flags.c_contiguous:
            return function(x)
        y = np.empty(x.shape, function(x[:0]).dtype)
        source, target = x.reshape(-1), y.reshape(-1)
        parts = [slice(start, start + _BLOCK) for start in range(0, x.size, _BLOCK)]
        each(lambda part: function(source[part], out=target[part]), parts)
        return y

    return compute


def no_rule(name: str, operand: str, remedy: str = "") -> Rule:
    """Return the map of an operand without a good rule: it raises, because a derivative of 0 would be wrong."""

    def refuse(t: Value) -> Any:
        raise NotDifferentiableError(
            f"scipy.special.{name}: its derivative by {operand} was asked for, but no closed formula is known. "
            + (remedy or f"Hold {operand} constant with fg.stop_gradient, or take differences by it in fg.custom_jvp.")
        )

    return refuse


def on_host(primitive: Callable[[], Primitive]) -> Callable[..., Any]:
    """Return the XLA form of an elementwise primitive that XLA cannot compute: the program calls the NumPy form.

    JAX gets our derivative and a batching rule with the function, so JAX's own transforms work on it.
    """

    def run(lax: Lax, *xs: Value, **params: Any) -> Array:
        own = primitive()

        def host(*arrays: Value) -> np.ndarray:
            with untraced(), np.errstate(all="ignore"):
                # If there are several operands, JAX's batching may give some of them an axis of length 1 instead of the
                # batch.
                return np.asarray(own.numpy(*[np.asarray(x) for x in arrays], **params), dtype)

        aval = own.aval(*[aval_of(x) for x in xs], **params)
        dtype = lax.canonical_dtype(aval.dtype)
        types = Aval(aval.shape, dtype)

        def push(primals: tuple, tangents: list) -> Any:
            y = own(*primals, **params)
            y_dot = own.derivative.push(own, primals, tangents, y, params)
            return y, 0 * y if y_dot is None else y_dot

        return lax.elementwise_callback(host, types, push, *xs)

    return run


def of_scipy(
    name: str,
    operands: str,
    maps: Sequence[Rule | None],
    *,
    xla: str | Callable[..., Any] | None = None,
    ufunc: str | None = None,
    dtype: Callable[..., np.dtype] | None = None,
    jvps: Sequence[Rule | None] | None = None,
    flops: int = 100,
    forms: Forms = NEW_MEMORY,
) -> Primitive:
    """Declare a primitive whose values are those of a ufunc of ``scipy.special``.

    Args:
        name: the name of the primitive and of the ufunc.
        operands: their names, space separated.
        maps: per operand the map of its derivative, as in `elementwise`.
        xla: the form on XLA; without it, the program calls SciPy.
        ufunc: the ufunc's name if SciPy has it under another one.
        dtype: returns the result's dtype, if it is not that of the operands.
        jvps: the forward maps, if they differ.
        flops: operations per element.
        forms: further facts for engines.
    """

    def numpy(*xs: Value) -> Array:
        return (getattr(scipy_ufuncs, ufunc) if ufunc else getattr(scipy_special, name))(*xs)

    made: list[Primitive] = []
    made.append(
        elementwise(
            name,
            operands,
            numpy=numpy,
            xla=on_host(lambda: made[0]) if xla is None else xla,
            maps=list(maps),
            jvps=jvps,
            dtype=dtype,
            flops=flops,
            forms=forms,
        )
    )
    return made[0]
