"""The primitives. Each is declared completely in one place; an operation and its transpose share a file."""

from __future__ import annotations

import pkgutil

from funcgrad._core.lazy import load


def declare_all() -> None:
    """Import every module of this package, so that all primitives of the library are declared."""
    for module in pkgutil.walk_packages(__path__, f"{__name__}."):
        load(module.name)
