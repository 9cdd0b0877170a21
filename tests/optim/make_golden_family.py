"""Write what PyTorch's optimizers make of drawn runs: ``python -m tests.optim.make_golden_family``."""

from __future__ import annotations

from importlib import import_module

import numpy as np

from tests.optim._family import FAMILY, STEPS
from tests.optim._sides import GOLDEN, Side, golden_runs

# Not an import statement: the type checker runs where PyTorch is not installed.
torch = import_module("torch")


def main() -> None:
    torch.set_default_dtype(torch.float64)
    held = {}
    for name, made in FAMILY.items():
        for i, run in enumerate(golden_runs(made)):
            side = Side(made, run, torch)
            for step in range(STEPS):
                side.step(step)
            held[f"{name} {i}"] = np.concatenate([np.ravel(p) for p in side.found()])
    np.savez_compressed(GOLDEN, **held)


if __name__ == "__main__":
    main()
