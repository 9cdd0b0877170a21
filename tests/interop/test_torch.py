"""Tensors and checkpoints are converted to PyTorch and back, and a training that changes the library continues."""

import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import Tensor, tensor
from funcgrad.interop.torch import from_torch, to_torch
from funcgrad.optim import SGD
from tests.interop._runs import begun, model_of, train

torch = pytest.importorskip("torch", reason="runs PyTorch itself, which is not installed here: make torch")
pytestmark = pytest.mark.torch


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "bool", "complex64"])
def test_tensors_cross_over_and_back(dtype: str) -> None:
    theirs = torch.tensor([[0.0, 1.5], [2.0, 3.0]]).to(getattr(torch, dtype))
    ours = from_torch(theirs)
    assert type(ours) is Tensor
    assert ours.dtype.name == dtype
    assert torch.equal(to_torch(ours), theirs)


def test_containers_flags_and_everything_else_stay() -> None:
    tree = OrderedDict(b=[torch.ones(1, requires_grad=True)], a=({"n": 3, "none": None},))
    ours = from_torch(tree)
    assert list(ours) == ["b", "a"]
    assert ours["b"][0].requires_grad
    assert ours["a"] == ({"n": 3, "none": None},)
    again = to_torch(ours)
    assert type(again) is OrderedDict
    assert again["b"][0].requires_grad
    parameter: Any = from_torch(torch.nn.Parameter(torch.ones(2)))
    assert isinstance(parameter, nn.Parameter)
    assert isinstance(to_torch(parameter), torch.nn.Parameter)
    assert isinstance(to_torch(np.ones(2)), torch.Tensor)
    assert to_torch(2.5) == 2.5


def test_a_run_begun_in_torch_resumes_here() -> None:
    theirs, optimizer = begun(torch.nn, torch.tensor, torch.optim.SGD)
    ours = model_of(nn)
    ours.load_state_dict(from_torch(theirs.state_dict()))
    resumed = SGD(ours.parameters(), lr=99.0)
    resumed.load_state_dict(from_torch(optimizer.state_dict()))
    expected = train(torch.nn, torch.tensor, theirs, optimizer)
    np.testing.assert_allclose(train(nn, tensor, ours, resumed), expected, rtol=1e-12)


def test_a_run_begun_here_resumes_in_torch() -> None:
    ours, optimizer = begun(nn, tensor, SGD)
    theirs = model_of(torch.nn)
    theirs.load_state_dict(to_torch(ours.state_dict()))
    resumed = torch.optim.SGD(theirs.parameters(), lr=99.0)
    resumed.load_state_dict(to_torch(optimizer.state_dict()))
    expected = train(nn, tensor, ours, optimizer)
    np.testing.assert_allclose(train(torch.nn, torch.tensor, theirs, resumed), expected, rtol=1e-12)


def test_files_cross_over(tmp_path: Path) -> None:
    ours, optimizer = begun(nn, tensor, SGD)
    torch.save(to_torch({"model": ours.state_dict(), "optimizer": optimizer.state_dict()}), tmp_path / "run.pt")
    again = from_torch(torch.load(tmp_path / "run.pt"))
    assert list(again["model"]) == list(ours.state_dict())
    assert again["optimizer"]["param_groups"] == optimizer.state_dict()["param_groups"]
    for i, entry in optimizer.state_dict()["state"].items():
        np.testing.assert_array_equal(again["optimizer"]["state"][i]["momentum_buffer"], entry["momentum_buffer"])


def test_torch_is_not_imported() -> None:
    program = (
        "import sys, numpy as np\n"
        "from funcgrad.autograd import tensor\n"
        "from funcgrad.interop.torch import from_torch, to_torch\n"
        "from_torch({'a': tensor([1.0])})\n"
        "try:\n    to_torch(tensor([1.0]))\n"
        "except ImportError as error:\n    assert 'Import torch first' in str(error)\n"
        "else:\n    raise AssertionError\n"
        "assert 'torch' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
