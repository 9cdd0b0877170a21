"""Train a model of Equinox with funcgrad's Adam: the whole step compiled by XLA, parameters and state donated.

A module of Equinox is a pytree, and the rule takes it as it is: what is no float array is kept out by
`equinox.partition`. The learning rate is data, and falls when the loss does not.

python examples/equinox_loop.py --epochs 6
"""

from __future__ import annotations

import argparse
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

import funcgrad as fg
from funcgrad.optim import adam_init, adam_update, clip_by_global_norm

BATCH = 64


def main() -> None:
    """Train, and halve the learning rate after an epoch that brought little."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    epochs = parser.parse_args().epochs
    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    x, labels = jnp.asarray(images / 16, jnp.float32), jnp.asarray(labels)
    model = eqx.nn.MLP(64, 10, 64, 1, key=jax.random.key(0))
    params, static = eqx.partition(model, eqx.is_inexact_array)

    def loss(params: Any, x: Any, labels: Any) -> Any:
        scores = jax.nn.log_softmax(jax.vmap(eqx.combine(params, static))(x))
        return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))

    # Written in JAX, so that it is JAX's to differentiate; around it stands a function of NumPy's kind.
    value_and_grad = fg.from_jax(jax.value_and_grad(loss))

    def train_step(x: Any, labels: Any, state: Any, params: Any) -> tuple[Any, Any, Any]:
        value, grads = value_and_grad(params, x, labels)
        grads = clip_by_global_norm(grads, 1.0)
        params, state = adam_update(grads, state, params)
        return value, params, state

    step = fg.jit(train_step, donate_argnums=(2, 3))
    state = adam_init(params, lr=0.01)
    rng = np.random.default_rng(0)
    batches, last = len(x) // BATCH, np.inf
    for epoch in range(epochs):
        losses = []
        for rows in rng.permutation(len(x))[: batches * BATCH].reshape(batches, BATCH):
            value, params, state = step(x[rows], labels[rows], state, params)
            losses.append(value)
        mean = float(jnp.mean(jnp.stack(losses)))
        print(f"epoch {epoch + 1}: loss {mean:.4f}, lr {float(state.lr):.4f}")
        if mean > 0.9 * last:
            state = state.replace(lr=0.5 * state.lr)
        last = mean
    scores = jax.vmap(eqx.combine(params, static))(x)
    print(f"steps: {int(state.step)}, right: {float(jnp.mean(jnp.argmax(scores, axis=1) == labels)):.3f}")


if __name__ == "__main__":
    main()
