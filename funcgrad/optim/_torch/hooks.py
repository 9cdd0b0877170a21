"""Hooks that can be taken back."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

Hooks = OrderedDict[int, Callable[..., Any]]

_numbers = itertools.count()


class RemovableHandle:
    """What a registration returns: ``remove()`` takes the hook back, as does leaving a ``with`` statement."""

    def __init__(self, hooks: Hooks, number: int) -> None:
        self._hooks = hooks
        self.id = number

    @classmethod
    def register(cls, hooks: Hooks, hook: Callable[..., Any], prepend: bool = False) -> Self:
        """Add a hook, as the last or the first."""
        handle = cls(hooks, next(_numbers))
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def remove(self) -> None:
        """Take the hook back."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
