"""The imperative layer beside PyTorch: whole training steps, the update alone, and what a long loop leaves behind."""

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks._resnet import resnet50_shapes
from benchmarks._timing import Case, Check, Effort, Suite, interleave
from funcgrad import nn
from funcgrad.autograd import tensor
from funcgrad.optim import SGD

STEPS = 3000
NESTEROV: dict[str, Any] = {"lr": 0.01, "momentum": 0.9, "weight_decay": 1e-4, "nesterov": True}


def linear(suite: Suite, effort: Effort) -> None:
    """Take full steps of `Linear(5, 2)` with cross-entropy against class probabilities, and momentum."""
    rng = np.random.default_rng(0)
    x, target = rng.standard_normal((1, 5), np.float32), np.array([[1.0, 2.0]], np.float32)
    contenders = {
        name: _training_step(library, make, sgd, lambda library: library.Linear(5, 2), x, target)
        for name, library, make, sgd in _SIDES
    }
    suite.cases.append(Case("Linear(5, 2): full step", interleave(contenders, effort), limits={"PyTorch": 0.5}))


def digits(suite: Suite, effort: Effort) -> None:
    """Take full steps of a 64-128-64-10 network with rectifiers on batches of 64 digits."""
    rng = np.random.default_rng(0)
    x, labels = rng.random((64, 64), np.float32), rng.integers(0, 10, 64)

    def model(library: Any) -> Any:
        layers = [
            library.Linear(64, 128),
            library.ReLU(),
            library.Linear(128, 64),
            library.ReLU(),
            library.Linear(64, 10),
        ]
        return library.Sequential(*layers)

    contenders = {name: _training_step(library, make, sgd, model, x, labels) for name, library, make, sgd in _SIDES}
    suite.cases.append(
        Case("MLP on digits, batch 64: full step", interleave(contenders, effort), limits={"PyTorch": 1.0})
    )


_SIDES = (("funcgrad", nn, tensor, SGD), ("PyTorch", torch.nn, torch.tensor, torch.optim.SGD))


def _training_step(
    library: Any, make: Callable[..., Any], sgd: Any, model_of: Callable[[Any], Any], x: np.ndarray, target: np.ndarray
) -> Callable[[], Any]:
    model = model_of(library)
    rng = np.random.default_rng(1)
    model.load_state_dict(
        {name: make(rng.uniform(-0.1, 0.1, p.shape).astype(np.float32)) for name, p in model.named_parameters()}
    )
    optimizer = sgd(model.parameters(), lr=1e-3, momentum=0.9)
    loss_of = library.CrossEntropyLoss()
    inputs, targets = make(x), make(target)

    def step() -> Any:
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    return step


def resnet(suite: Suite, effort: Effort) -> None:
    """Update the 161 tensors of a ResNet-50, in place (Nesterov momentum and weight decay, float32)."""
    shapes = [(64,), (10, 64)] if effort.quick else resnet50_shapes()
    contenders = {
        "funcgrad": _update(tensor, SGD, shapes, {}),
        "PyTorch, foreach": _update(torch.tensor, torch.optim.SGD, shapes, {"foreach": True}),
        "PyTorch, fused": _update(torch.tensor, torch.optim.SGD, shapes, {"fused": True}),
    }
    limits = {"PyTorch, foreach": 0.5, "PyTorch, fused": 1.8}
    suite.cases.append(Case("SGD.step, ResNet-50", interleave(contenders, effort), limits=limits))


def _update(make: Callable[..., Any], sgd: Any, shapes: Any, options: dict[str, Any]) -> Callable[[], Any]:
    rng = np.random.default_rng(0)
    params = [make(rng.standard_normal(shape, np.float32)).requires_grad_() for shape in shapes]
    for p in params:
        p.grad = make(rng.standard_normal(p.shape, np.float32))
    return sgd(params, **NESTEROV, **options).step


def memory(suite: Suite, effort: Effort) -> None:
    """Train for 3,000 steps with the garbage collector off: what is left behind is a reference cycle."""
    del effort
    rng = np.random.default_rng(0)
    x, labels = rng.random((64, 64), np.float32), rng.integers(0, 10, 64)
    step = _training_step(nn, tensor, SGD, lambda library: library.Linear(64, 10), x, labels)
    for _ in range(100):
        step()
    gc.collect()
    gc.disable()
    before = _resident()
    for _ in range(STEPS):
        step()
    grown = _resident() - before
    gc.enable()
    suite.checks.append(Check("growth in 3,000 steps, garbage collector off", grown / 2**20, "MiB", 20))


def _resident() -> int:
    """Return the resident size of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "linear": linear,
    "digits": digits,
    "resnet": resnet,
    "memory": memory,
}
