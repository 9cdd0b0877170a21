"""``Adafactor`` beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch

OPTIONS: list[dict[str, Any]] = [
    {},
    {"lr": 0.3, "weight_decay": 0.1},
    {"eps": (1e-8, 0.1), "beta2_decay": -0.5, "d": 2.0},
    {"maximize": True, "foreach": False},
]
SHAPES = ((3, 4), (5,), (), (2, 3, 4))


def run(torch: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Take five steps of two groups, with a change to a loaded state in the middle; return parameters and state."""
    torch.manual_seed(0)
    params = [torch.randn(shape).requires_grad_() for shape in SHAPES]

    def made() -> Any:
        return torch.optim.Adafactor([{"params": params[:2]}, {"params": params[2:], "lr": 0.02}], **options)

    optimizer = made()
    for step in range(5):
        if step == 3:
            state = optimizer.state_dict()
            optimizer = made()
            optimizer.load_state_dict(state)
        optimizer.zero_grad()
        loss: Any = sum((p * p * (step + 1) - p).sum() for p in params)
        loss.backward()
        optimizer.step()
    state = optimizer.state_dict()["state"]
    return {
        "params": [p.detach().numpy() for p in params],
        "state": [{name: x.numpy() for name, x in state[k].items()} for k in range(len(params))],
        "text": repr(optimizer),
    }


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_steps_and_state_are_pytorchs(options: dict[str, Any], pytorch: PyTorch) -> None:
    ours, theirs = run(funcgrad.torch, options), pytorch(lambda torch: run(torch, options))
    assert ours["text"] == theirs["text"]
    for a, b in zip(ours["params"], theirs["params"], strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
    for a, b in zip(ours["state"], theirs["state"], strict=True):
        assert list(a) == list(b)
        for name in b:
            np.testing.assert_allclose(a[name], b[name], rtol=2e-5, atol=1e-6)
            assert a[name].shape == np.shape(b[name])


REFUSED = ("lr=-1.0", "beta2_decay=0.5", "eps=(-1.0, 1e-3)", "eps=(None, -1.0)", "d=0.5", "weight_decay=-0.1")


@pytest.mark.parametrize("call", REFUSED)
def test_numbers_out_of_range(call: str, pytorch: PyTorch) -> None:
    def text(torch: Any) -> str:
        with pytest.raises(ValueError, match="should be") as refused:
            eval(f"torch.optim.Adafactor([torch.ones(2)], {call})", {"torch": torch})
        return str(refused.value)

    assert text(funcgrad.torch) == pytorch(text)


def test_complex_parameters_are_refused() -> None:
    p = funcgrad.torch.ones(2, dtype=funcgrad.torch.complex64, requires_grad=True)
    p.grad = funcgrad.torch.ones(2, dtype=funcgrad.torch.complex64)
    with pytest.raises(RuntimeError, match="Adafactor does not support complex parameters"):
        funcgrad.torch.optim.Adafactor([p]).step()
