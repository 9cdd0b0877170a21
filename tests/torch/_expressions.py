"""Calls of PyTorch's functions, as texts that run with either module: ``torch`` is PyTorch or ``funcgrad.torch``.

The tensors ``x y s v b`` are of float64; ``i`` and ``m`` are integers and bools.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

X = np.array([[0.3, -0.7, 1.2], [0.9, 0.4, -0.1]])
Y = np.array([[0.5, 1.5, 0.25], [-0.8, 0.6, 2.0]])
S = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
V = np.array([1.5, -0.5, 0.75])
B = np.arange(12.0).reshape(2, 2, 3) / 5 - 1


def lines(name: str) -> list[str]:
    """The texts of a file: ``differentiable`` with values and gradients, ``plain`` with values, ``refused``."""
    return Path(__file__).with_name(f"{name}.txt").read_text().splitlines()


def inputs(torch: Any, *, requires_grad: bool) -> dict[str, Any]:
    """The tensors that the texts name, and the module."""
    made = {name: torch.tensor(value) for name, value in zip("xysvb", (X, Y, S, V, B), strict=True)}
    if requires_grad:
        for value in made.values():
            value.requires_grad_()
    i = torch.tensor([[2, 0, 1], [0, 0, 2]])
    return {"torch": torch, "i": i, "m": torch.tensor([[True, False], [False, False]]), **made}
