"""Hooks that can be removed: those of tensors, and those of optimizers."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Self

Hooks = OrderedDict[int, Callable[..., Any]]

_numbers = itertools.count()


class RemovableHandle:
    """The result of registering a hook: ``remove()`` removes the hook, and so does the end of a ``with`` statement.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = fg.autograd.tensor(np.ones(2), requires_grad=True)
        >>> with x.register_hook(lambda grad: grad * 10):
        ...     x.sum().backward()
        >>> x.sum().backward()
        >>> x.grad
        tensor([11., 11.], dtype=float64)
    """

    def __init__(self, hooks: Hooks, number: int) -> None:
        # A handle must not keep the hooks, and the values that they close over, after their tensor or optimizer.
        self._hooks = weakref.ref(hooks)
        self.id = number

    @classmethod
    def register(cls, hooks: Hooks, hook: Callable[..., Any], prepend: bool = False) -> Self:
        """Add a hook at the end or at the beginning."""
        handle = cls(hooks, next(_numbers))
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def remove(self) -> None:
        """Remove the hook."""
        hooks = self._hooks()
        if hooks is not None:
            hooks.pop(self.id, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
