"""Lazy modules become PyTorch's modules with the first input, or with a state that is loaded."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from funcgrad import nn
from tests._recorded import PyTorch

ROWS = [
    ("nn.LazyLinear(3)", (2, 5)),
    ("nn.LazyLinear(3, bias=False)", (5,)),
    ("nn.LazyConv1d(4, 3, stride=2, groups=2)", (2, 2, 9)),
    ("nn.LazyConv2d(4, 3, padding='same', padding_mode='circular', bias=False)", (3, 5, 5)),
    ("nn.LazyConv3d(2, 2)", (1, 3, 4, 4, 4)),
    ("nn.LazyConvTranspose1d(4, 3, 2, 1, 1)", (2, 2, 5)),
    ("nn.LazyConvTranspose2d(4, 3, stride=2, groups=2)", (2, 2, 3, 3)),
    ("nn.LazyConvTranspose3d(1, 2)", (1, 2, 2, 2, 2)),
    ("nn.LazyBatchNorm1d()", (4, 3)),
    ("nn.LazyBatchNorm2d(eps=1e-3, momentum=0.3, affine=False)", (4, 3, 2, 2)),
    ("nn.LazyBatchNorm3d(track_running_stats=False)", (2, 3, 2, 2, 2)),
    ("nn.LazyInstanceNorm1d()", (2, 3, 4)),
    ("nn.LazyInstanceNorm2d(bias=False)", (2, 3, 4, 2)),
    ("nn.LazyInstanceNorm3d()", (2, 3, 2, 2, 2)),
    (
        "nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2))",
        (2, 3, 5, 5),
    ),
]


def told(torch: Any, text: str, shape: tuple[int, ...]) -> list[Any]:
    torch.manual_seed(0)
    module = eval(text, {"nn": torch.nn})
    before = repr(module), [name for name, _ in module.named_parameters()], list(module.state_dict())
    x = torch.tensor(np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(np.float32), requires_grad=True)
    y = module(x)
    (y * y).sum().backward()
    state = {name: np.array(value.numpy()) for name, value in module.state_dict().items()}
    return [*before, repr(module), np.array(y.detach().numpy()), np.array(x.grad.numpy()), state]


@pytest.mark.parametrize(("text", "shape"), ROWS, ids=[text for text, _ in ROWS])
def test_the_first_input_makes_parameters(text: str, shape: tuple[int, ...], pytorch: PyTorch) -> None:
    expected = pytorch(lambda torch: told(torch, text, shape))
    found = told(funcgrad.torch, text, shape)
    assert found[0] == expected[0]
    assert [list(names) for names in found[1:3]] == [list(names) for names in expected[1:3]]
    assert found[3] == expected[3]
    for a, b in zip(found[4:6], expected[4:6], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    for name, value in expected[6].items():
        np.testing.assert_allclose(found[6][name], value, rtol=1e-5, atol=1e-6)


def test_a_state_gives_the_shapes_and_a_refused_one_nothing() -> None:
    made = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Linear(36, 2))
    lazy = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    state = made.state_dict()
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "3.bias"'):
        lazy.load_state_dict({name: x for name, x in state.items() if name != "3.bias"})
    assert lazy[0].has_uninitialized_params()
    lazy.load_state_dict(state)
    x = np.ones((2, 3, 5, 5), np.float32)
    np.testing.assert_array_equal(lazy(x).detach(), made(x).detach())
    assert repr(lazy) == repr(made)


def test_uninitialized_parameters_take_dtypes_and_copies_but_no_operations() -> None:
    module = nn.LazyLinear(2)
    weight: Any = module.weight
    copied = pickle.loads(pickle.dumps(copy.deepcopy(module.double())))
    with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
        module.weight.numel()
    with pytest.raises(TypeError):
        _ = weight + 1
    with pytest.raises(RuntimeError, match="no shape in the checkpoint"):
        nn.Linear(3, 2).load_state_dict(module.state_dict())
    assert copied(np.ones((1, 3))).dtype == np.float64
    assert isinstance(copied, nn.Linear)
    assert not copied.has_uninitialized_params()
    assert isinstance(copied.weight, nn.Parameter)


def test_own_lazy_modules() -> None:
    class Scale(nn.LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight: Any = nn.UninitializedParameter()

        def initialize_parameters(self, x: Any) -> None:
            self.weight.materialize(x.shape[-1:])
            nn.init.ones_(self.weight)

        def forward(self, x: Any) -> Any:
            return x * self.weight

    module = Scale()
    assert module(np.full((2, 3), 2.0, np.float32)).detach().sum() == 12
    assert [tuple(p.shape) for p in module.parameters()] == [(3,)]
