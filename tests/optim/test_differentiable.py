"""Differentiable steps with tensors as hyperparameters: each gets its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from funcgrad import optim
from funcgrad.autograd import tensor
from tests._recorded import PyTorch

START, GRADS = [1.0, 2.0], [[0.5, -1.0], [1.0, -1.0]]
# The name of the class, tensors, other options.
CASES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "sgd lr": ("SGD", {"lr": 0.1}, {}),
    "sgd momentum": ("SGD", {"momentum": 0.9}, {"lr": 0.1}),
    "adam lr": ("Adam", {"lr": 0.1}, {}),
    "adam betas": ("Adam", {"betas": (0.9, 0.99)}, {}),
    "adam betas and lr": ("Adam", {"betas": (0.9, 0.99), "lr": 0.1}, {}),
    "adam eps": ("Adam", {"eps": 1e-3}, {}),
    "adamw": ("AdamW", {"lr": 0.1, "weight_decay": 0.01}, {}),
    "radam lr": ("RAdam", {"lr": 0.1}, {}),
}
# PyTorch refuses these.
MORE: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "sgd weight_decay": ("SGD", {"lr": 0.1, "weight_decay": 0.01, "dampening": 0.2}, {"momentum": 0.9}),
    "adam weight_decay": ("Adam", {"weight_decay": 0.01}, {"lr": 0.1, "amsgrad": True}),
    "radam weight_decay": ("RAdam", {"lr": 0.1, "weight_decay": 0.01}, {}),
    "nadam": ("NAdam", {"lr": 0.1, "momentum_decay": 4e-3}, {}),
    "adamax": ("Adamax", {"lr": 0.1, "betas": (0.9, 0.99)}, {}),
    "adadelta": ("Adadelta", {"rho": 0.9, "lr": 0.1}, {}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.2}, {}),
    "asgd": ("ASGD", {"lr": 0.1, "lambd": 0.01, "alpha": 0.75}, {}),
    "rmsprop": ("RMSprop", {"lr": 0.1, "alpha": 0.9, "momentum": 0.5}, {"centered": True}),
    "rprop": ("Rprop", {"lr": 0.1, "etas": (0.5, 1.2)}, {}),
    "lion": ("Lion", {"lr": 0.1, "weight_decay": 0.01}, {}),
}


def _flat(tensors: dict[str, Any]) -> list[Any]:
    return [part for value in tensors.values() for part in (value if isinstance(value, tuple) else (value,))]


def _run(kind: Any, make: Any, tensors: dict[str, Any], others: dict[str, Any]) -> tuple[Any, Any]:
    """Take two steps: return the parameter before and after them."""
    start = make(START)
    p = start.clone()
    optimizer = kind([p], differentiable=True, **tensors, **others)
    for g in GRADS:
        p.grad = make(g)
        optimizer.step()
    return start, p


def _tensors(make: Any, given: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(map(make, x)) if isinstance(x, tuple) else make(x) for name, x in given.items()}


def _leaf(x: Any) -> Any:
    return tensor(np.array(x, np.float64), requires_grad=True)


def _ours(name: str, given: dict[str, Any], others: dict[str, Any]) -> list[float]:
    tensors = _tensors(_leaf, given)
    _, p = _run(getattr(optim, name), _leaf, tensors, others)
    (p * p).sum().backward()
    return [x.grad.item() for x in _flat(tensors)]


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_pytorchs(pytorch: PyTorch, case: str) -> None:
    name, given, others = CASES[case]

    def expected(torch: Any) -> list[float]:
        def leaf(x: Any) -> Any:
            return torch.tensor(x, dtype=torch.float64, requires_grad=True)

        tensors = _tensors(leaf, given)
        _, p = _run(getattr(torch.optim, name), leaf, tensors, others)
        (p * p).sum().backward()
        return [x.grad.item() for x in _flat(tensors)]

    # PyTorch computes bias corrections in float32 here.
    assert_allclose(_ours(name, given, others), pytorch(expected), rtol=1e-4)


@pytest.mark.parametrize("case", CASES | MORE)
def test_gradients_are_slopes(case: str) -> None:
    name, given, others = (CASES | MORE)[case]
    keys = [(key, k) for key, x in given.items() for k in (range(len(x)) if isinstance(x, tuple) else [None])]

    def loss(key: str, k: int | None, change: float) -> float:
        value = given[key]
        moved = value + change if k is None else tuple([x + change * (i == k) for i, x in enumerate(value)])
        _, p = _run(getattr(optim, name), _leaf, {**given, key: moved}, others)
        return (p * p).sum().item()

    slopes = [(loss(key, k, 1e-5) - loss(key, k, -1e-5)) / 2e-5 for key, k in keys]
    assert_allclose(_ours(name, given, others), slopes, rtol=1e-5, atol=1e-8)


def test_a_step_that_is_not_differentiable_gives_none() -> None:
    lr = _leaf(0.1)
    p = _leaf(START)
    optimizer = optim.SGD([p], lr=lr)
    p.grad = _leaf(GRADS[0])
    optimizer.step()
    (p * p).sum().backward()
    assert lr.grad is None
