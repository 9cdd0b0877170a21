"""``Module``: named parameters and modules, as in PyTorch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self

import ml_dtypes
import numpy as np

from funcgrad._core.aval import is_floating, is_inexact
from funcgrad.autograd import Tensor
from funcgrad.autograd.extend import RemovableHandle, is_tensor
from funcgrad.nn import _hooks as hooks
from funcgrad.nn._registered import Registered
from funcgrad.nn._state import IncompatibleKeys, load, saved_entries, versions


class Module(Registered):
    """Base class of layers and models, subclassed as in PyTorch: parameters and modules are attributes.

    A subclass calls ``super().__init__()`` before it assigns any, and defines ``forward``.

    Example:
        >>> from funcgrad import nn
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = nn.Linear(4, 3)
        ...         self.out = nn.Linear(3, 2, bias=False)
        ...
        ...     def forward(self, x):
        ...         return self.out(nn.tanh(self.hidden(x)))
        >>> [name for name, _ in Net().named_parameters()]
        ['hidden.weight', 'hidden.bias', 'out.weight']

    Source: ``torch.nn.Module``.
    """

    # Entries that a state without version numbers may lack, as in PyTorch.
    _optional_in_state: tuple[str, ...] = ()
    # The version of the layout of the state, as in PyTorch.
    _version = 1

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; subclasses define it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tables = self.__dict__
        if hooks.every or any(tables.get(kind) for kind in hooks.KINDS):
            return hooks.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Register ``hook(module, args)``, called before ``forward``; its result replaces the arguments."""
        return hooks.register(self, "_forward_pre_hooks", hooks.Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Register ``hook(module, args, output)``, called after ``forward``; its result replaces the output."""
        return hooks.register(self, "_forward_hooks", hooks.Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register ``hook(module, grad_output)``; its result replaces the gradients of the outputs."""
        return hooks.register(self, "_backward_pre_hooks", hooks.Hook(hook), prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Register ``hook(module, grad_input, grad_output)``; its result replaces the gradients of the inputs."""
        return hooks.register(self, "_backward_hooks", hooks.Hook(hook), prepend)

    def named_modules(
        self, memo: set[Module] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """Iterate over this module and all beneath it with dotted names; each once, unless duplicates are kept.

        Modules in ``memo`` are left out, and those found are added to it.
        """
        seen = set() if memo is None else memo
        pending: list[tuple[str, Module]] = [(prefix, self)]
        while pending:
            path, module = pending.pop()
            if remove_duplicate and module in seen:
                continue
            seen.add(module)
            yield path, module
            held = [(name, x) for name, x in module.__dict__["_modules"].items() if x is not None]
            pending.extend((f"{path}.{name}" if path else name, x) for name, x in reversed(held))

    def modules(self) -> Iterator[Module]:
        """Iterate over this module and all beneath it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over the modules that are attributes of this one, each once, with their names."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def children(self) -> Iterator[Module]:
        """Iterate over the modules that are attributes of this one."""
        return (child for _, child in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over the parameters with dotted names; each once, unless duplicates are kept."""
        return self._named("_parameters", prefix, recurse, remove_duplicate)

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Iterate over the buffers with dotted names; each once, unless duplicates are kept."""
        return self._named("_buffers", prefix, recurse, remove_duplicate)

    def _named(self, table: str, prefix: str, recurse: bool, once: bool) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=once) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in module.__dict__[table].items():
                if value is not None and not (once and id(value) in seen):
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def get_submodule(self, target: str) -> Module:
        """Return the module with a dotted name; this module for the empty name."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def get_parameter(self, target: str) -> Tensor:
        """Return the parameter with a dotted name."""
        return self._found("_parameters", target, "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """Return the buffer with a dotted name."""
        return self._found("_buffers", target, "a buffer")

    def _found(self, table: str, target: str, what: str) -> Tensor:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
        if name not in module.__dict__[table]:
            raise AttributeError(f"`{name}` is not {what}")
        return module.__dict__[table][name]

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the parameters, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the buffers, each once."""
        return (x for _, x in self.named_buffers(recurse=recurse))

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Set the gradients of all parameters to ``None``, or to zero."""
        for p in self.parameters():
            if p.grad is not None:
                p.grad = None if set_to_none else p.grad.detach().zero_()

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients are recorded, for all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def train(self, mode: bool = True) -> Self:
        """Set training mode, for this module and all beneath it."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Set evaluation mode, for this module and all beneath it."""
        return self.train(False)

    def apply(self, function: Callable[[Module], Any]) -> Self:
        """Call a function with each module, those beneath first."""
        for child in self.children():
            child.apply(function)
        function(self)
        return self

    def to(self, *args: Any, non_blocking: bool = False, **kwargs: Any) -> Self:
        """Convert parameters and buffers of floating dtypes, in place.

        The arguments are those of ``Tensor.to``: a dtype, a device (only the present one is accepted) or a tensor.
        """
        del non_blocking
        held = [x for x in [*self.parameters(), *self.buffers()] if is_floating(x.dtype)]
        new = [x.detach().to(*args, **kwargs) for x in held]
        strange = next((x.dtype for x in new if not is_inexact(x.dtype)), None)
        if strange is not None:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.{strange}"
            )
        for x, value in zip(held, new, strict=True):
            x.data = value
        return self

    def type(self, dst_type: Any) -> Self:
        """Convert parameters and buffers of floating dtypes, in place."""
        return self.to(dst_type)

    def double(self) -> Self:
        """Convert parameters and buffers to float64, in place."""
        return self.to(np.float64)

    def float(self) -> Self:
        """Convert parameters and buffers to float32, in place."""
        return self.to(np.float32)

    def half(self) -> Self:
        """Convert parameters and buffers to float16, in place."""
        return self.to(np.float16)

    def bfloat16(self) -> Self:
        """Convert parameters and buffers to bfloat16, in place."""
        return self.to(ml_dtypes.bfloat16)

    def cpu(self) -> Self:
        """Return the module, whose values are on the CPU if they are NumPy's."""
        return self.to("cpu")

    def state_dict(
        self, *, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Tensor]:
        """Return parameters and persistent buffers by their dotted names, in PyTorch's layout.

        They share memory with the module; with ``keep_vars`` they are the module's own tensors.
        """
        held: Any = OrderedDict() if destination is None else destination
        if destination is None:
            # The versions of the layouts, where PyTorch keeps them.
            held._metadata = dict(versions(self, prefix))  # noqa: SLF001  (PyTorch's name)
        for path, each in self.named_modules(prefix=prefix):
            for hook in hooks.of_state(each, "_state_dict_pre_hooks"):
                hook.function(each, f"{path}." if path else "", keep_vars)
        for entry in saved_entries(self, prefix):
            held[entry.path] = entry.value if keep_vars or not is_tensor(entry.value) else entry.value.detach()
        for path, each in reversed([*self.named_modules(prefix=prefix)]):
            for hook in hooks.of_state(each, "_state_dict_hooks"):
                hook.function(each, held, f"{path}." if path else "", dict(versions(each, path))[path])
        return held

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(module, prefix, keep_vars)``, called before `state_dict`."""
        return hooks.register(self, "_state_dict_pre_hooks", hooks.Hook(hook))

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(module, state_dict, prefix, local_metadata)``, which may change the state in place."""
        return hooks.register(self, "_state_dict_hooks", hooks.Hook(hook))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register a hook that may change a copy of the state that is loaded.

        It gets module, state, prefix, metadata, whether names must match, and lists of missing names, of unexpected
        names and of errors.
        """
        return hooks.register(self, "_load_state_dict_pre_hooks", hooks.Hook(hook))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Register ``hook(module, incompatible_keys)``, called after values are loaded."""
        return hooks.register(self, "_load_state_dict_post_hooks", hooks.Hook(hook))

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copy values into parameters and buffers; a state that is refused changes nothing.

        Args:
            state_dict: tensors or arrays by dotted names: the result of `state_dict`, here or in PyTorch.
            strict: refuse names that are missing or unknown.
            assign: replace parameters and buffers, rather than copy into them; the dtype becomes that of the state.

        Raises:
            RuntimeError: names or shapes do not match; the message is PyTorch's and lists all of them.
        """
        return load(self, state_dict, strict, assign)

    def extra_repr(self) -> str:
        """Return the text between the parentheses of the module's repr."""
        return ""

    def _get_name(self) -> str:
        return f"{'Parametrized' if self._parametrizations() else ''}{type(self).__name__}"

    def __repr__(self) -> str:
        children = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        extra = self.extra_repr()
        if not children and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = [*(extra.split("\n") if extra else []), *children]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"
