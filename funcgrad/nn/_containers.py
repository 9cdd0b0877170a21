"""Modules that hold modules: in a sequence, a list or a dict."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self

from funcgrad._types import Array
from funcgrad.nn._module import Module


def place(idx: Any, count: int) -> int:
    """Return an index of a list counted from 0, or raise PyTorch's error."""
    i = operator.index(idx)
    if not -count <= i < count:
        raise IndexError(f"index {i} is out of range")
    return i % count


class _Numbered(Module):
    """Modules in an order; after a deletion they are numbered again."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, list(self._modules)[place(idx, len(self))], module)

    def __delitem__(self, idx: int | slice) -> None:
        names = list(self._modules)
        gone = names[idx] if isinstance(idx, slice) else [names[place(idx, len(names))]]
        kept = [module for name, module in self._modules.items() if name not in gone]
        self.__dict__["_modules"] = {str(i): module for i, module in enumerate(kept)}

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Any:
        """Remove a module, or the modules of a slice, and return it."""
        found = self[key]
        del self[key]
        return found

    def __getitem__(self, idx: int | slice) -> Any:
        raise NotImplementedError

    def _shift(self, index: int, module: Module) -> None:
        entries = list(self._modules.values())
        entries.insert(index, module)
        self.__dict__["_modules"] = {str(i): each for i, each in enumerate(entries)}


class Sequential(_Numbered):
    """Apply modules one after the other.

    Args:
        modules: the modules; or one ordered dict of them, by name.

    Example:
        >>> from funcgrad import nn
        >>> model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        >>> model[1]
        ReLU()

    Source: ``torch.nn.Sequential``.
    """

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], OrderedDict) else dict(enumerate(modules))
        for name, module in named.items():
            self.add_module(str(name), module)

    def forward(self, input: Array) -> Any:
        """Compute the output of the last module."""
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)(OrderedDict(list(self._modules.items())[idx]))
        return list(self._modules.values())[place(idx, len(self))]

    def insert(self, index: int, module: Module) -> Self:
        """Add a module before the one with this number."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        self._shift(index, module)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add modules at the end."""
        for module in list(sequential):
            self.append(module)
        return self

    def __add__(self, other: Any) -> Sequential:
        return Sequential(*self, *_checked(other))

    def __iadd__(self, other: Any) -> Self:
        return self.extend(_checked(other))

    def __mul__(self, other: int) -> Sequential:
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return Sequential(*list(self) * other)

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        return self.extend(list(self * other)[len(self) :])


def _checked(other: Any) -> Sequential:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
    return other


class ModuleList(_Numbered):
    """Hold modules in a list; each is registered under its number.

    Args:
        modules: the modules.

    Example:
        >>> from funcgrad import nn
        >>> layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        >>> layers
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
        >>> len(list(layers.parameters()))
        6

    Source: ``torch.nn.ModuleList``.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, idx: int | slice) -> Any:
        entries = list(self._modules.values())
        return type(self)(entries[idx]) if isinstance(idx, slice) else entries[place(idx, len(entries))]

    def insert(self, index: int, module: Module) -> None:
        """Add a module before the one with this number."""
        self._shift(index, module)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        blocks: list[tuple[int, int, str]] = []
        for i, text in enumerate(map(repr, self)):
            if blocks and blocks[-1][2] == text:
                blocks[-1] = blocks[-1][0], i, text
            else:
                blocks.append((i, i, text))
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in blocks
        ]
        if not lines:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n".join(lines).replace("\n", "\n  ") + "\n)"


class ModuleDict(Module):
    """Hold modules in a dict; each is registered under its key.

    Args:
        modules: the modules by key, or pairs of both.

    Example:
        >>> from funcgrad import nn
        >>> heads = nn.ModuleDict({"mean": nn.Linear(2, 1)})
        >>> list(heads.state_dict())
        ['mean.weight', 'mean.bias']

    Source: ``torch.nn.ModuleDict``.
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key: str) -> Any:
        """Remove a module and return it."""
        return self._modules.pop(key)

    def keys(self) -> Any:
        """Return the keys."""
        return self._modules.keys()

    def items(self) -> Any:
        """Return pairs of keys and modules."""
        return self._modules.items()

    def values(self) -> Any:
        """Return the modules."""
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Add modules from a dict or from pairs of keys and modules."""
        for key, module in pairs("ModuleDict", modules):
            self[key] = module


def pairs(name: str, given: Any) -> list[tuple[str, Any]]:
    """Return pairs of keys and values, or raise PyTorch's errors."""
    if isinstance(given, Mapping | Module) and hasattr(given, "items"):
        return list(given.items())
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    # PyTorch's first message names the dict of parameters in the plural.
    listed, kind = list(given), name.replace("Parameters", "Parameter")
    for j, pair in enumerate(listed):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{kind} update sequence element #{j} should be Iterable; is{type(pair).__name__}")
        if len(list(pair)) != 2:
            raise ValueError(f"{kind} update sequence element #{j} has length {len(list(pair))}; 2 is required")
    return [(key, value) for key, value in listed]


class DataParallel(Module):
    """Hold a module and call it. PyTorch's copies it to several GPUs; without GPUs it does this.

    Source: ``torch.nn.DataParallel``.
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        del device_ids, output_device, dim
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)
