"""Parameter groups: the checks of a group before an optimizer accepts it, in PyTorch's words."""

from __future__ import annotations

import warnings
from typing import Any

from funcgrad._types import ArrayLike, PyTree
from funcgrad.autograd.extend import is_tensor


class _Required:
    """Marks an option without default."""

    def __repr__(self) -> str:
        return "<required parameter>"

    def __copy__(self) -> _Required:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> _Required:
        return self

    def __reduce__(self) -> str:
        return "required"


required = _Required()

UNORDERED = (
    "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
    "between runs. Please use a list instead."
)


def checked_group(group: PyTree, others: list[dict[str, Any]], defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the group with its parameters as a list and with all options."""
    if not isinstance(defaults, dict):
        raise TypeError(
            f"Optimizer: defaults is a {type(defaults).__name__}; needed a dict of options, as {{'lr': 0.1}}. Pass one."
        )
    if isinstance(group, dict) and "params" not in group:
        raise ValueError(
            f"add_param_group: the group has {sorted(map(str, group))}; needed 'params' with them. Write "
            "{'params': [w, b], 'lr': 0.1}."
        )
    if not isinstance(group, dict):
        raise TypeError(f"param_group must be a dict, but got {type(group)}")
    _set_params(group)
    for p in group["params"]:
        if not is_tensor(p):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(p)}")
        if not defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
            raise ValueError("can't optimize a non-leaf Tensor")
    for name, default in defaults.items():
        if default is required and name not in group:
            raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
        group.setdefault(name, default)
    _check_distinct(group, others)
    return group


def typename(x: ArrayLike) -> str:
    """Return PyTorch's name of a tensor's type, or the name of a class."""
    if is_tensor(x):
        return x.type()
    kind = type(x)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _set_params(group: dict[str, Any]) -> None:
    """Store the parameters as a list, and their names if they have any."""
    params = group["params"]
    if is_tensor(params):
        params = [params]
    elif isinstance(params, set):
        raise TypeError(UNORDERED)
    params = list(params)
    names = [p[0] for p in params if isinstance(p, tuple)]
    if names and len(names) != len(params):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    group["params"] = [p[1] for p in params] if names else params
    if names:
        group["param_names"] = names


def _check_distinct(group: dict[str, Any], others: list[dict[str, Any]]) -> None:
    mine = {id(p) for p in group["params"]}
    if len(mine) != len(group["params"]):
        warnings.warn(
            "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
            "github.com/pytorch/pytorch/issues/40967 for more information",
            stacklevel=5,
        )
    for other in others:
        if ("param_names" in group) != ("param_names" in other):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if 'param_names' in group else 'without'} names to the optimizer"
            )
        if not mine.isdisjoint(id(p) for p in other["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
