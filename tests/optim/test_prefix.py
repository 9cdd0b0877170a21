"""Hyperparameters as prefix trees: parameter groups in the functional world."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg

PARAMS = {"layers": [np.ones((2, 2)), np.full(3, 2.0)], "head": np.array([1.0, -1.0]), "none": None}
GRADS = {"layers": [np.full((2, 2), 0.5), np.ones(3)], "head": np.array([0.1, 0.2]), "none": None}


def test_a_value_for_each_part() -> None:
    state = fg.sgd_init(
        PARAMS, lr={"layers": 0.1, "head": 1.0, "none": 9.0}, weight_decay={**PARAMS, "head": 0.5, "layers": [0.0, 1.0]}
    )
    params, _ = fg.sgd_update(GRADS, state, PARAMS)
    np.testing.assert_allclose(params["layers"][0], 0.95)
    np.testing.assert_allclose(params["layers"][1], 1.7)
    np.testing.assert_allclose(params["head"], [0.4, -0.7])


def test_without_momentum_there_is_no_buffer() -> None:
    momentum = {"layers": [0.9, 0.0], "head": 0.0, "none": 0.0}
    state = fg.sgd_init(PARAMS, lr=0.1, momentum=momentum, dampening=0.5)
    assert [b is None for b in (*state.buffers["layers"], state.buffers["head"])] == [False, True, True]
    assert state.started.shape == (1,)
    params, state = fg.sgd_update(GRADS, state, PARAMS)
    params, state = fg.sgd_update(GRADS, state, params)
    np.testing.assert_allclose(state.buffers["layers"][0], 0.9 * 0.5 + 0.5 * 0.5)
    np.testing.assert_allclose(params["head"], PARAMS["head"] - 0.2 * GRADS["head"])


@pytest.mark.parametrize("compiler", [fg.jit, jax.jit], ids=["fg.jit", "jax.jit"])
@pytest.mark.parametrize("dampening", [0.0, {"layers": [0.5, 0.0], "head": 0.0, "none": 0.0}], ids=["plain", "damped"])
def test_compiled_once_and_equal(compiler: Any, dampening: Any) -> None:
    count = 0

    def update(*args: Any) -> Any:
        nonlocal count
        count += 1
        return fg.sgd_update(*args)

    with jax.enable_x64(True):
        jitted = compiler(update)
        momentum = {"layers": [0.9, 0.5], "head": 0.0, "none": 0.0}
        state = fg.sgd_init(
            PARAMS, lr={"layers": 0.1, "head": 0.2, "none": 0.0}, momentum=momentum, dampening=dampening
        )
        found, expected, other = PARAMS, PARAMS, state
        for step in range(3):
            lr = {"layers": 0.1 / (step + 1), "head": 0.2, "none": 0.0}
            grads = {**GRADS, "layers": [None if step == 0 else GRADS["layers"][0], GRADS["layers"][1]]}
            expected, other = fg.sgd_update(grads, other.replace(lr=lr), expected)
            found, state = jitted(grads, state.replace(lr=lr), found)
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-14), found, expected)
    assert count == 2


def test_a_schedule_for_a_part() -> None:
    state = fg.sgd_init(PARAMS, lr={"layers": lambda step: 0.5**step, "head": 0.1, "none": 0.0})
    params, state = fg.sgd_update(GRADS, state, PARAMS)
    params, state = fg.sgd_update(GRADS, state, params)
    np.testing.assert_allclose(params["layers"][1], 2 - 1.5)
    np.testing.assert_allclose(params["head"], PARAMS["head"] - 0.2 * GRADS["head"])


def test_momentum_by_replace() -> None:
    momentum = {"layers": [0.9, 0.0], "head": 0.5, "none": 0.0}
    state = fg.sgd_init(PARAMS, lr=0.1, momentum=momentum, dampening=0.1)
    dropped = state.replace(momentum={"layers": 0.0, "head": 0.7, "none": 0.0})
    assert dropped.buffers["layers"] == [None, None]
    assert dropped.started.shape == (1,)
    for wrong in (0.3, {"layers": 0.3, "head": 0.5, "none": 0.0}):
        with pytest.raises(fg.errors.HyperparameterError, match=re.escape("holds no buffer, at ['layers'][1]")):
            state.replace(momentum=wrong)
    assert state.replace(momentum=momentum).buffers is state.buffers


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [
        ("lr", {"layers": 0.1}, "At the root"),
        ("lr", {"layers": [0.1], "head": 0.1, "none": 0.1}, "At ['layers']"),
        ("momentum", [0.1], "At the root"),
        ("nesterov", {"layers": {"a": True}, "head": False, "none": False}, "At ['layers']"),
    ],
    ids=str,
)
def test_a_prefix_that_does_not_fit(name: str, value: Any, where: str) -> None:
    with pytest.raises(fg.errors.TreeMismatchError, match=rf"sgd_init: {name} must be a prefix.*{re.escape(where)}"):
        fg.sgd_init(PARAMS, **{"lr": 0.1, name: value})
    if name == "lr":
        with pytest.raises(fg.errors.TreeMismatchError, match=rf"SGDState.replace: {name} must be a prefix"):
            fg.sgd_init(PARAMS, lr=0.1).replace(lr=value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": {"layers": [0.1, -0.1], "head": 0.1, "none": 0.1}}, "Invalid learning rate: -0.1 at lr['layers'][1]"),
        ({"momentum": {"layers": 0.1, "head": -1, "none": 0}}, "Invalid momentum value: -1 at momentum['head']"),
        ({"weight_decay": {"layers": 0.1, "head": float("nan"), "none": 0}}, "Invalid weight_decay value: nan at"),
        ({"nesterov": True, "momentum": {"layers": 0.0, "head": 0.0, "none": 0.0}}, "Nesterov momentum requires"),
        ({"nesterov": {"layers": True, "head": False, "none": False}, "momentum": 0.9, "dampening": 0.1}, "Nesterov"),
    ],
    ids=str,
)
def test_values_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fg.errors.HyperparameterError, match=f"^{re.escape(message)}"):
        fg.sgd_init(PARAMS, **{"lr": 0.1, **options})


def test_nesterov_beside_parameters_without_momentum() -> None:
    state = fg.sgd_init(PARAMS, lr=0.1, momentum={"layers": 0.9, "head": 0.0, "none": 0.0}, nesterov=True)
    params, _ = fg.sgd_update(GRADS, state, PARAMS)
    np.testing.assert_allclose(params["layers"][1], 2 - 0.1 * 1.9)
    np.testing.assert_allclose(params["head"], PARAMS["head"] - 0.1 * GRADS["head"])


def test_only_lr_may_be_a_schedule_names_the_part() -> None:
    with pytest.raises(TypeError, match=re.escape("momentum['head'] is a function")):
        fg.sgd_init(PARAMS, lr=0.1, momentum={"layers": 0.9, "head": lambda step: 0.9, "none": 0.0})
