"""Folding, transposing, repeating and mapping with paths: as in ``jax.tree``."""

from __future__ import annotations

import operator
from typing import Any

import jax
import pytest

import funcgrad as fg
from funcgrad.errors import TreeMismatchError

TREE = {"w": [1.0, 2.0], "b": (3.0, None), "empty": []}


def pairs(x: Any) -> bool:
    return isinstance(x, list)


def test_reduce_as_in_jax() -> None:
    for tree in (TREE, 5.0, []):
        assert fg.tree.reduce(operator.add, tree, 1.0) == jax.tree.reduce(operator.add, tree, 1.0)
    assert fg.tree.reduce(operator.sub, TREE) == jax.tree.reduce(operator.sub, TREE) == 0.0
    assert fg.tree.reduce(lambda n, x: n + isinstance(x, list), TREE, 0, is_leaf=pairs) == 2
    with pytest.raises(TypeError, match=r"tree.reduce: the pytree has no leaves; needed .* initializer"):
        fg.tree.reduce(operator.add, [])


def test_all_as_in_jax() -> None:
    for tree in (TREE, {"a": True, "b": False}, [], [[0.0]]):
        assert fg.tree.all(tree) is jax.tree.all(tree)
    assert fg.tree.all({"a": [False], "b": [0]}, is_leaf=pairs)


def test_transpose_as_in_jax() -> None:
    outer, inner = {"a": 0, "b": (0, 0)}, [0, {"c": 0}]
    tree = {"a": [1, {"c": 2}], "b": ([3, {"c": 4}], [5, {"c": 6}])}
    expected = jax.tree.transpose(jax.tree.structure(outer), jax.tree.structure(inner), tree)
    assert fg.tree.transpose(fg.tree.structure(outer), fg.tree.structure(inner), tree) == expected
    assert fg.tree.transpose(fg.tree.structure(outer), None, tree) == expected
    assert fg.tree.transpose(fg.tree.structure([]), fg.tree.structure((0, 0)), []) == ([], [])
    assert fg.tree.transpose(fg.tree.structure([0, 0]), fg.tree.structure(()), [(), ()]) == ()
    two = fg.tree.structure([0, 0])
    with pytest.raises(TreeMismatchError, match="a part of the tree has the structure"):
        fg.tree.transpose(two, None, [{"a": 1}, {"b": 1}])
    with pytest.raises(TreeMismatchError, match=r"tree.transpose: the tree .* a list of 1, needed a list of 2"):
        fg.tree.transpose(two, None, [1])
    with pytest.raises(TreeMismatchError, match="the outer structure has no leaves"):
        fg.tree.transpose(fg.tree.structure([]), None, [])
    with pytest.raises(TypeError, match=r"tree.transpose: treedef is a list"):
        fg.tree.transpose([0, 0], None, [1, 2])  # pyright: ignore[reportArgumentType]  (refused)


def test_broadcast_as_in_jax() -> None:
    for prefix in (1, {"w": 1, "b": 2, "empty": 3}, {"w": [1, 2], "b": (3, None), "empty": []}):
        assert fg.tree.broadcast(prefix, TREE) == jax.tree.broadcast(prefix, TREE)
    assert fg.tree.broadcast({"w": None}, {"w": [1, 2]}, is_leaf=lambda x: x is None) == {"w": [None, None]}
    with pytest.raises(TreeMismatchError, match=r"tree.broadcast: the prefix must be a prefix"):
        fg.tree.broadcast({"a": 1}, {"b": 1})


def test_map_with_path_as_in_jax() -> None:
    def ours(path: Any, *leaves: Any) -> Any:
        return fg.tree.key_path_str(path), *leaves

    def jaxs(path: Any, *leaves: Any) -> Any:
        return jax.tree_util.keystr(path), *leaves

    assert fg.tree.map_with_path(ours, TREE) == jax.tree.map_with_path(jaxs, TREE)
    assert fg.tree.map_with_path(ours, TREE, TREE) == jax.tree.map_with_path(jaxs, TREE, TREE)
    assert fg.tree.map_with_path(ours, TREE, is_leaf=pairs)["w"] == ("['w']", [1.0, 2.0])
    with pytest.raises(TreeMismatchError, match=r"tree.map_with_path: tree 1 does not have the structure"):
        fg.tree.map_with_path(ours, TREE, {"w": 1})
    with pytest.raises(TypeError, match="put it first"):
        fg.tree.map_with_path(TREE, ours)  # pyright: ignore[reportArgumentType]  (refused)
