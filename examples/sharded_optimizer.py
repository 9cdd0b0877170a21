"""Spread the optimizer's buffers over the devices that share the data: the same numbers in less memory.

Where each device holds bfloat16 parameters whole, Adam's two averages and the float32 copies of the parameters take six
times as much again on each of them, unless each holds its part: ``fg.sharding.shard_state`` spreads them, each device
steps its part, and the compiler gathers the new parameters. On eight virtual devices of a CPU:

XLA_FLAGS=--xla_force_host_platform_device_count=8 python examples/sharded_optimizer.py
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import ml_dtypes
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import funcgrad as fg

BATCH, INPUTS = 64, 32

Params = dict[str, Any]


def begin(width: int) -> Params:
    """Two layers in bfloat16."""
    rng = np.random.default_rng(0)
    shapes = {"first": (INPUTS, width), "bias": (width,), "second": (width, INPUTS)}
    return {k: (rng.normal(size=n) * INPUTS**-0.5).astype(ml_dtypes.bfloat16) for k, n in shapes.items()}


def loss_of(params: Params, x: Any) -> Any:
    """How well the rows of a batch come back from the hidden layer."""
    hidden = np.tanh(x @ params["first"] + params["bias"])
    return np.mean((hidden @ params["second"] - x).astype(np.float32) ** 2)


def step(params: Params, state: Any, x: Any) -> tuple[Params, Any, Any]:
    """One step of Adam."""
    value, grads = fg.value_and_grad(loss_of)(params, x)
    params, state = fg.optim.adam_update(grads, state, params)
    return params, state, value


def train(mesh: Mesh, steps: int, width: int, *, spread: bool) -> tuple[Params, Any, list[float]]:
    """Parameters, state and losses after some steps, with the state spread over the mesh or whole on each device."""
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    params = jax.device_put(begin(width), whole)
    state = fg.optim.adam_init(params, lr=1e-3, master_dtype="float32")
    if spread:
        state = fg.sharding.shard_state(state, mesh, "data")
    compiled = fg.jit(step, donate_argnums=(0, 1), in_shardings=(None, None, rows))
    losses = []
    for number in range(steps):
        x = np.random.default_rng(number).normal(size=(BATCH, INPUTS)).astype(ml_dtypes.bfloat16)
        params, state, value = compiled(params, state, x)
        # Each step is waited for: with more devices than cores, steps ahead could take the threads of this one.
        losses.append(float(value))
    return params, state, losses


def main() -> None:
    """Read the command line, train in both ways, and say what memory each takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--width", type=int, default=4096)
    given = parser.parse_args()
    mesh = jax.make_mesh((jax.device_count(),), ("data",))
    for spread in (False, True):
        params, state, losses = train(mesh, given.steps, given.width, spread=spread)
        print(f"state {'spread' if spread else 'whole'}: loss {losses[0]:.5f}, then {losses[-1]:.5f}")
        held = fg.sharding.memory_per_device(params), fg.sharding.memory_per_device(state)
        for device, size in held[0].items():
            print(f"  {device}: parameters {size / 1e6:.2f} MB, state {held[1][device] / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
