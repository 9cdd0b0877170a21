"""Containers of arguments and results: pytrees, argnums, aux. Results belong to the caller."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad as fg


class Pair(NamedTuple):
    left: Any
    right: Any


@fg.tree.register_dataclass
@dataclasses.dataclass
class Layer:
    weight: Any
    bias: Any


X, Y = np.array([1.0, 2.0]), np.array([3.0, -1.0])
TREES = {
    "dict": {"x": X, "y": Y},
    "list": [X, Y],
    "tuple": (X, Y),
    "named tuple": Pair(X, Y),
    "dataclass": Layer(X, Y),
    "none beside": {"x": X, "none": None, "y": Y},
    "deep": {"a": [({"b": X},), Pair(None, Layer(Y, ()))]},
    "shared leaf": [X, X],
    "scalar": [X, 2.0],
}


@pytest.mark.parametrize("name", TREES)
def test_gradients_have_the_structure_of_the_argument(name: str) -> None:
    tree = TREES[name]

    def loss(tree: Any) -> Any:
        first, second = fg.tree.leaves(tree)
        return np.sum(first * first * second)

    first, second = fg.tree.leaves(tree)
    gradient = fg.grad(loss)(tree)
    assert fg.tree.structure(gradient) == fg.tree.structure(tree)
    assert type(gradient) is type(tree)
    got = fg.tree.leaves(gradient)
    np.testing.assert_allclose(got[0], 2 * first * second)
    np.testing.assert_allclose(got[1], np.sum(first * first) if np.ndim(second) == 0 else first * first)
    for engine in ("numpy", "xla"):
        other = fg.jit(fg.grad(loss), engine=engine)(tree)
        assert fg.tree.structure(other) == fg.tree.structure(tree)
        np.testing.assert_allclose(fg.tree.leaves(other)[0], got[0])


def test_an_empty_tree_has_an_empty_gradient() -> None:
    assert fg.grad(lambda tree: 1.0)({"nothing": None, "empty": []}) == {"nothing": None, "empty": []}


def test_argnums() -> None:
    def f(x: Any, y: Any, *, scale: float = 1.0) -> Any:
        return scale * np.sum(x * x * y)

    assert [len(fg.grad(f, argnums=numbers)(X, Y)) for numbers in ((0,), (0, 1), (1, 0))] == [1, 2, 2]
    np.testing.assert_allclose(fg.grad(f, argnums=1)(X, Y, scale=2.0), 2 * X * X)
    np.testing.assert_allclose(fg.grad(f, argnums=-1)(X, Y), X * X)
    by_y, by_x = fg.grad(f, argnums=[1, 0])(X, Y)
    np.testing.assert_allclose(by_x, 2 * X * Y)
    np.testing.assert_allclose(by_y, X * X)
    np.testing.assert_allclose(fg.grad(f, argnums=(0, 1))(X, X)[0], 2 * X * X)
    np.testing.assert_allclose(fg.grad(f, argnums=(0, 1))(X, X)[1], X * X)


def test_aux_is_plain_and_keeps_its_structure() -> None:
    def loss(x: Any) -> Any:
        y = x * x
        return np.sum(y), {"y": y, "name": "squares", "none": None, "count": 3}

    gradient, aux = fg.grad(loss, has_aux=True)(X)
    np.testing.assert_allclose(gradient, 2 * X)
    assert type(aux["y"]) is np.ndarray
    assert (aux["name"], aux["none"], aux["count"]) == ("squares", None, 3)
    (value, aux), gradient = fg.value_and_grad(loss, has_aux=True)(X)
    assert float(value) == 5.0
    _, pullback, aux = fg.vjp(loss, X, has_aux=True)
    np.testing.assert_allclose(pullback(1.0)[0], 2 * X)
    assert type(aux["y"]) is np.ndarray


def test_aux_of_an_inner_transform_still_belongs_to_the_outer() -> None:
    def outer(x: Any) -> Any:
        gradient, aux = fg.grad(lambda y: (np.sum(y * y * x), np.sum(x * x * y)), has_aux=True)(x)
        return np.sum(gradient) + aux

    fg.check_grads(outer, (X,), order=2)


def test_results_are_the_callers_own() -> None:
    """Writing into a result changes neither an argument nor another result."""
    x, y = X.copy(), Y.copy()
    both = fg.grad(lambda x, y: np.sum(x + y), argnums=(0, 1))(x, y)
    both[0][...] += 1.0
    both[1][...] += 1.0
    np.testing.assert_array_equal(both[0], [2.0, 2.0])
    np.testing.assert_array_equal(both[1], [2.0, 2.0])
    gradient = fg.grad(lambda x: np.sum(x * y))(x)
    gradient *= 0.0
    np.testing.assert_array_equal(y, Y)
    tree = fg.grad(lambda t: np.sum(t["a"].reshape(2, 1)) + np.sum(t["b"]))({"a": x, "b": y})
    tree["a"] += 1.0
    np.testing.assert_array_equal(tree["b"], [1.0, 1.0])


CONSTANT = np.array([3.0, 4.0])
TWICE = {
    "jit": fg.jit(lambda x: (+x, x[::-1], x * 2.0, x * 2.0, CONSTANT, np.zeros(2)), engine="numpy"),
    "jit of grad": fg.jit(fg.grad(lambda x, y: np.sum(x) + np.sum(y * CONSTANT), argnums=(0, 1)), engine="numpy"),
    "graph": fg.make_graph(lambda x: (x * 2.0, CONSTANT, np.zeros(2))),
    "pullback": fg.vjp(lambda x: (x, x.reshape(2, 1)), X)[1],
}


@pytest.mark.parametrize("name", TWICE)
def test_writing_into_results_changes_no_later_call(name: str) -> None:
    f = TWICE[name]
    args = {"jit of grad": (X.copy(), Y.copy()), "pullback": ((X.copy(), np.ones((2, 1))),)}.get(name, (X.copy(),))
    before = [leaf.copy() for leaf in fg.tree.leaves(args)]
    if name == "graph":
        f = f(*args)
    first = f(*args)
    kept = [np.array(leaf) for leaf in fg.tree.leaves(first)]
    for i, leaf in enumerate(fg.tree.leaves(first)):
        np.testing.assert_array_equal(leaf, kept[i])
        leaf[...] = 7.0
    for leaf, old in zip(fg.tree.leaves(args), before, strict=True):
        np.testing.assert_array_equal(leaf, old)
    for leaf, old in zip(fg.tree.leaves(f(*args)), kept, strict=True):
        np.testing.assert_array_equal(leaf, old)
    np.testing.assert_array_equal(CONSTANT, [3.0, 4.0])
