"""``Partial``: its arguments are leaves, its function is structure."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg

Partial = fg.tree.Partial


def scaled(x: Any, y: Any, *, by: Any = 1.0) -> Any:
    return x * y * by


def test_leaves_and_calls() -> None:
    f = Partial(scaled, 2.0, by=3.0)
    assert fg.tree.leaves(f) == jax.tree.leaves(f) == [2.0, 3.0]
    assert f(5.0) == fg.tree.map(lambda x: x, f)(5.0) == pickle.loads(pickle.dumps(f))(5.0) == copy.copy(f)(5.0) == 30.0
    assert fg.tree.structure(f) == fg.tree.structure(Partial(scaled, 7.0, by=8.0))
    assert fg.tree.structure(f) != fg.tree.structure(Partial(np.multiply, 7.0))
    nested = Partial(Partial(scaled, 2.0), 5.0)
    assert (fg.tree.leaves(nested), nested()) == ([2.0, 5.0], 10.0)


def test_arguments_of_a_plain_partial_function_are_structure() -> None:
    inner = functools.partial(scaled, 2.0)
    f = Partial(inner, 5.0)
    assert (fg.tree.leaves(f), f()) == ([5.0], 10.0)
    assert fg.tree.structure(f) == fg.tree.structure(Partial(inner, 6.0))


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_under_transforms(engine: str) -> None:
    staged = []

    @fg.jit(engine=engine)
    def apply(f: Any, x: Any) -> Any:
        staged.append(None)
        return f(x)

    assert [float(apply(Partial(scaled, factor), 2.0)) for factor in (1.0, 2.0, 3.0)] == [2.0, 4.0, 6.0]
    assert len(staged) == 1
    assert fg.tree.leaves(fg.grad(apply)(Partial(scaled, 3.0, by=2.0), 5.0)) == [10.0, 15.0]
