"""Prints, stops and calls while a program runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._transforms import effects
from funcgrad.jax._names import publish_as_jax

__all__ = ["breakpoint", "callback", "print"]


def print(fmt: str, *args: Any, ordered: bool = False, **kwargs: Any) -> None:  # noqa: A001  (JAX's name)
    """``jax.debug.print``: print values when the program runs, by a template as for ``str.format``."""
    effects.debug_print(fmt, *args, ordered=ordered, **kwargs)


def breakpoint(*, ordered: bool = False, **values: Any) -> None:  # noqa: A001  (JAX's name)
    """``jax.debug.breakpoint``: stop in the debugger when the program runs, with the values by name."""
    effects.breakpoint(ordered=ordered, **values)


def callback(callback: Callable[..., None], *args: Any, ordered: bool = False, **kwargs: Any) -> None:
    """``jax.debug.callback``: call a function of arrays when the program runs."""

    def show(given: tuple[tuple, dict[str, Any]]) -> None:
        callback(*given[0], **given[1])

    effects.effect(show, f"callback {getattr(callback, '__name__', callback)}", (args, kwargs), ordered)


__dir__, __getattr__ = publish_as_jax(__name__, arrays=False)
