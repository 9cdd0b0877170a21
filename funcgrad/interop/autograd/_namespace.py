"""Modules with the names of another package: our functions first, then NumPy's or SciPy's."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from typing import Any

from funcgrad._core.lazy import LazyModule


def namespace(
    name: str, *sources: str, own: Iterable[str] = (), without: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a module that offers the names of several sources.

    A name comes from the first source that has it; a source that cannot be imported is skipped. ``own`` are additional
    names that the module itself defines, and ``without`` are names that it hides.
    """
    offered = vars(sys.modules[name])
    present = [LazyModule(source) for source in sources if importlib.util.find_spec(source) is not None]
    offered["__all__"] = sorted(
        {name for name in (*present[-1].__all__, *own) if not name.startswith("_")} - set(without)
    )

    def find(attribute: str) -> Any:
        if not attribute.startswith("_"):
            for module in present:
                if hasattr(module, attribute):
                    return offered.setdefault(attribute, getattr(module, attribute))
        raise AttributeError(
            f"{name} has no attribute {attribute!r}; {' and '.join(sources)} were searched. Use another function, or "
            "declare one of your own with extend.primitive."
        )

    return find, lambda: offered["__all__"]
