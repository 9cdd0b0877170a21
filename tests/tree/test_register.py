"""Dataclasses as nodes, here and in JAX, and classes that only JAX knows."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

from funcgrad import tree


@tree.register_dataclass
@dataclasses.dataclass(frozen=True)
class Pair:
    left: Any
    right: Any


@tree.register_dataclass(meta_fields=["name"])
@dataclasses.dataclass
class Named:
    name: str
    value: Any
    size: int = dataclasses.field(default=1, metadata={"static": True})


@tree.register_dataclass
@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class One:
    only: Any


@tree.register_dataclass(meta_fields=["a"])
@dataclasses.dataclass(frozen=True)
class OnlyStatic:
    a: int


INSTANCES = [Pair(1.0, (2.0, None)), Named("n", 3.0, size=7), One(only=[1.0, 2.0]), OnlyStatic(3), Pair(None, None)]


@pytest.mark.parametrize("node", INSTANCES, ids=lambda node: type(node).__name__)
def test_round_trip_here_and_in_jax(node: Any) -> None:
    leaves, treedef = tree.flatten(node)
    assert tree.unflatten(treedef, leaves) == node
    jax_leaves, jax_treedef = jax.tree.flatten(node)
    assert jax_leaves == leaves
    assert jax.tree.unflatten(jax_treedef, leaves) == node


def test_fields_are_named_in_key_paths() -> None:
    node = {"p": Pair(1, Named("n", [2, 3]))}
    expected = ["['p'].left", "['p'].right.value[0]", "['p'].right.value[1]"]
    assert tree.key_paths(tree.structure(node)) == expected
    assert [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_flatten_with_path(node)[0]] == expected


def test_static_fields_belong_to_the_structure() -> None:
    assert tree.leaves(Named("n", 1, size=5)) == [1]
    assert tree.structure(Named("n", 1)) == tree.structure(Named("n", 2))
    assert tree.structure(Named("n", 1)) != tree.structure(Named("m", 1))
    assert tree.structure(Named("n", 1, size=1)) != tree.structure(Named("n", 1, size=2))
    assert hash(tree.structure(Named("n", 1))) == hash(tree.structure(Named("n", 2)))


def test_goes_through_a_jitted_jax_function() -> None:
    doubled = jax.jit(lambda node: jax.tree.map(lambda x: 2 * x, node))(Named("n", np.float32(3)))
    assert doubled == Named("n", np.float32(6))


def test_refuses_what_is_no_dataclass() -> None:
    with pytest.raises(TypeError, match=r"must be a dataclass\. Arrived <class 'int'>\. Put @dataclasses\.dataclass"):
        tree.register_dataclass(int)
    with pytest.raises(TypeError, match="must be a dataclass"):
        tree.register_dataclass(Pair(1, 2))  # pyright: ignore[reportCallIssue, reportArgumentType]  (what is refused)


def test_refuses_unknown_meta_fields_and_registers_nothing() -> None:
    @dataclasses.dataclass
    class Plain:
        value: Any

    with pytest.raises(ValueError, match=r"Arrived \['vlaue'\], needed some of \['value'\]\. Correct the names"):
        tree.register_dataclass(Plain, meta_fields=["vlaue"])
    plain = Plain(1)
    assert tree.leaves(plain) == [plain]
    tree.register_dataclass(Plain)
    assert tree.leaves(plain) == jax.tree.leaves(plain) == [1]


def test_refuses_to_register_twice() -> None:
    with pytest.raises(ValueError, match="Pair"):
        tree.register_dataclass(Pair)


def test_a_class_may_be_registered_with_jax_before() -> None:
    @jax.tree_util.register_dataclass
    @dataclasses.dataclass(frozen=True)
    class Theirs:
        value: Any

    tree.register_dataclass(Theirs)
    assert tree.leaves(Theirs([1, 2])) == jax.tree.leaves(Theirs([1, 2])) == [1, 2]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TrainState:
    params: Any
    step: Any
    name: str = dataclasses.field(default="s", metadata={"static": True})


@jax.tree_util.register_pytree_node_class
class Custom:
    def __init__(self, parts: list[Any], tag: str) -> None:
        self.parts = parts
        self.tag = tag

    def tree_flatten(self) -> tuple[list[Any], str]:
        return self.parts, self.tag

    @classmethod
    def tree_unflatten(cls, tag: str, parts: Any) -> "Custom":
        return cls(list(parts), tag)


@jax.tree_util.register_static
class Static(str):
    __slots__ = ()


def test_what_jax_knows_is_accepted() -> None:
    node = {"c": Custom([1, Custom([2, None], "inner")], "outer"), "f": TrainState({"w": 3}, 4), "s": Static("fixed")}
    assert tree.leaves(node) == [1, 2, 3, 4]
    mapped = tree.map(lambda x: 10 * x, node)
    assert (mapped["c"].tag, mapped["c"].parts[0], mapped["c"].parts[1].parts) == ("outer", 10, [20, None])
    assert mapped["f"] == TrainState({"w": 30}, 40)
    assert mapped["s"] == "fixed"


def test_key_paths_through_what_jax_knows() -> None:
    node = [TrainState({"w": 3}, 4), Custom([5], "t")]
    assert tree.key_paths(tree.structure(node)) == ["[0].params['w']", "[0].step", "[1][<flat index 0>]"]


def test_metadata_of_what_jax_knows_belongs_to_the_structure() -> None:
    assert tree.structure(Custom([1], "a")) == tree.structure(Custom([2], "a"))
    assert tree.structure(Custom([1], "a")) != tree.structure(Custom([1], "b"))


def test_a_class_seen_as_a_leaf_may_still_be_registered_with_jax() -> None:
    class Late:
        def __init__(self, value: Any) -> None:
            self.value = value

    late = Late(1)
    assert tree.leaves([late]) == [late]
    jax.tree_util.register_pytree_node(Late, lambda node: ([node.value], None), lambda _, parts: Late(*parts))
    assert tree.leaves([late]) == [1]


def test_is_leaf_holds_for_what_jax_knows() -> None:
    node = Custom([1], "t")
    assert tree.leaves([node, None], is_leaf=lambda part: part is None or isinstance(part, Custom)) == [node, None]


def test_jax_arrays_and_tracers_are_leaves() -> None:
    array = jax.numpy.ones(2)
    assert tree.leaves({"a": array})[0] is array

    @jax.jit
    def count(x: jax.Array) -> int:
        return len(tree.leaves((x, [x])))

    assert int(count(array)) == 2


def test_register_leaf() -> None:
    class Opaque:
        pass

    assert tree.register_leaf(Opaque) is Opaque
    opaque = Opaque()
    assert tree.flatten(opaque) == ([opaque], tree.LEAF)


def test_data_fields_by_name() -> None:
    @dataclasses.dataclass
    class Layer:
        weight: Any
        name: str

    tree.register_dataclass(Layer, ["weight"], ["name"])
    assert tree.leaves(Layer(1.0, "a")) == jax.tree.leaves(Layer(1.0, "a")) == [1.0]

    class Plain:
        def __init__(self, weight: Any, name: str) -> None:
            self.weight, self.name = weight, name

    tree.register_dataclass(data_fields=["weight"], meta_fields=["name"])(Plain)
    doubled = tree.map(lambda x: 2 * x, Plain(3.0, "b"))
    assert (doubled.weight, doubled.name) == (6.0, "b")
    assert tree.key_paths(tree.structure(doubled)) == [".weight"]

    @dataclasses.dataclass
    class Other:
        weight: Any
        name: str

    for data, meta in ((["weight"], []), (["weight", "name"], ["name"]), (["weight", "nothing"], ["name"])):
        with pytest.raises(ValueError, match=r"data_fields=.* needed each of \['name', 'weight'\] once"):
            tree.register_dataclass(Other, data_fields=data, meta_fields=meta)
