"""Write what PyTorch computes and says to ``golden_sgd.npz``, so that it is compared with where it is not installed.

python -m tests.optim.make_golden
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tests.optim._cases import OPTIONS, torch_trajectory
from tests.optim._grouped import RUNS, by_class, learned
from tests.optim._refusals import CALLS, answer


def golden(torch: Any) -> dict[str, np.ndarray]:
    """Return PyTorch's answers by name: arrays of numbers and of texts."""
    found = {name: torch_trajectory(torch, options) for name, options in OPTIONS.items()}
    for name, run in RUNS.items():
        pieces = by_class(run, torch.optim.SGD, torch.tensor)
        found |= {f"groups/{name}/{piece}": x for piece, x in pieces.items()}

    found["differentiable"] = learned(torch.tensor, torch.optim.SGD, torch.autograd.grad, 0.0, np.array([0.3, 0.6]))[1]

    def leaf(numbers: Any) -> Any:
        return torch.tensor(numbers, requires_grad=True)

    return found | {f"answer/{name}": np.array(answer(call, torch.optim, leaf)) for name, call in CALLS.items()}


if __name__ == "__main__":
    # Not an import statement: only this script needs PyTorch, and the type checker runs without it.
    numbers = golden(import_module("torch"))
    np.savez_compressed(Path(__file__).with_name("golden_sgd.npz"), allow_pickle=False, **numbers)
