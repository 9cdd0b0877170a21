"""The tables by which NumPy's protocols find our functions, and the decorator that fills them."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import numpy as np

from funcgrad.errors import UnsupportedFunctionError

F = TypeVar("F", bound=Callable[..., Any])

functions: dict[Callable[..., Any], Callable[..., Any]] = {}
ufuncs: dict[np.ufunc, Callable[..., Any]] = {}
# Per method name ("reduce", "accumulate", "outer"): what stands for ``ufunc.method``.
ufunc_methods: dict[tuple[np.ufunc, str], Callable[..., Any]] = {}


def implements(*numpy_functions: Callable[..., Any]) -> Callable[[F], F]:
    """Register a function as ours for each given NumPy function or ufunc."""

    def register(function: F) -> F:
        for numpy_function in numpy_functions:
            table = ufuncs if isinstance(numpy_function, np.ufunc) else functions
            table[numpy_function] = function
        return function

    return register


def refuse(function: Any, module: str = "numpy") -> NoReturn:
    """Refuse a NumPy function that we lack, naming the nearest one that we have."""
    name = getattr(function, "__name__", str(function))
    known = [known.__name__ for known in (*functions, *ufuncs)]
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    raise UnsupportedFunctionError(
        f"{module}.{name}: funcgrad has no derivative rules for this function, and it met a traced array. "
        f"The nearest supported function is numpy.{nearest[0] if nearest else 'asarray'}. "
        "Write it with supported functions, or give it a rule of its own with fg.custom_vjp."
    )
