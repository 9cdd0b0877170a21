"""Write what PyTorch computes to ``golden_sgd.npz``, so that it is compared with where PyTorch is not installed.

python -m tests.optim.make_golden
"""

from importlib import import_module
from pathlib import Path

import numpy as np

from tests.optim._cases import OPTIONS, torch_trajectory

if __name__ == "__main__":
    # Not an import statement: only who writes the file needs PyTorch, and the type checker does without.
    torch = import_module("torch")
    golden = {name: torch_trajectory(torch, options) for name, options in OPTIONS.items()}
    np.savez_compressed(Path(__file__).with_name("golden_sgd.npz"), allow_pickle=False, **golden)
