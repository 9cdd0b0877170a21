"""Training loops as people write them for PyTorch give its losses: from the golden file, to which it is held live."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import grad, no_grad, tensor
from funcgrad.optim import SGD
from tests._recorded import read_golden
from tests.nn._loops import LOOPS, Library

GOLDEN = read_golden(Path(__file__).with_name("golden_loops.npz"))
OURS = Library(nn, tensor, SGD, no_grad, grad)


@pytest.mark.parametrize("name", LOOPS)
def test_loop(name: str) -> None:
    np.testing.assert_allclose(LOOPS[name](OURS), GOLDEN[name], rtol=1e-11, atol=1e-13)


def test_the_golden_file_is_what_torch_computes(torch: Any) -> None:
    theirs = Library(torch.nn, torch.tensor, torch.optim.SGD, torch.no_grad, torch.autograd.grad)
    for name, loop in LOOPS.items():
        np.testing.assert_allclose(loop(theirs), GOLDEN[name], rtol=1e-11, atol=1e-13, err_msg=name)
