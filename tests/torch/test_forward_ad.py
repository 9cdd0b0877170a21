"""Dual tensors: `torch.autograd.forward_ad` beside PyTorch's."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch

# PyTorch compiles its rules with a function that it has deprecated.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

P = np.array([[0.3, -0.7, 1.2, 0.1], [0.9, 0.4, -0.1, -0.6], [0.2, 1.1, -0.9, 0.5]])
T = np.cos(np.arange(12.0)).reshape(3, 4)

# Expressions of the dual tensor ``d``; ``p`` is its primal and ``w`` requires a gradient.
VALUES = [
    "d**2 + p",
    "(d * d).sum()",
    "d[1:, ::2] * 3",
    "d.exp().log() @ p.T",
    "torch.cat([d, p])",
    "d.sort().values",
    "torch.linalg.inv(d[:3, :3])",
    "F.cross_entropy(d, torch.tensor([0, 1, 2]))",
    "F.layer_norm(d, (4,))",
    "F.softmax(d, -1)",
    "F.scaled_dot_product_attention(d[None], d[None], p[None])",
    "F.conv2d(d[None, None], torch.ones(1, 1, 2, 2, dtype=torch.float64))",
    "nn.BatchNorm1d(4).double()(d)",
    "d.detach()",
    "changed(d * 1)",
    "Scaled.apply(d, 2.0)",
    "p * 2",
    "d.where(d > 0, p)",
]


class Namespace:
    """The names in the expressions."""

    def __init__(self, torch: Any, dual: Any) -> None:
        class Scaled(torch.autograd.Function):
            @staticmethod
            def forward(x: Any, factor: float) -> Any:
                return x.exp() * factor

            @staticmethod
            def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
                ctx.save_for_forward(inputs[0])
                ctx.factor = inputs[1]

            @staticmethod
            def jvp(ctx: Any, x_dot: Any, _: Any) -> Any:
                (x,) = ctx.saved_tensors
                return x_dot * x.exp() * ctx.factor * 10

        def changed(x: Any) -> Any:
            x.add_(torch.tensor(P))
            x[0] = 0
            return x.mul_(2)

        self.names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "Scaled": Scaled, "changed": changed}
        self.names |= {"p": torch.tensor(P), "d": dual, "w": torch.ones(3, 4, dtype=torch.float64, requires_grad=True)}


def forward_ad(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.autograd.forward_ad")


def unpacked(torch: Any, text: str) -> list[Any]:
    ad = forward_ad(torch)
    with ad.dual_level():
        dual = ad.make_dual(torch.tensor(P), torch.tensor(T))
        primal, tangent = ad.unpack_dual(eval(text, Namespace(torch, dual).names))
        return [primal.detach().numpy(), None if tangent is None else tangent.detach().numpy()]


@pytest.mark.parametrize("text", VALUES)
def test_primals_and_tangents(text: str, pytorch: PyTorch) -> None:
    ours, theirs = unpacked(funcgrad.torch, text), pytorch(lambda torch: unpacked(torch, text))
    assert (ours[1] is None) == (theirs[1] is None)
    for mine, expected in zip(ours, theirs, strict=True):
        if expected is not None:
            np.testing.assert_allclose(mine, expected, rtol=1e-10, atol=1e-12)


REFUSED = [
    "ad.enter_dual_level()",
    "ad.make_dual(torch.tensor([1]), torch.tensor([1]))",
    "ad.make_dual(torch.zeros(2), torch.tensor([1, 2]))",
    "ad.make_dual(torch.zeros(2), torch.zeros(3))",
    "ad.make_dual(d, torch.zeros(3, 4, dtype=torch.float64))",
    "ad.exit_dual_level(level=3)",
    "outside(ad.make_dual, torch.zeros(2), torch.zeros(2))",
    "outside(ad.exit_dual_level)",
]


def refused(torch: Any, text: str) -> list[str]:
    ad = forward_ad(torch)

    def outside(function: Any, *args: Any) -> None:
        ad.exit_dual_level()
        try:
            function(*args)
        finally:
            ad.enter_dual_level()

    with ad.dual_level():
        dual = ad.make_dual(torch.tensor(P), torch.tensor(T))
        try:
            eval(text, {"ad": ad, "outside": outside, **Namespace(torch, dual).names})
        except Exception as error:  # noqa: BLE001  (the class is compared)
            return [type(error).__name__, str(error)]
    return []


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text: str, pytorch: PyTorch) -> None:
    assert refused(funcgrad.torch, text) == pytorch(lambda torch: refused(torch, text))


def test_numbers_and_texts(pytorch: PyTorch) -> None:
    def both(torch: Any) -> list[Any]:
        ad = forward_ad(torch)
        with ad.dual_level():
            dual = ad.make_dual(torch.tensor([1.5, 2.0]), torch.tensor([3.0, 4.0]))
            y = (dual * 2).sum()
            found = [repr(dual), y.item(), float(y), bool(y > 0), (dual * 2).tolist(), dual.numpy().tolist()]
        return [*found, repr(dual), ad.unpack_dual(y).tangent is None, (y + 1).item(), repr(y * 2)]

    assert both(funcgrad.torch) == pytorch(both)


def test_a_tangent_is_the_tensor_itself_and_can_be_differentiated(pytorch: PyTorch) -> None:
    def both(torch: Any) -> list[Any]:
        ad = forward_ad(torch)
        w = torch.tensor(P, requires_grad=True)
        tangent = torch.tensor(T, requires_grad=True)
        with ad.dual_level():
            dual = ad.make_dual(w, tangent)
            assert ad.unpack_dual(dual).tangent is tangent
            ad.unpack_dual((dual**3).sum()).tangent.backward()
        return [w.grad.numpy(), tangent.grad.numpy()]

    for mine, expected in zip(both(funcgrad.torch), pytorch(both), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-12)
