"""Write what PyTorch computes to the golden files of this folder, for where it is not installed.

python -m tests.nn.make_golden
"""

from importlib import import_module
from pathlib import Path

import numpy as np

from tests.nn._cases import CASES, flat
from tests.nn._loops import LOOPS, Library
from tests.nn._modules import results

if __name__ == "__main__":
    # Not an import statement: only this script needs PyTorch, and the type checker runs without it.
    torch = import_module("torch")
    golden = {name: flat(case.theirs(torch)) for name, case in CASES.items()}
    np.savez_compressed(Path(__file__).with_name("golden_nn.npz"), allow_pickle=False, **golden)
    modules = results(torch.nn, torch.tensor, torch.optim.SGD)
    np.savez_compressed(Path(__file__).with_name("golden_modules.npz"), allow_pickle=False, **modules)
    library = Library(torch.nn, torch.tensor, torch.optim.SGD, torch.no_grad, torch.autograd.grad)
    losses = {name: np.array(run(library)) for name, run in LOOPS.items()}
    np.savez_compressed(Path(__file__).with_name("golden_loops.npz"), allow_pickle=False, **losses)
