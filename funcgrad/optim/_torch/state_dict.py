"""Conversion between an optimizer's state and plain dicts in PyTorch's layout."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import is_engine_value, is_value
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._types import ArrayLike
from funcgrad.autograd.extend import array_of, converted, is_tensor, is_torchs, rebuild
from funcgrad.optim._rules.rule import Rule

Groups = list[dict[str, Any]]


def _numbers(groups: Groups) -> dict[int, int]:
    """Return the number of each parameter by its id, in the order of the groups."""
    numbers: dict[int, int] = {}
    start = 0
    for group in groups:
        for i, p in enumerate(group["params"], start):
            numbers.setdefault(id(p), i)
        start += len(group["params"])
    return numbers


def pack_groups(groups: Groups) -> Groups:
    """Return the groups with numbers instead of parameters."""
    numbers = _numbers(groups)
    return [
        {
            **{name: value for name, value in group.items() if name != "params"},
            "params": [numbers[id(p)] for p in group["params"]],
        }
        for group in groups
    ]


def pack_state(state: Mapping[Any, Any], groups: Groups) -> dict[Any, Any]:
    """Return the state by parameter number; entries of no parameter keep their key."""
    numbers = _numbers(groups)
    return {numbers[id(key)] if is_tensor(key) else key: value for key, value in state.items()}


def load_groups(saved: Groups, groups: Groups) -> Groups:
    """Return saved groups with this optimizer's parameters."""
    if len(groups) != len(saved):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(new["params"]) != len(old["params"]) for new, old in zip(saved, groups, strict=True)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )
    loaded = []
    for new, old in zip(saved, groups, strict=True):
        options = copy.deepcopy({name: converted(value) for name, value in new.items() if name != "params"})
        if "param_names" in old:
            options.setdefault("param_names", old["param_names"])
        loaded.append({**options, "params": old["params"]})
    return loaded


def load_state(saved: Mapping[str, Any], groups: Groups, numbers: Container[str]) -> defaultdict[Any, Any]:
    """Return saved state by parameter, converted to each one's dtype and device; other entries unchanged.

    ``numbers`` are the keys of entries that have no dtype of the parameter.
    """
    positions = [number for group in saved["param_groups"] for number in group["params"]]
    params = dict(zip(positions, [p for group in groups for p in group["params"]], strict=True))
    state: defaultdict[Any, Any] = defaultdict(dict)
    for key, value in saved["state"].items():
        if key in params:
            state[params[key]] = fitted(value, params[key], numbers)
        else:
            state[key] = value
    return state


def numbers_of(rule: Rule) -> frozenset[str]:
    """Return the keys of a rule's entries that are one number for the whole parameter."""
    return frozenset({"step", *[slot.key for slot in rule.slots if slot.scalar]})


def fitted(value: Any, p: ArrayLike, numbers: Container[str], key: Any = None) -> Any:
    """Return a copy of saved state, with its arrays as tensors of the parameter's dtype and device."""
    value = array_of(value) if is_torchs(value) else value
    array = value._value if is_tensor(value) else value
    if is_tensor(value) or isinstance(array, np.ndarray) or (is_value(array) and is_engine_value(array)):
        # A step count has no dtype of the parameter, and neither has a number for the whole parameter.
        alone = key in numbers or (array.ndim == 0 and p.ndim != 0)
        return rebuild(np.array(array) if alone else _like(array, p), False)
    if isinstance(value, dict):
        return {name: fitted(entry, p, numbers, name) for name, entry in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        make: Any = type(value)
        return make([fitted(entry, p, numbers) for entry in value])
    return value


def _like(value: Any, p: ArrayLike) -> Any:
    """Return a copy of a value, with the dtype and device of the parameter if that is floating-point."""
    # A real number kept for a complex parameter stays real.
    converts = is_inexact(p.dtype) and (p.dtype.kind != "c" or value.dtype.kind == "c")
    dtype = p.dtype if converts else value.dtype
    if is_engine_value(p._value):
        # Adding to zeros on the parameter's device puts the sum there.
        return add_p(zeros_like(cast(p._value, dtype)), cast(value, dtype)) if value.shape == p.shape else value
    return np.array(value, dtype)
