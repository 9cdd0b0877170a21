"""``torch.utils.checkpoint``: the same gradients, by a second call in the backward pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch


def gradients(torch: Any) -> dict[str, Any]:
    """Gradients through checkpointed modules and functions, with dropout and with several results."""
    checkpoint = torch.utils.checkpoint.checkpoint
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2))
    x = torch.randn(5, 3, requires_grad=True)
    found, calls = {}, []

    def counted(x: Any, factor: float) -> Any:
        calls.append(factor)
        y = model(x)
        return y * factor, y.sum()

    y, total = checkpoint(counted, x, 3.0, use_reentrant=False)
    (y.sum() * 2 + total**2).backward()
    found["x"] = x.grad
    found["calls"] = torch.tensor(len(calls))
    found |= {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    plain = torch.ones(2, 3)
    checkpoint(model, plain, use_reentrant=False).sum().backward()
    found["of parameters alone"] = model[0].weight.grad
    found["after"] = torch.rand(2)
    with torch.no_grad():
        found["not recorded"] = checkpoint(model, plain, use_reentrant=False)
    return {name: y.detach().numpy() for name, y in found.items()}


def test_gradients(pytorch: PyTorch) -> None:
    ours = gradients(funcgrad.torch)
    for name, theirs in pytorch(gradients).items():
        np.testing.assert_allclose(ours[name], theirs, rtol=1e-5, atol=1e-6, err_msg=name)


def test_a_closure_over_a_parameter() -> None:
    """A function that is no module has no parameters; those that it closes over need an argument."""
    torch = funcgrad.torch
    w, x = torch.ones(2, requires_grad=True), torch.tensor([1.0, 2.0], requires_grad=True)
    torch.utils.checkpoint.checkpoint(lambda x: (x * w).sum(), x).backward()
    assert x.grad.tolist() == [1, 1]
    assert w.grad is not None
    assert w.grad.tolist() == [1, 2]


def test_an_unused_result() -> None:
    torch = funcgrad.torch
    x = torch.ones(2, requires_grad=True)
    first, _ = torch.utils.checkpoint.checkpoint(lambda x: (x * 2, x * 3), x)
    first.sum().backward()
    assert x.grad.tolist() == pytest.approx([2, 2])
