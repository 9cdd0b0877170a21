"""Write what PyTorch computes to ``golden_nn.npz`` and ``golden_digits.npz``: the comparison where it is not installed.

python -m tests.nn.make_golden
"""

from importlib import import_module
from pathlib import Path

import numpy as np

from tests.nn._cases import CASES, flat
from tests.nn.test_modules import digits_losses, initial_state

if __name__ == "__main__":
    # Not an import statement: only who writes the file needs PyTorch, and the type checker does without.
    torch = import_module("torch")
    golden = {name: flat(case.theirs(torch)) for name, case in CASES.items()}
    np.savez_compressed(Path(__file__).with_name("golden_nn.npz"), allow_pickle=False, **golden)
    losses = digits_losses(torch.nn, torch.tensor, torch.optim.SGD, initial_state(), np.float64)
    np.savez_compressed(Path(__file__).with_name("golden_digits.npz"), allow_pickle=False, losses=np.array(losses))
