"""Pytrees by JAX's names, compared with JAX: `tree`, `tree_util` and `flatten_util`."""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.flatten_util
import numpy as np
import pytest

import funcgrad.jax as ours

TREE = {"b": (1.0, [2.0, 3.0]), "a": {"x": 4.0, "y": None}}
Row = Callable[[Any], Any]
# A call of each function of ``jax.tree`` and ``jax.tree_util``.
ROWS: dict[str, Row] = {
    "tree.all": lambda m: m.tree.all([True, {"a": 1}]),
    "tree.broadcast": lambda m: m.tree.broadcast({"a": 1, "b": 2}, TREE),
    "tree.flatten": lambda m: m.tree.flatten(TREE)[0],
    "tree.flatten_with_path": lambda m: [m.tree_util.keystr(path) for path, _ in m.tree.flatten_with_path(TREE)[0]],
    "tree.leaves": lambda m: m.tree.leaves(TREE, is_leaf=lambda x: isinstance(x, list)),
    "tree.leaves_with_path": lambda m: [x for _, x in m.tree.leaves_with_path(TREE)],
    "tree.map": lambda m: m.tree.map(lambda x, y: x - 2 * y, TREE, TREE),
    "tree.map_with_path": lambda m: m.tree.map_with_path(lambda path, x: x * len(path), TREE),
    "tree.reduce": lambda m: m.tree.reduce(operator.add, TREE, 10.0),
    "tree.reduce_associative": lambda m: m.tree.reduce_associative(operator.add, TREE),
    "tree.structure": lambda m: m.tree.structure(TREE).num_leaves,
    "tree.transpose": lambda m: m.tree.transpose(
        m.tree.structure([0, 0]), m.tree.structure({"a": 0}), [{"a": 1}, {"a": 2}]
    ),
    "tree.unflatten": lambda m: m.tree.unflatten(m.tree.structure(TREE), [1, 2, 3, 4]),
    "tree_util.all_leaves": lambda m: [m.tree_util.all_leaves(x) for x in ([1, 2], [1, (2,)], [None])],
    "tree_util.keystr.simple": lambda m: [
        m.tree_util.keystr(path, simple=True, separator="/") for path, _ in m.tree.flatten_with_path(TREE)[0]
    ],
    "tree_util.keystr": lambda m: m.tree_util.keystr(m.tree.flatten_with_path(TREE)[0][1][0]),
    "tree_util.tree_all": lambda m: m.tree_util.tree_all([True, {"a": 0}]),
    "tree_util.tree_broadcast": lambda m: m.tree_util.tree_broadcast({"a": 1, "b": 2}, TREE),
    "tree_util.tree_flatten": lambda m: m.tree_util.tree_flatten(TREE)[0],
    "tree_util.tree_flatten_with_path": lambda m: len(m.tree_util.tree_flatten_with_path(TREE)[0]),
    "tree_util.tree_leaves": lambda m: m.tree_util.tree_leaves(TREE),
    "tree_util.tree_leaves_with_path": lambda m: [x for _, x in m.tree_util.tree_leaves_with_path(TREE)],
    "tree_util.tree_map": lambda m: m.tree_util.tree_map(lambda x: x + 1, TREE),
    "tree_util.tree_map_with_path": lambda m: m.tree_util.tree_map_with_path(lambda path, x: x * len(path), TREE),
    "tree_util.tree_reduce": lambda m: m.tree_util.tree_reduce(operator.mul, TREE),
    "tree_util.tree_reduce_associative": lambda m: m.tree_util.tree_reduce_associative(
        operator.add, TREE, identity=2.0
    ),
    "tree_util.tree_structure": lambda m: m.tree_util.tree_structure(TREE).num_leaves,
    "tree_util.tree_transpose": lambda m: m.tree_util.tree_transpose(
        m.tree.structure([0, 0]), m.tree.structure({"a": 0}), [{"a": 1}, {"a": 2}]
    ),
    "tree_util.tree_unflatten": lambda m: m.tree_util.tree_unflatten(m.tree.structure(TREE), [1, 2, 3, 4]),
    "tree_util.treedef_children": lambda m: len(m.tree_util.treedef_children(m.tree.structure(TREE))),
    "tree_util.treedef_tuple": lambda m: m.tree.unflatten(
        m.tree_util.treedef_tuple([m.tree.structure({"a": 0}), m.tree.structure(0)]), [1, 2]
    ),
    "tree_util.treedef_is_leaf": lambda m: m.tree_util.treedef_is_leaf(m.tree.structure(3.0)),
}


@pytest.mark.parametrize("name", ROWS)
def test_the_result_is_jaxs(name: str) -> None:
    assert ROWS[name](ours) == ROWS[name](jax)


def _pair(m: Any, how: str) -> Any:
    """Return a class of two arrays and a name, registered in one of the ways."""

    @dataclasses.dataclass
    class Pair:
        a: Any
        b: Any
        name: str = "n"

        def tree_flatten(self) -> tuple[tuple, str]:
            return (self.a, self.b), self.name

        def tree_flatten_with_keys(self) -> tuple[tuple, str]:
            return (("a", self.a), ("b", self.b)), self.name

        @classmethod
        def tree_unflatten(cls, name: str, children: tuple[Any, Any]) -> Pair:
            return cls(*children, name)

    match how:
        case "dataclass":
            m.tree_util.register_dataclass(Pair, data_fields=["a", "b"], meta_fields=["name"])
        case "node":
            m.tree_util.register_pytree_node(Pair, Pair.tree_flatten, Pair.tree_unflatten)
        case "class":
            m.tree_util.register_pytree_node_class(Pair)
        case "keys":
            m.tree_util.register_pytree_with_keys(Pair, Pair.tree_flatten_with_keys, Pair.tree_unflatten)
        case _:
            m.tree_util.register_pytree_with_keys_class(Pair)
    return Pair


@pytest.mark.parametrize("how", ["dataclass", "node", "class", "keys", "class with keys"])
def test_registered_classes_go_through_transforms(how: str) -> None:
    kind = _pair(ours, how)
    pair = kind(np.arange(3.0), np.float64(2.0), "weights")

    def loss(p: Any) -> Any:
        return ours.numpy.sum(p.a**2) * p.b

    slope = ours.jit(ours.grad(loss))(pair)
    assert type(slope) is kind
    assert slope.name == "weights"
    np.testing.assert_allclose(slope.a, [0.0, 4.0, 8.0])
    np.testing.assert_allclose(slope.b, 5.0)


def test_static_objects_and_partial_functions_are_pytrees() -> None:
    @ours.tree_util.register_static
    class Settings(str):
        __slots__ = ()

    assert ours.tree.leaves(Settings("x")) == []
    scaled = ours.tree_util.Partial(lambda a, x: a * x, 3.0)
    np.testing.assert_allclose(ours.jit(lambda f, x: f(x))(scaled, np.arange(2.0)), [0.0, 3.0])


def test_dropped_fields_are_refused() -> None:
    @dataclasses.dataclass
    class One:
        a: Any

    with pytest.raises(NotImplementedError, match="drop_fields"):
        ours.tree_util.register_dataclass(One, ["a"], [], drop_fields=["b"])


@pytest.mark.parametrize("tree", [TREE, {}, {"a": np.arange(6.0).reshape(2, 3), "n": np.arange(2)}])
def test_ravel_pytree(tree: Any) -> None:
    with jax.enable_x64(True):
        expected, back_of_jax = jax.flatten_util.ravel_pytree(tree)
        again_of_jax = jax.tree.leaves(back_of_jax(expected * 2))
    vector, back = ours.flatten_util.ravel_pytree(tree)
    np.testing.assert_array_equal(vector, expected)
    again = ours.tree.leaves(back(vector * 2))
    for y, y_of_jax in zip(again, again_of_jax, strict=True):
        np.testing.assert_array_equal(y, y_of_jax)
        assert np.asarray(y).dtype == y_of_jax.dtype


def test_ravel_pytree_is_differentiable() -> None:
    tree = {"a": np.arange(3.0), "b": np.float64(2.0)}
    slope = ours.grad(lambda t: functools.reduce(operator.mul, ours.flatten_util.ravel_pytree(t)[0] + 1.0))(tree)
    np.testing.assert_allclose(slope["a"], [18.0, 9.0, 6.0])
