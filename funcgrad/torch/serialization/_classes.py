"""The classes and functions that files may name: this library's modules, and what the program itself calls safe."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from funcgrad import nn

# A class or function, alone or with the name that files have for it.
Safe = Callable[..., Any] | tuple[Callable[..., Any], str]

_named: dict[str, Any] = {}
_naming = threading.Lock()
_here: ContextVar[tuple[Safe, ...]] = ContextVar("funcgrad_safe_globals", default=())


def add_safe_globals(safe_globals: Sequence[Safe]) -> None:
    """``torch.serialization.add_safe_globals``: allow files to name classes and functions of the program.

    `torch.load` then makes objects of these classes, calls their ``__setstate__``, and calls the functions, with what
    the file gives. So name only those that do no harm with any arguments.

    Args:
        safe_globals: classes and functions, or pairs of one and the name that files have for it.

    Example:
        >>> import io
        >>> import funcgrad.torch as torch
        >>> from argparse import Namespace
        >>> file = io.BytesIO()
        >>> torch.save(Namespace(lr=0.1), file)
        >>> torch.serialization.add_safe_globals([Namespace])
        >>> torch.load(io.BytesIO(file.getvalue()))
        Namespace(lr=0.1)
        >>> torch.serialization.clear_safe_globals()
    """
    with _naming:
        _named.update(_by_name(safe_globals))


def get_safe_globals() -> list[Safe]:
    """``torch.serialization.get_safe_globals``: the classes and functions that files may name."""
    with _naming:
        return [*_named.values(), *_here.get()]


def clear_safe_globals() -> None:
    """``torch.serialization.clear_safe_globals``: forget what `add_safe_globals` has added."""
    with _naming:
        _named.clear()


@contextlib.contextmanager
def safe_globals(safe_globals: Sequence[Safe]) -> Iterator[None]:
    """``torch.serialization.safe_globals``: `add_safe_globals` inside a ``with`` statement.

    Args:
        safe_globals: classes and functions, or pairs of one and the name that files have for it.
    """
    _by_name(safe_globals)
    token = _here.set((*_here.get(), *safe_globals))
    try:
        yield
    finally:
        _here.reset(token)


def _by_name(values: Sequence[Safe]) -> dict[str, Any]:
    found = {}
    for value in values:
        plain, name = value if isinstance(value, tuple) else (value, None)
        if not callable(plain):
            raise TypeError(
                f"safe_globals: a {type(plain).__name__} was given; needed classes and functions. Pass [Net]."
            )
        found[name or f"{plain.__module__}.{plain.__qualname__}"] = plain
    return found


def safe_now() -> dict[str, Any]:
    """Return the classes and functions that the program calls safe, by the names that files have for them."""
    with _naming:
        return {**_named, **_by_name(_here.get())}


def of_library(module: str, name: str) -> Any:
    """Return one of this library's classes of modules, or a function of ``nn.functional``; ``None`` for another name.

    Such a class only holds what the file gives, and such a function is not called.
    """
    # Not ``getattr``, which would import what a module loads when it is first used.
    found = vars(sys.modules[module]).get(name) if module.startswith("funcgrad.") and module in sys.modules else None
    if getattr(found, "__module__", "").startswith("funcgrad.nn"):
        is_function = module == "funcgrad.nn.functional" and callable(found) and not isinstance(found, type)
        if is_function or (isinstance(found, type) and issubclass(found, nn.Module)):
            return found
    return None
