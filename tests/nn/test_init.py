"""Initial values: PyTorch's distributions, of ``funcgrad.nn.init`` and of fresh modules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import tensor
from funcgrad.nn import init
from tests._recorded import PyTorch
from tests.nn._compared import Library

EXACT = [
    "nn.init.constant_(t(np.zeros((2, 3))), 0.3)",
    "nn.init.ones_(t(np.zeros(3)))",
    "nn.init.zeros_(t(np.ones(3)))",
    "nn.init.eye_(t(np.ones((2, 3))))",
    "nn.init.dirac_(t(np.ones((4, 2, 3, 4))), 2)",
    "nn.init.dirac_(t(np.ones((2, 3, 3))))",
    *[f"nn.init.calculate_gain({name!r})" for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "selu")],
    "nn.init.calculate_gain('leaky_relu', 0.3)",
]
DRAWN: dict[str, tuple[Any, float, float]] = {
    "uniform": (lambda x: init.uniform_(x, 1, 3), 2, 2 / math.sqrt(12)),
    "normal": (lambda x: init.normal_(x, 1, 3), 1, 3),
    "truncated": (lambda x: init.trunc_normal_(x), 0, 0.8796),
    "xavier uniform": (lambda x: init.xavier_uniform_(x, 2.0), 0, 2 * math.sqrt(2 / 700)),
    "xavier normal": (lambda x: init.xavier_normal_(x), 0, math.sqrt(2 / 700)),
    "kaiming uniform": (lambda x: init.kaiming_uniform_(x, nonlinearity="relu"), 0, math.sqrt(2 / 400)),
    "kaiming normal": (
        lambda x: init.kaiming_normal_(x, mode="fan_out", nonlinearity="tanh"),
        0,
        5 / 3 / math.sqrt(300),
    ),
}


@pytest.mark.parametrize("text", EXACT)
def test_values(text: str, pytorch: PyTorch) -> None:
    def found(library: Library) -> Any:
        x = eval(text, library.names())
        return x if isinstance(x, float | int) else np.array(x.numpy())

    np.testing.assert_allclose(found(Library()), pytorch(lambda torch: found(Library(torch))), rtol=1e-12)


SEEDED = [
    "nn.init.trunc_normal_(t(np.zeros((3, 4), np.float32)))",
    "nn.init.trunc_normal_(t(np.zeros((3, 4))), 1.0, 0.5, 1.9, 2.5)",
    "nn.init.orthogonal_(t(np.zeros((4, 2), np.float32)))",
    "nn.init.orthogonal_(t(np.zeros((2, 3, 2))), 2.0)",
    "nn.init.sparse_(t(np.zeros((5, 3))), 0.3)",
    "nn.init.kaiming_normal_(t(np.zeros((5, 4), np.float32)))",
]


@pytest.mark.parametrize("text", SEEDED)
def test_the_draws_are_those_of_pytorch(text: str, pytorch: PyTorch) -> None:
    def found(library: Library, seed: Any) -> Any:
        seed(3)
        return np.array(eval(text, library.names()).numpy())

    expected = pytorch(lambda torch: found(Library(torch), torch.manual_seed))
    np.testing.assert_allclose(found(Library(), nn.manual_seed), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", DRAWN)
def test_mean_and_deviation(name: str) -> None:
    fill, mean, deviation = DRAWN[name]
    x = tensor(np.zeros((300, 400), np.float32), requires_grad=True)
    generator = np.random.default_rng(0)
    nn.manual_seed(int(generator.integers(1000)))
    assert fill(x) is x
    assert x.is_leaf
    np.testing.assert_allclose(x.detach().numpy().mean(dtype=float), mean, atol=0.02 * max(deviation, abs(mean)))
    np.testing.assert_allclose(x.detach().numpy().std(dtype=float), deviation, rtol=0.02)


def test_orthogonal_and_sparse() -> None:
    for shape in ((3, 5), (5, 3), (4, 2, 3)):
        q = init.orthogonal_(tensor(np.zeros(shape)), gain=2).numpy().reshape(shape[0], -1) / 2
        gram = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-12)
    x = init.sparse_(tensor(np.ones((10, 4))), 0.3).numpy()
    assert (x == 0).sum(axis=0).tolist() == [3] * 4


def test_a_generator_of_ones_own() -> None:
    a, b = (init.normal_(tensor(np.zeros(5)), generator=np.random.default_rng(3)) for _ in range(2))
    np.testing.assert_array_equal(a, b)


MODULES = {
    "nn.Linear(300, 200)": 300,
    "nn.Conv1d(100, 200, 3)": 300,
    "nn.Conv2d(60, 100, (2, 5), groups=2)": 300,
    "nn.ConvTranspose2d(100, 60, (2, 5))": 600,
    "nn.Bilinear(30, 40, 50)": 30,
    "nn.LSTM(30, 100)": 100,
    "nn.GRUCell(30, 100)": 100,
}


@pytest.mark.parametrize("text", MODULES)
def test_uniform_modules(text: str) -> None:
    nn.manual_seed(0)
    bound = 1 / math.sqrt(MODULES[text])
    for name, p in eval(text, {"nn": nn}).named_parameters():
        numbers = p.detach().numpy()
        assert abs(numbers).max() <= bound, name
        assert abs(numbers).max() >= 0.9 * bound, name
        if numbers.size > 1000:
            np.testing.assert_allclose(numbers.std(), bound / math.sqrt(3), rtol=0.05)


def test_other_modules() -> None:
    nn.manual_seed(0)
    np.testing.assert_allclose(nn.Embedding(200, 50).weight.detach().numpy().std(), 1, rtol=0.05)
    assert not nn.Embedding(5, 3, padding_idx=2).weight.detach().numpy()[2].any()
    attention = nn.MultiheadAttention(100, 4)
    assert not attention.in_proj_bias.detach().numpy().any()
    assert not attention.out_proj.bias.detach().numpy().any()
    bound = math.sqrt(6 / 400)
    assert 0.98 * bound <= abs(attention.in_proj_weight.detach().numpy()).max() <= bound
    norm = nn.BatchNorm2d(3)
    assert norm.weight.tolist() == norm.running_var.tolist() == [1, 1, 1]
    assert norm.bias.tolist() == norm.running_mean.tolist() == [0, 0, 0]
    assert nn.PReLU(2, init=0.5).weight.tolist() == [0.5, 0.5]
    weight = nn.Linear(3, 2).weight.detach().numpy().copy()
    assert not np.array_equal(weight, nn.Linear(3, 2).weight.detach())
