"""A module as a pure function: parameters, buffers and random keys in, outputs and buffers out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from funcgrad.autograd import no_grad
from funcgrad.autograd.extend import TracedTrace, is_lifted, is_tensor, lift, lower
from funcgrad.errors import TracerAssignmentError
from funcgrad.nn._functions.random import drawing_from
from funcgrad.nn._module import Module
from funcgrad.nn._state import Entry
from funcgrad.tree import map as tree_map

# Whether the pure call that is running returns its buffers; ``None`` outside of pure calls.
_returns_buffers: ContextVar[bool | None] = ContextVar("funcgrad_nn_returns_buffers", default=None)


def functional_call(
    module: Module,
    parameters_and_buffers: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
    key: Any = None,
    return_buffers: bool = False,
) -> Any:
    """Call a module with other values in place of its parameters and buffers.

    The values may be arrays, so the call works under `funcgrad.grad`, `funcgrad.vmap` and `funcgrad.jit`. The module
    has its own values again afterwards; it may not be used by two threads at a time.

    Args:
        module: the module.
        parameters_and_buffers: values by dotted names, or a tuple of such dicts; names that are not given keep the
            module's own values.
        args: the arguments: a tuple, or one argument.
        kwargs: the keyword arguments.
        tie_weights: give all names of a shared parameter the value that one of them has.
        strict: refuse names that are missing or unknown.
        key: a key of `funcgrad.random`, from which dropout and similar layers draw. Without one they draw from the
            generator that `manual_seed` seeds, which compiled functions cannot do.
        return_buffers: return the pair of the output and the buffers after the call, by name. Nothing is changed in
            place then.

    Returns:
        The module's output, or the pair.

    Raises:
        RuntimeError: names are missing or unknown and ``strict`` is set; a layer updates a buffer that is an array
            and ``return_buffers`` is not set; a layer draws random numbers in a compiled function without a key.
        TypeError: ``module`` is no module.
        ValueError: ``parameters_and_buffers`` is no dict, or gives a name or a shared parameter two values.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad import nn
        >>> model = nn.Linear(2, 1)
        >>> values = {"weight": np.array([[1.0, 2.0]]), "bias": np.array([0.5])}
        >>> def loss(values, x):
        ...     return np.sum(nn.functional_call(model, values, (x,)) ** 2)
        >>> fg.jit(fg.grad(loss), engine="numpy")(values, np.array([[1.0, 1.0]]))
        {'weight': array([[7., 7.]]), 'bias': array([7.])}

    Source: ``torch.func.functional_call``; ``key`` and ``return_buffers`` are additions.
    """
    if not isinstance(module, Module):
        raise TypeError(
            f"functional_call: module is a {type(module).__name__}; needed an nn.Module. For a function, call it with "
            "the values directly."
        )
    given = _merged(parameters_and_buffers)
    entries = {entry.path: entry for entry in _entries(module, "")}
    if strict:
        _check_names(module, given, entries)
    values = _tied(given, entries) if tie_weights else given
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    trace = TracedTrace()
    values, arguments, named = lift((values, arguments, kwargs or {}), trace)
    buffers = [entry for entry in entries.values() if entry.table is entry.module.__dict__["_buffers"]]
    before = {path: entry.value for path, entry in entries.items()}
    token = _returns_buffers.set(return_buffers)
    try:
        for path, value in values.items():
            if path in entries:
                entries[path].table[entries[path].name] = value
        if return_buffers:
            for entry in buffers:
                entry.table[entry.name] = _unshared(entry.value)
        with drawing_from(key):
            output = module(*arguments, **named)
        result = (output, {entry.path: entry.value for entry in buffers}) if return_buffers else output
        return tree_map(lambda x: lower(x) if is_tensor(x) and x._owner is trace else x, result)
    finally:
        _returns_buffers.reset(token)
        for path, value in before.items():
            entries[path].table[entries[path].name] = value


def update_buffer(module: Module, name: str, value: Any) -> None:
    """Give a buffer a new value: a tensor in place, an array in a pure call that returns its buffers."""
    buffers = module.__dict__["_buffers"]
    held, what = buffers[name], f"{type(module).__name__}: training updates the buffer {name}"
    remedy = (
        "Pass the buffers and take the new ones: output, buffers = nn.functional_call(module, values, args, "
        "return_buffers=True). Or call module.eval() first."
    )
    if _returns_buffers.get():
        buffers[name] = value
    elif is_lifted(held):
        raise RuntimeError(f"{what}, which is an array in this pure call, and the new value would be lost. {remedy}")
    else:
        try:
            with no_grad():
                held.copy_(value.detach() if is_tensor(value) else value)
        except TracerAssignmentError as error:
            raise TracerAssignmentError(
                f"{what} under a transform, which the module would outlive. {remedy}"
            ) from error


def _unshared(x: Any) -> Any:
    """Return a copy of a tensor, which the call may write to."""
    with no_grad():
        return x.detach().clone()


def _merged(given: Any) -> dict[str, Any]:
    parts = given if isinstance(given, tuple | list) else (given,)
    if not all(isinstance(part, Mapping) for part in parts):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(given)}"
        )
    merged: dict[str, Any] = {}
    for part in parts:
        for name, value in part.items():
            if name in merged:
                repeated = [each for each in merged if sum(each in one for one in parts) > 1]
                raise ValueError(
                    f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous"
                )
            merged[name] = value
    return merged


def _entries(module: Module, prefix: str) -> Iterator[Entry]:
    for table in (module.__dict__["_parameters"], module.__dict__["_buffers"]):
        yield from (Entry(prefix + name, module, table, name) for name in table if table[name] is not None)
    for name, child in module.__dict__["_modules"].items():
        if child is not None:
            yield from _entries(child, f"{prefix}{name}.")


def _tied(given: dict[str, Any], entries: dict[str, Entry]) -> dict[str, Any]:
    """Return the values with those for the other names of shared parameters."""
    shared: dict[int, list[str]] = {}
    for path, entry in entries.items():
        shared.setdefault(id(entry.value), []).append(path)
    values = dict(given)
    for paths in shared.values():
        named = [path for path in paths if path in given]
        if len(paths) == 1 or not named:
            continue
        if any(given[path] is not given[named[0]] for path in named):
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(named)}, which are tied. Consider using "
                "tie_weights=False"
            )
        values.update(dict.fromkeys(paths, given[named[0]]))
    return values


def _check_names(module: Module, given: dict[str, Any], entries: dict[str, Entry]) -> None:
    missing, unexpected = (
        [name for name in entries if name not in given],
        [name for name in given if name not in entries],
    )
    if missing or unexpected:
        texts = [f"Unexpected key(s): {', '.join(map(repr, unexpected))}."] if unexpected else []
        texts += [f"Missing key(s): {', '.join(map(repr, missing))}."] if missing else []
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(texts))
