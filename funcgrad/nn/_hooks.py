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

    __slots__ = ("always", "function", "kind", "with_kwargs")

    def __init__(
        self, function: Callable[..., Any], with_kwargs: bool = False, always: bool = False, kind: str = ""
    ) -> None:
        self.function, self.with_kwargs, self.always = function, with_kwargs, always
        # One of ``KINDS``, for a hook of all modules.
        self.kind = kind


# The hooks of all modules, as PyTorch has them. They run before those of the module.
every: Hooks = OrderedDict()


def hooks_of(module: Any, kind: str) -> list[Hook]:
    """Return the hooks of one of ``KINDS`` that run in calls of a module: those of all modules, then its own."""
    shared: Any = every.values()
    return [*[hook for hook in shared if hook.kind == kind], *module.__dict__.get(kind, {}).values()]


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, args)``, which runs before ``forward`` of each module; its result replaces the arguments.

    Args:
        hook: the function.

    Returns:
        A handle; ``handle.remove()`` takes the hook away.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> handle = nn.register_module_forward_pre_hook(lambda module, args: print(type(module).__name__))
        >>> y = nn.Sequential(nn.ReLU())(np.ones(2))
        Sequential
        ReLU
        >>> handle.remove()

    Source: ``torch.nn.modules.module.register_module_forward_pre_hook``.
    """
    return _register_for_all(Hook(hook, kind="_forward_pre_hooks"))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Register ``hook(module, args, output)``, which runs after ``forward`` of each module.

    Args:
        hook: the function; its result replaces the output.
        with_kwargs: whether it is called as ``hook(module, args, kwargs, output)``.
        always_call: whether it also runs after an exception.

    Returns:
        A handle; ``handle.remove()`` takes the hook away.

    Example:
        >>> import numpy as np
        >>> from funcgrad import nn
        >>> handle = nn.register_module_forward_hook(lambda module, args, output: output + 1)
        >>> nn.ReLU()(np.array([-1.0, 1.0]))
        array([1., 2.])
        >>> handle.remove()

    Source: ``torch.nn.modules.module.register_module_forward_hook``.
    """
    return _register_for_all(Hook(hook, with_kwargs, always_call, "_forward_hooks"))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, grad_output)`` for each module; its result replaces the gradients of the outputs.

    Args:
        hook: the function.

    Returns:
        A handle; ``handle.remove()`` takes the hook away.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> handle = nn.register_module_full_backward_pre_hook(lambda module, grad_output: print(grad_output))
        >>> nn.ReLU()(tensor(2.0, requires_grad=True)).backward()
        (tensor(1.),)
        >>> handle.remove()

    Source: ``torch.nn.modules.module.register_module_full_backward_pre_hook``.
    """
    return _register_for_all(Hook(hook, kind="_backward_pre_hooks"))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Register ``hook(module, grad_input, grad_output)`` for each module; its result replaces the inputs' gradients.

    Args:
        hook: the function.

    Returns:
        A handle; ``handle.remove()`` takes the hook away.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> handle = nn.register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input))
        >>> nn.ReLU()(tensor(-2.0, requires_grad=True)).backward()
        (tensor(0.),)
        >>> handle.remove()

    Source: ``torch.nn.modules.module.register_module_full_backward_hook``.
    """
    return _register_for_all(Hook(hook, kind="_backward_hooks"))


def _register_for_all(hook: Hook) -> RemovableHandle:
    return RemovableHandle.register(every, hook)  # pyright: ignore[reportArgumentType]  (a record with a function)


def register(module: Any, kind: str, hook: Hook, prepend: bool = False) -> RemovableHandle:
    """Add a hook to a module."""
    hooks: Hooks = module.__dict__.setdefault(kind, OrderedDict())
    return RemovableHandle.register(hooks, hook, prepend)  # pyright: ignore[reportArgumentType]  (a record with one)


def call(module: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Call ``forward`` between the hooks of a module."""
    result, done = None, set()
    try:
        for hook in hooks_of(module, "_forward_pre_hooks"):
            args, kwargs = _before(module, hook, args, kwargs)
        is_watched = hooks_of(module, "_backward_hooks") or hooks_of(module, "_backward_pre_hooks")
        watch = _Watch(module) if is_watched else None
        if watch is not None:
            args = watch.inputs(args)
        result = module.forward(*args, **kwargs)
        for hook in hooks_of(module, "_forward_hooks"):
            done.add(hook)
            result = _after(module, hook, args, kwargs, result)
    except Exception:
        for hook in hooks_of(module, "_forward_hooks"):
            if hook.always and hook not in done:
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
        for hook in hooks_of(self._module, "_backward_pre_hooks"):
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
        for hook in hooks_of(self._module, "_backward_hooks"):
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
