"""The attributes of a module: parameters, buffers and modules are registered where they are assigned."""

from __future__ import annotations

from typing import Any

from funcgrad.autograd import tensor as make_tensor
from funcgrad.autograd.extend import is_tensor
from funcgrad.nn._parameter import Buffer, Parameter, Uninitialized

# For each table of a module: the name of its entries in messages, and the types that may be assigned.
_HELD = {
    "_parameters": ("parameter", "torch.nn.Parameter or None"),
    "_buffers": ("buffer", "torch.nn.Buffer, torch.Tensor or None"),
    "_modules": ("child module", "torch.nn.Module or None"),
}


def _typename(x: Any) -> str:
    """Return PyTorch's name for the type of a value: ``torch.FloatTensor``."""
    return x.type() if is_tensor(x) else type(x).__name__


class Registered:
    """Base class of `Module`: tables of parameters, buffers and modules by name, which are its attributes."""

    training: bool

    def __init__(self) -> None:
        self.__dict__["_parameters"] = {}
        self.__dict__["_buffers"] = {}
        self.__dict__["_modules"] = {}
        self.training = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in (parametrizations := self._parametrizations()):
            parametrizations[name].right_inverse(value)
            return
        tables = self.__dict__
        table = "_parameters" if isinstance(value, Parameter) else "_modules" if isinstance(value, Registered) else None
        if table is not None:
            if table not in tables:
                what = "module" if table == "_modules" else "parameters"
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")
            # An entry that is replaced keeps its place in the order.
            if name not in tables[table]:
                self._forget(name)
            tables[table][name] = value
            return
        if isinstance(value, Buffer | Uninitialized):
            self._forget(name)
            self.register_buffer(name, value.data if isinstance(value, Buffer) else value, value.persistent)
            return
        for table, (what, expected) in _HELD.items():
            if name in tables.get(table, ()):
                held = tables[table][name]
                # A pure call has put arrays in the place of tensors.
                is_array = held is not None and not isinstance(held, Registered) and not is_tensor(held)
                if value is not None and not (table == "_buffers" and (is_tensor(value) or is_array)):
                    raise TypeError(f"cannot assign '{_typename(value)}' as {what} '{name}' ({expected} expected)")
                tables[table][name] = value
                return
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            entries = self.__dict__.get(table, {})
            if name in entries:
                return entries[name]
        if name in (parametrizations := self._parametrizations()):
            return parametrizations[name].value()
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _parametrizations(self) -> Any:
        """Return by name the tensors that `funcgrad.nn.utils.parametrize` computes; an empty tuple without any."""
        found = self.__dict__.get("_modules", {}).get("parametrizations")
        return () if found is None else found

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            super().__delattr__(name)

    def _forget(self, name: str) -> bool:
        found = [
            entries for table in ("_parameters", "_buffers", "_modules") if name in (entries := self.__dict__[table])
        ]
        for entries in found:
            del entries[name]
        self.__dict__.get("_non_persistent_buffers_set", set()).discard(name)
        return bool(found) or self.__dict__.pop(name, None) is not None

    def __dir__(self) -> list[str]:
        held = [name for table in _HELD for name in self.__dict__.get(table, ())]
        return sorted({*super().__dir__(), *held})

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter, or ``None``, under a name."""
        self._check_name("_parameters", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor or an array that is not trained; a persistent one is saved with the parameters."""
        self._check_name("_buffers", name)
        if tensor is not None and not hasattr(tensor, "dtype"):
            raise TypeError(
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' (torch Tensor or None required)"
            )
        is_kept = tensor is None or is_tensor(tensor) or isinstance(tensor, Uninitialized)
        self._buffers[name] = tensor if is_kept else make_tensor(tensor)
        left_out: set[str] = self.__dict__.setdefault("_non_persistent_buffers_set", set())
        if persistent:
            left_out.discard(name)
        else:
            left_out.add(name)

    def add_module(self, name: str, module: Any) -> None:
        """Add a module under a name."""
        self._check_name("_modules", name)
        if module is not None and not isinstance(module, Registered):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, table: str, name: Any) -> None:
        what = _HELD[table][0].removeprefix("child ")
        if not isinstance(name, str):
            raise TypeError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name:
            got = f", got: {name}" if table == "_modules" else ""
            raise KeyError(f'{what} name can\'t contain "."{got}')
        if not name:
            raise KeyError(f'{what} name can\'t be empty string ""')
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute '{name}' already exists")
