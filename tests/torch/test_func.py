"""``torch.func``: transforms of functions of tensors, nested, with closures over tensors that require gradients."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch
from funcgrad.errors import TracerAssignmentError
from tests._recorded import PyTorch, assert_same, decoded, encoded

X = np.array([0.5, -1.0, 2.0])


def transforms(torch: Any) -> dict[str, Any]:
    """Results of all transforms, of functions that use methods, views and writes."""
    func = torch.func
    x = torch.tensor(X)
    a = torch.tensor(np.outer(X, X + 1))

    def f(x: Any) -> Any:
        y = x.clone()
        y[0] = y[0] * 2
        return (y.view(-1).unsqueeze(0).sin() * x.expand(2, 3)).sum()

    def with_aux(x: Any) -> Any:
        return f(x), x.max()

    pushed = func.jvp(lambda x: x.cumsum(0), (x,), (torch.ones(3, dtype=torch.float64),))
    value, pull = func.vjp(lambda x: x.sort().values * x, x)
    found = {
        "grad": func.grad(f)(x),
        "grad of 1": func.grad(lambda a, b: (a * b).sum(), argnums=1)(x, x + 1),
        "aux": list(func.grad(with_aux, has_aux=True)(x)),
        "grad and value": list(func.grad_and_value(f)(x)),
        "second": func.grad(lambda x: func.grad(f)(x).prod())(x),
        "jacrev": func.jacrev(lambda x: x.softmax(0))(x),
        "jacfwd": func.jacfwd(lambda x: x.softmax(0))(x),
        "hessian": func.hessian(f)(x),
        "jvp": list(pushed),
        "vjp": [value, *pull(torch.ones(3, dtype=torch.float64))],
        "vmap": func.vmap(lambda r: r.topk(2).values.flip(0))(a),
        "vmap of grad": func.vmap(func.grad(f))(a),
        "dims": func.vmap(torch.dot, in_dims=(1, None))(a, x),
        "out": func.vmap(lambda r: r * 2, out_dims=1)(a),
        "vmap of vmap": func.vmap(func.vmap(lambda u, v: u * v, in_dims=(None, 0)), in_dims=(0, None))(x, x),
        "jacrev of vmap": func.jacrev(func.vmap(lambda r: r.sum() ** 2))(a),
    }
    w = torch.tensor(X, requires_grad=True)
    func.vmap(lambda r: (r * w).sum().exp())(a / 10).sum().backward()
    found["closure"] = w.grad
    u = torch.tensor(X, requires_grad=True)
    func.grad(lambda x: (x**2 * u).sum())(x).sum().backward()
    found["through grad"] = u.grad
    return {name: plain(y) for name, y in found.items()}


def plain(y: Any) -> Any:
    return [plain(one) for one in y] if isinstance(y, list) else y.detach().numpy()


def test_transforms(pytorch: PyTorch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        theirs = pytorch(transforms)
    ours = decoded(encoded(transforms(funcgrad.torch)))
    for name, answer in theirs.items():
        assert_same(ours[name], answer)


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_a_module_of_a_user_under_transforms_of_arrays(engine: str) -> None:
    torch = funcgrad.torch

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            y = self.inner(x.view(x.size(0), -1)).relu()
            return y.max(dim=1).values.unsqueeze(-1) + y.std(dim=1, keepdim=True)

    net = Net().double()
    x = np.linspace(-1.0, 1.0, 16).reshape(4, 2, 2)
    values = {name: p.detach().numpy() for name, p in net.named_parameters()}

    def loss(values: Any, x: Any) -> Any:
        return np.sum(torch.func.functional_call(net, values, (x,)) ** 2)

    gradient = fg.jit(fg.grad(loss), engine=engine)(values, x)
    (net(torch.tensor(x)) ** 2).sum().backward()
    for name, p in net.named_parameters():
        np.testing.assert_allclose(gradient[name], p.grad, rtol=1e-10, atol=1e-12)
    rows = fg.vmap(lambda one: torch.func.functional_call(net, values, (one[None],)))(x)
    np.testing.assert_allclose(rows[:, 0], net(torch.tensor(x)).detach(), rtol=1e-12)


def writing(torch: Any) -> dict[str, Any]:
    """Functions that write into results, copies, views and detached tensors."""

    def result(x: Any) -> Any:
        y = x * 2
        v = y.view(-1)
        y += 1
        return (v * x).sum()

    def views(x: Any) -> Any:
        y = x.clone()
        y.view(-1)[0] = 5.0
        y[1:] *= x[0]
        return (y * y).sum()

    def filled(x: Any) -> Any:
        out = x.new_zeros(3)
        for i in range(3):
            out[i] = x[i] ** 2
        return (out * out).sum()

    def without_recording(x: Any) -> Any:
        w = x * 1.5
        for _ in range(3):
            g = torch.cos(w) * 2
            with torch.no_grad():
                w -= 0.1 * g
                w[0] = 7.0
        return (w * x).sum()

    def detached(x: Any) -> Any:
        y = x * 1
        z = y.detach()
        y += 1
        z[1:].mul_(3)
        return (y * z).sum()

    return {f.__name__: f for f in (result, views, filled, without_recording, detached)}


def gradients(torch: Any) -> dict[str, Any]:
    found = {}
    for name, f in writing(torch).items():
        x = torch.tensor(X, requires_grad=True)
        f(x).backward()
        found[name] = x.grad.numpy()
    return found


def test_writes_in_functions_of_traced_values(pytorch: PyTorch) -> None:
    """A write has the derivative that PyTorch's tape gives it, under each transform."""
    expected, torch = pytorch(gradients), funcgrad.torch
    for name, f in writing(torch).items():
        pure = lambda x, f=f: torch.func.functional_call(Called(f), {}, (x,))
        rows = torch.func.vmap(torch.func.grad(f))(torch.tensor(np.stack([X, X])))
        for found in (
            torch.func.grad(f)(torch.tensor(X)),
            rows[1],
            fg.grad(pure)(X),
            fg.jit(fg.grad(pure), engine="numpy")(X),
        ):
            np.testing.assert_allclose(np.asarray(found), expected[name], rtol=1e-12, err_msg=name)


class Called(funcgrad.torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x)


def test_a_traced_value_does_not_go_into_a_tensor_outside() -> None:
    torch = funcgrad.torch
    out = torch.zeros(3)

    def f(x: Any) -> Any:
        out[0] = x[0]
        return out.sum()

    with pytest.raises(TracerAssignmentError, match=r"x\[i\] = v writes a value f64\[\] of grad .* x.new_zeros"):
        torch.func.grad(f)(torch.tensor(X))
    assert not out.any()


def test_the_states_of_several_modules() -> None:
    torch = funcgrad.torch
    models = [torch.nn.Linear(2, 3) for _ in range(4)]
    params, buffers = torch.func.stack_module_state(models)
    assert params["weight"].shape == (4, 3, 2)
    assert buffers == {}
    x = torch.ones(5, 2)
    outputs = torch.func.vmap(lambda p: torch.func.functional_call(models[0], p, (x,)))(params)
    assert torch.allclose(outputs[2], models[2](x))
    with pytest.raises(RuntimeError, match="got 0"):
        torch.func.stack_module_state([])


def test_random_numbers_of_rows_differ(pytorch: PyTorch) -> None:
    def drawn(torch: Any) -> list[Any]:
        x, vmap, dropout = torch.ones(3, 4), torch.func.vmap, torch.nn.functional.dropout
        torch.manual_seed(0)
        first = vmap(lambda row: dropout(row, 0.5), randomness="different")(x)
        permuted = vmap(lambda row: torch.randperm(5) + 0 * row.sum().long(), randomness="different")(x)
        nested = vmap(
            vmap(lambda x: dropout(x, 0.5) * torch.rand(2).sum(), randomness="different"), randomness="different"
        )
        return [first.numpy(), permuted.numpy(), nested(x).numpy()]

    theirs = pytorch(drawn)
    for found, expected in zip(drawn(funcgrad.torch), theirs, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


# Calls of `torch.bernoulli` for rows ``x`` of probabilities.
BERNOULLI = [
    "torch.bernoulli(x)",
    "x.bernoulli()",
    "torch.bernoulli(x, p=0.3)",
    "torch.bernoulli(torch.ones(2) / 2)",
    "x.bernoulli(0.5) + torch.rand(1)",
    "torch.func.vmap(torch.bernoulli, randomness='different')(x)",
]


@pytest.mark.parametrize("text", BERNOULLI)
def test_bernoulli_by_rows(text: str, pytorch: PyTorch) -> None:
    def drawn(torch: Any) -> Any:
        torch.manual_seed(0)
        p = torch.linspace(0.1, 0.9, 12).reshape(3, 4)
        return torch.func.vmap(lambda x: eval(text, {"torch": torch, "x": x}), randomness="different")(p).numpy()

    np.testing.assert_allclose(drawn(funcgrad.torch), pytorch(drawn), rtol=1e-6)


def test_bernoulli_by_rows_checks_the_probabilities_it_knows() -> None:
    torch = funcgrad.torch
    for p in (2.0, torch.tensor([0.5, -1.0])):
        with pytest.raises(RuntimeError, match="Expected p_in >= 0"):
            torch.func.vmap(lambda x, p=p: torch.bernoulli(x, p=p), randomness="different")(torch.zeros(3, 2))
