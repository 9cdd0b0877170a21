"""Classes of users as nodes: here and in JAX, under transforms and on each engine."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg


@fg.tree.register_node
class Interval:
    def __init__(self, low: Any, high: Any) -> None:
        self.low, self.high = low, high

    def tree_flatten(self) -> tuple[tuple[Any, Any], None]:
        return (self.low, self.high), None

    @classmethod
    def tree_unflatten(cls, value: None, children: Any) -> Interval:
        del value
        return cls(*children)


class Scaled:
    def __init__(self, x: Any, unit: str) -> None:
        self.x, self.unit = x, unit


fg.tree.register_node(
    Scaled,
    lambda node: ([node.x], node.unit),
    lambda unit, children: Scaled(*children, unit),
    lambda node: ([(jax.tree_util.GetAttrKey("x"), node.x)], node.unit),
)


@fg.tree.register_static
class Name(str):
    __slots__ = ()


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_nodes_under_transforms(engine: str) -> None:
    def f(interval: Interval, scaled: Scaled, name: Name) -> Any:
        y = interval.low * interval.high * scaled.x
        return Scaled(y if name == "y" else -y, scaled.unit)

    compiled = fg.jit(f, engine=engine)
    given = Interval(2.0, 3.0), Scaled(np.ones(2), "m")
    for name, expected in (("y", 6.0), ("z", -6.0), ("y", 6.0)):
        result = compiled(*given, Name(name))
        assert result.unit == "m"
        np.testing.assert_array_equal(result.x, [expected] * 2)
    slope = fg.jit(fg.grad(lambda *args: f(*args).x.sum()), engine=engine)(*given, Name("y"))
    assert (type(slope), float(slope.low), float(slope.high)) == (Interval, 6.0, 4.0)


def test_jax_knows_them() -> None:
    tree = [Interval(1, 2), Scaled(3, "m"), Name("a")]
    assert jax.tree.leaves(tree) == fg.tree.leaves(tree) == [1, 2, 3]
    assert fg.tree.key_paths(fg.tree.structure(Scaled(3, "m"))) == [".x"]
    assert fg.tree.structure(Name("a")) != fg.tree.structure(Name("b"))
    assert fg.tree.structure(Scaled(1, "m")) != fg.tree.structure(Scaled(1, "s"))


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="the class Interval was to become a pytree node, and is one already"):
        fg.tree.register_node(Interval)
    with pytest.raises(ValueError, match="the class Scaled"):
        fg.tree.register_static(Scaled)
    with pytest.raises(TypeError, match="needed these two functions, or a class with the methods"):
        fg.tree.register_node(type("Plain", (), {}))
    with pytest.raises(TypeError, match="needed a class"):
        fg.tree.register_static("text")  # pyright: ignore[reportArgumentType]  (refused)
