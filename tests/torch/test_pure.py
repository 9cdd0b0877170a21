"""Modules and functions of tensors under `fg.grad`, `fg.vmap` and `fg.jit`: writes, buffers, checkpoints, positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch
from funcgrad.autograd.extend import on_values
from tests._recorded import PyTorch


class Bodies:
    """Functions of a vector, written with PyTorch's names."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch

    def number_in_no_grad(self, x: Any) -> Any:
        v = x.sum() * 2
        with self.torch.no_grad():
            v += 1
        return v * v

    def number_by_data(self, x: Any) -> Any:
        v = x.sum() * 2
        v.data.add_(1)
        v.detach().mul_(3)
        return v * v

    def number_copied(self, x: Any) -> Any:
        v = x.sum() * 2
        with self.torch.no_grad():
            v.copy_(self.torch.tensor(7.0))
        return v * v

    def rows_of_zeros_like(self, x: Any) -> Any:
        h = x * 3
        out = self.torch.zeros_like(h)
        out[0] = h[1]
        out[1:] += h[1:] * 2
        return (out * out).sum()

    def gathered(self, x: Any) -> Any:
        h = self.torch.stack([x, -x * x])
        return (self.torch.gather(h, 1, h.argsort(-1)) * self.torch.arange(3.0)).sum()

    def checkpointed(self, x: Any) -> Any:
        checkpoint = self.torch.utils.checkpoint.checkpoint
        inner = checkpoint(lambda z: (z * x.exp()).sin(), x.detach(), use_reentrant=False)
        return (inner * checkpoint(lambda z: z * z, x, use_reentrant=False)).sum()


BODIES = [name for name in vars(Bodies) if not name.startswith("_")]
X = np.array([0.3, -0.7, 1.2])


@pytest.mark.parametrize("name", BODIES)
def test_value_and_gradient(name: str, pytorch: PyTorch) -> None:
    def of_pytorch(torch: Any) -> list[Any]:
        x = torch.tensor(X, requires_grad=True)
        y = getattr(Bodies(torch), name)(x)
        y.backward()
        return [y.item(), x.grad.numpy()]

    value, gradient = pytorch(of_pytorch)
    f = on_values(getattr(Bodies(funcgrad.torch), name))
    routes: list[Callable[[Any], Any]] = [fg.value_and_grad(f), lambda x: (f(x), fg.grad(f)(x))]
    routes += [fg.jit(fg.value_and_grad(f), engine=engine) for engine in ("numpy", "xla")]
    routes.append(lambda x: tuple(y[0] for y in fg.vmap(fg.value_and_grad(f))(x[None])))
    routes.append(fg.value_and_grad(fg.jit(f, engine="numpy")))
    for route in routes:
        y, g = route(X)
        np.testing.assert_allclose(np.asarray(y), value, rtol=1e-6)
        np.testing.assert_allclose(np.asarray(g), gradient, rtol=1e-6)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_buffers_that_count(engine: Any) -> None:
    """A module that writes to buffers in ``forward``, with numbers among them, returns what it has written."""
    torch = funcgrad.torch

    class Counted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)
            self.register_buffer("count", torch.tensor(0))
            self.register_buffer("scale", torch.tensor(1.5))
            self.register_buffer("mean", torch.zeros(2))

        def forward(self, x: Any) -> Any:
            h = self.layer(x)
            with torch.no_grad():
                self.count += 1
                self.scale *= 2
                self.mean.mul_(0.5).add_(h.mean(0), alpha=0.5)
            return h * self.scale

    model = Counted()
    params = {name: p.detach().numpy() for name, p in model.named_parameters()}
    buffers = {name: b.numpy() for name, b in model.named_buffers()}
    x = np.ones((4, 3), np.float32)

    def step(params: Any, buffers: Any) -> Any:
        def loss(params: Any) -> Any:
            y, after = torch.func.functional_call(model, (params, buffers), (x,), return_buffers=True)
            return y.sum(), after

        return fg.value_and_grad(loss, has_aux=True)(params)

    (_, eager), expected = step(params, buffers)
    (_, compiled), found = fg.jit(step, engine=engine)(params, buffers)
    assert int(eager["count"]) == int(compiled["count"]) == 1
    assert float(eager["scale"]) == float(compiled["scale"]) == 3.0
    np.testing.assert_allclose(compiled["mean"], eager["mean"], rtol=1e-6)
    for name in params:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6)
