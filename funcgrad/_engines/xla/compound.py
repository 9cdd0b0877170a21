"""Compile a primitive of many XLA operations once per program, as a function that the program calls.

Each step of an unrolled loop that solves a system is then one line of the program, as with JAX's own ``solve``: JAX
lowers a ``jax.jit`` function once for all calls with one signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.core
import numpy as np

from funcgrad._core.graph.key import params_key
from funcgrad._core.primitive import CompoundPrimitive, Primitive
from funcgrad._types import Lax, Value

# The most functions that are kept, each with its traces for the shapes that it met.
_LIMIT = 512
_functions: dict[Any, Callable[..., Any]] = {}


def as_compiled_function(lax: Lax, primitive: Primitive, operands: tuple, params: dict) -> Callable[..., Any] | None:
    """Return a function that applies the primitive with these parameters as one call; ``None`` to write it inline."""
    if not isinstance(primitive, CompoundPrimitive) or not any(isinstance(x, jax.core.Tracer) for x in operands):
        return None
    if not all(isinstance(x, jax.Array | np.ndarray) for x in operands):
        return None
    key = primitive, params_key(params)
    try:
        found = _functions.get(key)
    except TypeError:
        # A parameter is not hashable.
        return None
    if found is None:
        if len(_functions) >= _LIMIT:
            _functions.clear()
        found = _functions.setdefault(key, _function(lax, primitive, params))
    return found


def _function(lax: Lax, primitive: Primitive, params: dict) -> Callable[..., Any]:
    implementation: Any = primitive.xla

    def apply(*operands: Value) -> Any:
        return implementation(lax, *operands, **params)

    apply.__name__ = apply.__qualname__ = primitive.name
    return jax.jit(apply)
