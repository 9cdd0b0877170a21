"""A long function is rolled before it is differentiated; what it replaced is no part of the program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._transforms.compiled import jitted

X = np.linspace(0.1, 0.9, 3)


def waves(y: Any, x: Any) -> Any:
    for _ in range(400):
        y = np.sin(y) * 0.9 + x * 0.1
    return y


def loss(x: Any) -> Any:
    return np.sum(waves(np.cos(x), x))


@pytest.fixture(name="lengths")
def lengths_of_staged_programs(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of equations of each program that `jit` stages from now on, before it is simplified."""
    found: list[int] = []
    stage = jitted.stage_leaves

    def noted(*args: Any, **options: Any) -> Any:
        graph, tree = stage(*args, **options)
        fg.extend.check_graph(graph)
        found.append(len(graph.equations))
        return graph, tree

    monkeypatch.setattr(jitted, "stage_leaves", noted)
    return found


def test_equations_that_were_replaced_are_left_out(lengths: list[int]) -> None:
    np.testing.assert_allclose(fg.jit(fg.grad(loss), engine="numpy")(X), fg.grad(loss)(X), 1e-12)
    assert max(lengths) < 100


def test_a_value_that_the_function_keeps_elsewhere_has_ended() -> None:
    kept: list[Any] = []

    def noted(x: Any) -> Any:
        kept.append(waves(np.cos(x), x))
        return np.sum(kept[-1])

    def f(x: Any) -> Any:
        return fg.grad(noted)(x), np.cos(kept.pop())

    for run in (f, fg.jit(f, engine="numpy")):
        with pytest.raises(
            fg.errors.UnexpectedTracerError, match="cos: an operand is a tracer of a grad that has ended"
        ):
            run(X)


def test_functions_one_after_the_other_and_in_each_other(lengths: list[int]) -> None:
    def inner(x: Any) -> Any:
        return np.sum(waves(np.cos(x), np.sum(fg.grad(loss)(x))))

    def f(x: Any) -> Any:
        return fg.grad(loss)(x) + fg.grad(inner)(x) * 0.5

    np.testing.assert_allclose(fg.jit(f, engine="numpy")(X), f(X), 1e-12)
    assert max(lengths) < 100
