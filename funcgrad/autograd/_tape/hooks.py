"""Hooks: functions that a pass calls with the gradient of a tensor, and that may replace it."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad.autograd._tape.base import TensorNode, TensorTrace, is_tensor
from funcgrad.autograd._tape.handles import RemovableHandle
from funcgrad.autograd._tape.mode import recorded
from funcgrad.autograd._tape.seeds import conjugated
from funcgrad.autograd._tape.writes import type_name

Hook = Callable[[Any], Any]


class Hooks:
    """The hooks of one node by number, in the order of registration."""

    __slots__ = ("__weakref__", "by_number", "trace")

    def __init__(self, trace: TensorTrace) -> None:
        self.trace = trace
        self.by_number: OrderedDict[int, Hook] = OrderedDict()


# The hooks of existing nodes. A pass looks for hooks only if there are any.
registered: weakref.WeakSet[Hooks] = weakref.WeakSet()


def register(node: TensorNode, trace: TensorTrace, hook: Hook) -> RemovableHandle:
    """Register a function that passes call with the cotangent of a node."""
    hooks = getattr(node, "hooks", None)
    if hooks is None:
        node.hooks = hooks = Hooks(trace)
        registered.add(hooks)
    return RemovableHandle.register(hooks.by_number, hook)


def hooked(node: Any, bar: Any, *, is_recorded: bool) -> Any:
    """Return a cotangent after the hooks of its node."""
    hooks = getattr(node, "hooks", None)
    if hooks is None or not hooks.by_number:
        return bar
    gradient = conjugated(bar)
    if not is_tensor(gradient):
        # Other code may use the array, and hooks may write to it.
        gradient = hooks.trace.constant(np.array(gradient) if isinstance(gradient, np.ndarray) else gradient)
    with recorded(is_recorded):
        for hook in tuple(hooks.by_number.values()):
            found = hook(gradient)
            if found is not None:
                _check(hook, gradient, found)
                gradient = found
    if is_recorded:
        return conjugated(gradient)
    value = conjugated(gradient._value)
    return np.array(value) if isinstance(value, np.ndarray) else value


def _check(hook: Hook, gradient: Any, found: Any) -> None:
    """Refuse a result that is no gradient of the tensor, in PyTorch's words."""
    name = getattr(hook, "__name__", type(hook).__name__)
    if not is_tensor(found):
        raise TypeError(f"expected Variable, but hook returned '{type(found).__name__}'")
    if found.dtype != gradient.dtype:
        was, got = type_name(gradient.dtype), type_name(found.dtype)
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {was}Tensor got {got}Tensor)")
    if found.shape != gradient.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
