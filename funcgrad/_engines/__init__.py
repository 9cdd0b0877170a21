"""What implementations run on. NumPy needs no engine; XLA's is loaded when the first of its values appears."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from funcgrad._core.bind import Engine, add_engine_finder


def load_xla() -> ModuleType:
    """The XLA engine; this is where JAX is imported, and the only import inside a function."""
    from funcgrad._engines import xla

    return xla


def _find_xla(x: Any) -> Engine | None:
    """The XLA engine for a ``jax.Array`` or one of JAX's own tracers; their existence says that JAX is loaded."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(x, jax.Array):
        return load_xla().run
    return None


add_engine_finder(_find_xla)
