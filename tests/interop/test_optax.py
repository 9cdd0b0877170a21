"""optax and our rules: each used as the other, and equal numbers for equal formulas."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import funcgrad as fg
from funcgrad.errors import TreeMismatchError
from funcgrad.interop.optax import from_optax, to_optax
from tests.optim._family import FAMILY, STEPS, drawn

ADAMW = fg.optim.adamw_init, fg.optim.adamw_update


def params_of(dtype: Any = np.float32) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {"w": rng.normal(size=(5, 4)).astype(dtype), "b": rng.normal(size=4).astype(dtype)}


def grads_of(step: int, dtype: Any = np.float32) -> dict[str, Any]:
    rng = np.random.default_rng(100 + step)
    return {"w": rng.normal(size=(5, 4)).astype(dtype), "b": rng.normal(size=4).astype(dtype)}


def on_device(tree: Any) -> Any:
    return jax.tree.map(jnp.asarray, tree)


def trained(update: Callable[..., Any], state: Any, params: Any, steps: int = 8) -> Any:
    """Take steps of a transformation of optax."""
    for step in range(steps):
        updates, state = update(on_device(grads_of(step)), state, params)
        params = optax.apply_updates(params, updates)
    return params


def by_rule(init: Any, update: Any, params: Any, steps: int = 8, **options: Any) -> Any:
    state = init(params, **options)
    for step in range(steps):
        grads = jax.tree.map(
            lambda g, p: type(p)(g) if np.ndim(g) == 0 else np.asarray(g, p.dtype), grads_of(step), params
        )
        params, state = update(grads, state, params)
    return params


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FAMILY)
def test_updates_lead_to_the_new_parameters_to_the_last_bit(name: str, dtype: Any) -> None:
    made = FAMILY[name]
    run = drawn(made, 3, dtype)
    # Only SGD has no default for it.
    options = {key: x for key, x in run.groups[0].items() if key != "lr" or name == "SGD"}
    transformation = to_optax(made.init, made.update, **options)
    params = run.starts[0]
    state = transformation.init(params)
    for step in range(STEPS):
        grads = run.grads[step][: len(params)]
        updates, after = transformation.update(grads, state, params)
        new, state = made.update(grads, state, params)
        for g, u, p, q in zip(grads, updates, params, new, strict=True):
            near = (p * q > 0) & (abs(q) >= abs(p) / 2)
            np.testing.assert_array_equal((p + u)[near], q[near])
            assert u.dtype == p.dtype
            assert np.all(np.abs(p + u - q) <= 2 * np.spacing(np.abs(u)))
            assert g is not None or not np.any(u)
        assert jax.tree.structure(after) == jax.tree.structure(state)
        params = new


AROUND: dict[str, Callable[[Any], Any]] = {
    "alone": lambda rule: rule,
    "chain": lambda rule: optax.chain(optax.identity(), rule),
    "multi steps": lambda rule: optax.MultiSteps(rule, 1),
    "masked": lambda rule: optax.masked(rule, {"w": True, "b": True}),
    "multi transform": lambda rule: optax.multi_transform({"all": rule}, {"w": "all", "b": "all"}),
    "finite": lambda rule: optax.apply_if_finite(rule, 3),
}


@pytest.mark.parametrize("name", AROUND)
def test_a_rule_goes_where_optaxs_go(name: str) -> None:
    params = on_device(params_of())
    expected = by_rule(*ADAMW, params_of(), lr=0.01, weight_decay=0.1)
    transformation = AROUND[name](to_optax(*ADAMW, lr=0.01, weight_decay=0.1))
    traced = []

    @jax.jit
    def update(grads: Any, state: Any, params: Any) -> Any:
        traced.append(1)
        return transformation.update(grads, state, params)

    found = trained(update, transformation.init(params), params)
    for key, x in expected.items():
        np.testing.assert_allclose(found[key], x, rtol=2e-6, atol=1e-7)
    assert traced == [1]


def test_a_rule_within_scan_and_accumulated() -> None:
    params = on_device(params_of())
    rule = to_optax(fg.sgd_init, fg.sgd_update, lr=0.1, momentum=0.9)

    def body(carry: Any, grads: Any) -> Any:
        params, state = carry
        updates, state = rule.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), None

    stacked = jax.tree.map(lambda *xs: jnp.stack(xs), *[grads_of(step) for step in range(8)])
    (found, _), _ = jax.lax.scan(body, (params, on_device(rule.init(params))), stacked)
    expected = by_rule(fg.sgd_init, fg.sgd_update, params_of(), lr=0.1, momentum=0.9)
    for key, x in expected.items():
        np.testing.assert_allclose(found[key], x, rtol=1e-5, atol=1e-6)
    several = optax.MultiSteps(rule, 4)
    found = trained(jax.jit(several.update), several.init(params), params)
    means = [jax.tree.map(lambda *xs: np.mean(xs, 0), *[grads_of(4 * i + k) for k in range(4)]) for i in range(2)]
    state, expected = fg.sgd_init(params_of(), lr=0.1, momentum=0.9), params_of()
    for grads in means:
        expected, state = fg.sgd_update(grads, state, expected)
    for key, x in expected.items():
        np.testing.assert_allclose(found[key], x, rtol=1e-5, atol=1e-6)


def test_hyperparameters_are_data() -> None:
    """They change by ``replace`` or by optax's own injection, and are not traced again."""
    params, grads = on_device(params_of()), on_device(grads_of(0))
    traced = []

    def counted(transformation: Any) -> Any:
        def update(grads: Any, state: Any, params: Any) -> Any:
            traced.append(1)
            return transformation.update(grads, state, params)

        return jax.jit(update)

    def largest(updates: Any) -> float:
        return float(max(abs(x).max() for x in jax.tree.leaves(updates)))

    rule = to_optax(*ADAMW, lr=0.01, weight_decay=0)
    update, begun = counted(rule), rule.init(params)
    sizes = [largest(update(grads, x, params)[0]) for x in (begun, begun.replace(lr=0.1))]
    np.testing.assert_allclose(sizes, [0.01, 0.1], rtol=1e-4)
    injected = optax.inject_hyperparams(lambda lr: to_optax(*ADAMW, lr=lr, weight_decay=0))(lr=0.01)
    state: Any = injected.init(params)
    update = counted(injected)
    for lr in (0.01, 0.1, 0.03):
        state.hyperparams["lr"] = jnp.asarray(lr)
        updates, _ = update(grads, state, params)
        np.testing.assert_allclose(largest(updates), lr, rtol=1e-4)
    assert traced == [1, 1]


def test_a_train_state_of_flax() -> None:
    train_state = pytest.importorskip("flax.training.train_state")
    serialization = pytest.importorskip("flax.serialization")
    params = on_device(params_of())
    made = train_state.TrainState.create(apply_fn=None, params=params, tx=to_optax(*ADAMW, lr=0.01))
    state = made
    step = jax.jit(lambda state, grads: state.apply_gradients(grads=grads))
    for i in range(4):
        state = step(state, on_device(grads_of(i)))
    state = serialization.from_bytes(made, serialization.to_bytes(state))
    for i in range(4, 8):
        state = step(state, on_device(grads_of(i)))
    for key, x in by_rule(*ADAMW, params_of(), lr=0.01).items():
        np.testing.assert_allclose(state.params[key], x, rtol=2e-6, atol=1e-7)


def test_what_a_rule_refuses_as_optaxs() -> None:
    rule = to_optax(*ADAMW, lr=0.01)
    params = params_of()
    with pytest.raises(ValueError, match=r"^to_optax: adamw_update was called without parameters"):
        rule.update(params, rule.init(params))
    with pytest.raises(TreeMismatchError, match="grads"):
        rule.update({"w": params["w"]}, rule.init(params), params)


# Optimizers with equal formulas: ours, its options, and optax's.
EQUAL: dict[str, tuple[str, dict[str, Any], Callable[[], Any]]] = {
    "adam": ("adam", {"lr": 0.01}, lambda: optax.adam(0.01)),
    "adam, betas": ("adam", {"lr": 0.01, "betas": (0.8, 0.95), "eps": 1e-3}, lambda: optax.adam(0.01, 0.8, 0.95, 1e-3)),
    "adam, no momentum": ("adam", {"lr": 0.01, "betas": (0.0, 0.9)}, lambda: optax.adam(0.01, 0.0, 0.9)),
    "adamw": ("adamw", {"lr": 0.01, "weight_decay": 0.1}, lambda: optax.adamw(0.01, weight_decay=0.1)),
    "rmsprop": ("rmsprop", {"lr": 0.01, "alpha": 0.9}, lambda: optax.rmsprop(0.01, 0.9, 1e-8, eps_in_sqrt=False)),
    "rmsprop, momentum": (
        "rmsprop",
        {"lr": 0.01, "alpha": 0.9, "momentum": 0.8},
        lambda: optax.rmsprop(0.01, 0.9, 1e-8, momentum=0.8, eps_in_sqrt=False),
    ),
    "lion": ("lion", {"lr": 0.01, "weight_decay": 0.1}, lambda: optax.lion(0.01, weight_decay=0.1)),
    "sgd": ("sgd", {"lr": 0.01, "momentum": 0.9}, lambda: optax.sgd(0.01, 0.9)),
    "sgd, nesterov": (
        "sgd",
        {"lr": 0.01, "momentum": 0.9, "nesterov": True},
        lambda: optax.sgd(0.01, 0.9, nesterov=True),
    ),
}


@pytest.mark.parametrize("name", EQUAL)
def test_where_formulas_are_equal_so_are_numbers(name: str) -> None:
    rule, options, make = EQUAL[name]
    home = fg if rule == "sgd" else fg.optim
    # optax's bias corrections are of float32 and drift from the exact values.
    ours = by_rule(getattr(home, f"{rule}_init"), getattr(home, f"{rule}_update"), params_of(), 10, **options)
    transformation = make()
    params = on_device(params_of())
    theirs = trained(jax.jit(transformation.update), transformation.init(params), params, 10)
    for key, x in ours.items():
        assert x.dtype == np.float32
        np.testing.assert_allclose(x, theirs[key], rtol=1e-6, atol=1e-6)


# Transformations of optax, with the extra arguments of their updates.
OPTAXS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "chain": (
        lambda: optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(optax.cosine_decay_schedule(0.1, 10))),
        {},
    ),
    "injected": (lambda: optax.inject_hyperparams(optax.adam)(learning_rate=0.1), {}),
    "masked": (lambda: optax.masked(optax.adam(0.1), {"w": True, "b": False}), {}),
    "more arguments": (
        lambda: optax.chain(optax.sgd(0.1), optax.contrib.reduce_on_plateau(patience=1)),
        {"value": np.float64(1.0)},
    ),
}


@pytest.mark.parametrize("name", OPTAXS)
def test_a_transformation_of_optaxs_is_a_pair_of_ours(name: str) -> None:
    make, extra = OPTAXS[name]
    transformation = optax.with_extra_args_support(make())
    init, update = from_optax(make())
    with jax.enable_x64(True):
        expected = on_device(params_of(np.float64))
        state = transformation.init(expected)
        for step in range(5):
            updates, state = transformation.update(on_device(grads_of(step, np.float64)), state, expected, **extra)
            expected = optax.apply_updates(expected, updates)
        expected = jax.tree.map(np.asarray, expected)
    for step_of in (update, fg.jit(update)):
        params = params_of(np.float64)
        state = init(params)
        for step in range(5):
            params, state = step_of(grads_of(step, np.float64), state, params, **extra)
        for key, x in expected.items():
            assert params[key].dtype == np.float64
            np.testing.assert_allclose(params[key], x, rtol=1e-12)
    params = on_device(params_of())
    params, _ = jax.jit(update)(on_device(grads_of(0)), init(params), params, **extra)
    assert params["w"].dtype == np.float32


def test_a_pair_of_optaxs_is_wrapped_as_ours_are() -> None:
    init, update = fg.optim.skip_nonfinite(*from_optax(optax.sgd(0.5)))
    params = {"w": np.array([1.0, 2.0])}
    state = init(params)
    for g in (np.nan, 1.0):
        params, state = update({"w": np.full(2, g)}, state, params)
    np.testing.assert_array_equal(params["w"], [0.5, 1.5])
    with pytest.raises(TreeMismatchError, match=r"^update: grads\['w'\] is None; needed an array"):
        from_optax(optax.sgd(0.5))[1]({"w": None}, None, params)


def test_optax_is_not_imported_before_it_is_used() -> None:
    lines = ["import sys", "import funcgrad.interop.optax", "assert 'optax' not in sys.modules"]
    subprocess.run([sys.executable, "-c", "; ".join(lines)], check=True)
