"""Write what PyTorch's schedulers compute: ``python -m tests.optim.make_golden_schedulers``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from tests.optim._schedulers import KINDS, MAKERS, Side, trajectory
from tests.optim.test_lr_scheduler import GOLDEN

# Not an import statement: the type checker runs where PyTorch is not installed.
torch = import_module("torch")


def leaf(numbers: Any) -> Any:
    return torch.tensor(numbers, requires_grad=True)


def main() -> None:
    runs = {name: trajectory(Side(torch.optim, leaf, KINDS[0], name)) for name in MAKERS}
    np.savez_compressed(GOLDEN, allow_pickle=False, **runs)


if __name__ == "__main__":
    main()
