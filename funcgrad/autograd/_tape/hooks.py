"""Hooks: functions that a pass calls with the gradient of a tensor, and that may replace it."""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from funcgrad._core.trace.tape import is_joint, operands_of
from funcgrad._types import Array, Tensor
from funcgrad.autograd._tape.base import TensorNode, TensorTrace, is_tensor
from funcgrad.autograd._tape.dtypes import type_name
from funcgrad.autograd._tape.handles import RemovableHandle
from funcgrad.autograd._tape.mode import recorded
from funcgrad.autograd._tape.seeds import conjugated

Hook = Callable[[Any], Any]


class Hooks:
    """The hooks of one node by number, in the order of registration.

    ``by_number`` run before its derivative, ``after`` after it, and ``accumulated`` after a leaf's ``grad`` was filled.
    """

    __slots__ = ("__weakref__", "accumulated", "after", "by_number", "trace")

    def __init__(self, trace: TensorTrace) -> None:
        self.trace = trace
        self.by_number: OrderedDict[int, Hook] = OrderedDict()
        self.after: OrderedDict[int, Hook] = OrderedDict()
        self.accumulated: OrderedDict[int, Hook] = OrderedDict()


# The hooks of existing nodes. A pass looks for hooks only if there are any.
registered: weakref.WeakSet[Hooks] = weakref.WeakSet()


# The gradients that groups of tensors have collected in the running pass, each with a function to call at its end.
at_end: ContextVar[dict[Any, tuple[Any, Callable[[], None]]] | None] = ContextVar("funcgrad_end_of_pass", default=None)


@contextlib.contextmanager
def ending() -> Iterator[None]:
    """At the end of a pass call the functions that hooks have put into ``at_end``."""
    collected: dict[Any, tuple[Any, Callable[[], None]]] = {}
    token = at_end.set(collected)
    try:
        yield
        for _, finish in collected.values():
            finish()
    finally:
        at_end.reset(token)


def register(node: TensorNode, trace: TensorTrace, hook: Hook) -> RemovableHandle:
    """Register a function that passes call with the cotangent of a node."""
    return RemovableHandle.register(_hooks_of(node, trace).by_number, hook)


def _hooks_of(node: TensorNode, trace: TensorTrace) -> Hooks:
    hooks = getattr(node, "hooks", None)
    if hooks is None:
        node.hooks = hooks = Hooks(trace)
        registered.add(hooks)
    return hooks


def hooked(node: Any, bar: Array, *, is_recorded: bool) -> Any:
    """Return a cotangent after the hooks of its node."""
    hooks = getattr(node, "hooks", None)
    if hooks is None or not hooks.by_number:
        return bar
    if is_joint(node):
        return _hooked_together(hooks, bar, is_recorded=is_recorded)
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


def _hooked_together(hooks: Hooks, bars: Any, *, is_recorded: bool) -> list[Any]:
    """Return the cotangents of the results of a joint operation after its hooks, which take and return tuples."""
    given = tuple([_as_gradient(hooks, bar) for bar in bars])
    with recorded(is_recorded):
        for hook in tuple(hooks.by_number.values()):
            given = _replaced(hook, given, hook(given))
    return [_as_cotangent(g, is_recorded) for g in given]


def prehooked(hook: Hook) -> Hook:
    """Return a hook of a node before its derivative, which takes and returns a tuple, as one of a tensor."""

    @functools.wraps(hook)
    def one(gradient: Tensor) -> Any:
        found = hook((gradient,))
        return found[0] if isinstance(found, tuple) and len(found) == 1 else found

    return one


def register_after(node: TensorNode, trace: TensorTrace, hook: Callable[..., Any]) -> RemovableHandle:
    """Register a function that passes call with the gradients that a node's derivative gives and takes."""
    return RemovableHandle.register(_hooks_of(node, trace).after, hook)


def register_accumulated(node: TensorNode, trace: TensorTrace, hook: Hook) -> RemovableHandle:
    """Register a function that `backward` calls with a leaf after it has filled the leaf's ``grad``."""
    return RemovableHandle.register(_hooks_of(node, trace).accumulated, hook)


def call_accumulated(tensors: list[Any], *, is_recorded: bool) -> None:
    """Call the hooks of leaves whose ``grad`` a pass has filled."""
    for tensor in tensors:
        hooks = getattr(tensor._node, "hooks", None)
        if hooks is None or not hooks.accumulated:
            continue
        with recorded(is_recorded):
            for hook in tuple(hooks.accumulated.values()):
                if hook(tensor) is not None:
                    raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def hooked_after(node: Any, x_bars: Any, y_bar: Array, *, is_recorded: bool) -> Any:
    """Return the cotangents of a node's parents after its hooks, which get ``None`` for operands without gradient."""
    hooks = getattr(node, "hooks", None)
    if hooks is None or not hooks.after:
        return x_bars
    bars = iter(x_bars)
    is_parent = [is_joint(node) or parent is not None for parent in operands_of(node)]
    given = tuple([_as_gradient(hooks, next(bars)) if one else None for one in is_parent])
    by_results = tuple([_as_gradient(hooks, bar) for bar in (y_bar if is_joint(node) else (y_bar,))])
    with recorded(is_recorded):
        for hook in tuple(hooks.after.values()):
            given = _replaced(hook, given, hook(given, by_results))
    return [_as_cotangent(g, is_recorded) for g, one in zip(given, is_parent, strict=True) if one]


def _replaced(hook: Hook, given: tuple[Any, ...], found: Any) -> tuple[Any, ...]:
    """Return the gradients that a hook of a node has returned, or the given ones if it has returned none."""
    if found is None:
        return given
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(given):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(found)}, but expected "
            f"{len(given)})"
        )
    for before, after in zip(given, found, strict=True):
        if before is not None and after is not None:
            _check(hook, before, after)
    return found


def _as_gradient(hooks: Hooks, bar: Array) -> Any:
    if bar is None:
        return None
    bar = bar.total() if hasattr(bar, "total") else bar
    gradient = conjugated(bar)
    if is_tensor(gradient):
        return gradient
    return hooks.trace.constant(np.array(gradient) if issubclass(type(gradient), np.ndarray | np.generic) else gradient)


def _as_cotangent(gradient: Tensor | None, is_recorded: bool) -> Any:
    if gradient is None:
        return None
    return conjugated(gradient if is_recorded else gradient._value)


def _name(hook: Hook) -> str:
    return getattr(hook, "__name__", type(hook).__name__)


def _check(hook: Hook, gradient: Tensor, found: Any) -> None:
    """Refuse a result that is no gradient of the tensor, in PyTorch's words."""
    name = _name(hook)
    if not is_tensor(found):
        raise TypeError(f"expected Variable, but hook returned '{type(found).__name__}'")
    if found.dtype != gradient.dtype:
        was, got = type_name(gradient.dtype), type_name(found.dtype)
        raise RuntimeError(f"hook '{name}' has changed the type of value (was {was}Tensor got {got}Tensor)")
    if found.shape != gradient.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")
