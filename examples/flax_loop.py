"""Train a model of Flax with funcgrad's AdamW in the place of optax's, and go on from what was saved.

The rule stands where optax's stands, in a chain and in a `TrainState`: clipping comes before it, the learning rate is a
schedule, and `flax.serialization` keeps its state. Needs Flax and optax.

python examples/flax_loop.py --epochs 6
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen, serialization
from flax.training.train_state import TrainState
from sklearn.datasets import load_digits

from funcgrad.interop.optax import to_optax
from funcgrad.optim import adamw_init, adamw_update, schedules

BATCH = 64


class Net(linen.Module):
    """Two layers: 64 pixels to 10 scores."""

    @linen.compact
    def __call__(self, x: Any) -> Any:
        """Scores for images as rows of pixels."""
        return linen.Dense(10)(linen.relu(linen.Dense(64)(x)))


def begin(x: Any, steps: int) -> Any:
    """A model, and the optimizer that takes so many steps."""
    rule = to_optax(adamw_init, adamw_update, lr=schedules.warmup_cosine(0.0, 0.01, 20, steps), weight_decay=0.01)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), rule)
    net = Net()
    return TrainState.create(apply_fn=net.apply, params=net.init(jax.random.key(0), x[:1]), tx=optimizer)


@jax.jit
def train_step(state: TrainState, x: Any, labels: Any) -> tuple[TrainState, Any]:
    """One step: the state after it, and the loss before."""

    def loss(params: Any) -> Any:
        return optax.softmax_cross_entropy_with_integer_labels(state.apply_fn(params, x), labels).mean()

    value, grads = jax.value_and_grad(loss)(state.params)
    return state.apply_gradients(grads=grads), value


def main() -> None:
    """Train, saving the state to a file half way and going on from that."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    epochs = parser.parse_args().epochs
    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    x, labels = jnp.asarray(images / 16, jnp.float32), jnp.asarray(labels)
    batches = len(x) // BATCH
    state = begin(x, epochs * batches)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "state.msgpack"
        for epoch in range(epochs):
            if epoch == epochs // 2:
                file.write_bytes(serialization.to_bytes(state))
                state = cast(Any, serialization.from_bytes(begin(x, epochs * batches), file.read_bytes()))
            losses = []
            for rows in rng.permutation(len(x))[: batches * BATCH].reshape(batches, BATCH):
                state, value = train_step(state, x[rows], labels[rows])
                losses.append(value)
            print(f"epoch {epoch + 1}: loss {float(jnp.mean(jnp.stack(losses))):.4f}")
    right = jnp.mean(jnp.argmax(state.apply_fn(state.params, x), axis=1) == labels)
    print(f"steps: {int(state.step)}, right: {float(right):.3f}")
    print(state.opt_state[1])


if __name__ == "__main__":
    main()
