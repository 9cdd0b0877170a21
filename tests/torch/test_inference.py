"""Inference tensors outside of their mode, tensors that get another size, and functions that change arguments."""

from __future__ import annotations

from typing import Any

import pytest

import funcgrad.torch
from tests._recorded import PyTorch

# Uses of an inference tensor ``a`` with a tensor ``w`` that requires gradients.
USES = [
    "a * w",
    "a + w",
    "a * 2",
    "w.exp() + a",
    "w.sum() * a.sum()",
    "a.clone() * w",
    "a.detach() * w",
    "torch.cat([a, w])",
    "torch.where(a > 0, w, a)",
    "w.mul(a).sum()",
    "torch.nn.functional.linear(a, torch.ones(2, 2, requires_grad=True))",
    "a.view(2)",
    "a[0]",
    "w.detach().add_(a)",
    "a.requires_grad_()",
    "a.add_(1)",
    "a.zero_()",
    "a.copy_(w)",
    "a.__setitem__(0, 1)",
    "a._version",
    "a.grad",
    "(a * 2).is_inference()",
]


def outcome(torch: Any, text: str, **names: Any) -> list[Any]:
    try:
        y = eval(text, {"torch": torch, **names})
    except Exception as error:  # noqa: BLE001  (the class is compared)
        return [type(error).__name__, str(error)]
    return y.tolist() if hasattr(y, "tolist") else [y]


@pytest.mark.parametrize("text", USES)
def test_inference_tensors_outside_of_their_mode(text: str, pytorch: PyTorch) -> None:
    def used(torch: Any) -> list[Any]:
        with torch.inference_mode():
            a = torch.ones(2)
        return outcome(torch, text, a=a, w=torch.tensor([1.0, 2.0], requires_grad=True))

    assert used(funcgrad.torch) == pytest.approx(pytorch(used))


RESIZED = [
    "x.resize_(3, 2)",
    "x.resize_(2, 2)",
    "x.resize_((4,))",
    "x.resize_(0)",
    "x.resize_as_(torch.zeros(3, 2))",
    "x.resize_(8)[:6]",
    "x.requires_grad_().resize_(2)",
    "(x.requires_grad_() * 1).resize_(2)",
]


@pytest.mark.parametrize("text", RESIZED)
def test_resized(text: str, pytorch: PyTorch) -> None:
    def resized(torch: Any) -> list[Any]:
        return outcome(torch, text, x=torch.arange(6.0).reshape(2, 3).clone())

    assert resized(funcgrad.torch) == pytorch(resized)


def changed(torch: Any) -> list[Any]:
    """Return results, gradients and errors of functions that mark their argument as dirty."""

    class Grown(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    class Lost(Grown):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x * 2

    w = torch.tensor([1.0, 2.0], requires_grad=True)
    v = w * 3
    y = Grown.apply(v)
    (y * y).sum().backward()
    found = [y is v, v.tolist(), y.grad_fn.name(), w.grad.tolist()]
    whole = w * 3
    part = Grown.apply(whole[:1])
    (whole.sum() * part.sum()).backward()
    found += [whole.tolist(), part.tolist(), w.grad.tolist()]
    plain = torch.ones(2)
    found += [Grown.apply(plain) is plain, plain.tolist()]
    for text in ("Grown.apply(w)", "Lost.apply(w * 1)", "Lost.apply(torch.ones(2))"):
        found.append(outcome(torch, text, Grown=Grown, Lost=Lost, w=w))
    return found


def test_functions_that_change_their_argument(pytorch: PyTorch) -> None:
    assert changed(funcgrad.torch) == pytorch(changed)


def test_a_changed_argument_has_no_second_derivative() -> None:
    class Grown(funcgrad.torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return grads[0] * 2

    w = funcgrad.torch.tensor([1.0, 2.0], requires_grad=True)
    loss = (Grown.apply(w * 3) ** 2).sum()
    with pytest.raises(RuntimeError, match="Grown has changed its argument in place, so its value before is lost"):
        funcgrad.torch.autograd.grad(loss, w, create_graph=True)
