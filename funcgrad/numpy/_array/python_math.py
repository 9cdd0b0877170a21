"""The functions of Python's module ``math`` for traced numbers, inside of ``fg.intercept()``.

``math.sin(x)`` turns ``x`` into a Python float before it computes, so it has no hook for a traced value.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer
from funcgrad._ops.elementwise.activation import erf_p
from funcgrad._ops.elementwise.special.gamma import gamma_p, gammaln_p
from funcgrad._ops.elementwise.special.normal import erfc_p
from funcgrad._types import Value
from funcgrad.numpy._base.concrete import known_value
from funcgrad.numpy._math import logic, rounding, transcendental
from funcgrad.numpy._math.elementwise import log, power, sqrt

Function = Callable[..., Any]


def _log(x: Value, base: Value | None = None) -> Any:
    return log(x) if base is None else log(x) / log(base)


# Our functions of float64, by their names in ``math``.
_TRANSCENDENTAL = (
    *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("exp", "exp2", "expm1", "log1p", "log2", "log10", "cbrt", "fabs", "hypot", "degrees", "radians"),
)
_OURS: dict[str, Function] = {
    **{name: getattr(transcendental, name) for name in _TRANSCENDENTAL},
    "copysign": rounding.copysign,
    "erf": erf_p,
    "erfc": erfc_p,
    "fmod": rounding.fmod,
    "gamma": gamma_p,
    "isfinite": logic.isfinite,
    "isinf": logic.isinf,
    "isnan": logic.isnan,
    "lgamma": gammaln_p,
    "log": _log,
    "pow": power,
    "sqrt": sqrt,
}


def _is_number(x: Value) -> bool:
    """Return whether ``math`` computes with a value as it stands: a number of float64, or one that is not traced."""
    return not isinstance(x, Tracer) or (x.shape == () and x.dtype == np.float64)


def _for_traced(name: str, function: Function, is_inside: Callable[[], bool]) -> Function:
    """Return a replacement of a function of ``math``. It calls ours if an argument is a traced number of float64."""
    ours = _OURS[name]
    most = {"log": 2, "hypot": 2}.get(name, math.inf)

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        traced = any(isinstance(x, Tracer) for x in args)
        if not traced or len(args) > most or not all(map(_is_number, args)) or not is_inside():
            return function(*args)
        numbers = [known_value(x) if isinstance(x, Tracer) else x for x in args]
        if all(x is not None for x in numbers):
            # Python's errors: the logarithm of a negative number, an overflow.
            function(*numbers)
        return ours(*[x if isinstance(x, Tracer) else np.float64(x) for x in args])

    return call


def stand_ins(is_inside: Callable[[], bool]) -> list[tuple[str, Function, Function]]:
    """Return names, functions of ``math`` and their replacements."""
    pairs = [(name, getattr(math, name, None)) for name in _OURS]
    return [(name, function, _for_traced(name, function, is_inside)) for name, function in pairs if function]
