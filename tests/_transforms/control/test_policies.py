"""Policies of ``checkpoint``: the same derivatives, and only values that the policy drops are computed again."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

RNG = np.random.default_rng(3)
W, X = RNG.normal(size=(3, 3)), RNG.normal(size=3)


def block(w: Any, x: Any) -> Any:
    with fg.named("hidden"):
        h = w @ x
    with fg.named("other"):
        t = np.tanh(h)
    return np.sum(np.exp(np.sin(t)) * h)


# The number of times that the gradient computes each operation; the gradient itself has one product more.
POLICIES: dict[str, tuple[Any, dict[str, int]]] = {
    "none": (None, {"matmul": 3, "tanh": 2, "sin": 2, "exp": 2}),
    "nothing": (fg.nothing_saveable, {"matmul": 3, "tanh": 2, "sin": 2, "exp": 2}),
    "everything": (fg.everything_saveable, {"matmul": 2, "tanh": 1, "sin": 1, "exp": 1}),
    "dots": (fg.dots_saveable, {"matmul": 2, "tanh": 2, "sin": 2, "exp": 2}),
    "a name": (fg.save_only_these_names("other"), {"matmul": 3, "tanh": 1, "sin": 2, "exp": 2}),
    "two names": (fg.save_only_these_names("hidden", "other"), {"matmul": 2, "tanh": 1, "sin": 2, "exp": 2}),
    "of the user": (lambda equation: equation.primitive.name == "exp", {"matmul": 3, "tanh": 2, "sin": 1, "exp": 1}),
}


def counted(graph: fg.Graph) -> Counter[str]:
    found: Counter[str] = Counter()
    for equation in graph.equations:
        found[equation.primitive.name] += 1
        for param in equation.params.values():
            found += counted(param) if isinstance(param, fg.Graph) else Counter()
    return found


@pytest.mark.parametrize("name", POLICIES)
def test_what_is_computed_again(name: str) -> None:
    policy, expected = POLICIES[name]
    found = counted(fg.make_graph(fg.grad(fg.checkpoint(block, policy=policy), (0, 1)))(W, X))
    assert {each: found[each] for each in expected} == expected


@pytest.mark.parametrize("engine", [None, "numpy", "numba", "xla"])
@pytest.mark.parametrize("name", POLICIES)
def test_derivatives_are_the_same(name: str, engine: str | None) -> None:
    f = fg.checkpoint(block, policy=POLICIES[name][0])
    gradient: Any = fg.grad(f, (0, 1))
    got = (gradient if engine is None else fg.jit(gradient, engine=engine))(W, X)
    for y, expected in zip(got, fg.grad(block, (0, 1))(W, X), strict=True):
        np.testing.assert_allclose(y, expected, rtol=1e-12)
    if engine is None:
        np.testing.assert_allclose(fg.hessian(f, 1)(W, X), fg.hessian(block, 1)(W, X), rtol=1e-10)
        xs = np.stack([X, 2 * X])
        by_rows = fg.vmap(fg.grad(f, 1), (None, 0))(W, xs)
        np.testing.assert_allclose(by_rows, fg.vmap(fg.grad(block, 1), (None, 0))(W, xs), rtol=1e-10)


def test_a_policy_is_a_function() -> None:
    with pytest.raises(TypeError, match="checkpoint: policy is a str; needed a function"):
        fg.checkpoint(block, policy="dots")  # pyright: ignore[reportArgumentType]  (refused)
