"""``Module``: named parameters and modules, as in PyTorch."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from funcgrad._core.aval import is_floating, is_inexact
from funcgrad.autograd import Tensor, no_grad
from funcgrad.autograd import tensor as make_tensor
from funcgrad.autograd.extend import array_of, is_tensor, is_torchs
from funcgrad.nn._parameter import Parameter


class IncompatibleKeys(NamedTuple):
    """The names that `Module.load_state_dict` did not find, and the names it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not any(self):
            return "<All keys matched successfully>"
        return f"IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


# For each table of a module: the name of its entries in messages, and the types that may be assigned.
_HELD = {
    "_parameters": ("parameter", "nn.Parameter or None"),
    "_buffers": ("buffer", "nn.Buffer, Tensor or None"),
    "_modules": ("child module", "nn.Module or None"),
}


class Module:
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

    training: bool

    def __init__(self) -> None:
        self.__dict__["_parameters"] = {}
        self.__dict__["_buffers"] = {}
        self.__dict__["_modules"] = {}
        self.training = True

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__
        table = "_parameters" if isinstance(value, Parameter) else "_modules" if isinstance(value, Module) else None
        if table is not None:
            if table not in tables:
                what = "module" if table == "_modules" else "parameters"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            self._forget(name)
            tables[table][name] = value
            return
        for table, (what, expected) in _HELD.items():
            if name in tables.get(table, ()):
                if value is not None and not (table == "_buffers" and is_tensor(value)):
                    raise TypeError(f"cannot assign '{type(value).__name__}' as {what} '{name}' ({expected} expected)")
                tables[table][name] = value
                return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            entries = self.__dict__.get(table, {})
            if name in entries:
                return entries[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            super().__delattr__(name)

    def _forget(self, name: str) -> bool:
        found = [
            entries for table in ("_parameters", "_buffers", "_modules") if name in (entries := self.__dict__[table])
        ]
        for entries in found:
            del entries[name]
        return bool(found) or self.__dict__.pop(name, None) is not None

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the output; subclasses define it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter, or ``None``, under a name."""
        self._check_name("_parameters", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{type(param).__name__}' object to parameter '{name}' (nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any) -> None:
        """Add a tensor or an array that is saved with the parameters and not trained."""
        self._check_name("_buffers", name)
        if tensor is not None and not hasattr(tensor, "dtype"):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor if tensor is None or is_tensor(tensor) else make_tensor(tensor)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a module under a name."""
        self._check_name("_modules", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, table: str, name: Any) -> None:
        what = _HELD[table][0].removeprefix("child ")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            raise KeyError(f'{what} name can\'t contain "."')
        if not name:
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Iterate over this module and all beneath it, each once, with dotted names."""
        seen: set[int] = set()
        pending: list[tuple[str, Module]] = [(prefix, self)]
        while pending:
            path, module = pending.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            yield path, module
            children = [(f"{path}.{name}" if path else name, child) for name, child in module.named_children()]
            pending.extend(reversed(children))

    def modules(self) -> Iterator[Module]:
        """Iterate over this module and all beneath it."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Iterate over the modules that are attributes of this one, with their names."""
        return ((name, child) for name, child in self._modules.items() if child is not None)

    def children(self) -> Iterator[Module]:
        """Iterate over the modules that are attributes of this one."""
        return (child for _, child in self.named_children())

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Iterate over the parameters, each once, with dotted names."""
        return self._named("_parameters", prefix, recurse)

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Iterate over the buffers, each once, with dotted names."""
        return self._named("_buffers", prefix, recurse)

    def _named(self, table: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, value in module.__dict__[table].items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def parameters(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the parameters, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Iterate over the buffers, each once."""
        return (x for _, x in self.named_buffers(recurse=recurse))

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Set the gradients of all parameters to zero, or to ``None``."""
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

    def to(self, dtype: Any) -> Self:
        """Convert parameters and buffers of floating dtypes, in place; only the present device is accepted."""
        held = [x for x in [*self.parameters(), *self.buffers()] if is_floating(x.dtype)]
        new = [x.detach().to(dtype) for x in held]
        if any(not is_inexact(x.dtype) for x in new):
            raise TypeError(
                f"to: the dtype {np.dtype(dtype)} was asked for; needed a floating or complex one, for parameters. "
                "Write np.float32, for example."
            )
        for x, value in zip(held, new, strict=True):
            x.data = value
        return self

    def double(self) -> Self:
        """Convert parameters and buffers to float64, in place."""
        return self.to(np.float64)

    def float(self) -> Self:
        """Convert parameters and buffers to float32, in place."""
        return self.to(np.float32)

    def state_dict(self, prefix: str = "") -> OrderedDict[str, Tensor]:
        """Return parameters and buffers by their dotted names, in PyTorch's layout.

        They share memory with the module.
        """
        return OrderedDict((name, value.detach()) for name, value in _entries(self, prefix))

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Copy values into parameters and buffers.

        Args:
            state_dict: tensors or arrays by dotted names: the result of `state_dict`, here or in PyTorch.
            strict: refuse names that are missing or unknown.

        Raises:
            RuntimeError: names or shapes do not match; the message is PyTorch's.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        state_dict = {name: array_of(value) if is_torchs(value) else value for name, value in state_dict.items()}
        own = dict(_entries(self, ""))
        keys = IncompatibleKeys([k for k in own if k not in state_dict], [k for k in state_dict if k not in own])
        problems = _key_problems(keys) if strict else []
        problems += [
            f"size mismatch for {name}: copying a param with shape {_size(state_dict[name])} from checkpoint, the "
            f"shape in current model is {_size(x)}."
            for name, x in own.items()
            if name in state_dict and np.shape(_value(state_dict[name])) != x.shape
        ]
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(problems))
        with no_grad():
            for name, x in own.items():
                if name in state_dict:
                    x.copy_(state_dict[name])
        return keys

    def extra_repr(self) -> str:
        """Return the text between the parentheses of the module's repr."""
        return ""

    def __repr__(self) -> str:
        children = [f"({name}): " + repr(child).replace("\n", "\n  ") for name, child in self._modules.items()]
        extra = self.extra_repr()
        if not children:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}(\n  " + "\n  ".join([*([extra] if extra else []), *children]) + "\n)"


def _entries(module: Module, prefix: str) -> Iterator[tuple[str, Tensor]]:
    """Return parameters and buffers with their dotted names; a shared one appears under each of its names."""
    for name, value in (*module.__dict__["_parameters"].items(), *module.__dict__["_buffers"].items()):
        if value is not None:
            yield prefix + name, value
    for name, child in module.named_children():
        yield from _entries(child, f"{prefix}{name}.")


def _value(x: Any) -> Any:
    return x._value if is_tensor(x) else x


def _size(x: Any) -> str:
    return f"torch.Size({list(np.shape(_value(x)))})"


def _key_problems(keys: IncompatibleKeys) -> list[str]:
    problems = []
    if keys.missing_keys:
        problems.append(f"Missing key(s) in state_dict: {', '.join(map(_quoted, keys.missing_keys))}. ")
    if keys.unexpected_keys:
        problems.append(f"Unexpected key(s) in state_dict: {', '.join(map(_quoted, keys.unexpected_keys))}. ")
    return problems


def _quoted(name: str) -> str:
    return f'"{name}"'
