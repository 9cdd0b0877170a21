"""Write what PyTorch's schedulers compute and say: ``python -m tests.optim.make_golden_schedulers``."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from tests.optim._schedulers import CALLS, KINDS, MAKERS, Side, answer, trajectory
from tests.optim.test_lr_scheduler import GOLDEN


def leaf(numbers: Any) -> Any:
    return torch.tensor(numbers, requires_grad=True)


def main() -> None:
    runs = {name: trajectory(Side(torch.optim, leaf, KINDS[0], name)) for name in MAKERS}
    answers = {f"answer/{name}": np.array(answer(call, torch.optim, leaf)) for name, call in CALLS.items()}
    np.savez_compressed(GOLDEN, allow_pickle=False, **runs, **answers)


if __name__ == "__main__":
    main()
