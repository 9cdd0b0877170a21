"""Combine the leaves of pytrees: fold, test, transpose, repeat, and map with key paths."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any, TypeVar

from funcgrad._types import PyTree
from funcgrad.errors import TreeMismatchError
from funcgrad.tree._align import broadcast_prefix, flatten_up_to
from funcgrad.tree._flatten import (
    IsLeaf,
    KeyPath,
    TreeDef,
    check_treedef,
    flatten,
    flatten_with_path,
    leaves,
    structure,
    unflatten,
)

T = TypeVar("T")

_ABSENT: Any = object()


def reduce(f: Callable[[T, Any], T], tree: PyTree, initializer: T = _ABSENT, is_leaf: IsLeaf = None) -> T:
    """Fold the leaves of a pytree: ``f(f(f(initializer, a), b), c)``.

    Args:
        f: Takes the result so far and a leaf.
        tree: The pytree.
        initializer: The first result; the first leaf if it is not given.
        is_leaf: As for `flatten`.

    Returns:
        The last result.

    Raises:
        TypeError: There are no leaves, and no `initializer`.

    Example:
        >>> import funcgrad as fg
        >>> fg.tree.reduce(lambda total, x: total + x, {"w": [1.0, 2.0], "b": 3.0})
        6.0

    Source: the signature is ``jax.tree.reduce``'s.
    """
    found = leaves(tree, is_leaf)
    if initializer is not _ABSENT:
        return functools.reduce(f, found, initializer)
    if not found:
        raise TypeError(
            "tree.reduce: the pytree has no leaves; needed one at least, or an initializer. Pass the result for an "
            "empty pytree: fg.tree.reduce(f, tree, 0.0)."
        )
    return functools.reduce(f, found)


def all(tree: PyTree, *, is_leaf: IsLeaf = None) -> bool:  # noqa: A001  (as in jax.tree)
    """Return whether all leaves of a pytree are true.

    Args:
        tree: The pytree.
        is_leaf: As for `flatten`.

    Returns:
        A bool; True if there are no leaves.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.tree.all(fg.tree.map(lambda x: np.all(np.isfinite(x)), {"w": np.ones(2), "b": np.inf}))
        False

    Source: the signature is ``jax.tree.all``'s.
    """
    return builtins.all(leaves(tree, is_leaf))


def transpose(outer: TreeDef, inner: TreeDef | None, tree: PyTree) -> Any:
    """Exchange the outer and the inner containers of a pytree: a list of dicts becomes a dict of lists.

    Args:
        outer: The structure of the outer containers.
        inner: The structure of each of the inner ones; ``None`` takes that of the first.
        tree: A pytree of the structure `outer`, with `inner` at each leaf.

    Returns:
        A pytree of the structure `inner`, with `outer` at each leaf.

    Raises:
        TreeMismatchError: The pytree has another structure.

    Example:
        >>> import funcgrad as fg
        >>> tree = [{"w": 1, "b": 2}, {"w": 3, "b": 4}, {"w": 5, "b": 6}]
        >>> fg.tree.transpose(fg.tree.structure([0, 0, 0]), None, tree)
        {'w': [1, 3, 5], 'b': [2, 4, 6]}

    Source: the signature is ``jax.tree.transpose``'s.
    """
    check_treedef("transpose", outer)
    parts = flatten_up_to(outer, tree, "tree.transpose: the tree")
    if inner is None:
        if not parts:
            raise TreeMismatchError(
                "tree.transpose: the outer structure has no leaves, so that no inner structure is known; needed inner. "
                "Pass it: fg.tree.structure(of one part)."
            )
        inner = structure(parts[0])
    check_treedef("transpose", inner)
    rows = []
    for part in parts:
        found, treedef = flatten(part)
        if treedef != inner:
            raise TreeMismatchError(
                f"tree.transpose: a part of the tree has the structure {treedef}; needed {inner} in each part. "
                "Make the parts alike."
            )
        rows.append(found)
    columns = zip(*rows, strict=True) if rows else [()] * inner.num_leaves
    return unflatten(inner, [unflatten(outer, column) for column in columns])


def broadcast(prefix: PyTree, tree: PyTree, is_leaf: IsLeaf = None) -> Any:
    """Repeat the leaves of a prefix tree, so that the result has the structure of the full tree.

    Args:
        prefix: A pytree with the same containers as the full tree, down to its own leaves.
        tree: The full pytree.
        is_leaf: As for `flatten`, for the prefix.

    Returns:
        A pytree like `tree`, with leaves of `prefix`.

    Raises:
        TreeMismatchError: The prefix has containers that the full tree lacks; the message names the key path.

    Example:
        >>> import funcgrad as fg
        >>> fg.tree.broadcast({"w": 0.1, "b": 0.2}, {"w": [1, 2], "b": 3})
        {'w': [0.1, 0.1], 'b': 0.2}

    Source: the signature is ``jax.tree.broadcast``'s.
    """
    return unflatten(structure(tree), broadcast_prefix(prefix, tree, "tree.broadcast: the prefix", is_leaf))


def map_with_path(f: Callable[..., Any], tree: PyTree, *rest: Any, is_leaf: IsLeaf = None) -> Any:
    """Apply a function to the key path and the value of each leaf, or to the corresponding leaves of several pytrees.

    Args:
        f: Called with a key path (`KeyPath`) and one leaf of each tree.
        tree: The pytree whose structure the result has.
        rest: More pytrees, as for `map`.
        is_leaf: As for `flatten`.

    Returns:
        A pytree with the structure of `tree` and the results as leaves.

    Raises:
        TreeMismatchError: A tree of `rest` lacks the structure of `tree`; the message names the key path.

    Example:
        >>> import funcgrad as fg
        >>> params = {"w": [1.0, 2.0], "b": 3.0}
        >>> fg.tree.map_with_path(lambda path, x: 0.0 if fg.tree.key_path_str(path) == "['b']" else x, params)
        {'w': [1.0, 2.0], 'b': 0.0}

    Source: the signature is ``jax.tree.map_with_path``'s.
    """
    if not callable(f):
        raise TypeError(
            f"tree.map_with_path: f is a {type(f).__name__}; needed a function of a key path and a leaf. The order is "
            "(f, tree, *rest): put it first."
        )
    pairs, treedef = flatten_with_path(tree, is_leaf)
    columns = [flatten_up_to(treedef, other, f"tree.map_with_path: tree {i}") for i, other in enumerate(rest, 1)]
    rows: list[tuple[KeyPath, Any]] = pairs
    return unflatten(treedef, [f(*row, *others) for row, *others in zip(rows, *columns, strict=True)])
