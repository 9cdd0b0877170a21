"""Register pytree nodes with ``flax.serialization``, which saves a node as a dict of its fields."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import optree

from funcgrad.errors import TreeMismatchError

# A class may name the settings that must agree between the saved node and the target: its attribute ``saved_with``.
_WITH = "saved_with"

# Methods of a class that had fewer fields in earlier releases. ``_earlier_forms()`` yields an instance as those would
# have made it; ``_completed(like)`` returns such an instance with the fields that were added since.
EARLIER, COMPLETED = "_earlier_forms", "_completed"


def register_with_flax(
    serialization: ModuleType, cls: type, data: tuple[str, ...], meta: tuple[str, ...], namespace: str
) -> None:
    """Register with Flax how to save a pytree node as a dict, and how to rebuild a node from a saved dict."""

    def to_dict(node: Any) -> dict[str, Any]:
        parts = {name: serialization.to_state_dict(getattr(node, name)) for name in data}
        return {**parts, _WITH: getattr(node, _WITH)} if hasattr(cls, _WITH) else parts

    def part(target: Any, saved: dict[str, Any], name: str) -> Any:
        value = saved[name]
        # Flax would otherwise read fields that the saved dict does not have.
        return None if value is None else serialization.from_state_dict(getattr(target, name), value, name=name)

    def is_like(form: Any, saved: dict[str, Any]) -> bool:
        """Return whether the containers among the fields have equally many parts."""
        return all(not isinstance(x := getattr(form, name), tuple) or len(x) == len(saved[name]) for name in data)

    def from_dict(target: Any, saved: dict[str, Any]) -> Any:
        needed = {*data, _WITH} if hasattr(cls, _WITH) else set(data)
        if not isinstance(saved, dict) or saved.keys() != needed:
            arrived = sorted(saved) if isinstance(saved, dict) else f"a {type(saved).__name__}"
            raise TreeMismatchError(
                f"{cls.__name__}: the saved state has {arrived}; needed {sorted(needed)}. Restore it into an object "
                "of the class that was saved."
            )
        if hasattr(cls, _WITH) and saved[_WITH] != getattr(target, _WITH):
            for form in getattr(target, EARLIER, tuple)():
                if saved[_WITH] == getattr(form, _WITH) and is_like(form, saved):
                    return getattr(from_dict(form, saved), COMPLETED)(target)
            raise TreeMismatchError(
                f"{cls.__name__}: it was saved with {saved[_WITH]}; needed {getattr(target, _WITH)}, as the target "
                "has. Make the target with the same terms."
            )
        parts = {name: part(target, saved, name) for name in data}
        made = cls(**parts, **{name: getattr(target, name) for name in meta})
        _check_like(made, target, namespace)
        return made

    # Keep a registration that the user made before.
    if not serialization.is_serializable(cls):
        serialization.register_serialization_state(cls, to_dict, from_dict)


def _check_like(made: Any, target: Any, namespace: str) -> None:
    """Refuse a saved node whose structure or array shapes differ from those of the target."""
    name = type(target).__name__
    found, treedef = optree.tree_flatten(made, namespace=namespace)
    needed, needed_treedef = optree.tree_flatten(target, namespace=namespace)
    if treedef != needed_treedef:
        raise TreeMismatchError(
            f"{name}: the saved state has {treedef.num_leaves} leaves in {treedef}; needed "
            f"{needed_treedef.num_leaves} in {needed_treedef}, as the target has. Make the target for the same "
            "parameters."
        )
    for accessor, x, y in zip(treedef.accessors(), found, needed, strict=True):
        shape, needed_shape = (getattr(leaf, "shape", ()) for leaf in (x, y))
        if shape != needed_shape:
            raise TreeMismatchError(
                f"{name}: the saved state has shape {shape} at {accessor.codify('')}; needed {needed_shape}, as the "
                "target has. Make the target for the same parameters."
            )
