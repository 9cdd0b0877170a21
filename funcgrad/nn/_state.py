"""The state of a module: its parameters and buffers by dotted names, copied out and in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from funcgrad._types import Array
from funcgrad.autograd import Tensor, no_grad, tensor
from funcgrad.autograd.extend import array_of, is_tensor, is_torchs
from funcgrad.nn._hooks import of_state
from funcgrad.nn._parameter import Parameter, Uninitialized


class IncompatibleKeys(NamedTuple):
    """The names that `Module.load_state_dict` did not find, and the names it did not expect."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not any(self):
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class Entry(NamedTuple):
    """A parameter or buffer of a module: its dotted name, the table that holds it, and its name there."""

    path: str
    module: Any
    table: dict[str, Any]
    name: str

    @property
    def value(self) -> Any:
        """Return the tensor."""
        return self.table[self.name]


def saved_entries(module: Any, prefix: str) -> Iterator[Entry]:
    """Return parameters and persistent buffers; a shared one appears under each of its names."""
    tables, left_out = module.__dict__, module.__dict__.get("_non_persistent_buffers_set", ())
    for table in (tables["_parameters"], tables["_buffers"]):
        for name, value in table.items():
            if value is not None and not (table is tables["_buffers"] and name in left_out):
                yield Entry(prefix + name, module, table, name)
    for name, child in module.__dict__["_modules"].items():
        if child is not None:
            yield from saved_entries(child, f"{prefix}{name}.")


def versions(module: Any, prefix: str) -> Iterator[tuple[str, dict[str, int]]]:
    """Return the version of the state's layout for each module, by its dotted name."""
    for path, each in module.named_modules(prefix=prefix.removesuffix(".")):
        yield path, {"version": each._version}  # noqa: SLF001  (a field for this function)


def load(module: Any, state_dict: Mapping[str, Any], strict: bool, assign: bool) -> IncompatibleKeys:
    """Copy or assign values after all of them are checked: a refused state leaves the module as it was."""
    if not isinstance(state_dict, Mapping):
        raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
    state_dict, errors = _hooked(module, state_dict, strict)
    given = {name: array_of(x) if is_torchs(x) else x for name, x in state_dict.items()}
    own = {entry.path: entry for entry in saved_entries(module, "")}
    # A state without version numbers may be older than these entries (PyTorch's `_load_from_state_dict`).
    optional = () if getattr(state_dict, "_metadata", None) else [*_optional(module, "")]
    missing = [name for name in own if name not in given and name not in optional]
    keys = IncompatibleKeys(missing, [name for name in given if name not in own])
    problems = [*errors, *(_key_problems(keys) if strict else [])]
    problems += [text for name, entry in own.items() if name in given for text in _unfit(name, entry, given[name])]
    if problems:
        raise RuntimeError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(problems))
    fitting = {name: entry for name, entry in own.items() if name in given and not _is_open(given[name])}
    values = {name: _value_for(entry, given[name], assign) for name, entry in fitting.items()}
    with no_grad():
        for name, entry in fitting.items():
            if _is_open(entry.value) and not assign:
                entry.value.materialize(np.shape(_plain(given[name])))
                entry.table[entry.name] = entry.value.made
            if assign:
                entry.table[entry.name] = values[name]
            else:
                entry.value.copy_(values[name])
    for each in reversed([*module.modules()]):
        for hook in of_state(each, "_load_state_dict_post_hooks"):
            hook.function(each, keys)
    return keys


def _hooked(module: Any, state: Mapping[str, Any], strict: bool) -> tuple[Mapping[str, Any], list[str]]:
    """Return the state after the modules' hooks have changed a copy of it, and the errors that they reported."""
    metadata, errors = getattr(state, "_metadata", None), []
    held: Any = None
    for path, each in module.named_modules():
        for hook in of_state(each, "_load_state_dict_pre_hooks"):
            if held is None:
                held = OrderedDict(state)
                held._metadata = metadata  # noqa: SLF001  (PyTorch's name)
            prefix = f"{path}." if path else ""
            hook.function(each, held, prefix, (metadata or {}).get(path, {}), strict, [], [], errors)
    return state if held is None else held, errors


def _is_open(x: Any) -> bool:
    return isinstance(x, Uninitialized)


def _value_for(entry: Entry, given: Any, assign: bool) -> Array:
    """Return a tensor to copy from or, to be assigned, a parameter or buffer with the memory of the given one."""
    held = given if is_tensor(given) else tensor(given)
    if not assign:
        return held
    own: Any = entry.value
    needs: bool = own.requires_grad
    return Parameter(held, needs) if isinstance(own, Parameter) else held.detach()


def _optional(module: Any, prefix: str) -> Iterator[str]:
    yield from (prefix + name for name in module._optional_in_state)  # noqa: SLF001  (a field for this function)
    for name, child in module.__dict__["_modules"].items():
        if child is not None:
            yield from _optional(child, f"{prefix}{name}.")


def _unfit(name: str, entry: Entry, given: Any) -> list[str]:
    """Return what is wrong with a value for an entry."""
    x: Tensor = entry.value
    if _is_open(given):
        return [] if _is_open(x) else [f"{name} has no shape in the checkpoint: call `forward` before `state_dict`."]
    if not hasattr(given, "dtype") or getattr(given.dtype, "kind", "?") not in "biufcV":
        text = "expected torch.Tensor or Tensor-like object from checkpoint but received"
        return [f'While copying the parameter named "{name}", {text} {type(given)}']
    if not _is_open(x) and np.shape(_plain(given)) != x.shape:
        text = f"copying a param with shape {_size(given)} from checkpoint, the shape in current model is {_size(x)}."
        return [f"size mismatch for {name}: {text}"]
    return []


def _plain(x: Any) -> Array:
    return x._value if is_tensor(x) else x


def _size(x: Any) -> str:
    return f"torch.Size({list(np.shape(_plain(x)))})"


def _key_problems(keys: IncompatibleKeys) -> list[str]:
    problems = []
    if keys.missing_keys:
        problems.append(f"Missing key(s) in state_dict: {', '.join(map(_quoted, keys.missing_keys))}. ")
    if keys.unexpected_keys:
        problems.append(f"Unexpected key(s) in state_dict: {', '.join(map(_quoted, keys.unexpected_keys))}. ")
    return problems


def _quoted(name: str) -> str:
    return f'"{name}"'
