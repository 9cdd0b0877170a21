"""What a public module shows of itself: its public names, which know by which module they are reached."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

# Where each published function or class was defined: whoever looks for sources or examples will ask.
origins: dict[Any, str] = {}


def publish(name: str) -> Callable[[], list[str]]:
    """Give the public functions and classes of a module its name, and return its ``__dir__``.

    To be called at the module's end. What several modules offer is named after the one with the shortest path:
    ``funcgrad.sgd_init``, which is in ``funcgrad.optim`` too. Where a module has no ``__all__``, its names without
    underscore are it.
    """
    module = sys.modules[name]
    found = sorted(each for each, value in vars(module).items() if not each.startswith("_") and value is not publish)
    names = vars(module).setdefault("__all__", found)
    for each in names:
        # What is imported when it is first asked for publishes its own names then.
        if each in vars(module):
            _publish(module, each)
    return lambda: sorted(names)


def _publish(module: ModuleType, name: str) -> None:
    value = getattr(module, name)
    if not isinstance(value, FunctionType | type) or not value.__module__.startswith("funcgrad"):
        return
    if value in origins and len(value.__module__) <= len(module.__name__):
        return
    origins.setdefault(value, value.__module__)
    value.__module__ = module.__name__
    if getattr(module, value.__qualname__, None) is not value:
        value.__name__ = value.__qualname__ = name
