"""Write the checkpoint and losses of a run in PyTorch to ``golden_run.npz``, to be resumed without PyTorch.

python -m tests.interop.make_golden
"""

from importlib import import_module
from pathlib import Path

import numpy as np

from tests.interop._runs import saved

if __name__ == "__main__":
    # This is not an import statement, because the tests and the type checker run without PyTorch.
    torch = import_module("torch")
    run = saved(torch.nn, torch.tensor, torch.optim.SGD)
    np.savez_compressed(Path(__file__).with_name("golden_run.npz"), allow_pickle=False, **run)
