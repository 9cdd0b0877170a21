"""Hyperparameters as prefix pytrees of the parameters: one value for the whole tree, or one for each part of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from funcgrad._core.bind import is_value
from funcgrad.errors import HyperparameterError
from funcgrad.optim._state.hyperparameters import (
    NESTEROV,
    Schedule,
    as_leaf,
    check_nesterov,
    check_ranges,
    in_place_of,
    is_host,
    number,
)
from funcgrad.tree import TreeDef, broadcast_prefix, flatten, flatten_with_path, key_path_str, unflatten


def is_single(value: Any) -> bool:
    """Whether it is one value for all parameters, and no tree of values."""
    return is_host(value) or isinstance(value, Schedule) or callable(value) or is_value(value)


def is_schedule(value: Any) -> bool:
    """Whether it is a schedule, which has no leaves but counts as one."""
    return isinstance(value, Schedule)


def as_tree(name: str, value: Any) -> Any:
    """A hyperparameter as the state stores it, be it one value or a prefix tree of values."""
    if is_single(value):
        return as_leaf(name, value)
    pairs, treedef = flatten_with_path(value, is_schedule)
    if not pairs or treedef.is_leaf():
        return as_leaf(name, value)
    return unflatten(treedef, [as_leaf(name, leaf, key_path_str(path)) for path, leaf in pairs])


def spread(name: str, prefix: Any, treedef: TreeDef, asked: str) -> Sequence[Any]:
    """The value for each leaf of the parameters."""
    if is_single(prefix):
        return [prefix] * treedef.num_leaves
    return broadcast_prefix(prefix, treedef, f"{asked}: {name}", is_schedule)


def map_leaves(f: Callable[[Any], Any], prefix: Any) -> Any:
    """A prefix tree with ``f`` of each of its values."""
    if is_single(prefix):
        return f(prefix)
    values, treedef = flatten(prefix, is_schedule)
    return unflatten(treedef, [f(value) for value in values])


def in_places_of(old: Any, new: Any) -> Any:
    """``new`` with the dtypes, engines and devices of ``old`` where the two have one structure."""
    if is_single(old) or is_single(new):
        return in_place_of(old, new) if is_single(old) and is_single(new) else new
    (before, old_def), (after, new_def) = flatten(old, is_schedule), flatten(new, is_schedule)
    if old_def != new_def:
        return new
    return unflatten(new_def, [in_place_of(x, y) for x, y in zip(before, after, strict=True)])


def check_all_ranges(values: Mapping[str, Any]) -> None:
    """Refuse numbers out of range, in PyTorch's words, with the key path where there is one."""
    for name, given in values.items():
        if is_single(given):
            check_ranges({name: given})
            continue
        for path, leaf in flatten_with_path(given, is_schedule)[0]:
            check_ranges({name: leaf}, key_path_str(path))


def check_all_nesterov(values: Mapping[str, Any], treedef: TreeDef, asked: str) -> None:
    """Refuse Nesterov's momentum without momentum or with dampening, in PyTorch's words.

    Where the values differ between parameters, those without momentum may be among those with ``nesterov``: they have
    nothing to look ahead along. Not all of them may.
    """
    names = ("nesterov", "momentum", "dampening")
    if all(is_single(values[name]) for name in names):
        check_nesterov(values)
        return
    columns = [map(number, spread(name, values[name], treedef, asked)) for name in names]
    ahead = [(momentum, dampening) for nesterov, momentum, dampening in zip(*columns, strict=True) if nesterov]
    still = [momentum is not None and momentum <= 0 for momentum, _ in ahead]
    damped = [bool(dampening) and not at_rest for (_, dampening), at_rest in zip(ahead, still, strict=True)]
    if (ahead and all(still)) or any(damped):
        raise HyperparameterError(NESTEROV)
