"""Modules: names, modes, saving, PyTorch's initial distributions and error texts; and training loops like PyTorch's."""

from collections import OrderedDict
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn
from funcgrad.autograd import Tensor, tensor
from funcgrad.optim import SGD
from tests._recorded import read_golden
from tests.nn._modules import LOSSES, digits_losses, loss_and_gradients, results, small, texts

GOLDEN = read_golden(Path(__file__).with_name("golden_modules.npz"))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 3)
        self.again = self.first
        self.scale = nn.Parameter([2.0])
        self.register_buffer("offset", tensor([1.0]))

    def forward(self, x: Any) -> Any:
        return self.again(x) * self.scale + self.offset


def test_names_and_shared_modules() -> None:
    model = Net()
    assert [name for name, _ in model.named_parameters()] == ["scale", "first.weight", "first.bias"]
    assert [name for name, _ in model.named_modules()] == ["", "first"]
    assert list(model.state_dict()) == [
        "scale", "offset", "first.weight", "first.bias", "again.weight", "again.bias",
    ]  # fmt: skip
    assert [name for name, _ in model.named_buffers()] == ["offset"]
    assert len(list(model.parameters(recurse=False))) == 1


@pytest.mark.parametrize("name", texts(nn, tensor))
def test_names_and_texts_are_torchs(name: str) -> None:
    assert texts(nn, tensor)[name] == GOLDEN[f"text/{name}"]


def test_initial_distribution() -> None:
    nn.manual_seed(0)
    layer = nn.Linear(400, 300)
    for values in (layer.weight.detach().numpy(), layer.bias.detach().numpy()):
        assert values.dtype == np.float32
        assert abs(values).max() <= 1 / 20
        np.testing.assert_allclose(values.std(), 1 / 20 / 3**0.5, rtol=0.05)


def test_saving_and_loading_keeps_identity() -> None:
    model, other = small(nn), small(nn)
    weight = model[0].weight
    assert model.load_state_dict(other.state_dict()) == ([], [])
    assert model[0].weight is weight
    np.testing.assert_array_equal(weight.detach(), other[0].weight.detach())
    assert model.load_state_dict(OrderedDict(), strict=False).missing_keys == ["0.weight", "0.bias", "2.weight"]
    with pytest.raises(
        RuntimeError, match=r"size mismatch for 0.weight: copying a param with shape torch.Size\(\[1\]\)"
    ):
        model.load_state_dict({**other.state_dict(), "0.weight": np.ones(1)})


def test_modes_and_gradients() -> None:
    model = small(nn)
    assert all(module.training for module in model.modules())
    assert not any(module.training for module in model.eval().modules())
    model(tensor(np.ones((2, 4), np.float32))).sum().backward()
    model.zero_grad(set_to_none=False)
    assert all((p.grad == 0).all() for p in model.parameters())
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())
    model.requires_grad_(False)
    assert not model(tensor(np.ones((2, 4), np.float32))).requires_grad
    assert {p.dtype for p in model.double().parameters()} == {np.dtype(np.float64)}


def test_assignment() -> None:
    model = Net()
    with pytest.raises(TypeError, match="cannot assign 'float' as parameter 'scale'"):
        model.scale = 1.0
    model.scale = None
    assert "scale" not in dict(model.named_parameters())
    model.extra = nn.Parameter([1.0])
    assert isinstance(model.extra, nn.Parameter)
    assert not isinstance(tensor([1.0]), nn.Parameter)
    del model.extra
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'extra'"):
        _ = model.extra
    with pytest.raises(NotImplementedError, match="missing the required"):
        nn.Module()(1)
    assert repr(nn.Parameter([1.0])).startswith("Parameter containing:\ntensor([1.]")


def test_relu_in_place_writes_to_its_operand() -> None:
    relu, x = nn.ReLU(inplace=True), np.array([1.0, -2.0, 3.0])

    def f(x: Any) -> Any:
        y = 2 * x
        return np.sum(relu(y) * y)

    for gradient in (fg.grad(f), fg.jit(fg.grad(f), engine="numpy")):
        np.testing.assert_array_equal(gradient(x), [8, 0, 24])
    t = tensor(x, requires_grad=True)
    y = t * 2
    assert relu(y) is y
    (y * y).sum().backward()
    np.testing.assert_array_equal(t.grad, [8, 0, 24])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        relu(t)
    on_jax = tensor(jax.numpy.asarray(x, np.float32)) * 2
    np.testing.assert_array_equal(np.asarray(relu(on_jax)), [2, 0, 6])


def test_functions_of_arrays_serve_modules_too() -> None:
    layer = nn.Linear(4, 3)
    plain = nn.linear(np.ones((2, 4), np.float32), layer.weight.detach().numpy(), layer.bias.detach().numpy())
    np.testing.assert_array_equal(layer(tensor(np.ones((2, 4), np.float32))).detach(), plain)
    assert type(layer(np.ones((2, 4), np.float32))) is Tensor


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_torchs(name: str) -> None:
    for i, found in enumerate(loss_and_gradients(nn, tensor, name)):
        np.testing.assert_allclose(found, GOLDEN[f"loss/{name}/{i}"], rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_two_hundred_steps_on_digits(dtype: Any, tolerance: float) -> None:
    found = digits_losses(nn, tensor, SGD, dtype)
    np.testing.assert_allclose(found, GOLDEN[f"digits/{np.dtype(dtype).name}"], rtol=tolerance, atol=tolerance)


def test_the_golden_file_is_what_torch_computes(torch: Any) -> None:
    found = results(torch.nn, torch.tensor, torch.optim.SGD)
    assert set(found) == set(GOLDEN)
    for name, x in found.items():
        if x.dtype.kind == "U":
            assert x == GOLDEN[name]
        else:
            # Its matrix products differ from machine to machine in the last digits.
            rounding = 1e-5 if name == "digits/float32" else 1e-11
            np.testing.assert_allclose(x, GOLDEN[name], rtol=rounding, atol=rounding, err_msg=name)
