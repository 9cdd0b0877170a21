"""Split pytrees into leaves and structure, and rebuild them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

import optree

from funcgrad._types import PyTree
from funcgrad.errors import TreeMismatchError
from funcgrad.tree._register import LEAF_TYPES, NAMESPACE, adopt_from_jax

IsLeaf: TypeAlias = Callable[[Any], bool] | None
TreeDef: TypeAlias = optree.PyTreeSpec
KeyPath: TypeAlias = optree.PyTreeAccessor

LEAF: TreeDef = optree.treespec_leaf(namespace=NAMESPACE)
"""The treedef of a single leaf."""

_SEQUENCES: tuple[Any, ...] = (tuple, list)
# The treedefs of flat tuples and lists, which most argument lists are. A look-up takes 0.3 us, and optree takes 1.1.
_FLAT_SEQUENCES: dict[tuple[type, int], TreeDef] = {
    (kind, size): optree.tree_structure(kind([0] * size), namespace=NAMESPACE)
    for kind in _SEQUENCES
    for size in range(17)
}


def flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeDef]:
    """Split a pytree into its leaves and its structure.

    Args:
        tree: Any pytree.
        is_leaf: Called with each subtree; where it returns True, the subtree counts as one leaf.

    Returns:
        The leaves, depth first with dict keys sorted, and the treedef from which `unflatten` rebuilds the tree.

    Raises:
        ValueError: the tree is nested too deeply, or contains itself.

    Example:
        >>> import funcgrad as fg
        >>> leaves, treedef = fg.tree.flatten({"w": [1.0, 2.0], "b": (3.0, None)})
        >>> leaves
        [3.0, 1.0, 2.0]
        >>> fg.tree.unflatten(treedef, [30, 10, 20])
        {'w': [10, 20], 'b': (30, None)}
    """
    kind = type(tree)
    if kind in LEAF_TYPES:
        return [tree], LEAF
    if (kind is tuple or kind is list) and is_leaf is None and LEAF_TYPES.issuperset(map(type, tree)):
        treedef = _FLAT_SEQUENCES.get((kind, len(tree)))
        if treedef is not None:
            return list(tree), treedef
    try:
        found, treedef = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    except RecursionError as error:
        # A RecursionError in the flatten function of a user's class has another message. It is not ours to replace.
        if not str(error).startswith("Maximum recursion depth exceeded during flattening"):
            raise
        raise too_deep(tree) from None
    while not LEAF_TYPES.issuperset(map(type, found)) and adopt_from_jax(found):
        found, treedef = optree.tree_flatten(tree, is_leaf, namespace=NAMESPACE)
    return found, treedef


def too_deep(tree: PyTree) -> ValueError:
    """Return the error for a pytree that is nested too deeply or contains itself."""
    return ValueError(
        f"tree.flatten: a pytree, a {type(tree).__name__}, is nested in more than {optree.MAX_RECURSION_DEPTH} "
        "levels, or contains itself; needed a finite pytree with fewer levels. Stack its leaves into one array, or "
        "remove the cycle."
    )


def leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """List the leaves of a pytree, in the order of `flatten`.

    Args:
        tree: any pytree.
        is_leaf: called with each subtree; where it returns True, the subtree counts as one leaf.

    Returns:
        The leaves, depth first with dict keys sorted.

    Example:
        >>> import funcgrad as fg
        >>> fg.tree.leaves({"w": [1.0, 2.0], "b": None})
        [1.0, 2.0]
    """
    return flatten(tree, is_leaf)[0]


def structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeDef:
    """Return the containers of a pytree without its leaves, as a treedef; treedefs compare and hash.

    Args:
        tree: any pytree.
        is_leaf: called with each subtree; where it returns True, the subtree counts as one leaf.

    Returns:
        The treedef, from which `unflatten` rebuilds the tree with other leaves.

    Example:
        >>> import funcgrad as fg
        >>> fg.tree.structure({"w": 1.0, "b": 2.0}) == fg.tree.structure({"b": 3.0, "w": 4.0})
        True
    """
    return flatten(tree, is_leaf)[1]


def unflatten(treedef: TreeDef, leaves: Iterable[Any]) -> Any:
    """Rebuild a pytree from its structure and its leaves.

    Args:
        treedef: The second result of `flatten`, or the result of `structure`.
        leaves: The leaves, in the order of `flatten`.

    Returns:
        The pytree; dicts have their original key order.

    Raises:
        TreeMismatchError: The structure has another number of leaves.

    Example:
        >>> import funcgrad as fg
        >>> fg.tree.unflatten(fg.tree.structure((0, [0])), ["first", "second"])
        ('first', ['second'])
    """
    check_treedef("unflatten", treedef)
    if not isinstance(leaves, Iterable):
        raise TypeError(
            f"tree.unflatten: leaves is a {type(leaves).__name__}; needed a list of leaves. Write [leaf] for one."
        )
    leaves = list(leaves)
    if len(leaves) != treedef.num_leaves:
        raise TreeMismatchError(
            f"tree.unflatten: the number of leaves must be that of the structure. Arrived {len(leaves)}, "
            f"needed {treedef.num_leaves} for {treedef}. Pass the leaves that flatten returned, one for one."
        )
    return treedef.unflatten(leaves)


def check_treedef(asked: str, treedef: Any) -> None:
    """Refuse an argument that is no treedef: usually the tree itself."""
    if not isinstance(treedef, optree.PyTreeSpec):
        raise TypeError(
            f"tree.{asked}: treedef is a {type(treedef).__name__}; needed the structure of a pytree. Take it with "
            "fg.tree.structure(tree), or from fg.tree.flatten(tree)."
        )


def flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], TreeDef]:
    """Split a pytree like `flatten`, and return each leaf with its key path.

    Args:
        tree: any pytree.
        is_leaf: called with each subtree; where it returns True, the subtree counts as one leaf.

    Returns:
        A list of pairs (key path, leaf) in the order of `flatten`, and the treedef.

    Example:
        >>> import funcgrad as fg
        >>> pairs, _ = fg.tree.flatten_with_path({"w": [1.0, 2.0]})
        >>> [(fg.tree.key_path_str(path), leaf) for path, leaf in pairs]
        [("['w'][0]", 1.0), ("['w'][1]", 2.0)]
    """
    found, treedef = flatten(tree, is_leaf)
    return list(zip(treedef.accessors(), found, strict=True)), treedef


class Level(NamedTuple):
    """A container, split one level deep: its children, their keys, and the data that rebuilds the container."""

    children: Sequence[Any]
    entries: Sequence[Any]
    metadata: Any
    rebuild: Callable[[Any, Iterable[Any]], Any]


def one_level(tree: PyTree) -> Level | None:
    """Split a registered container or a namedtuple one level deep; return ``None`` for a leaf.

    A field's key is its name.
    """
    if optree.tree_is_leaf(tree, namespace=NAMESPACE):
        return None
    children, metadata, entries, rebuild = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
    return Level(children, optree.namedtuple_fields(tree) if optree.is_namedtuple(tree) else entries, metadata, rebuild)


def key_path_str(path: KeyPath) -> str:
    """Return a key path as Python code that reaches the leaf: ``['w'][0].x``; empty for a tree that is one leaf.

    Args:
        path: a key path, as `flatten_with_path` returns it.

    Returns:
        The path as text.

    Raises:
        TypeError: the argument is no key path.

    Example:
        >>> import funcgrad as fg
        >>> pairs, treedef = fg.tree.flatten_with_path({"w": [1.0, 2.0]})
        >>> fg.tree.key_path_str(pairs[1][0])
        "['w'][1]"
    """
    if not isinstance(path, optree.PyTreeAccessor):
        raise TypeError(
            f"tree.key_path_str: path is a {type(path).__name__}; needed a key path. Take it from "
            "fg.tree.flatten_with_path(tree)."
        )
    return path.codify("")


def key_paths(treedef: TreeDef) -> list[str]:
    """Return the key path of every leaf of a structure, as text.

    Args:
        treedef: a structure, as `structure` returns it.

    Returns:
        One text for each leaf, in the order of `flatten`.

    Example:
        >>> import funcgrad as fg
        >>> fg.tree.key_paths(fg.tree.structure({"w": [1.0, 2.0], "b": 0.0}))
        ["['b']", "['w'][0]", "['w'][1]"]
    """
    check_treedef("key_paths", treedef)
    return [key_path_str(path) for path in treedef.accessors()]
