"""``torch.autograd``: hooks of nodes, and the detection of anomalies."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import funcgrad.torch
from tests._recorded import PyTorch


def hooked(torch: Any) -> list[Any]:
    """Return the gradients that hooks of nodes get, and the gradients that they leave."""
    seen: list[Any] = []
    x: Any = torch.tensor([1.0, 2.0], requires_grad=True)
    w: Any = torch.tensor([3.0, 4.0], requires_grad=True)
    y = x * w
    z = y.exp()

    def doubled(by_operands: Any, by_result: Any) -> Any:
        given: tuple[Any, ...] = (*by_operands, *by_result)
        seen.extend([] if g is None else g.tolist() for g in given)
        return tuple(None if g is None else g * 2 for g in by_operands)

    after = y.grad_fn.register_hook(doubled)
    before = z.grad_fn.register_prehook(lambda by_result: (by_result[0] * 10,))
    z.grad_fn.register_hook(lambda *_: None)
    (first,) = torch.autograd.grad(z.sum(), x, retain_graph=True, create_graph=True)
    z.sum().backward(retain_graph=True)
    seen += [first.tolist(), x.grad.tolist(), w.grad.tolist()]
    after.remove()
    before.remove()
    x.grad = None
    z.sum().backward()
    assert x.grad is not None
    return [*seen, x.grad.tolist()]


def test_hooks_of_nodes(pytorch: PyTorch) -> None:
    expected = pytorch(hooked)
    for ours, theirs in zip(hooked(funcgrad.torch), expected, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6)


def test_hooks_that_are_refused() -> None:
    torch = funcgrad.torch
    x = torch.ones(2, requires_grad=True)
    y = x * x.exp()
    y.grad_fn.register_hook(lambda by_operands, by_result: (by_operands[0],))
    with pytest.raises(RuntimeError, match=r"has returned an incorrect number of values \(got 1, but expected 2\)"):
        y.sum().backward()
    leaf = (x * 2).grad_fn.next_functions[0][0]
    with pytest.raises(RuntimeError, match=r"AccumulateGrad has no derivative to hook\. Use tensor\.register_hook"):
        leaf.register_hook(lambda *_: None)


def anomalies(torch: Any) -> list[str]:
    """The errors of passes back that meet a NaN, and of those that do not."""
    q, found = torch.tensor([0.0, 1.0], requires_grad=True), []
    losses = [lambda: (q.sqrt() * torch.tensor([0.0, 1.0])).sum(), lambda: (torch.log(q * 0) * 0).sum(), q.sum]

    def message(loss: Any) -> str:
        try:
            loss().backward()
        except RuntimeError as error:
            return str(error)
        return "none"

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        with torch.autograd.detect_anomaly():
            found += [message(loss) for loss in losses]
        found.append(str(given[0].message))
        with torch.autograd.set_detect_anomaly(True):
            found.append(message(losses[0]))
        with torch.autograd.detect_anomaly(check_nan=False):
            found.append(message(losses[0]))
        found.append(message(losses[0]))
    return found


def test_anomalies(pytorch: PyTorch) -> None:
    assert anomalies(funcgrad.torch) == pytorch(anomalies)


def test_an_anomaly_names_the_line_of_the_forward_pass() -> None:
    torch = funcgrad.torch
    x = torch.zeros(1, requires_grad=True)
    with warnings.catch_warnings(action="ignore"), torch.autograd.detect_anomaly():
        y = x.sqrt()
        with pytest.raises(RuntimeError, match="SqrtBackward0") as caught:
            (y * 0).sum().backward()
    assert "test_autograd.py" in caught.value.__notes__[0]
    assert "y = x.sqrt()" in caught.value.__notes__[0]


def inferred(torch: Any) -> list[Any]:
    """Which tensors were made in inference mode, and where the mode is on."""
    x = torch.ones(2, requires_grad=True)
    n = torch.ones(2, 3)
    with torch.inference_mode():
        y = 2 * n
        made = [y, torch.tensor([1.0]), torch.randn(2), n.clone(), n.sum(), n.sort()[0], n[n > 0], 2 * x]
        views = [n.view(-1), n.t(), n[0], n.detach(), n.unbind(0)[0], n.expand(2, 2, 3), n.add_(1), n.reshape(3, 2)]
        found: list[Any] = [torch.is_inference_mode_enabled()]
        for mode in (torch.no_grad(), torch.enable_grad(), torch.inference_mode(False)):
            with mode:
                found += [torch.is_inference_mode_enabled(), torch.ones(1).is_inference(), torch.is_grad_enabled()]
    after = [y.view(-1), y[0], y.detach(), y.data, y * 2, y.clone(), y.sum(), torch.ones(1)]
    with torch.no_grad():
        found.append(torch.is_inference_mode_enabled())

    @torch.inference_mode()
    def twice(a: Any) -> Any:
        return a * 2

    @torch.inference_mode
    def thrice(a: Any) -> Any:
        return a * 3

    @torch.inference_mode()
    def both(a: Any) -> Any:
        yield a * 2
        yield a * 3

    parts = both(n)
    after += [twice(n), thrice(n), next(parts)]
    found.append(torch.is_inference_mode_enabled())
    return [*found, *[a.is_inference() for a in (*made, *views, *after, *parts)]]


def test_inference_tensors(pytorch: PyTorch) -> None:
    assert inferred(funcgrad.torch) == pytorch(inferred)


def materialized(torch: Any, choice: bool | None) -> list[Any]:
    """Return what ``backward`` gets for outputs that nothing uses, and the gradients."""
    seen: list[Any] = []

    class Parts(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            if choice is not None:
                ctx.set_materialize_grads(choice)
            return x * y, x + y, (x * 0).to(torch.int64)

        @staticmethod
        def backward(ctx: Any, product: Any, total: Any, _: Any) -> Any:
            x, y = ctx.saved_tensors
            seen.append([g if g is None else g.tolist() for g in (product, total)])
            parts = [(product * y, product * x)] if product is not None else []
            parts += [(total, total)] if total is not None else []
            return tuple(sum(column) for column in zip(*parts, strict=True))

    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([3.0, 5.0], dtype=torch.float64, requires_grad=True)
    product, total, _ = Parts.apply(x, y)
    grads = [
        *torch.autograd.grad(product.sum(), (x, y), retain_graph=True),
        *torch.autograd.grad(total.sum(), (x, y), retain_graph=True),
        *torch.autograd.grad((product * total).sum(), (x, y)),
    ]
    (first,) = torch.autograd.grad((Parts.apply(x, y)[0] ** 2).sum(), x, create_graph=True)
    return [*seen, *[g.tolist() for g in (*grads, *torch.autograd.grad(first.sum(), (x, y)))]]


@pytest.mark.parametrize("choice", [None, True, False])
def test_gradients_of_unused_outputs(choice: bool | None, pytorch: PyTorch) -> None:
    assert materialized(funcgrad.torch, choice) == pytorch(lambda torch: materialized(torch, choice))
