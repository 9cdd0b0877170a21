"""Hooks of modules: functions that run before and after ``forward``, and when gradients reach a module's inputs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from funcgrad.autograd.extend import Hooks, RemovableHandle, is_tensor
from funcgrad.tree import map as tree_map

KINDS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


# Hooks of states: they run while a state is made or loaded, not in calls.
STATE_KINDS = (
    "_state_dict_pre_hooks",
    "_state_dict_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def of_state(module: Any, kind: str) -> tuple[Hook, ...]:
    """Return a module's hooks of one of `STATE_KINDS`."""
    return (*module.__dict__.get(kind, {}).values(),)


class Hook:
    """A function, whether it gets keyword arguments, and whether it also runs after an exception."""

    __slots__ = ("always", "function", "with_kwargs")

    def __init__(self, function: Callable[..., Any], with_kwargs: bool = False, always: bool = False) -> None:
        self.function, self.with_kwargs, self.always = function, with_kwargs, always


def register(module: Any, kind: str, hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Add a hook to a module."""
    hooks: Hooks = module.__dict__.setdefault(kind, OrderedDict())
    return RemovableHandle.register(hooks, hook, prepend)  # pyright: ignore[reportArgumentType]  (a record with one)


def call(module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call ``forward`` between the hooks of a module."""
    tables = module.__dict__
    result, done = None, set()
    try:
        for hook in (*tables.get("_forward_pre_hooks", {}).values(),):
            args, kwargs = _before(module, hook, args, kwargs)
        watch = _Watch(module) if tables.get("_backward_hooks") or tables.get("_backward_pre_hooks") else None
        if watch is not None:
            args = watch.inputs(args)
        result = module.forward(*args, **kwargs)
        for number, hook in (*tables.get("_forward_hooks", {}).items(),):
            done.add(number)
            result = _after(module, hook, args, kwargs, result)
    except Exception:
        for number, hook in (*tables.get("_forward_hooks", {}).items(),):
            if hook.always and number not in done:
                _after(module, hook, args, kwargs, result)
        raise
    return result if watch is None else watch.outputs(result)


def _before(module: Any, hook: Hook, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any]]:
    if hook.with_kwargs:
        found = hook.function(module, args, kwargs)
        if found is None:
            return args, kwargs
        if not isinstance(found, tuple) or len(found) != 2:
            raise RuntimeError(
                f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}."
            )
        return found
    found = hook.function(module, args)
    if found is None:
        return args, kwargs
    return found if isinstance(found, tuple) else (found,), kwargs


def _after(module: Any, hook: Hook, args: tuple, kwargs: dict[str, Any], result: Any) -> Any:
    found = hook.function(module, args, kwargs, result) if hook.with_kwargs else hook.function(module, args, result)
    return result if found is None else found


def _requires_grad(x: Any) -> bool:
    return is_tensor(x) and x.requires_grad


class _Watch:
    """The gradients of one call's outputs and inputs, which the backward hooks get."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._grad_inputs: list[Any] = []
        self._grad_outputs: list[Any] = []
        self._expected = 0

    def inputs(self, args: tuple) -> tuple:
        """Return the arguments with copies, which no other computation uses, for tensors with gradients."""
        self._grad_inputs = [None] * len(args)
        watched = list(args)
        for i, x in enumerate(args):
            if _requires_grad(x):
                self._expected += 1
                watched[i] = x.clone()
                watched[i].register_hook(lambda gradient, i=i: self._at_input(i, gradient))
        return tuple(watched)

    def outputs(self, result: Any) -> Any:
        """Return the outputs with copies for tensors with gradients."""

        def watched(x: Any) -> Any:
            i = len(self._grad_outputs)
            self._grad_outputs.append(None)
            if not _requires_grad(x):
                return x
            made = x.clone()
            made.register_hook(lambda gradient: self._at_output(i, gradient))
            return made

        return tree_map(watched, result)

    def _at_output(self, i: int, gradient: Any) -> Any:
        self._grad_outputs[i] = gradient
        for hook in (*self._module.__dict__.get("_backward_pre_hooks", {}).values(),):
            found = hook.function(self._module, tuple(self._grad_outputs))
            if found is not None:
                given = found if isinstance(found, tuple) else (found,)
                self._grad_outputs[i] = given[i]
        if not self._expected:
            self._call_hooks()
        return self._grad_outputs[i]

    def _at_input(self, i: int, gradient: Any) -> Any:
        self._grad_inputs[i] = gradient
        arrived = sum(x is not None for x in self._grad_inputs)
        return self._call_hooks()[i] if arrived == self._expected else None

    def _call_hooks(self) -> tuple:
        gradients = tuple(self._grad_inputs)
        for hook in (*self._module.__dict__.get("_backward_hooks", {}).values(),):
            found = hook.function(self._module, gradients, tuple(self._grad_outputs))
            if found is None:
                continue
            found = found if isinstance(found, tuple) else (found,)
            if len(found) != len(gradients):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(found)}, but expected "
                    f"{len(gradients)}"
                )
            if self._expected > 1:
                raise RuntimeError(
                    f"a backward hook of {type(self._module).__name__} returned gradients for {self._expected} inputs; "
                    "needed None, because the gradients of the other inputs have already been passed on. Register a "
                    "hook with each input tensor instead: x.register_hook(hook)."
                )
            gradients = found
        self._grad_inputs = [None] * len(gradients)
        return gradients
