"""The older names of JAX's functions of pytrees, and the registration of classes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from funcgrad import tree
from funcgrad.jax import tree as names
from funcgrad.jax._names import publish_as_jax
from funcgrad.tree import KeyPath, Partial, register_node, register_static
from funcgrad.tree import TreeDef as PyTreeDef

T = TypeVar("T")

__all__ = [
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "all_leaves",
    "keystr",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]

tree_all, tree_broadcast, tree_flatten, tree_leaves = names.all, names.broadcast, names.flatten, names.leaves
tree_map, tree_reduce, tree_structure, tree_transpose = names.map, names.reduce, names.structure, names.transpose
tree_unflatten, tree_map_with_path = names.unflatten, names.map_with_path
tree_flatten_with_path, tree_leaves_with_path = names.flatten_with_path, names.leaves_with_path
tree_reduce_associative = names.reduce_associative
register_pytree_node_class = register_pytree_with_keys_class = register_node


def register_dataclass(
    nodetype: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> type[T]:
    """``jax.tree_util.register_dataclass``: make a dataclass a pytree node, with fields that are data or structure."""
    if drop_fields:
        raise NotImplementedError(
            f"register_dataclass: drop_fields is {tuple(drop_fields)}; each field is data or structure here. "
            "Name it in meta_fields."
        )
    return tree.register_dataclass(nodetype, data_fields, meta_fields or ())


def register_pytree_node(
    nodetype: type[T],
    flatten_func: Callable[[T], tuple[Any, Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_with_keys_func: Callable[[T], tuple[Any, Any]] | None = None,
) -> None:
    """``jax.tree_util.register_pytree_node``: make a class a pytree node, by two functions."""
    register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(
    nodetype: type[T],
    flatten_with_keys: Callable[[T], tuple[Any, Any]],
    unflatten_func: Callable[[Any, Any], T],
    flatten_func: Callable[[T], tuple[Any, Any]] | None = None,
) -> None:
    """``jax.tree_util.register_pytree_with_keys``: `register_pytree_node` with keys for paths."""
    register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys)


def keystr(keys: KeyPath, *, simple: bool = False, separator: str = "") -> str:
    """``jax.tree_util.keystr``: a key path as Python code; with ``simple`` its keys alone, between separators."""
    if not simple and not separator:
        return tree.key_path_str(keys)
    texts = [str(each.entry) if simple else each.codify("") for each in keys]
    return separator.join(texts)


def all_leaves(iterable: Any, is_leaf: Any = None) -> bool:
    """``jax.tree_util.all_leaves``: whether no element is a container."""
    elements = list(iterable)
    found = tree.leaves(elements, is_leaf)
    return len(found) == len(elements) and all(x is y for x, y in zip(found, elements, strict=True))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """``jax.tree_util.treedef_children``: the structures of a container's elements."""
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """``jax.tree_util.treedef_is_leaf``: whether it is the structure of one leaf."""
    return treedef.is_leaf()


def treedef_tuple(treedefs: Sequence[PyTreeDef]) -> PyTreeDef:
    """``jax.tree_util.treedef_tuple``: the structure of a tuple of trees of these structures."""
    return tree.structure(tuple([tree.unflatten(each, [0] * each.num_leaves) for each in treedefs]))


__dir__, __getattr__ = publish_as_jax(__name__, arrays=False)
