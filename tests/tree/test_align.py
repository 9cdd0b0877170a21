"""Several trees side by side, and the messages when they do not fit."""

import collections
import dataclasses
from typing import Any

import pytest

from funcgrad import tree
from funcgrad.errors import TreeMismatchError


@tree.register_dataclass(meta_fields=["name"])
@dataclasses.dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any
    name: str = "first"


@tree.register_dataclass
@dataclasses.dataclass(frozen=True)
class Touchy:
    value: Any


def test_map_over_one_tree() -> None:
    assert tree.map(lambda x: -x, {"a": (1, None), "b": Layer(2, [3])}) == {"a": (-1, None), "b": Layer(-2, [-3])}


def test_map_over_several_trees_takes_subtrees_of_the_later_ones() -> None:
    assert tree.map(lambda *row: row, {"a": 1, "b": 2}, {"a": [10], "b": None}, {"a": 0, "b": {}}) == {
        "a": (1, [10], 0),
        "b": (2, None, {}),
    }


def test_map_with_is_leaf() -> None:
    grads = [None, 2.0]
    assert tree.map(lambda g: 0.0 if g is None else g, grads, is_leaf=lambda g: g is None) == [0.0, 2.0]


def test_dict_like_containers_with_the_same_keys_fit() -> None:
    other = collections.OrderedDict(b=2, a=1)
    assert tree.map(lambda x, y: (x, y), {"a": 1, "b": 2}, other) == {"a": (1, 1), "b": (2, 2)}


def test_an_exception_of_the_function_passes_as_it_is() -> None:
    error = ValueError("mine")

    def fail(_: int) -> None:
        raise error

    with pytest.raises(ValueError, match="mine") as caught:
        tree.map(fail, [1])
    assert caught.value is error
    assert error.__cause__ is None


NEEDED = {"layers": [Layer({"w": 0, "v": 0}, 0), (0, 0)], "none": None}
PLAIN = Layer({"w": 1, "v": 1}, 1)
MISMATCHES = {
    "leaf for a dict": (5, "the root it is a leaf of type int, needed a dict with keys ['layers', 'none']"),
    "missing key": ({"layers": []}, "the root it is a dict without ['none'], needed a dict with keys ['layers', 'no"),
    "surplus key": ({**NEEDED, "more": 1}, "the root it is a dict with ['more'], needed a dict with keys ['layers', "),
    "both": ({"layers": 1, "x": 2}, "the root it is a dict without ['none'] and with ['x'], needed a dict with keys"),
    "length": ({"layers": [PLAIN], "none": None}, "['layers'] it is a list of 1, needed a list of 2"),
    "tuple for a list": ({"layers": (PLAIN, 1), "none": None}, "['layers'] it is a tuple of 2, needed a list of 2"),
    "class": ({"layers": [1, (1, 1)], "none": None}, "['layers'][0] it is a leaf of type int, needed a Layer"),
    "in a field": (
        {"layers": [Layer({"w": 1}, 1), (1, 1)], "none": None},
        "['layers'][0].weight it is a dict without ['v'], needed a dict with keys ['v', 'w']",
    ),
    "static field": (
        {"layers": [Layer({"w": 1, "v": 1}, 1, "second"), (1, 1)], "none": None},
        "['layers'][0] it is PyTreeSpec(CustomTreeNode(Layer[('second',)], [*, *]), namespace='funcgrad'), needed PyT",
    ),
    "leaf for None": ({"layers": [PLAIN, (1, 1)], "none": 3}, "['none'] it is a leaf of type int, needed None"),
    "None for a tuple": ({"layers": [PLAIN, None], "none": None}, "['layers'][1] it is None, needed a tuple of 2"),
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_flatten_up_to_names_the_place(case: str) -> None:
    value, text = MISMATCHES[case]
    with pytest.raises(TreeMismatchError) as caught:
        tree.flatten_up_to(tree.structure(NEEDED), value, "sgd_update: grads")
    message = str(caught.value)
    assert message.startswith("sgd_update: grads does not have the structure that is needed. At " + text)
    assert message.endswith("Give both the same containers and keys; None is an empty container, not a leaf.")


def test_map_says_which_tree_does_not_fit() -> None:
    with pytest.raises(
        TreeMismatchError, match=r"tree\.map: tree 2 does not have .* At \[1\] it is a leaf of type int"
    ):
        tree.map(max, [1, [2]], [1, [2]], [1, 2])


def test_many_keys_are_shortened() -> None:
    with pytest.raises(TreeMismatchError, match=r"needed a dict with keys \['k0', .*'k7', \.\.\. 12 more\]"):
        tree.flatten_up_to(tree.structure({f"k{i}": 0 for i in range(10)} | {f"m{i}": 0 for i in range(10)}), 1)


def test_flatten_up_to_returns_subtrees() -> None:
    assert tree.flatten_up_to(tree.LEAF, {"any": "thing"}) == [{"any": "thing"}]
    assert tree.flatten_up_to(tree.structure([0, 0]), [(1, 2), None]) == [(1, 2), None]


@pytest.mark.parametrize(
    ("prefix", "full", "repeated"),
    [
        (0.1, {"a": [1, 2], "b": 3}, [0.1, 0.1, 0.1]),
        ({"a": 0.1, "b": 0.2}, {"a": [1, 2], "b": 3}, [0.1, 0.1, 0.2]),
        ({"a": [0.1, 0.3], "b": 0.2}, {"a": [1, 2], "b": 3}, [0.1, 0.3, 0.2]),
        ({"a": 0.1, "b": 0.2}, {"a": [], "b": None}, []),
        (None, None, []),
    ],
)
def test_broadcast_prefix(prefix: Any, full: Any, repeated: list[float]) -> None:
    assert tree.broadcast_prefix(prefix, full) == repeated
    assert tree.broadcast_prefix(prefix, tree.structure(full)) == repeated


def test_broadcast_prefix_with_none_as_a_value() -> None:
    in_axes = (0, None)
    assert tree.broadcast_prefix(in_axes, (1, [2, 3]), is_leaf=lambda part: part is None) == [0, None, None]


@pytest.mark.parametrize(
    ("prefix", "text"),
    [
        ({"c": 0}, "At the root it is a dict with keys ['c'], where that tree is a dict without ['c'] and with ['a'"),
        ({"a": (0, 0), "b": 0}, "At ['a'] it is a tuple of 2, where that tree is a list of 2. Give one value"),
        ({"a": [0, [0]], "b": 0}, "At ['a'][1] it is a list of 1, where that tree is a leaf of type int. Give one va"),
    ],
)
def test_broadcast_prefix_names_the_place(prefix: Any, text: str) -> None:
    with pytest.raises(TreeMismatchError) as caught:
        tree.broadcast_prefix(prefix, {"a": [1, 2], "b": 3}, "vmap: in_axes")
    assert str(caught.value).startswith("vmap: in_axes must be a prefix of its tree. " + text)
