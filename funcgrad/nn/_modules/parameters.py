"""Modules that hold parameters in a list or a dict."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn, Self

from funcgrad.autograd.extend import is_tensor, type_name
from funcgrad.nn._containers import pairs, place
from funcgrad.nn._module import Module
from funcgrad.nn._parameter import Parameter


def _kept(value: Any) -> Any:
    """Return a parameter for a tensor, and other values as they are."""
    return Parameter(value) if is_tensor(value) and not isinstance(value, Parameter) else value


def _line(key: Any, value: Any, *, by_class: bool = False) -> str:
    held: Any = value
    if not is_tensor(value):
        return f"  ({key}): Object of type: {type(value).__name__}"
    # PyTorch prints the dtype in a list, and the class of the tensor in a dictionary.
    name = f"torch.{type_name(held.dtype)}Tensor" if by_class else f"{held.dtype}"
    kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
    return f"  ({key}): {kind} containing: [{name} of size {'x'.join(map(str, held.shape))}]"


class ParameterList(Module):
    """Hold parameters in a list; each is registered under its number, and other values are kept as they are.

    Args:
        values: the parameters; tensors become parameters.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> [name for name, _ in nn.ParameterList([tensor([1.0]), tensor([2.0])]).named_parameters()]
        ['0', '1']

    Source: ``torch.nn.ParameterList``.
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return type(self)([self[i] for i in range(*idx.indices(len(self)))])
        return getattr(self, str(place(idx, len(self))))

    def __setitem__(self, idx: int, param: Any) -> None:
        setattr(self, str(place(idx, len(self))), _kept(param))

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def append(self, value: Any) -> Self:
        """Add a parameter at the end."""
        setattr(self, str(self._size), _kept(value))
        self._size += 1
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Add parameters at the end."""
        if not isinstance(values, Iterable) or is_tensor(values):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    __iadd__ = extend

    def extra_repr(self) -> str:
        """Return a line for each entry."""
        return "\n".join(_line(i, value) for i, value in enumerate(self))

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """Hold parameters in a dict; each is registered under its key, and other values are kept as they are.

    Args:
        parameters: the parameters by key, or pairs of both; tensors become parameters.

    Example:
        >>> from funcgrad import nn
        >>> from funcgrad.autograd import tensor
        >>> nn.ParameterDict({"scale": tensor([1.0])})["scale"]
        Parameter containing:
        tensor([1.], requires_grad=True)

    Source: ``torch.nn.ParameterDict``.
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(
                "Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        setattr(self, key, _kept(value))
        self._keys[key] = None

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._keys)

    def __contains__(self, key: str) -> bool:
        return key in self._keys

    def copy(self) -> ParameterDict:
        """Return a dict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key: str, default: Any = None) -> Any:
        """Return the value of a key; a missing key gets the default."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        """Remove all entries."""
        for key in list(self._keys):
            del self[key]

    def pop(self, key: str) -> Any:
        """Remove an entry and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Remove the last entry and return it."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        return self[key] if key in self else default  # noqa: SIM401  (this is the method `get`)

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """Return a dict with one value for all keys."""
        return ParameterDict([(key, default) for key in keys])

    def keys(self) -> Any:
        """Return the keys."""
        return self._keys.keys()

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return pairs of keys and values."""
        return ((key, self[key]) for key in self._keys)

    def values(self) -> Iterator[Any]:
        """Return the values."""
        return (self[key] for key in self._keys)

    def update(self, parameters: Any) -> None:
        """Add entries from a dict, sorted unless it is ordered, or from pairs."""
        found = pairs("ParametersDict", parameters)
        is_sorted = isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict)
        for key, value in sorted(found, key=lambda pair: pair[0]) if is_sorted else found:
            self[key] = value

    def extra_repr(self) -> str:
        """Return a line for each entry."""
        return "\n".join(_line(key, value, by_class=True) for key, value in self.items())

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other: Any) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other: Any) -> ParameterDict:
        made = ParameterDict(other)
        made.update(self)
        return made

    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self
