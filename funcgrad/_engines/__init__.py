"""What implementations run on. NumPy needs no engine; XLA's is loaded when the first of its values appears."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from types import ModuleType
from typing import Any

from funcgrad._core.bind import NUMPY_TYPES, Engine, Tracer, add_engine_finder, is_foreign


def load_xla() -> ModuleType:
    """The XLA engine; this is where JAX is imported, and the only import inside a function."""
    try:
        from funcgrad._engines.xla import run as xla
    except ModuleNotFoundError as error:
        if error.name not in ("jax", "jaxlib"):
            raise
        raise ModuleNotFoundError(
            f'jit: engine "xla" was asked for, which is JAX\'s compiler; there is no module named {error.name!r}. '
            'Install it (pip install jax), or compile without it: fg.jit(f, engine="numpy").',
            name=error.name,
        ) from None
    return xla


def _find_xla(x: Any) -> Engine | None:
    """The XLA engine for a ``jax.Array`` or one of JAX's own tracers; their existence says that JAX is loaded."""
    # Another thread may be importing JAX just now: a module without the class has no instances of it either.
    array_type = getattr(sys.modules.get("jax"), "Array", None)
    if array_type is not None and isinstance(x, array_type):
        return load_xla().run
    return None


add_engine_finder(_find_xla)


def engine_scope(values: Iterable[Any]) -> AbstractContextManager[Any]:
    """The mode in which operators work on these values as NumPy's do: JAX's 64-bit mode if one is a ``jax.Array``."""
    if "funcgrad._engines.xla.run" in sys.modules and any(map(_stands_on_xla, values)):
        return load_xla().scope()
    return NO_SCOPE


def loaded_scope() -> AbstractContextManager[Any]:
    """The same where nobody knows what values there are: JAX's 64-bit mode if its engine is in use."""
    return load_xla().scope() if "funcgrad._engines.xla.run" in sys.modules else NO_SCOPE


def _stands_on_xla(value: Any) -> bool:
    """Whether a value, or what it stands for in the outer transforms, or an element of a list, is a ``jax.Array``."""
    while isinstance(value, Tracer):
        # A staged value stands for none.
        value = getattr(value, "value", None)
    if isinstance(value, list | tuple):
        return any(map(_stands_on_xla, value))
    return isinstance(value, load_xla().Array)


def lasting(value: Any, given: Iterable[Any] = ()) -> Any:
    """A result as the caller may get it: a 64-bit ``jax.Array`` outside JAX's 64-bit mode as a NumPy array.

    Where some of what was ``given`` is such an array already, its user knows of the mode, and the result stays.
    """
    if type(value) in NUMPY_TYPES or not is_foreign(value) or any(map(_is_wide_on_xla, given)):
        return value
    return load_xla().lasting(value)


def _is_wide_on_xla(value: Any) -> bool:
    while isinstance(value, Tracer):
        value = getattr(value, "value", None)
    return isinstance(value, load_xla().Array) and load_xla().is_wide(value.dtype)


class _NoScope:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


NO_SCOPE: Any = _NoScope()
