"""PyTorch's modules: training steps written once, with `funcgrad.torch`, with PyTorch, and compiled by `fg.jit`."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import torch

import funcgrad as fg
import funcgrad.torch
from benchmarks._timing import Case, Effort, Suite, interleave

LEARNING_RATE = 0.01
CHECKED_STEPS = 3


def lenet(torch: Any) -> tuple[Any, tuple[int, ...]]:
    """LeNet on 32 images of 28 x 28 pixels."""
    nn = torch.nn
    convolutions = [
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
    ]
    dense = [nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10)]
    return nn.Sequential(*convolutions, *dense), (32, 1, 28, 28)


def transformer(torch: Any) -> tuple[Any, tuple[int, ...]]:
    """Return a transformer layer of width 128 with four heads, for 16 sequences of 64 tokens."""
    return torch.nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True), (16, 64, 128)


def lstm(torch: Any) -> tuple[Any, tuple[int, ...]]:
    """Return an LSTM of width 64, for 32 sequences of 20 steps."""
    return torch.nn.LSTM(64, 64), (20, 32, 64)


Made = Callable[[Any], tuple[Any, tuple[int, ...]]]
_MODELS: dict[str, tuple[Made, float]] = {"LeNet": (lenet, 1.2), "transformer": (transformer, 1.2), "LSTM": (lstm, 1.0)}


def loss_of(y: Any) -> Any:
    """Return a loss of an output, or of the first of several. It has a minimum, so training does not diverge to NaN."""
    y = y[0] if isinstance(y, tuple) else y
    return (y * y - y).mean()


def eager_step(torch: Any, made: Made) -> Callable[[], Any]:
    """Return a training step as PyTorch's programs write it."""
    torch.manual_seed(0)
    model, shape = made(torch)
    optimizer, x = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE), torch.randn(*shape)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(x))
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def compiled_step(made: Made) -> Callable[[], Any]:
    """Return the step of the same module as a pure function, compiled by XLA."""
    ours = funcgrad.torch
    ours.manual_seed(0)
    model, shape = made(ours)
    params = {name: p.detach().numpy() for name, p in model.named_parameters()}
    x = ours.randn(*shape).numpy()

    @fg.jit(donate_argnums=(0,))
    def update(params: Any, x: Any) -> Any:
        def loss(params: Any) -> Any:
            return loss_of(ours.func.functional_call(model, params, (x,)))

        value, grads = fg.value_and_grad(loss)(params)
        return {name: p - LEARNING_RATE * grads[name] for name, p in params.items()}, value

    held = jax.device_put((params, x))

    def step() -> float:
        nonlocal held
        params, value = update(*held)
        held = params, held[1]
        return float(value)

    return step


def _case(name: str) -> Callable[[Suite, Effort], None]:
    made, limit = _MODELS[name]

    def measure(suite: Suite, effort: Effort) -> None:
        for how, ours, most in (
            ("eager", eager_step(funcgrad.torch, made), limit),
            ("fg.jit on XLA", compiled_step(made), 0.8),
        ):
            sides = {"funcgrad": ours, "PyTorch": eager_step(torch, made)}
            losses = {side: [step() for _ in range(CHECKED_STEPS)] for side, step in sides.items()}
            np.testing.assert_allclose(losses["funcgrad"], losses["PyTorch"], rtol=1e-4)
            samples = interleave(sides, effort.at_most(40))
            suite.cases.append(Case(f"{name}: step, {how}", samples, limits={"PyTorch": most}))

    return measure


CASES: dict[str, Callable[[Suite, Effort], None]] = {name: _case(name) for name in _MODELS}
