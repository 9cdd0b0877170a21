"""A data-parallel step of SGD on eight virtual devices: `fg.jit` of plain NumPy, against the same step by hand in JAX.

The devices are those of a process of its own, which is told of them before JAX starts.
"""

import json
import os
from collections.abc import Callable
from typing import Any
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

import funcgrad as fg
from benchmarks import _models
from benchmarks._fresh import output_of
from benchmarks._models import Model
from benchmarks._timing import Case, Effort, Samples, Suite, interleave

LEARNING_RATE, MOMENTUM = 0.02, 0.9
DEVICES = 8
CHECKED_STEPS = 5
OURS, PEER = "funcgrad", "JAX by hand"
MODELS: dict[str, Callable[[], Model]] = {
    "linear": _models.one_layer,
    "mlp": _models.small_mlp,
    "residual net": _models.deep_residual_net,
}


def measure(name: str, suite: Suite, effort: Effort) -> None:
    """Have a process of its own measure one model on both kinds of axes."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"
    with mock.patch.dict(os.environ, XLA_FLAGS=flags, JAX_PLATFORMS="cpu"):
        code = (
            f"from benchmarks.data_parallel import report; report({name!r}, {effort.rounds}, {effort.sample_seconds})"
        )
        printed = json.loads(output_of(code).splitlines()[-1])
    for axes, samples in printed.items():
        found = {side: Samples(tuple(seconds), calls) for side, (seconds, calls) in samples.items()}
        suite.cases.append(Case(f"{MODELS[name]().name}: step, {axes} axes", found, limits={PEER: 1.05}))


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "linear": lambda suite, effort: measure("linear", suite, effort),
    "mlp": lambda suite, effort: measure("mlp", suite, effort),
    "residual net": lambda suite, effort: measure("residual net", suite, effort),
}


def report(name: str, rounds: int, sample_seconds: float) -> None:
    """See that both sides train alike, time their steps, and print the samples."""
    assert jax.device_count() == DEVICES
    model = MODELS[name]()
    # As many rows as the devices can share.
    model = _with_rows(model, -(-len(model.x) // DEVICES) * DEVICES)
    printed = {}
    for kind in (AxisType.Auto, AxisType.Explicit):
        mesh = jax.make_mesh((DEVICES,), ("data",), axis_types=(kind,))
        sides = {OURS: _ours(model, mesh), PEER: _peer(model, mesh)}
        losses = [[float(step()) for _ in range(CHECKED_STEPS)] for step in sides.values()]
        np.testing.assert_allclose(losses[0], losses[1], rtol=2e-4)
        samples = interleave(sides, Effort(rounds, sample_seconds))
        printed[kind.name.lower()] = {side: (x.seconds, x.calls) for side, x in samples.items()}
    print(json.dumps(printed))


def _with_rows(model: Model, rows: int) -> Model:
    repeats = -(-rows // len(model.x))
    x = np.concatenate([model.x] * repeats)[:rows]
    labels = np.concatenate([model.labels] * repeats)[:rows]
    return Model(model.name, model.numpy_loss, model.jax_loss, model.params, x, labels)


def _ours(model: Model, mesh: jax.sharding.Mesh) -> Callable[[], Any]:
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))

    def step(params: Any, state: fg.SGDState, x: Any, labels: Any) -> Any:
        loss, grads = fg.value_and_grad(model.numpy_loss)(params, x, labels)
        return *fg.sgd_update(grads, state, params), loss

    compiled = fg.jit(step, donate_argnums=(0, 1), in_shardings=(None, None, rows, rows))
    params = jax.device_put(model.params, whole)
    held = [params, fg.sgd_init(params, lr=LEARNING_RATE, momentum=MOMENTUM)]
    return _stepping(compiled, held, jax.device_put((model.x, model.labels), rows))


def _peer(model: Model, mesh: jax.sharding.Mesh) -> Callable[[], Any]:
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))

    # The numbers are data, and steps are counted, as in ours.
    def step(params: Any, state: dict[str, Any], x: Any, labels: Any) -> Any:
        loss, grads = jax.value_and_grad(model.jax_loss)(params, x, labels)
        buffers = jax.tree.map(lambda b, g: state["momentum"] * b + g, state["buffers"], grads)
        params = jax.tree.map(lambda p, b: p - state["lr"] * b, params, buffers)
        return params, {**state, "step": state["step"] + 1, "buffers": buffers}, loss

    # On explicit axes the arguments' types say where they lie.
    placed = (whole, whole, rows, rows) if mesh.axis_types == (AxisType.Auto,) else None
    compiled = jax.jit(step, donate_argnums=(0, 1), in_shardings=placed)
    params = jax.device_put(jax.tree.map(jnp.array, model.params), whole)
    numbers = {"lr": np.float32(LEARNING_RATE), "momentum": np.float32(MOMENTUM), "step": np.int32(0)}
    held = [params, {**jax.device_put(numbers, whole), "buffers": jax.tree.map(jnp.zeros_like, params)}]
    return _stepping(compiled, held, jax.device_put((model.x, model.labels), rows))


def _stepping(compiled: Callable[..., tuple], held: list[Any], batch: tuple) -> Callable[[], Any]:
    def take() -> Any:
        held[0], held[1], loss = compiled(*held, *batch)
        jax.block_until_ready((held, loss))
        return loss

    return take
