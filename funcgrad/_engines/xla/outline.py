"""Primitives that are many operations of XLA's: a program says once what each is, and calls it.

A step of a loop that is unrolled, a system that is solved in each, is then a line of the program, as where JAX's own
``solve`` is used: JAX lowers what ``jax.jit`` made of a function once for all calls with one signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.core
import numpy as np

from funcgrad._core.graph.key import params_key
from funcgrad._core.primitive import CompoundPrimitive, Primitive

# Functions, each with what it was traced to for the shapes that it met.
_LIMIT = 512
_functions: dict[Any, Callable[..., Any]] = {}


def outlined(lax: Any, primitive: Primitive, operands: tuple, params: dict) -> Callable[..., Any] | None:
    """What applies the primitive with these parameters as one call; ``None`` where it is to be written out."""
    if not isinstance(primitive, CompoundPrimitive) or not any(isinstance(x, jax.core.Tracer) for x in operands):
        return None
    if not all(isinstance(x, jax.Array | np.ndarray) for x in operands):
        return None
    key = primitive, params_key(params)
    try:
        found = _functions.get(key)
    except TypeError:
        # A parameter that compares with nothing.
        return None
    if found is None:
        if len(_functions) >= _LIMIT:
            _functions.clear()
        found = _functions.setdefault(key, _function(lax, primitive, params))
    return found


def _function(lax: Any, primitive: Primitive, params: dict) -> Callable[..., Any]:
    implementation: Any = primitive.xla

    def apply(*operands: Any) -> Any:
        return implementation(lax, *operands, **params)

    apply.__name__ = apply.__qualname__ = primitive.name
    return jax.jit(apply)
