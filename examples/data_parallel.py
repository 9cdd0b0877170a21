"""Train on all devices of a machine: each holds the parameters whole, and computes the gradient of its part of a batch.

The functions are plain NumPy and know nothing of devices. Where arrays lie is said once, to ``fg.jit``, and the
compiler adds the one exchange that there has to be, the sum of the gradients. On eight virtual devices of a CPU:

XLA_FLAGS=--xla_force_host_platform_device_count=8 python examples/data_parallel.py
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import funcgrad as fg

BATCH, WIDTH = 256, 64

Params = list[dict[str, Any]]


def begin(seed: int = 0) -> Params:
    """Two hidden layers and a number."""
    rng = np.random.default_rng(seed)
    sizes = [(2, WIDTH), (WIDTH, WIDTH), (WIDTH, 1)]
    return [
        {"weight": (rng.normal(size=size) * (2 / size[0]) ** 0.5).astype(np.float32), "bias": np.zeros(size[1], "f4")}
        for size in sizes
    ]


def batch_of(step: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of the plane with noise, and which of two spirals each is on; the same ones for each run."""
    rng = np.random.default_rng(step)
    turn, label = rng.uniform(0.5, 3.0, BATCH), rng.integers(0, 2, BATCH)
    points = (2 * label - 1)[:, None] * turn[:, None] * np.stack([np.cos(2.5 * turn), np.sin(2.5 * turn)], 1) / 3
    return (points + 0.02 * rng.normal(size=points.shape)).astype(np.float32), label.astype(np.float32)


def loss_of(params: Params, x: Any, label: Any) -> Any:
    """The mean of log(1 + exp(-margin)) over a batch."""
    *hidden, last = params
    for layer in hidden:
        x = np.tanh(x @ layer["weight"] + layer["bias"])
    margin = (2 * label - 1) * (x @ last["weight"] + last["bias"])[:, 0]
    return np.mean(np.logaddexp(0, -margin))


def step(params: Params, state: fg.SGDState, x: Any, label: Any) -> tuple[Params, fg.SGDState, Any]:
    """One step on a whole batch, wherever its rows lie."""
    value, grads = fg.value_and_grad(loss_of)(params, x, label)
    params, state = fg.sgd_update(grads, state, params)
    return params, state, value


def train(mesh: Mesh, steps: int) -> tuple[Params, list[float]]:
    """The parameters and the losses after some steps on the devices of a mesh."""
    whole, rows = NamedSharding(mesh, PartitionSpec()), NamedSharding(mesh, PartitionSpec("data"))
    params = jax.device_put(begin(), whole)
    state = fg.sgd_init(params, lr=0.1, momentum=0.9)
    compiled = fg.jit(step, donate_argnums=(0, 1), in_shardings=(None, None, rows, rows))
    losses = []
    for number in range(steps):
        params, state, value = compiled(params, state, *batch_of(number))
        # Each step is waited for: with more devices than cores, steps ahead could take the threads of this one.
        losses.append(float(value))
    return params, losses


def main() -> None:
    """Read the command line, and train on all devices and on one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=300)
    given = parser.parse_args()
    for count in dict.fromkeys((jax.device_count(), 1)):
        mesh = jax.make_mesh((count,), ("data",), devices=jax.devices()[:count])
        _, losses = train(mesh, given.steps)
        print(f"{count} devices: loss {losses[0]:.5f} at the start, {losses[-1]:.5f} after {given.steps} steps")


if __name__ == "__main__":
    main()
