"""Modules: names, modes, saving, PyTorch's initial distributions and error texts; and training loops like PyTorch's."""

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import Tensor, tensor
from funcgrad.optim import SGD


def small() -> Any:
    return nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2, bias=False))


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


def test_names_and_text_are_torchs() -> None:
    torch = pytest.importorskip("torch")
    ours = small()
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 2, bias=False))
    assert repr(ours) == repr(theirs)
    assert [(k, tuple(v.shape)) for k, v in ours.state_dict().items()] == [
        (k, tuple(v.shape)) for k, v in theirs.state_dict().items()
    ]
    for wrong in ({"0.weight": np.ones((3, 4))}, {**theirs.state_dict(), "extra": torch.ones(1)}):
        with pytest.raises(RuntimeError) as its:
            theirs.load_state_dict({k: torch.tensor(np.asarray(v)) for k, v in wrong.items()})
        with pytest.raises(RuntimeError) as mine:
            ours.load_state_dict({k: np.asarray(v) for k, v in wrong.items()})
        assert str(mine.value).split() == str(its.value).split()


def test_initial_distribution() -> None:
    nn.manual_seed(0)
    layer = nn.Linear(400, 300)
    for values in (layer.weight.detach().numpy(), layer.bias.detach().numpy()):
        assert values.dtype == np.float32
        assert abs(values).max() <= 1 / 20
        np.testing.assert_allclose(values.std(), 1 / 20 / 3**0.5, rtol=0.05)


def test_saving_and_loading_keeps_identity() -> None:
    model, other = small(), small()
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
    model = small()
    assert all(module.training for module in model.modules())
    assert not any(module.training for module in model.eval().modules())
    model(tensor(np.ones((2, 4), np.float32))).sum().backward()
    model.zero_grad()
    assert all((p.grad == 0).all() for p in model.parameters())
    model.zero_grad(set_to_none=True)
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


def test_functions_of_arrays_serve_modules_too() -> None:
    layer = nn.Linear(4, 3)
    plain = nn.linear(np.ones((2, 4), np.float32), layer.weight.detach().numpy(), layer.bias.detach().numpy())
    np.testing.assert_array_equal(layer(tensor(np.ones((2, 4), np.float32))).detach(), plain)
    assert type(layer(np.ones((2, 4), np.float32))) is Tensor


def loss_and_gradients(library: Any, make: Any, loss: str, x: np.ndarray, target: np.ndarray) -> list[np.ndarray]:
    layer = library.Linear(5, 2)
    weight = np.linspace(-1, 1, 10).reshape(2, 5)
    layer.load_state_dict({"weight": make(weight), "bias": make(np.array([0.5, -0.5]))})
    layer = layer.double()
    value = getattr(library, loss)()(layer(make(x)), make(target))
    value.backward()
    return [value.detach().numpy(), layer.weight.grad.numpy(), layer.bias.grad.numpy()]


@pytest.mark.parametrize(
    ("loss", "x", "target"),
    [
        ("CrossEntropyLoss", np.arange(5.0), np.array([1.0, 2.0])),
        ("CrossEntropyLoss", np.arange(10.0).reshape(2, 5), np.array([[1.0, 2.0], [0.5, 0.5]])),
        ("CrossEntropyLoss", np.arange(10.0).reshape(2, 5), np.array([1, 0])),
        ("NLLLoss", np.arange(10.0).reshape(2, 5), np.array([1, 0])),
        ("MSELoss", np.arange(10.0).reshape(2, 5), np.ones((2, 2))),
    ],
)
def test_gradients_are_torchs(loss: str, x: np.ndarray, target: np.ndarray) -> None:
    torch = pytest.importorskip("torch")
    ours = loss_and_gradients(nn, tensor, loss, x, target)
    theirs = loss_and_gradients(torch.nn, torch.tensor, loss, x, target)
    for mine, its in zip(ours, theirs, strict=True):
        # The layers began in float32.
        np.testing.assert_allclose(mine, its, rtol=1e-6)


def digits_losses(library: Any, make: Any, sgd: Any, state: dict[str, np.ndarray], dtype: Any) -> list[float]:
    """Losses of 200 steps of a small network on scikit-learn's digits, written once for both libraries."""
    datasets = pytest.importorskip("sklearn.datasets")
    images, labels = datasets.load_digits(return_X_y=True)
    images = (images / 16).astype(dtype)
    model = library.Sequential(library.Linear(64, 32), library.ReLU(), library.Linear(32, 10))
    model = model.double() if dtype is np.float64 else model
    model.load_state_dict({name: make(value.astype(dtype)) for name, value in state.items()})
    optimizer = sgd(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    loss_of = library.CrossEntropyLoss()
    order = np.random.default_rng(1).integers(0, len(images), (200, 64))
    losses = []
    for rows in order:
        optimizer.zero_grad()
        loss = loss_of(model(make(images[rows])), make(labels[rows]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def initial_state() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"0.weight": (32, 64), "0.bias": (32,), "2.weight": (10, 32), "2.bias": (10,)}
    return {name: rng.uniform(-0.1, 0.1, shape) for name, shape in shapes.items()}


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)])
def test_two_hundred_steps_on_digits(dtype: Any, tolerance: float) -> None:
    torch = pytest.importorskip("torch")
    ours = digits_losses(nn, tensor, SGD, initial_state(), dtype)
    theirs = digits_losses(torch.nn, torch.tensor, torch.optim.SGD, initial_state(), dtype)
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_two_hundred_steps_on_digits_from_the_golden_file() -> None:
    golden = np.load(__file__.replace("test_modules.py", "golden_digits.npz"))["losses"]
    ours = digits_losses(nn, tensor, SGD, initial_state(), np.float64)
    np.testing.assert_allclose(ours, golden, rtol=1e-9)
