"""Training loops as people write them for PyTorch give its losses: from the golden file, to which it is held live."""

from pathlib import Path

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import grad, no_grad, tensor
from funcgrad.optim import SGD
from tests.nn._loops import LOOPS, Library

GOLDEN = np.load(Path(__file__).with_name("golden_loops.npz"))
OURS = Library(nn, tensor, SGD, no_grad, grad)


@pytest.mark.parametrize("name", LOOPS)
def test_loop(name: str) -> None:
    np.testing.assert_allclose(LOOPS[name](OURS), GOLDEN[name], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", LOOPS)
def test_the_golden_file_is_what_torch_computes(name: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = Library(torch.nn, torch.tensor, torch.optim.SGD, torch.no_grad, torch.autograd.grad)
    np.testing.assert_allclose(LOOPS[name](theirs), GOLDEN[name], rtol=1e-11, atol=1e-13)
