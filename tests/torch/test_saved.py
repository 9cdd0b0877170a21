"""`torch.autograd.graph`: values that nodes keep, and hooks that pack them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch

# Values that ``grad_fn`` shows, where ``x`` requires a gradient and ``c`` does not.
SAVED = [
    "(x**2).grad_fn._saved_self",
    "x.exp().grad_fn._saved_result",
    "x.tanh().grad_fn._saved_result",
    "x.sigmoid().grad_fn._saved_result",
    "x.sqrt().grad_fn._saved_result",
    "x.log().grad_fn._saved_self",
    "x.sin().grad_fn._saved_self",
    "(x * x.exp()).grad_fn._saved_other",
    "(x * x.exp()).grad_fn._saved_self",
    "(x * c).grad_fn._saved_self",
    "(x * c).grad_fn._saved_other",
    "(x / c).grad_fn._saved_other",
]


def shown(torch: Any, text: str) -> Any:
    x = torch.tensor([1.0, 2.0, 0.5], requires_grad=True)
    found = eval(text, {"x": x, "c": torch.tensor([3.0, 4.0, 5.0])})
    return [None] if found is None else [found.tolist(), found.requires_grad, found is x]


@pytest.mark.parametrize("text", SAVED)
def test_saved_values(text: str, pytorch: PyTorch) -> None:
    ours, theirs = shown(funcgrad.torch, text), pytorch(lambda torch: shown(torch, text))
    assert ours[1:] == theirs[1:]
    assert ours[0] == (None if theirs[0] is None else pytest.approx(theirs[0], rel=1e-6))


def test_saved_values_that_are_not_there() -> None:
    x = funcgrad.torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    with pytest.raises(AttributeError, match="'ExpBackward0' object has no attribute '_saved_nothing'"):
        _ = y.grad_fn._saved_nothing
    y.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        _ = y.grad_fn._saved_result


FUNCTIONS = [
    "(x * y).sin() * x",
    "x @ y.T",
    "(x.exp() + y**3).log()",
    "torch.cat([x, y]) ** 2",
    "F.softmax(x, -1) * y",
    "F.layer_norm(x, (3,)) * y",
    "F.linear(x, y).tanh()",
    "changed(x * y) * x",
    "x.sort().values * y",
    "x.where(x > 0, y * x) * x",
    "x.cumsum(1) * y.max()",
    "F.conv2d(x[None, None], y[None, None, :, :2]) * 2",
    "model(x).sigmoid() * y",
]


def changed(x: Any) -> Any:
    """Write in place between operations."""
    x.mul_(2).add_(1)
    x[0] = x[1].exp()
    return x


def derivatives(text: str, hooks: Any) -> list[np.ndarray]:
    """Return the gradients, and the gradients of their squares."""
    torch = funcgrad.torch
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 3)).double()
    x = torch.tensor([[0.3, -0.7, 1.2], [0.9, 0.4, 0.1]], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([[1.3, 0.7, 0.2], [0.8, 1.4, 2.1]], dtype=torch.float64, requires_grad=True)
    names = {"torch": torch, "F": torch.nn.functional, "x": x, "y": y, "changed": changed, "model": model}
    found = []
    with hooks():
        z = eval(text, names).sum()
    found += torch.autograd.grad(z, (x, y), retain_graph=True)
    with hooks():
        first = torch.autograd.grad(z, (x, y), create_graph=True)
        loss = sum((g**2).sum() for g in first)
    torch.autograd.backward(loss)
    return [g.detach().numpy() for g in (*found, x.grad, y.grad)]


class Nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize("text", FUNCTIONS)
def test_packed_values_give_the_same_derivatives(text: str) -> None:
    graph = funcgrad.torch.autograd.graph
    count = [0, 0]

    def pack(x: Any) -> Any:
        count[0] += 1
        return x.tolist(), x.dtype

    def unpack(kept: Any) -> Any:
        count[1] += 1
        return funcgrad.torch.tensor(kept[0], dtype=kept[1])

    expected = derivatives(text, Nothing)
    for hooks in (lambda: graph.saved_tensors_hooks(pack, unpack), graph.save_on_cpu):
        for one, other in zip(derivatives(text, hooks), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
    assert min(count) > 0
    assert funcgrad.torch.autograd.graph._entered == []


def hooked(torch: Any) -> list[Any]:
    """Return what hooks see, and what happens to wrong ones."""
    seen: list[Any] = []

    def pack(x: Any) -> Any:
        seen.append(["pack", x.tolist()])
        return x.tolist()

    def unpack(kept: Any) -> Any:
        seen.append(["unpack", kept])
        return torch.tensor(kept) * 10

    def outcome(action: Any) -> None:
        try:
            seen.append(action())
        except Exception as error:  # noqa: BLE001  (the class is compared)
            seen.append([type(error).__name__, str(error).replace("<class 'int'>", "int")])

    graph = torch.autograd.graph
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with graph.saved_tensors_hooks(pack, unpack):
        y = x * x
        with torch.no_grad():
            _ = x * x
        with graph.saved_tensors_hooks(lambda x: 7, lambda x: torch.tensor([5.0, 6.0])):
            z = x.exp()
    (y.sum() + z.sum()).backward()
    seen.append(x.grad.tolist())
    with graph.saved_tensors_hooks(lambda x: 1, lambda x: x):
        w = x.exp()
    outcome(lambda: w.sum().backward())
    with graph.saved_tensors_hooks(lambda x: x.mul_(2), lambda x: x):
        outcome(lambda: (x.detach() * x) is None)
    with graph.disable_saved_tensors_hooks("no hooks here"):
        outcome(lambda: graph.saved_tensors_hooks(pack, unpack).__enter__())
    before = x._version
    graph.increment_version(x)
    seen += [x._version - before, isinstance(y.grad_fn, graph.Node), x.exp().grad_fn.next_functions[0][0].name()]
    return seen


def test_hooks_see_what_pytorch_shows(pytorch: PyTorch) -> None:
    assert hooked(funcgrad.torch) == pytorch(hooked)
