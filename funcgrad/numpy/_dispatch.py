"""The tables by which NumPy's protocols find our functions, and the decorator that fills them."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad._engines import NO_SCOPE, engine_scope, lasting
from funcgrad.errors import TracerAssignmentError, UnsupportedFunctionError

difflib = LazyModule("difflib")

F = TypeVar("F", bound=Callable[..., Any])

functions: dict[Callable[..., Any], Callable[..., Any]] = {}
ufuncs: dict[np.ufunc, Callable[..., Any]] = {}
# Of ufuncs of one operand: the primitive, and the dtype kinds that need no conversion.
direct_ufuncs: dict[np.ufunc, tuple[Any, str]] = {}
# Per method name ("reduce", "accumulate", "outer"): what stands for ``ufunc.method``.
ufunc_methods: dict[tuple[np.ufunc, str], Callable[..., Any]] = {}
# Ours for the ufuncs of scipy.special, by name: loading that module takes 0.15 s, and only who uses it should wait.
special_functions: dict[str, Callable[..., Any]] = {}


def implements(*numpy_functions: Callable[..., Any]) -> Callable[[F], F]:
    """Register a function as ours for each given NumPy function or ufunc."""

    def register(function: F) -> F:
        for numpy_function in numpy_functions:
            if isinstance(numpy_function, np.ufunc):
                ufuncs[numpy_function] = function
            else:
                functions[numpy_function] = function
        return function

    return register


def in_numpys_mode(function: F) -> F:
    """Let a function that computes with operators do so in JAX's 64-bit mode on ``jax.Array`` s.

    Outside of it JAX's own operators would cut float64 to float32. (Primitives enter the mode by themselves.)
    """

    @functools.wraps(function)
    def in_mode(*args: Any, **kwargs: Any) -> Any:
        scope = engine_scope((*args, *kwargs.values()))
        with scope:
            y = function(*args, **kwargs)
        if scope is NO_SCOPE:
            return y
        return type(y)([lasting(part) for part in y]) if type(y) in (tuple, list) else lasting(y)

    return in_mode  # pyright: ignore[reportReturnType]  (wraps keeps the signature)


def find_special(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Ours for a ufunc of ``scipy.special``, remembered from then on."""
    name = ufunc.__name__
    function = special_functions.get(name)
    if function is None or getattr(sys.modules.get("scipy.special"), name, None) is not ufunc:
        return None
    ufuncs[ufunc] = function
    return function


# What does the nearest thing, where the name does not say it.
_ALTERNATIVES = {
    "unique": "sort",
    "histogram": "searchsorted",
    "digitize": "searchsorted",
    "bincount": "searchsorted",
    "lcm": "remainder",
    "gcd": "remainder",
    "unwrap": "angle",
    "real_if_close": "real",
    "put": "where",
    "copyto": "where",
    "place": "where",
    "putmask": "where",
    "apply_along_axis": "stack",
    "vectorize": "stack",
}


def refuse(function: Any, module: str = "numpy") -> NoReturn:
    """Refuse a NumPy function that we lack, naming the nearest one that we have."""
    name = getattr(function, "__name__", str(function))
    known = [known.__name__ for known in (*functions, *ufuncs)]
    nearest = [_ALTERNATIVES[name]] if name in _ALTERNATIVES else difflib.get_close_matches(name, known, 1, 0.0)
    raise UnsupportedFunctionError(
        f"{module}.{name}: funcgrad has no derivative rules for this function, and it met a traced array. "
        f"The nearest supported function is numpy.{nearest[0] if nearest else 'asarray'}. "
        "Write it with supported functions, or give it a rule of its own with fg.custom_vjp."
    )


def refuse_out(name: str, out: Any) -> None:
    """Refuse ``out=`` where it is given."""
    outs = out if type(out) is tuple else (out,)
    if any(each is not None for each in outs):
        raise TracerAssignmentError(
            f"numpy.{name}: out= would write a traced result into an array, and that array would carry no derivative. "
            "Use the returned value instead: x = x + t rather than x += t or np.add(x, t, out=x)."
        )


def refuse_option(name: str, option: str, remedy: str) -> NoReturn:
    """Refuse an option that we lack, saying what to do instead."""
    raise UnsupportedFunctionError(f"numpy.{name}: the option {option} is not supported on traced arrays. {remedy}")
