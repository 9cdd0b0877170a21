"""Learn to read handwritten digits: a small network in plain NumPy, differentiated by funcgrad and trained by its SGD.

The data are the 1,797 scanned digits of 8 x 8 pixels that come with scikit-learn. With ``--engine xla`` each training
step, from the forward pass to the update, is one program compiled by XLA; with ``--engine numpy`` it is one straight
NumPy function, and JAX is not needed.

python examples/digits.py --engine numpy --epochs 20
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import funcgrad as fg

SIZES = (64, 256, 128, 10)
BATCH = 64
PEAK_LR = 0.1
NOISE = 0.2

Params = list[dict[str, Any]]


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 pixels between 0 and 1, and their labels; the test part is kept out of training."""

    x: np.ndarray
    labels: np.ndarray
    test_x: np.ndarray
    test_labels: np.ndarray

    @classmethod
    def load(cls) -> Digits:
        """Read scikit-learn's digits, and keep a fifth of each class for the test."""
        images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
        rows, test_rows = train_test_split(np.arange(len(labels)), test_size=0.2, random_state=0, stratify=labels)
        x = (images / 16).astype(np.float32)
        return cls(x[rows], labels[rows], x[test_rows], labels[test_rows])

    def batches(self, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Go once through the training data in random order, in batches of one size, each time with other noise."""
        order = rng.permutation(len(self.x))
        for start in range(0, len(order) - BATCH + 1, BATCH):
            rows = order[start : start + BATCH]
            noise = rng.standard_normal((BATCH, SIZES[0]), dtype=np.float32)
            yield self.x[rows] + np.float32(NOISE) * noise, self.labels[rows]


# The model: functions of arrays, written with NumPy.


def init_params(rng: np.random.Generator) -> Params:
    """Draw weights of variance 2 / inputs (He et al., 2015) and zero biases."""
    return [
        {"weight": rng.normal(0, (2 / n) ** 0.5, (n, m)).astype(np.float32), "bias": np.zeros(m, np.float32)}
        for n, m in pairwise(SIZES)
    ]


def logits_of(params: Params, x: Any) -> Any:
    """Apply the layers, with rectifiers between them."""
    *hidden, last = params
    for layer in hidden:
        x = np.maximum(x @ layer["weight"] + layer["bias"], 0)
    return x @ last["weight"] + last["bias"]


def loss_and_accuracy(params: Params, x: Any, labels: Any) -> tuple[Any, Any]:
    """Compute the cross entropy, and how many are right."""
    logits = logits_of(params, x)
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_p = shifted - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True))
    loss = -np.mean(np.take_along_axis(log_p, labels[:, None], axis=1))
    return loss, np.mean(np.argmax(logits, axis=1) == labels)


def train_step(params: Params, state: fg.SGDState, x: Any, labels: Any) -> tuple[Any, ...]:
    """Take one step of SGD on one batch."""
    (loss, accuracy), grads = fg.value_and_grad(loss_and_accuracy, has_aux=True)(params, x, labels)
    params, state = fg.sgd_update(grads, state, params)
    return params, state, loss, accuracy


@dataclass
class History:
    """Loss and accuracy after each epoch."""

    train: list[tuple[float, float]] = field(default_factory=list)
    test: list[tuple[float, float]] = field(default_factory=list)


def train(data: Digits, engine: str, epochs: int, seed: int) -> tuple[Params, History]:
    """Train from random weights."""
    rng = np.random.default_rng(seed)
    steps = epochs * (len(data.x) // BATCH)
    params = init_params(rng)
    # A cosine from the peak down to zero, as a function of the number of steps taken.
    lr = lambda step: 0.5 * PEAK_LR * (1 + np.cos(np.pi * step / steps))  # noqa: E731  (read beside its comment)
    state = fg.sgd_init(params, lr=lr, momentum=0.9, weight_decay=1e-3, nesterov=True)
    step = fg.jit(train_step, donate_argnums=(0, 1), engine=engine)
    evaluate = fg.jit(loss_and_accuracy, engine=engine)
    history = History()
    with tqdm(range(epochs), desc=f"training on {engine}", unit="epoch") as progress:
        for _ in progress:
            results = []
            for x, labels in data.batches(rng):
                params, state, *result = step(params, state, x, labels)
                results.append(result)
            loss, accuracy = np.mean(results, axis=0)
            test_loss, test_accuracy = evaluate(params, data.test_x, data.test_labels)
            history.train.append((loss, accuracy))
            history.test.append((float(test_loss), float(test_accuracy)))
            progress.set_postfix(loss=f"{loss:.4f}", accuracy=f"{accuracy:.3f}", test=f"{float(test_accuracy):.3f}")
    return params, history


def draw(data: Digits, params: Params, history: History, path: Path) -> None:
    """Draw the curves, and test digits with their predictions: the wrong ones first, in red."""
    predictions = np.argmax(logits_of(fg.tree.map(np.asarray, params), data.test_x), axis=1)
    figure = plt.figure(figsize=(11, 5.5), layout="constrained")
    panels: Any = figure.subfigures(1, 2, width_ratios=(1, 1.1))
    curves, digits = panels
    upper, lower = np.ravel(curves.subplots(2, 1, sharex=True))
    for axes, column, name in ((upper, 0, "loss"), (lower, 1, "accuracy")):
        for part in ("train", "test"):
            values = [row[column] for row in getattr(history, part)]
            axes.plot(range(1, len(values) + 1), values, label=part)
        axes.set(ylabel=name, xlabel="epoch" if column else "")
        axes.legend()
    order = np.argsort(predictions == data.test_labels, kind="stable")
    for axes, i in zip(digits.subplots(5, 8).flat, order, strict=False):
        axes.imshow(data.test_x[i].reshape(8, 8), cmap="gray_r")
        wrong = predictions[i] != data.test_labels[i]
        title = f"{predictions[i]}, not {data.test_labels[i]}" if wrong else f"{predictions[i]}"
        axes.set_title(title, fontsize=9, color="tab:red" if wrong else "black", pad=2)
        axes.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Train, report, and draw."""
    parser = argparse.ArgumentParser(description="Train a classifier of handwritten digits.")
    parser.add_argument("--engine", choices=("xla", "numpy"), default="xla", help="what runs a training step")
    parser.add_argument("--epochs", type=int, default=30, help="passes through the training data")
    parser.add_argument("--seed", type=int, default=0, help="of the first weights and the order of the data")
    output = Path(__file__).parent / "output" / "digits.png"
    parser.add_argument("--output", type=Path, default=output, help="where the picture goes")
    args = parser.parse_args()
    mpl.use("Agg")
    data = Digits.load()
    start = time.perf_counter()
    # Products this small are fastest on one thread, and on a busy machine by far.
    with threadpool_limits(1, "blas"):
        params, history = train(data, args.engine, args.epochs, args.seed)
    print(f"trained on {len(data.x)} digits in {time.perf_counter() - start:.1f} s")
    print(f"test accuracy: {history.test[-1][1]:.4f} on {len(data.test_x)} digits never seen in training")
    draw(data, params, history, args.output)
    print(f"picture: {args.output.resolve()}")


if __name__ == "__main__":
    main()
