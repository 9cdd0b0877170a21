"""Compare a rolled program with the program itself."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad as fg


def loops_of(graph: fg.Graph) -> list[int]:
    """Return the lengths of a program's loops."""
    return [equation.params["loop"].length for equation in graph.equations if equation.primitive.name == "scan"]


def assert_rolls(f: Any, *args: Any, loops: list[int] | None = None, most: int = 60) -> fg.Graph:
    """Roll a program and compare every number; ``most`` is the largest number of equations left."""
    graph = fg.make_graph(f)(*args)
    rolled = graph.roll()
    fg.extend.check_graph(rolled)
    for a, b in zip(fg.tree.leaves(graph(*args)), fg.tree.leaves(rolled(*args)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
    if loops is not None:
        assert loops_of(rolled) == loops
    assert len(rolled.equations) <= most
    return rolled


def assert_loops(f: Any, *args: Any, most: int) -> None:
    """Roll a program and its gradient by two arguments, which has two loops at least; see `assert_rolls`."""
    assert loops_of(assert_rolls(f, *args, most=most))
    assert len(loops_of(assert_rolls(fg.value_and_grad(f, argnums=(0, 1)), *args, most=most))) >= 2


def norm_of_gradient(f: Any) -> Any:
    """Return the function that sums the squares of the gradient with regard to the second argument."""
    return lambda w, x: np.sum(fg.grad(f, argnums=1)(w, x) ** 2)


def assert_engine_agrees(engine: str, f: Any, *args: Any) -> None:
    """Compile a rolled program, and compare its numbers with those of the function."""
    rolled, expected = fg.make_graph(f)(*args).roll(), f(*args)
    found = fg.jit(rolled, engine=engine, roll=False)(*args)
    for a, b in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, 1e-12, 1e-12)
