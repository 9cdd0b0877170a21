"""Walk several pytrees side by side, and report the key path at which they differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import optree

from funcgrad._types import PyTree
from funcgrad.errors import TreeMismatchError
from funcgrad.tree._flatten import IsLeaf, TreeDef, check_treedef, flatten, leaves, too_deep, unflatten
from funcgrad.tree._register import NAMESPACE

_REMEDY = "Give both the same containers and keys; None is an empty container, not a leaf."


def map(f: Callable[..., Any], tree: PyTree, *rest: Any, is_leaf: IsLeaf = None) -> Any:  # noqa: A001  (as in jax.tree)
    """Apply a function to every leaf of a pytree, or to the corresponding leaves of several.

    Args:
        f: Called with one leaf of each tree.
        tree: The pytree whose structure the result has.
        rest: More pytrees. At a leaf of the first tree, these may have whole subtrees.
        is_leaf: Called with each subtree of `tree`; where it returns True, the subtree counts as one leaf.

    Returns:
        A pytree with the structure of `tree` and the results as leaves.

    Raises:
        TreeMismatchError: A tree of `rest` lacks the structure of `tree`; the message names the key path.

    Example:
        >>> import funcgrad as fg
        >>> params, grads = {"w": 1.0, "b": [2.0, 3.0]}, {"w": 10.0, "b": [20.0, 30.0]}
        >>> fg.tree.map(lambda p, g: p + g, params, grads)
        {'w': 11.0, 'b': [22.0, 33.0]}
    """
    if not callable(f):
        raise TypeError(
            f"tree.map: f is a {type(f).__name__}; needed a function of a leaf. The order is (f, tree, *rest): "
            "put it first."
        )
    first, treedef = flatten(tree, is_leaf)
    if not rest:
        return treedef.unflatten([f(leaf) for leaf in first])
    columns = [flatten_up_to(treedef, other, f"tree.map: tree {i}") for i, other in enumerate(rest, 1)]
    return unflatten(treedef, [f(*row) for row in zip(first, *columns, strict=True)])


def flatten_up_to(treedef: TreeDef, tree: PyTree, what: str = "the tree") -> list[Any]:
    """List the subtrees of a pytree that are at the positions of a structure's leaves.

    Args:
        treedef: The structure that `tree` must begin with.
        tree: A pytree; it may have further containers below the leaves of `treedef`.
        what: The caller and the name of the value, the start of the error message: ``"sgd_update: grads"``.

    Returns:
        One subtree for each leaf of `treedef`.

    Raises:
        TreeMismatchError: `tree` does not have that structure; the message names the key path.

    Example:
        >>> import funcgrad as fg
        >>> fg.tree.flatten_up_to(fg.tree.structure({"w": 0, "b": 0}), {"w": [1, 2], "b": None})
        [None, [1, 2]]
    """
    try:
        return treedef.flatten_up_to(tree)
    except AttributeError:
        check_treedef("flatten_up_to", treedef)
        raise
    except ValueError as error:
        parting = _first_mismatch(treedef, tree)
        if parting is None:  # raised by the flatten function of a registered class
            raise
        raise TreeMismatchError(
            f"{what} does not have the structure that is needed. At {parting.path} it is {parting.tree}, "
            f"needed {parting.treedef}. {_REMEDY}"
        ) from error


def broadcast_prefix(prefix: PyTree, tree: PyTree, what: str = "the prefix", is_leaf: IsLeaf = None) -> list[Any]:
    """Repeat the leaves of a prefix tree so that there is one for each leaf of the full tree.

    Args:
        prefix: A pytree with the same containers as the full tree, down to its own leaves; a single leaf fits every
            tree.
        tree: The full pytree, or its treedef.
        what: The caller and the name of the value, the start of the error message: ``"vmap: in_axes"``.
        is_leaf: As for `flatten`, for the prefix: ``lambda x: x is None`` makes None a value to repeat.

    Returns:
        One leaf of the prefix for each leaf of the full tree.

    Raises:
        TreeMismatchError: The prefix has containers that the full tree lacks; the message names the key path.

    Example:
        >>> import funcgrad as fg
        >>> fg.tree.broadcast_prefix({"w": 0.1, "b": 0.2}, {"w": [1, 2, 3], "b": 4})
        [0.2, 0.1, 0.1, 0.1]
    """
    values, prefix_def = flatten(prefix, is_leaf)
    if isinstance(tree, TreeDef):
        tree = unflatten(tree, range(tree.num_leaves))
    try:
        subtrees = prefix_def.flatten_up_to(tree)
    except ValueError as error:
        parting = _first_mismatch(prefix_def, tree)
        if parting is None:
            raise
        raise TreeMismatchError(
            f"{what} must be a prefix of its tree. At {parting.path} it is {parting.treedef}, where that tree is "
            f"{parting.tree}. Give one value for the whole tree, or the same containers and keys."
        ) from error
    return [value for value, subtree in zip(values, subtrees, strict=True) for _ in leaves(subtree)]


class _Mismatch(NamedTuple):
    path: str
    tree: str
    treedef: str


def _first_mismatch(treedef: TreeDef, tree: PyTree, path: str = "") -> _Mismatch | None:
    """Return the first key path at which a tree lacks the structure, and both subtrees there: found and needed."""
    level = treedef.one_level()
    if level is None:  # a leaf of the structure fits any subtree
        return None
    try:
        children = level.flatten_up_to(tree)
    except ValueError:
        return _Mismatch(path or "the root", *_describe_both(tree, level))
    steps = [accessor[0].codify(path) for accessor in level.accessors()]
    parts = zip(treedef.children(), children, steps, strict=True)
    return next((found for part in parts if (found := _first_mismatch(*part))), None)


def _describe_both(tree: PyTree, needed: TreeDef) -> tuple[str, str]:
    """Describe the subtree found and the one needed, with enough detail to tell them apart."""
    try:
        arrived = optree.tree_structure(tree, lambda part: part is not tree, namespace=NAMESPACE)
    except RecursionError:
        raise too_deep(tree) from None
    if arrived.is_leaf():
        return f"a leaf of type {type(tree).__name__}", _describe(needed)
    if _has_keys(arrived) and _has_keys(needed):
        missing = [key for key in needed.entries() if key not in arrived.entries()]
        surplus = [key for key in arrived.entries() if key not in needed.entries()]
        faults = [f"without {_shorten(missing)}"] * bool(missing) + [f"with {_shorten(surplus)}"] * bool(surplus)
        return f"a {_name(arrived)} {' and '.join(faults)}", _describe(needed)
    texts = _describe(arrived), _describe(needed)
    return texts if texts[0] != texts[1] else (str(arrived), str(needed))


def _describe(level: TreeDef) -> str:
    if level.type is type(None):
        return "None"
    if _has_keys(level):
        return f"a {_name(level)} with keys {_shorten(level.entries())}"
    if level.kind in (optree.PyTreeKind.LIST, optree.PyTreeKind.TUPLE, optree.PyTreeKind.DEQUE):
        return f"a {_name(level)} of {level.num_children}"
    return f"a {_name(level)}"


def _has_keys(level: TreeDef) -> bool:
    return level.kind in (optree.PyTreeKind.DICT, optree.PyTreeKind.ORDEREDDICT, optree.PyTreeKind.DEFAULTDICT)


def _name(level: TreeDef) -> str:
    return getattr(level.type, "__name__", str(level.type))


def _shorten(keys: list[Any], limit: int = 8) -> str:
    shown = ", ".join(repr(key) for key in keys[:limit])
    return f"[{shown}]" if len(keys) <= limit else f"[{shown}, ... {len(keys) - limit} more]"
