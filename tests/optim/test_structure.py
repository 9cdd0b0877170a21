"""SGD's hyperparameters as structure or data, and memory that the caller gives for the results."""

from __future__ import annotations

from typing import Any, cast

import jax
import numpy as np
import pytest

import funcgrad as fg
from tests.optim.test_sgd import GRADS, MOMENTUM, PARAMS, Counted


@pytest.mark.parametrize(
    "change",
    [{"nesterov": True}, {"maximize": True}, {"weight_decay": 0.1}, {"dampening": 0.2}, {"momentum": 0}],
    ids=str,
)
def test_flags_and_zeros_are_structure_and_compile_once_each(change: dict[str, Any]) -> None:
    counted = Counted()
    update = fg.jit(counted)
    state = fg.sgd_init(PARAMS, lr=0.1, momentum=0.9)
    params, state = update(GRADS, state, PARAMS)
    changed = state.replace(**change)
    for lr in (0.1, 0.2):
        expected, _ = fg.sgd_update(GRADS, changed.replace(lr=lr), params)
        found, _ = update(GRADS, changed.replace(lr=lr), params)
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-14), found, expected)
        update(GRADS, state, params)
    assert counted.count == 2


@pytest.mark.parametrize("name", ["lr", "momentum", "dampening", "weight_decay"])
def test_a_number_that_is_given_back_keeps_the_structure(name: str) -> None:
    for options in ({"lr": 0.1}, MOMENTUM):
        state = fg.sgd_init(PARAMS, **cast(Any, options))
        again = state.replace(**{name: getattr(state, name)})
        assert fg.tree.structure(again) == fg.tree.structure(state)
        assert getattr(again, name) == getattr(state, name) == options.get(name, 0)


def test_numbers_travel_as_one_leaf() -> None:
    state = fg.sgd_init(PARAMS, **MOMENTUM)
    assert [np.shape(x) for x in fg.tree.leaves(state)] == [(4,), (), (2,), (2, 2), (2,)]
    assert [np.shape(x) for x in fg.tree.leaves(fg.sgd_init(PARAMS, lr=0.1))] == [(1,), ()]


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit, jax.jit, lambda f: fg.jit(f, engine="numpy")])
def test_the_program_has_no_term_that_is_turned_off(transform: Any) -> None:
    """In PyTorch too an infinite parameter stays infinite; times a weight decay of 0 it would be NaN."""
    params = {"w": np.array([np.inf, 1.0])}
    state = fg.sgd_init(params, lr=0.5)
    found, _ = transform(fg.sgd_update)({"w": np.ones(2)}, state, params)
    np.testing.assert_array_equal(found["w"], [np.inf, 0.5])


def test_a_sweep_over_a_number_that_is_an_array() -> None:
    def step(momentum: Any) -> Any:
        state = fg.sgd_init(PARAMS, lr=0.1, momentum=momentum)
        params, state = fg.sgd_update(GRADS, state, PARAMS)
        return fg.sgd_update(GRADS, state, params)[0]["bias"]

    found = fg.vmap(step)(np.array([0.0, 0.5]))
    np.testing.assert_allclose(found, [step(np.float64(0)), step(0.5)], rtol=1e-14)


def test_flags_must_be_known() -> None:
    with pytest.raises(TypeError, match=r"nesterov is bool\[\].*not known; needed True or False.*Pass a Python bool"):
        fg.jit(lambda flag: fg.sgd_init(PARAMS, lr=0.1, momentum=0.9, nesterov=flag).momentum)(True)


@pytest.mark.parametrize("options", [{"lr": 0.1}, MOMENTUM, {**MOMENTUM, "dampening": 0, "nesterov": True}], ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_into_given_memory(options: dict[str, Any], dtype: type) -> None:
    params = fg.tree.map(lambda p: p.astype(dtype), {**PARAMS, "scale": np.array(2.0)})
    grads = {**params, "bias": None}
    state = fg.sgd_init(params, **options)
    for _ in range(2):
        expected = fg.sgd_update(grads, state, params)
        mine, slots = fg.tree.map(np.copy, params), fg.tree.map(np.copy, state)
        arrays = fg.tree.leaves((mine, slots.buffers))
        found = fg.sgd_update(grads, slots, mine, into=(mine, slots))
        assert all(x is y for x, y in zip(arrays, fg.tree.leaves((found[0], found[1].buffers)), strict=True))
        jax.tree.map(np.testing.assert_array_equal, found, expected)
        params, state = expected
