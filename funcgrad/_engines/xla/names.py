"""JAX's own functions by their names, for `funcgrad.jax`."""

from __future__ import annotations

from typing import Any

import jax

from funcgrad._core.lazy import load


def lookup(path: str) -> Any:
    """Return a name of JAX's, for example of ``"random.binomial"``."""
    module, _, name = path.rpartition(".")
    return getattr(load(f"jax.{module}") if module else jax, name)
