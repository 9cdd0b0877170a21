"""Wrong uses of loaders, states, initializers, utilities, distributions, indices, writes, gradients and optimizers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import funcgrad.torch
from tests._recorded import PyTorch

USES = Path(__file__).with_name("misuse_elsewhere.txt").read_text().splitlines()


def names(torch: Any) -> dict[str, Any]:
    """What the uses name: short makers, and functions with a wrong backward pass."""
    nn = torch.nn

    def g(value: float = 1.0) -> Any:
        p = nn.Parameter(torch.ones(2))
        p.grad = torch.ones(2) * value
        return p

    class IT(torch.utils.data.IterableDataset):
        def __iter__(self) -> Any:
            return iter([1, 2])

    def twice(x: Any) -> None:
        y = (x * x).sum()
        y.backward()
        y.backward()

    def thrice(x: Any) -> None:
        y = x.exp()
        y.sum().backward(retain_graph=True)
        y.sum().backward()
        y.sum().backward()

    class Fn(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    return {
        "torch": torch,
        "nn": nn,
        "F": nn.functional,
        "copy": copy,
        "g": g,
        "IT": IT,
        "Fn": Fn,
        "twice": twice,
        "thrice": thrice,
        "i": torch.tensor([1, 2]),
        "f": lambda *shape: torch.ones(*shape) / 2,
        "leaf": lambda: torch.ones(2, requires_grad=True),
        "seq": lambda: nn.Sequential(nn.Linear(2, 1)),
        "WrongCount": type("WrongCount", (Fn,), {"backward": staticmethod(lambda ctx, grad: (grad, grad))}),
        "WrongShape": type("WrongShape", (Fn,), {"backward": staticmethod(lambda ctx, grad: grad[:1].expand(1, 3))}),
        "WrongType": type("WrongType", (Fn,), {"backward": staticmethod(lambda ctx, grad: 3)}),
    }


def outcome(torch: Any, use: str) -> list[str]:
    torch.manual_seed(0)
    try:
        y = eval(use, names(torch))
    except Exception as error:  # noqa: BLE001  (the class is compared)
        return [type(error).__name__, str(error)]
    return [str(tuple(getattr(y, "shape", ()))), str(getattr(y, "dtype", "")).replace("torch.", "")]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("use", USES)
def test_misuse(use: str, pytorch: PyTorch) -> None:
    """Class and text of the error are PyTorch's; a use that PyTorch accepts has PyTorch's shape and dtype."""
    assert outcome(funcgrad.torch, use) == pytorch(lambda torch: outcome(torch, use))


def test_random_numbers_under_vmap() -> None:
    """The function runs once for all rows, so numbers that differ by row are refused rather than shared."""
    torch = funcgrad.torch

    def noisy(x: Any) -> Any:
        return x + torch.rand(())

    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        torch.func.vmap(noisy)(torch.zeros(3))
    with pytest.raises(RuntimeError, match="the function runs once for all rows, so they would get the same numbers"):
        torch.func.vmap(noisy, randomness="different")(torch.zeros(3))
    same = torch.func.vmap(noisy, randomness="same")(torch.zeros(3))
    assert len(set(same.tolist())) == 1
    torch.rand(())
