"""Saved checkpoints equal PyTorch's. A run that PyTorch began continues here with the same losses (golden file)."""

from ast import literal_eval
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad import nn
from funcgrad.autograd import tensor
from funcgrad.optim import SGD
from tests._recorded import read_golden
from tests.interop._runs import model_of, saved, train

GOLDEN = read_golden(Path(__file__).with_name("golden_run.npz"))


def test_what_is_saved_is_what_torch_saves() -> None:
    found = saved(nn, tensor, SGD)
    assert set(found) == set(GOLDEN)
    for name, x in found.items():
        if name == "options":
            assert literal_eval(x.item()) == literal_eval(GOLDEN[name].item())
        else:
            np.testing.assert_allclose(x, GOLDEN[name], rtol=1e-12, atol=1e-14, err_msg=name)


def test_a_run_that_torch_began_goes_on_with_its_losses() -> None:
    model = model_of(nn)
    names = list(model.state_dict())
    model.load_state_dict({name: tensor(GOLDEN[f"model/{name}"]) for name in names})
    optimizer = SGD(model.parameters(), lr=99.0)
    state = {i: {"momentum_buffer": tensor(GOLDEN[f"buffer/{i}"])} for i in range(len(names))}
    optimizer.load_state_dict({"state": state, "param_groups": [literal_eval(GOLDEN["options"].item())]})
    np.testing.assert_allclose(train(nn, tensor, model, optimizer), GOLDEN["losses"], rtol=1e-12)


def test_the_golden_file_is_what_torch_computes(torch: Any) -> None:
    for name, x in saved(torch.nn, torch.tensor, torch.optim.SGD).items():
        if name == "options":
            assert x == GOLDEN[name]
        else:
            np.testing.assert_allclose(x, GOLDEN[name], rtol=1e-12, atol=1e-14, err_msg=name)
