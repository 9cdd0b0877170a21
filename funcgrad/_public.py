"""The public names of modules: which there are, when they are loaded, and by which module each is known."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, TypeVar

import lazy_loader

T = TypeVar("T", bound=type)
# Public packages that offer what other rooms have by another library's names.
_NAMESPACES = ("funcgrad.jax", "funcgrad.torch")

# The module that defines each published function or class: doctest and the reference find sources and examples by it.
origins: dict[Any, str] = {}


def publish(name: str) -> Callable[[], list[str]]:
    """Give the public functions and classes of a module its name, and return its ``__dir__``.

    To be called at the module's end. A name that several modules offer is named after the one with the shortest path:
    ``funcgrad.grad``. Where a module has no ``__all__``, its names without underscore are its public ones.
    """
    module = sys.modules[name]
    found = sorted(each for each, value in vars(module).items() if not each.startswith("_") and value is not publish)
    names = vars(module).setdefault("__all__", found)
    for each in names:
        # A name that the module loads when it is first used is published by then.
        if each in vars(module):
            _publish(module, each)
    return lambda: sorted(names)


def publish_lazily(name: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Load the public names of a package when they are first used: those in its stub, ``__init__.pyi``.

    Args:
        name: the package's ``__name__``.
        file: its ``__file__``. The stub is in the same folder. Type checkers read the same stub.

    Returns:
        The package's ``__getattr__``, ``__dir__`` and ``__all__``.

    Source: SPEC 1 of the Scientific Python ecosystem, https://scientific-python.org/specs/spec-0001.
    """
    find, directory, names = lazy_loader.attach_stub(name, file)

    def load(attribute: str) -> Any:
        value = find(attribute)
        module = sys.modules[name]
        setattr(module, attribute, value)
        _publish(module, attribute)
        return value

    return load, directory, names


def public_module(name: str) -> ModuleType:
    """Return a public module of the package by its name; it is loaded now if it was not."""
    return getattr(sys.modules["funcgrad"], name)


def published_as(name: str) -> Callable[[T], T]:
    """Give a class the name of the public package that offers it, before that package has loaded it.

    A class is pickled and printed by this name, so it may not depend on which names a program has used.
    """

    def publish_class(kind: T) -> T:
        origins[kind] = kind.__module__
        kind.__module__ = name
        return kind

    return publish_class


def _publish(module: ModuleType, name: str) -> None:
    value = getattr(module, name)
    if not isinstance(value, FunctionType | type) or not value.__module__.startswith("funcgrad"):
        return
    if value in origins and len(value.__module__) <= len(module.__name__):
        return
    if module.__name__.startswith(_NAMESPACES) and not value.__module__.startswith(_NAMESPACES):
        # Another library's namespace does not rename what other rooms have.
        return
    origins.setdefault(value, value.__module__)
    value.__module__ = module.__name__
    if getattr(module, value.__qualname__, None) is not value:
        value.__name__ = value.__qualname__ = name
