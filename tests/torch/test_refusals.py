"""Operands that do not fit together: PyTorch's classes of errors and its words."""

from __future__ import annotations

from typing import Any

import pytest

import funcgrad.torch
from tests._recorded import PyTorch

CALLS = [
    "torch.zeros(2) + torch.zeros(3)",
    "torch.zeros(2, 3) * torch.zeros(4, 5)",
    "torch.maximum(torch.zeros(2), torch.zeros(3))",
    "torch.zeros(2).add_(torch.zeros(3))",
    "torch.where(torch.zeros(2) > 0, torch.zeros(3), torch.zeros(2))",
    "torch.zeros(2).reshape(3)",
    "torch.zeros(2, 3).view(4, -1)",
    "torch.zeros(2, 3) @ torch.zeros(2, 3)",
    "torch.zeros(5, 2, 3) @ torch.zeros(2, 3)",
    "torch.zeros(2, 3) @ torch.zeros(4)",
    "torch.zeros(3) @ torch.zeros(4)",
    "torch.mm(torch.zeros(2, 3), torch.zeros(2, 3))",
    "torch.bmm(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3))",
    "torch.zeros(2, 3).sum(dim=2)",
    "torch.zeros(2, 3).transpose(0, 2)",
    "torch.zeros(2, 3).squeeze(5)",
    "torch.zeros(2, 3)[2]",
    "torch.zeros(2, 3)[0, 0, 0]",
]


def refusal(torch: Any, call: str, requires_grad: bool) -> list[str]:
    """Return class and first line of the error of a call, with or without tensors that require gradients."""
    text = call.replace("torch.zeros(2, 3)", "torch.zeros(2, 3, requires_grad=True)", 1) if requires_grad else call
    try:
        eval(text, {"torch": torch})
    except Exception as error:  # noqa: BLE001  (the class is compared)
        return [type(error).__name__, str(error).splitlines()[0]]
    return []


@pytest.mark.parametrize("call", CALLS)
def test_words_of_pytorch(call: str, pytorch: PyTorch) -> None:
    def both(torch: Any) -> list[list[str]]:
        return [refusal(torch, call, requires_grad) for requires_grad in (False, True)]

    assert both(funcgrad.torch) == pytorch(both)


def test_errors_of_others_stay() -> None:
    def raises(*_: Any) -> Any:
        raise ValueError("operands could not be found")

    x = funcgrad.torch.zeros(2, requires_grad=True)
    x.register_hook(raises)
    with pytest.raises(ValueError, match="could not be found"):
        (x * 2).sum().backward()
