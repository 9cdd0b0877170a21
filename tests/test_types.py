"""What type checkers see: a transform keeps the parameters of its function, and the result where that is kept.

pyright reads ``assert_type`` here; pytest sees that the same calls run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import funcgrad as fg


def loss(w: np.ndarray, x: np.ndarray, *, scale: float = 1.0) -> np.float64:
    return np.sum(scale * w * x)


W, X = np.ones(3), np.arange(3.0)


def test_transforms_keep_the_parameters() -> None:
    assert_type(fg.value_and_grad(loss)(W, X, scale=2.0), tuple[np.float64, Any])
    assert_type(fg.vmap(loss)(W, X), np.float64)
    assert_type(fg.checkpoint(loss)(W, x=X), np.float64)
    assert_type(fg.make_graph(loss)(W, X), fg.Graph)
    gradient: Callable[[np.ndarray, np.ndarray], Any] = fg.grad(loss)
    np.testing.assert_array_equal(gradient(W, X), X)
    for transform in (fg.grad, fg.jacfwd, fg.jacrev, fg.hessian):
        transform(loss)(W, X, scale=1.0)


def test_a_jitted_function_keeps_parameters_and_result() -> None:
    jitted = fg.jit(loss, engine="numpy")
    assert_type(jitted(W, X, scale=2.0), np.float64)
    np.testing.assert_array_equal(fg.jit(np.modf, engine="numpy")(X)[0], 0 * X)

    @fg.jit(engine="numpy", static_argnames="power")
    def powered(x: np.ndarray, power: int = 2) -> np.ndarray:
        return x**power

    assert_type(powered(X, power=3), np.ndarray)


def test_a_custom_rule_keeps_parameters_and_result() -> None:
    @fg.custom_vjp
    def doubled(x: np.ndarray) -> np.ndarray:
        return 2 * x

    assert_type(doubled(X), np.ndarray)


def misused() -> None:
    """Never called: each line is an error that a type checker must find, or the suppression is one."""
    fg.grad(loss)(W)  # pyright: ignore[reportCallIssue]  (an argument is missing)
    fg.jit(loss)(W, X, factor=2.0)  # pyright: ignore[reportCallIssue]  (there is no such parameter)
    fg.value_and_grad(loss)("w", X)  # pyright: ignore[reportArgumentType]  (of another type)
    fg.vmap(loss)(W, X, scale="s")  # pyright: ignore[reportArgumentType]  (of another type)
