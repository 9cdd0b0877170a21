"""Find the engine (NumPy, XLA or Numba) by its name or by one of its values."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from funcgrad._core import bind
from funcgrad._core.bind import NUMPY_TYPES, Tracer, set_engine_finder
from funcgrad._engines.engine import NO_SCOPE as NO_SCOPE
from funcgrad._engines.engine import Engine, in_use
from funcgrad._engines.source.records import NUMBA, NUMPY
from funcgrad._engines.xla.record import XLA
from funcgrad._types import Value

# Engines by name. To add an engine, write a file with its record and add the record here.
ENGINES: dict[str, Engine] = {engine.name: engine for engine in (XLA, NUMPY, NUMBA)}


def engine_named(name: str) -> Engine:
    """Return the engine whose name was given to ``fg.jit``."""
    engine = ENGINES.get(name) if isinstance(name, str) else None
    if engine is None:
        names = " or ".join(f'"{known}"' for known in ENGINES)
        raise ValueError(f"jit: engine is {name!r}; needed {names}.")
    return engine


set_engine_finder(lambda x: next((engine for engine in ENGINES.values() if engine.owns(x)), None))


def engine_of(x: Value) -> Engine | None:
    """Return the engine of a bare value; ``None`` for NumPy values, tracers and objects that are no values."""
    engine = bind.engine_of(x)
    return engine if isinstance(engine, Engine) else None


def is_abstract(x: Value) -> bool:
    """Return whether a value is an engine's own tracer, such as JAX's: it stands for numbers that are not known yet."""
    engine = engine_of(x)
    return engine is not None and engine.is_abstract(x)


def place_beside(value: Value, x: Value) -> Any:
    """Put a NumPy value on the devices of ``x``, if ``x`` is an array of another engine."""
    engine = engine_of(x)
    return value if engine is None else engine.place_beside(value, x)


def lasting(value: Value, given: Iterable[Any] = ()) -> Any:
    """Return a result in the form that its caller can keep, given the values that the caller passed.

    Outside JAX's 64-bit mode a 64-bit ``jax.Array`` becomes a NumPy array: JAX would cut it to 32 bits in the next
    operation. If the caller passed such an array, the caller knows the mode, and the result stays a ``jax.Array``.
    """
    if type(value) in NUMPY_TYPES:
        return value
    engine = engine_of(value)
    return value if engine is None else engine.lasting(value, given)


def settle_effects() -> None:
    """Wait for all Python functions that compiled programs call, on every engine in use."""
    for engine in in_use:
        engine.settle()


def tracing_engine() -> Engine | None:
    """Return the engine that is tracing a function in this thread now, or ``None``."""
    return next((engine for engine in in_use if engine.is_tracing()), None)


def on_several_devices() -> bool:
    """Return whether arrays of an engine in use can be sharded over devices."""
    return bool(in_use) and any(engine.spreads() for engine in in_use)


def is_spread(x: Value) -> bool:
    """Return whether parts of an array lie on different devices; ``False`` for traced values, because it is unknown."""
    engine = engine_of(x)
    return engine is not None and not engine.is_abstract(x) and not x.is_fully_replicated


def engine_scope(values: Iterable[Any]) -> AbstractContextManager[Any]:
    """Return the mode in which operators act as in NumPy: JAX's 64-bit mode if one of the values is a ``jax.Array``."""
    if in_use:
        for value in values:
            engine = _engine_under(value)
            if engine is not None:
                return engine.scope()
    return NO_SCOPE


def loaded_scope() -> AbstractContextManager[Any]:
    """Return the same mode where the values are unknown: JAX's 64-bit mode if the XLA engine is in use."""
    return in_use[0].scope() if in_use else NO_SCOPE


def _engine_under(value: Value) -> Engine | None:
    """Return the engine of a value or of the value that a tracer wraps; for a list, that of its elements."""
    while isinstance(value, Tracer):
        # A staged tracer wraps no value.
        value = getattr(value, "_value", None)
    if isinstance(value, list | tuple):
        return next((engine for engine in map(_engine_under, value) if engine is not None), None)
    return engine_of(value)
