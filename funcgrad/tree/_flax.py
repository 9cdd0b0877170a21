"""Nodes as ``flax.serialization`` keeps them: a dict of their fields, given back to a node of the same structure."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import optree

from funcgrad.errors import TreeMismatchError

# Where a class says what else must be the same when it is given back: the text of its attribute ``saved_with``.
_WITH = "saved_with"


def register_with_flax(
    serialization: ModuleType, cls: type, data: tuple[str, ...], meta: tuple[str, ...], namespace: str
) -> None:
    """Tell Flax how to take a node of a namespace of optree's apart, and how to make another of what was saved."""

    def to_dict(node: Any) -> dict[str, Any]:
        parts = {name: serialization.to_state_dict(getattr(node, name)) for name in data}
        return {**parts, _WITH: getattr(node, _WITH)} if hasattr(cls, _WITH) else parts

    def part(target: Any, saved: dict[str, Any], name: str) -> Any:
        value = saved[name]
        # Flax would look into what is not there.
        return None if value is None else serialization.from_state_dict(getattr(target, name), value, name=name)

    def from_dict(target: Any, saved: dict[str, Any]) -> Any:
        needed = {*data, _WITH} if hasattr(cls, _WITH) else set(data)
        if not isinstance(saved, dict) or saved.keys() != needed:
            arrived = sorted(saved) if isinstance(saved, dict) else f"a {type(saved).__name__}"
            raise TreeMismatchError(
                f"{cls.__name__}: what was saved has {arrived}; needed {sorted(needed)}. Give it back to what it was "
                "saved from."
            )
        if hasattr(cls, _WITH) and saved[_WITH] != getattr(target, _WITH):
            raise TreeMismatchError(
                f"{cls.__name__}: it was saved with {saved[_WITH]}; needed {getattr(target, _WITH)}, what the target "
                "has. Make the target with the same terms."
            )
        parts = {name: part(target, saved, name) for name in data}
        made = cls(**parts, **{name: getattr(target, name) for name in meta})
        _check_like(made, target, namespace)
        return made

    # What somebody has registered already stands.
    if not serialization.is_serializable(cls):
        serialization.register_serialization_state(cls, to_dict, from_dict)


def _check_like(made: Any, target: Any, namespace: str) -> None:
    """Refuse what is of another structure than the target, or has arrays of other shapes."""
    name = type(target).__name__
    found, treedef = optree.tree_flatten(made, namespace=namespace)
    needed, needed_treedef = optree.tree_flatten(target, namespace=namespace)
    if treedef != needed_treedef:
        raise TreeMismatchError(
            f"{name}: what was saved has {treedef.num_leaves} leaves in {treedef}; needed {needed_treedef.num_leaves} "
            f"in {needed_treedef}, as the target has. Make the target for the same parameters."
        )
    for accessor, x, y in zip(treedef.accessors(), found, needed, strict=True):
        shape, needed_shape = (getattr(leaf, "shape", ()) for leaf in (x, y))
        if shape != needed_shape:
            raise TreeMismatchError(
                f"{name}: what was saved has shape {shape} at {accessor.codify('')}; needed {needed_shape}, that of "
                "the target. Make the target for the same parameters."
            )
