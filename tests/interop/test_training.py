"""Models written for JAX, trained by ``sgd_update`` under our transforms with ``from_jax``, and under JAX's own.

The models are a module in Equinox's form, a dataclass that is a pytree itself, and Flax's two kinds and Equinox's own
where these are installed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn

RNG = np.random.default_rng(11)
X = RNG.normal(size=(32, 5)).astype(np.float32)
Y = RNG.integers(0, 3, 32)
RULE = {"lr": 0.2, "momentum": 0.9, "weight_decay": 1e-3, "nesterov": True}
STEPS = 6


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Mlp:
    """A class with arrays as leaves and the activation as static data, as ``equinox.Module`` makes it."""

    first: dict[str, jax.Array]
    second: dict[str, jax.Array]
    activation: Callable[[Any], Any] = dataclasses.field(metadata={"static": True})

    def __call__(self, x: Any) -> Any:
        h = self.activation(x @ self.first["weight"] + self.first["bias"])
        return h @ self.second["weight"] + self.second["bias"]


class Model(NamedTuple):
    """Return parameters and a function of them written in JAX."""

    params: Any
    apply: Callable[[Any, Any], Any]


def dataclass_model() -> Model:
    keys = jax.random.split(jax.random.key(0))
    first = {"weight": 0.5 * jax.random.normal(keys[0], (5, 16)), "bias": jnp.zeros(16)}
    second = {"weight": 0.5 * jax.random.normal(keys[1], (16, 3)), "bias": jnp.zeros(3)}
    return Model(Mlp(first, second, jax.nn.relu), lambda model, x: model(x))


def linen_model() -> Model:
    linen = pytest.importorskip("flax.linen")
    model = linen.Sequential([linen.Dense(16), linen.relu, linen.Dense(3)])
    return Model(model.init(jax.random.key(0), X), model.apply)


def nnx_model() -> Model:
    nnx = pytest.importorskip("flax.nnx")
    rngs = nnx.Rngs(0)
    model = nnx.Sequential(nnx.Linear(5, 16, rngs=rngs), nnx.relu, nnx.Linear(16, 3, rngs=rngs))
    graphdef, params = nnx.split(model, nnx.Param)
    return Model(params, lambda params, x: nnx.merge(graphdef, params)(x))


def equinox_model() -> Model:
    eqx = pytest.importorskip("equinox")
    params, static = eqx.partition(eqx.nn.MLP(5, 3, 16, 1, key=jax.random.key(0)), eqx.is_inexact_array)
    return Model(params, lambda params, x: jax.vmap(eqx.combine(params, static))(x))


@pytest.fixture(params=[dataclass_model, linen_model, nnx_model, equinox_model])
def model(request: pytest.FixtureRequest) -> Model:
    return request.param()


def loss_in_jax(model: Model, params: Any, x: Any, y: Any) -> Any:
    logits = model.apply(params, x)
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))


def loss_in_numpy(model: Model) -> Callable[..., Any]:
    """Return our loss of the JAX model's result."""
    apply = fg.from_jax(model.apply)
    return lambda params, x, y: nn.cross_entropy(apply(params, x), y)


def reference(model: Model) -> tuple[Any, list[float]]:
    """Step by PyTorch's rule, written out for JAX's gradients."""
    params, losses = model.params, []
    buffers = jax.tree.map(jnp.zeros_like, params)
    for _ in range(STEPS):
        value, grads = jax.value_and_grad(loss_in_jax, argnums=1)(model, params, X, Y)
        grads = jax.tree.map(lambda g, p: g + RULE["weight_decay"] * p, grads, params)
        buffers = jax.tree.map(lambda b, g: RULE["momentum"] * b + g, buffers, grads)
        params = jax.tree.map(lambda p, g, b: p - RULE["lr"] * (g + RULE["momentum"] * b), params, grads, buffers)
        losses.append(float(value))
    return params, losses


def check_trained(model: Model, params: Any, losses: list[float]) -> None:
    wanted, wanted_losses = reference(model)
    np.testing.assert_allclose(losses, wanted_losses, rtol=1e-4)
    assert losses[-1] < 0.9 * losses[0]
    assert jax.tree.structure(params) == jax.tree.structure(wanted)
    for got, want in zip(jax.tree.leaves(params), jax.tree.leaves(wanted), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def train(step: Callable[..., Any], params: Any, **options: Any) -> tuple[Any, list[float]]:
    state = fg.sgd_init(params, **RULE, **options)
    losses = []
    for _ in range(STEPS):
        params, state, value = step(params, state, X, Y)
        losses.append(float(value))
    return params, losses


def make_step(loss: Callable[..., Any], value_and_grad: Callable[..., Any]) -> Callable[..., Any]:
    def step(params: Any, state: Any, x: Any, y: Any) -> Any:
        value, grads = value_and_grad(loss)(params, x, y)
        return *fg.sgd_update(grads, state, params), value

    return step


@pytest.mark.parametrize("foreach", [None, True])
def test_model_of_jax_under_our_transforms(model: Model, foreach: bool | None) -> None:
    traced = []

    def loss(params: Any, x: Any, y: Any) -> Any:
        traced.append(1)
        return loss_in_numpy(model)(params, x, y)

    step = fg.jit(make_step(loss, fg.value_and_grad), donate_argnums=(0, 1))
    # Donated buffers are deleted afterwards, so the model keeps its own.
    params, losses = train(step, jax.tree.map(jnp.copy, model.params), foreach=foreach)
    check_trained(model, params, losses)
    # One call compiles, and a second one shows how donated arguments pair with results.
    assert len(traced) <= 2


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_model_of_jax_trained_eagerly(model: Model, engine: str) -> None:
    params = jax.tree.map(np.asarray, model.params) if engine == "numpy" else model.params
    params, losses = train(make_step(loss_in_numpy(model), fg.value_and_grad), params)
    kind = np.ndarray if engine == "numpy" else jax.Array
    assert all(isinstance(x, kind) for x in jax.tree.leaves(params))
    check_trained(model, params, losses)


def test_our_rule_under_jax_transforms(model: Model) -> None:
    traced = []

    def loss(params: Any, x: Any, y: Any) -> Any:
        traced.append(1)
        return loss_in_jax(model, params, x, y)

    step = jax.jit(make_step(loss, jax.value_and_grad), donate_argnums=(0, 1))
    params, losses = train(step, jax.tree.map(jnp.copy, model.params))
    check_trained(model, params, losses)
    assert len(traced) == 1


def test_our_gradient_of_the_model_under_jax_jit(model: Model) -> None:
    step = jax.jit(make_step(loss_in_numpy(model), fg.value_and_grad))
    check_trained(model, *train(step, model.params))


def test_per_example_gradients_of_the_model(model: Model) -> None:
    loss = loss_in_numpy(model)
    got = fg.vmap(fg.grad(lambda params, x, y: loss(params, x[None], y[None])), in_axes=(None, 0, 0))(
        model.params, X[:4], Y[:4]
    )
    each = [jax.grad(loss_in_jax, argnums=1)(model, model.params, X[i : i + 1], Y[i : i + 1]) for i in range(4)]
    for rows, *wanted in zip(jax.tree.leaves(got), *[jax.tree.leaves(g) for g in each], strict=True):
        np.testing.assert_allclose(rows, np.stack(wanted), rtol=1e-4, atol=1e-6)
