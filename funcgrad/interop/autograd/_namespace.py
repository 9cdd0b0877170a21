"""Modules that have the names of others: what is ours first, then NumPy's or SciPy's own."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from typing import Any

from funcgrad._core.lazy import LazyModule


def namespace(
    name: str, *sources: str, own: Iterable[str] = (), without: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a module that offers the names of the last of these sources.

    The first source that has a name gives it; one that is not there has none. ``own`` is what the module defines itself
    beyond these names, ``without`` what it does not offer.
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
            f"{name} has no attribute {attribute!r}; {' and '.join(sources)} were looked through. "
            "Use a function that is there, or declare one of your own with extend.primitive."
        )

    return find, lambda: offered["__all__"]
