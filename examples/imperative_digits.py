"""Learn to read handwritten digits with a training loop as one writes it for PyTorch: only the imports differ.

The data are the 1,797 scanned digits of 8 x 8 pixels that come with scikit-learn. The loop runs on NumPy, without JAX
and without PyTorch; its checkpoint has PyTorch's layout, and ``funcgrad.interop.torch`` converts it either way.

python examples/imperative_digits.py --epochs 30
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from tqdm import tqdm

from funcgrad import nn
from funcgrad.autograd import Tensor, no_grad, tensor
from funcgrad.optim import SGD

BATCH = 64


class Classifier(nn.Module):
    """Two hidden layers with rectifiers."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, 128),
            nn.ReLU(),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Linear(64, 10),
        )

    def forward(self, x: Any) -> Any:
        """Compute a score for each of the ten digits."""
        return self.layers(x)


def load() -> Any:
    """Read scikit-learn's digits: training images, test images, and the labels of both."""
    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    return train_test_split((images / 16).astype(np.float32), labels, test_size=0.2, random_state=0, stratify=labels)


@no_grad()
def accuracy(model: nn.Module, x: Tensor, labels: Tensor) -> float:
    """Compute the share of digits that are read right."""
    model.eval()
    right = model(x).argmax(dim=1) == labels
    return right.float().mean().item()


def main(arguments: list[str] | None = None) -> float:
    """Train, print what happens, and return the accuracy on digits that were not trained on."""
    parser = argparse.ArgumentParser(description="Train a classifier of digits with a PyTorch-style loop.")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)

    x, test_x, labels, test_labels = load()
    nn.manual_seed(options.seed)
    rng = np.random.default_rng(options.seed)
    model = Classifier()
    loss_of = nn.CrossEntropyLoss()
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)

    print(model)
    start = time.perf_counter()
    progress = tqdm(range(options.epochs), unit="epoch")
    for epoch in progress:
        model.train()
        if epoch == options.epochs * 3 // 4:
            optimizer.param_groups[0]["lr"] = 0.01
        losses = []
        order = rng.permutation(len(x))
        for first in range(0, len(x) - BATCH + 1, BATCH):
            rows = order[first : first + BATCH]
            optimizer.zero_grad()
            loss = loss_of(model(tensor(x[rows])), tensor(labels[rows]))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        progress.set_postfix(loss=f"{np.mean(losses):.4f}")
    seconds = time.perf_counter() - start

    reached = accuracy(model, tensor(test_x), tensor(test_labels))
    print(f"{options.epochs} epochs in {seconds:.1f} s; accuracy on {len(test_x)} digits not seen: {reached:.4f}")
    return reached


if __name__ == "__main__":
    main()
