"""Modules that train in one compiled step of AdamW, with buffers, beside the same loop in PyTorch."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn

STEPS = 3
MODULES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "convolutions": (
        lambda n: n.Sequential(
            n.Conv2d(1, 4, 3, padding=1), n.BatchNorm2d(4), n.ReLU(), n.MaxPool2d(2), n.Conv2d(4, 2, 3)
        ),
        (3, 1, 8, 8),
    ),
    "adaptive maxima": (lambda n: n.Sequential(n.Conv2d(2, 3, 3), n.GELU(), n.AdaptiveMaxPool2d(2)), (2, 2, 7, 7)),
    "mean of all steps": (lambda n: n.BatchNorm1d(3, momentum=None), (6, 3)),
    "transposed": (
        lambda n: n.Sequential(n.ConvTranspose2d(2, 4, 3, stride=2, groups=2), n.GroupNorm(2, 4)),
        (2, 2, 4, 4),
    ),
    "lstm": (lambda n: n.LSTM(3, 4, num_layers=2, bidirectional=True), (5, 2, 3)),
    "gru": (lambda n: n.GRU(3, 4, batch_first=True), (2, 5, 3)),
    "encoder": (lambda n: n.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 5, 8)),
}


def loss_of(y: Any) -> Any:
    y = y[0] if isinstance(y, tuple) else y
    return (y * y * y + y).mean()


def trained_by_torch(torch: Any, name: str) -> tuple[dict, dict, dict, dict, list[float]]:
    """Return parameters and buffers before and after, and the losses."""
    make, shape = MODULES[name]
    torch.manual_seed(0)
    model, x = make(torch.nn).double(), torch.tensor(inputs(shape))

    def values(named: Any) -> dict[str, np.ndarray]:
        return {name: each.detach().numpy().copy() for name, each in named}

    before = values(model.named_parameters()), values(model.named_buffers())
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=0.01), []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(model(x))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return (*before, values(model.named_parameters()), values(model.named_buffers()), losses)


def inputs(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", MODULES)
def test_a_compiled_step_is_pytorchs(torch: Any, name: str, engine: str) -> None:
    """The losses, the parameters and the running statistics are those of PyTorch's loop."""
    make, shape = MODULES[name]
    parameters, buffers, last_parameters, last_buffers, losses = trained_by_torch(torch, name)
    model, x, found = make(nn).double(), inputs(shape), []

    def step(parameters: Any, buffers: Any, state: Any, x: Any) -> Any:
        def loss(parameters: Any) -> Any:
            y, after = nn.functional_call(model, (parameters, buffers), (x,), return_buffers=True)
            return loss_of(y), after

        (value, after), gradients = fg.value_and_grad(loss, has_aux=True)(parameters)
        return *fg.optim.adamw_update(gradients, state, parameters), after, value

    compiled, state = fg.jit(step, engine=engine), fg.optim.adamw_init(parameters, lr=0.01)
    with jax.enable_x64(True):
        for _ in range(STEPS):
            parameters, state, buffers, value = compiled(parameters, buffers, state, x)
            found.append(float(value))
    np.testing.assert_allclose(found, losses, rtol=1e-10)
    for ours, theirs in ((parameters, last_parameters), (buffers, last_buffers)):
        assert set(ours) == set(theirs)
        for key in theirs:
            # A bias before batch normalization has the gradient 0, and Adam divides its rounding errors by their size.
            if key != "0.bias" or name != "convolutions":
                np.testing.assert_allclose(np.asarray(ours[key]), theirs[key], rtol=1e-7, atol=1e-7)
            assert ours[key].dtype == theirs[key].dtype
