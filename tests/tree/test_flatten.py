"""Flattening and rebuilding: order, empty nodes, round trips, key paths."""

import collections
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from funcgrad import tree
from funcgrad.errors import TreeMismatchError


class Point(NamedTuple):
    x: Any
    y: Any


def containers(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.text(max_size=3)
    return st.one_of(
        st.lists(children, max_size=4),
        st.lists(children, max_size=4).map(tuple),
        st.dictionaries(keys, children, max_size=4),
        st.dictionaries(keys, children, max_size=4).map(collections.OrderedDict),
        st.builds(Point, children, children),
    )


TREES = st.recursive(st.one_of(st.integers(), st.floats(allow_nan=False), st.none()), containers, max_leaves=20)


@given(TREES)
def test_unflatten_undoes_flatten(value: Any) -> None:
    leaves, treedef = tree.flatten(value)
    rebuilt = tree.unflatten(treedef, leaves)
    assert rebuilt == value
    assert type(rebuilt) is type(value)
    assert treedef == tree.structure(value)
    assert treedef.num_leaves == len(leaves) == len(tree.leaves(value))


@given(TREES)
def test_key_paths_lead_to_the_leaves(value: Any) -> None:
    pairs, treedef = tree.flatten_with_path(value)
    assert [path(value) for path, _ in pairs] == [leaf for _, leaf in pairs] == tree.leaves(value)
    assert [tree.key_path_str(path) for path, _ in pairs] == tree.key_paths(treedef)


@given(TREES)
def test_treedefs_ignore_the_leaves(value: Any) -> None:
    other = tree.map(lambda _: "another leaf", value)
    assert tree.structure(other) == tree.structure(value)
    assert hash(tree.structure(other)) == hash(tree.structure(value))


LEAVES = [np.ones((2, 3)), np.float32(1), np.int8(1), 1, 1.0, 1j, True, "text", object(), np.ma.masked_array([1.0])]


@pytest.mark.parametrize("leaf", LEAVES, ids=lambda leaf: type(leaf).__name__)
def test_leaf(leaf: Any) -> None:
    (found,), treedef = tree.flatten(leaf)
    assert found is leaf
    assert treedef == tree.LEAF
    assert tree.unflatten(treedef, [leaf]) is leaf
    assert tree.key_paths(treedef) == [""]


def test_none_is_an_empty_container() -> None:
    assert tree.leaves({"a": None, "b": 1}) == [1]
    assert tree.structure(None).num_leaves == 0
    assert tree.unflatten(tree.structure((None, 0)), [5]) == (None, 5)


def test_is_leaf_stops_the_walk() -> None:
    assert tree.leaves([None, (1, 2)], is_leaf=lambda part: part is None) == [None, 1, 2]
    assert tree.leaves([[1], (1, 2)], is_leaf=lambda part: isinstance(part, tuple)) == [1, (1, 2)]
    assert tree.leaves((1, 2), is_leaf=lambda part: isinstance(part, tuple)) == [(1, 2)]


def test_dict_keys_are_sorted_and_keep_their_order_on_the_way_back() -> None:
    value = {"b": 1, "a": 2}
    leaves, treedef = tree.flatten(value)
    assert leaves == [2, 1]
    assert list(tree.unflatten(treedef, leaves)) == ["b", "a"]
    assert tree.structure(value) == tree.structure({"a": 0, "b": 0})
    assert hash(tree.structure(value)) == hash(tree.structure({"a": 0, "b": 0}))


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("size", [0, 1, 2, 16, 17, 40])
def test_flat_sequences_of_any_length(kind: type, size: int) -> None:
    value = kind(range(size))
    leaves, treedef = tree.flatten(value)
    assert leaves == list(range(size))
    assert leaves is not value
    assert tree.unflatten(treedef, leaves) == value
    assert treedef == tree.structure(kind([object()] * size))


def test_key_path_text() -> None:
    pairs, _ = tree.flatten_with_path({"w": [Point(1, 2)], 3: 4})
    assert [tree.key_path_str(path) for path, _ in pairs] == ["[3]", "['w'][0].x", "['w'][0].y"]


@pytest.mark.parametrize("leaves", [[], [1], [1, 2, 3]], ids=len)
def test_unflatten_refuses_a_wrong_number_of_leaves(leaves: list[int]) -> None:
    with pytest.raises(TreeMismatchError, match=rf"tree\.unflatten: .* Arrived {len(leaves)}, needed 2 for .*\. Pass"):
        tree.unflatten(tree.structure((0, 0)), leaves)


def test_a_very_deep_tree_is_refused_or_flattened_but_does_not_crash() -> None:
    value: Any = 1
    for _ in range(500):
        value = [value]
    assert tree.leaves(value) == [1]
