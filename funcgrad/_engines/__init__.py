"""What primitives and graphs run on: a record for each engine, found by its name or by a value of its own."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from funcgrad._core import bind
from funcgrad._core.bind import NUMPY_TYPES, Tracer, set_engine_finder
from funcgrad._engines.engine import NO_SCOPE as NO_SCOPE
from funcgrad._engines.engine import Engine, in_use
from funcgrad._engines.source.records import NUMBA, NUMPY
from funcgrad._engines.xla.door import XLA

# By name. A further engine is a file with its record, and its place here.
ENGINES: dict[str, Engine] = {engine.name: engine for engine in (XLA, NUMPY, NUMBA)}


def engine_named(name: str) -> Engine:
    """The engine that ``fg.jit`` was asked for."""
    engine = ENGINES.get(name) if isinstance(name, str) else None
    if engine is None:
        names = " or ".join(f'"{known}"' for known in ENGINES)
        raise ValueError(f"jit: engine is {name!r}; needed {names}.")
    return engine


set_engine_finder(lambda x: next((engine for engine in ENGINES.values() if engine.owns(x)), None))


def engine_of(x: Any) -> Engine | None:
    """The engine of a bare value; ``None`` for NumPy's, for tracers and for what is no value."""
    engine = bind.engine_of(x)
    return engine if isinstance(engine, Engine) else None


def is_abstract(x: Any) -> bool:
    """Whether a value that is not traced by us stands for numbers that are not known yet: a tracer of an engine's."""
    engine = engine_of(x)
    return engine is not None and engine.is_abstract(x)


def place_beside(value: Any, x: Any) -> Any:
    """A NumPy value where ``x`` lies, if that is another engine's array."""
    engine = engine_of(x)
    return value if engine is None else engine.place_beside(value, x)


def lasting(value: Any, given: Iterable[Any] = ()) -> Any:
    """A result as the caller may get it who gave these values.

    A 64-bit ``jax.Array``, outside JAX's 64-bit mode, is a NumPy array; but where some of what was given is such an
    array already, its user knows of the mode, and the result stays.
    """
    if type(value) in NUMPY_TYPES:
        return value
    engine = engine_of(value)
    return value if engine is None else engine.lasting(value, given)


def settle_effects() -> None:
    """Wait until what compiled programs call in Python has been called, on every engine in use."""
    for engine in in_use:
        engine.settle()


def tracing_engine() -> Engine | None:
    """The engine that makes a program in this thread right now, by running what the program is to do."""
    return next((engine for engine in in_use if engine.is_tracing()), None)


def on_several_devices() -> bool:
    """Whether an engine in use has several devices, over which its arrays may be spread."""
    return bool(in_use) and any(engine.spreads() for engine in in_use)


def is_spread(x: Any) -> bool:
    """Whether parts of an array lie on different devices; of what is traced it is not known."""
    engine = engine_of(x)
    return engine is not None and not engine.is_abstract(x) and not x.is_fully_replicated


def engine_scope(values: Iterable[Any]) -> AbstractContextManager[Any]:
    """The mode in which operators work on these values as NumPy's do: JAX's 64-bit mode if one is a ``jax.Array``."""
    if in_use:
        for value in values:
            engine = _engine_under(value)
            if engine is not None:
                return engine.scope()
    return NO_SCOPE


def loaded_scope() -> AbstractContextManager[Any]:
    """The same where nobody knows what values there are: JAX's 64-bit mode if its engine is in use."""
    return in_use[0].scope() if in_use else NO_SCOPE


def _engine_under(value: Any) -> Engine | None:
    """The engine of a value, or of what it stands for in the outer transforms; of a list, that of its elements."""
    while isinstance(value, Tracer):
        # A staged value stands for none.
        value = getattr(value, "_value", None)
    if isinstance(value, list | tuple):
        return next((engine for engine in map(_engine_under, value) if engine is not None), None)
    return engine_of(value)
