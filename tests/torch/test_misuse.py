"""Wrong uses of loaders, states, initializers, utilities, distributions, indices, writes, gradients and optimizers."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch

USES = Path(__file__).with_name("misuse_elsewhere.txt").read_text().splitlines()


def names(torch: Any) -> dict[str, Any]:
    """Return the names in the uses: short makers, and functions with a wrong backward pass."""
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


def test_random_numbers_under_vmap(pytorch: PyTorch) -> None:
    """Numbers that differ by row are PyTorch's; others are refused rather than shared by all rows."""
    uses = [
        "vmap(lambda x: x + torch.randn(2), randomness='different')(torch.zeros(3))",
        "vmap(lambda x: x + torch.rand(()), randomness='different')(torch.zeros(3))",
        "vmap(lambda x: x + torch.randint(10, (2,)), randomness='different')(torch.zeros(3))",
        "vmap(torch.randn_like, randomness='different')(torch.zeros(3, 2))",
        "vmap(vmap(lambda x: x + torch.rand(2), randomness='different'), randomness='different')(torch.zeros(2, 2))",
        "vmap(torch.func.grad(lambda x: (x * torch.randn(2)).sum()), randomness='different')(torch.zeros(3))",
        "vmap(lambda x, y: x + y * torch.rand(1), (None, 1), randomness='different')(torch.ones(2), torch.ones(2, 3))",
        "vmap(lambda x: torch.normal(0.0, 1.0, (2,)) + x, randomness='different')(torch.ones(3))",
        "vmap(lambda x: x + torch.randn(2), randomness='same')(torch.zeros(3))",
        "vmap(lambda x: x + torch.randn(2))(torch.zeros(3))",
        "vmap(lambda x: x, randomness='other')(torch.zeros(3))",
    ]

    def drawn(torch: Any) -> list[Any]:
        found = []
        for use in uses:
            torch.manual_seed(0)
            try:
                found.append(eval(use, {"torch": torch, "vmap": torch.func.vmap}).numpy())
            except RuntimeError as error:
                found.append(str(error))
        return found

    for ours, theirs in zip(drawn(funcgrad.torch), pytorch(drawn), strict=True):
        if isinstance(theirs, str):
            assert ours == theirs
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    torch = funcgrad.torch
    with pytest.raises(RuntimeError, match=r"only torch\.rand, randn, randint, normal, randperm"):
        torch.func.vmap(lambda x: torch.ones(3).exponential_() + x, randomness="different")(torch.zeros(3))
    torch.randperm(3)
