"""Functions of pytrees: those of ``funcgrad.tree``, by JAX's names."""

from __future__ import annotations

from typing import Any

from funcgrad._types import PyTree
from funcgrad.jax._names import publish_as_jax
from funcgrad.tree import (
    all,  # noqa: A004  (JAX's name)
    broadcast,
    flatten,
    flatten_with_path,
    leaves,
    map,  # noqa: A004  (JAX's name)
    map_with_path,
    reduce,
    structure,
    transpose,
    unflatten,
)

__all__ = [
    "all",
    "broadcast",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "reduce",
    "reduce_associative",
    "structure",
    "transpose",
    "unflatten",
]


def leaves_with_path(tree: PyTree, is_leaf: Any = None) -> list[tuple[Any, Any]]:
    """``jax.tree.leaves_with_path``: the leaves with their key paths."""
    return flatten_with_path(tree, is_leaf)[0]


def reduce_associative(operation: Any, tree: PyTree, *, identity: Any = None, is_leaf: Any = None) -> Any:
    """``jax.tree.reduce_associative``: combine all leaves; ``identity`` if there are none."""
    found = leaves(tree, is_leaf)
    return reduce(operation, found) if found or identity is None else identity


__dir__, __getattr__ = publish_as_jax(__name__, arrays=False)
