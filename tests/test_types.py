"""The types that checkers see: a transform keeps its function's parameters, and the result if the transform keeps it.

pyright reads ``assert_type`` here; pytest sees that the same calls run.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np

import funcgrad as fg
from funcgrad import optim


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


def test_a_jitted_function_shows_its_graph_and_its_source() -> None:
    jitted = fg.jit(loss, engine="numpy")
    assert_type(jitted.graph(W, X), fg.Graph)
    assert_type(jitted.source(W, X), str)
    assert jitted(W, X) == jitted.graph(W, X)(W, X)
    assert "def " in jitted.source(W, X)
    assert_type(fg.jit(loss).graph(W, x=X), fg.Graph)
    assert jitted.__name__ == "loss"


def test_a_jitted_method_is_bound() -> None:
    class Line:
        @fg.jit(static_argnums=0, engine="numpy")
        def at(self, x: np.ndarray) -> np.ndarray:
            return 2 * x

    assert_type(Line().at(X), np.ndarray)
    assert_type(Line.at(Line(), X), np.ndarray)


def test_optimizers_that_are_made_of_rules_have_their_signatures() -> None:
    state = optim.adam_init(W, learning_rate=0.1, betas=(0.8, 0.9))
    assert_type(state, optim.AdamState)
    assert_type(state.exp_avg, Any)
    params, state = optim.adam_update(X, state, W)
    assert_type(state, optim.AdamState)
    assert optim.Adam(params, 0.1, amsgrad=True).param_groups[0]["amsgrad"]


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
    fg.sgd_init(W, learning_rate=0.1, momentun=0.9)  # pyright: ignore[reportCallIssue]  (there is no such parameter)
    optim.adam_init(W, learning_rate=0.1, beta3=0.9)  # pyright: ignore[reportCallIssue]  (there is no such parameter)
    optim.Adam(W, learning_rat=0.1)  # pyright: ignore[reportCallIssue]  (there is no such parameter)
    optim.adam_init(W).exp_average  # noqa: B018  # pyright: ignore[reportAttributeAccessIssue]  (no such slot)
