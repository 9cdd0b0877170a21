"""Modules that are imported when they are first used: most programs never use them, and all would wait for them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any


def load(name: str) -> Any:
    """A module by its name, imported now if it was not."""
    return importlib.import_module(name)


class LazyModule:
    """Stands for a module by name; what is asked of it is remembered.

    ``scipy.special`` costs 150 ms and ``opt_einsum`` 10, where all of funcgrad costs 80.
    """

    def __init__(self, name: str) -> None:
        self.module_name = name

    def __getattr__(self, attribute: str) -> Any:
        value = getattr(load(self.module_name), attribute)
        setattr(self, attribute, value)
        return value


def lazy_submodules(package: str, names: tuple[str, ...]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package that imports some of its modules when they are first asked for."""

    def submodule(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return load(f"{package}.{name}")

    return submodule
